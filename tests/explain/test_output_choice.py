"""Choice of outputs: the positive class of a binary classifier by default, others on request."""

from __future__ import annotations

from pathlib import Path

import onnxplain
import pytest
from onnxplain import Interactions, PartialDependence, PermutationImportance, Swarm

MODELS = Path(__file__).parents[1] / "models"
LABEL = "diagnosis"


@pytest.fixture(scope="module")
def client():
    with onnxplain.local() as client:
        yield client


@pytest.fixture(scope="module")
def cancer():
    """A binary classifier of thirty features, and 60 rows with classes in text."""
    folder = Path(__file__).parents[2] / "examples" / "vectors"
    names, *rows = (folder / "breast_cancer.csv").read_text().splitlines()[:61]
    values = [row.split(",") for row in rows]
    columns = {
        name: [row[i] if name == LABEL else float(row[i]) for row in values]
        for i, name in enumerate(names.split(","))
    }
    return folder / "breast_cancer.onnx", columns


CURVE = PartialDependence(features=["mean_radius"], grid_size=5)


def test_a_binary_classifier_is_explained_by_its_second_output(client, cancer) -> None:
    model, table = cancer

    default = client.explain(model, table, CURVE, target_column=LABEL)
    first, second = (
        client.explain(model, table, CURVE, target_column=LABEL, output_indices=[k])
        for k in range(2)
    )

    assert default.model.output_names == ("benign", "malignant")
    assert default.model.default_output_indices == (1,)
    assert default.partial_dependence.output_names == ("malignant",)
    assert values(default) == pytest.approx(values(second), rel=1e-12)
    assert values(default) == pytest.approx(1 - values(first), rel=1e-6)


def values(answer):
    return answer.partial_dependence.curves[0].values


@pytest.mark.parametrize("outputs", [["benign"], "benign", ["malignant", "benign"]])
def test_outputs_are_chosen_by_name(client, cancer, outputs) -> None:
    model, table = cancer

    answer = client.explain(model, table, CURVE, target_column=LABEL, outputs=outputs)

    listed = [outputs] if isinstance(outputs, str) else outputs
    assert list(answer.partial_dependence.output_names) == listed


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"outputs": ["M"]}, "the model has no output 'M'; its outputs are 'benign', 'malignant'"),
        ({"outputs": ["benign", "benign"]}, "outputs has 'benign' twice"),
        ({"outputs": ["benign"], "output_indices": [0]}, "output_indices or outputs, not both"),
        ({"output_indices": [2]}, r"each must be in \[0, 1\], none twice"),
    ],
)
def test_outputs_that_are_not_there_are_refused(client, cancer, chosen, message: str) -> None:
    model, table = cancer

    with pytest.raises(onnxplain.ExplainError, match=message):
        client.explain(model, table, CURVE, target_column=LABEL, **chosen)


def test_a_text_target_works_with_one_output(client, cancer) -> None:
    model, table = cancer

    by_default, chosen = (
        client.explain(
            model,
            table,
            PermutationImportance(features=["mean_radius"], loss="SQUARED_ERROR"),
            Interactions(pairwise_feature_count=0, permutation_count=19),
            target_column=LABEL,
            **outputs,
        )
        for outputs in ({}, {"outputs": ["malignant"]})
    )

    for answer in (by_default, chosen):
        assert answer.permutation_importance.output_names == ("malignant",)
        pairs = [(one.label, one.output_name) for one in answer[0].class_pairings]
        assert pairs == [("benign", "benign"), ("malignant", "malignant")]
    same = by_default.permutation_importance.baseline_losses
    assert same == pytest.approx(chosen.permutation_importance.baseline_losses, rel=1e-12)


def test_swarm_keeps_all_classes(client, cancer) -> None:
    model, table = cancer
    method = Swarm(features=["mean_radius"])

    every = client.explain(model, table, method, target_column=LABEL)
    one = client.explain(model, table, method, target_column=LABEL, outputs=["malignant"])

    assert every.swarm.class_names == ("benign", "malignant")
    assert {effect.class_name for effect in every.swarm.effects} == {"benign", "malignant"}
    assert {effect.class_name for effect in one.swarm.effects} == {"malignant"}


def test_other_models_are_explained_by_all_outputs(client) -> None:
    three = client.describe(MODELS / "xgboost_3class.onnx")
    two = client.describe(MODELS / "sklearn_random_forest_two_targets.onnx")

    assert three.default_output_indices == (0, 1, 2)
    assert two.default_output_indices == (0, 1)
