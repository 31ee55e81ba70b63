"""Outputs that a target of numbers is compared with: the one of its name, or none in silence."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxplain
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxplain_server.methods.classes import Outputs
from onnxplain_server.methods.target_outputs import UnclearTargetError, named_outputs

SIZE = 40
RNG = np.random.default_rng(3)
X = RNG.normal(size=(SIZE, 2)).astype(np.float32)
TABLE: Mapping[str, Any] = {
    "a": X[:, 0],
    "b": X[:, 1],
    "load": X[:, 0] + 0.5,
    "price": X[:, 1] - 1.5,
}
FEATURES = {"feature_columns": ["a", "b"]}
LOSS = onnxplain.AverageLoss(loss="ABSOLUTE_ERROR")


def model(*names: str) -> bytes:
    """A model with an output for each column, called so; one output of both for one name."""
    count = len(names)
    nodes = [helper.make_node("Identity", ["X"], list(names))]
    constants = []
    if count > 1:
        nodes = [helper.make_node("Split", ["X", "sizes"], list(names), axis=1)]
        constants = [numpy_helper.from_array(np.ones(count, np.int64), "sizes")]
    outputs = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 2 // count]) for n in names
    ]
    given = helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", 2])
    graph = helper.make_graph(nodes, "g", [given], outputs, constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(made.SerializeToString())


@pytest.fixture(scope="module")
def client():
    with onnxplain.local() as made:
        yield made


def losses(explanation: Any) -> dict[str, float]:
    result = explanation.average_loss
    return dict(zip(result.output_names, result.losses[0].values, strict=True))


@pytest.mark.parametrize("target", ["load", "price"])
def test_a_target_is_compared_with_the_output_of_its_name(client, target: str) -> None:
    shuffled = onnxplain.PermutationImportance(loss="ABSOLUTE_ERROR")
    explained = client.explain(
        model("price", "load"),
        {**TABLE, "b": X[:, 0], "a": X[:, 1]},
        LOSS,
        shuffled,
        onnxplain.PartialDependence(features=["a"]),
        target_column=target,
        feature_columns=["a", "b"],
    )

    assert losses(explained) == {target: pytest.approx({"load": 0.5, "price": 1.5}[target])}
    assert list(explained.permutation_importance.output_names) == [target]
    curves = explained.partial_dependence
    assert list(curves.output_names) == ["price", "load"]
    other = list(curves.output_names).index(target) - 1
    assert np.isnan(curves.curves[0].observed_means[:, other]).all()
    assert np.isfinite(curves.curves[0].observed_means[:, other + 1]).any()


@pytest.mark.parametrize("method", [LOSS, onnxplain.PermutationImportance()])
def test_a_number_that_fits_several_outputs_is_refused_with_their_names(client, method) -> None:
    with pytest.raises(
        onnxplain.ExplainError, match=r"any of 2 outputs, 'y_0', 'y_1'.* in outputs"
    ):
        client.explain(model("y"), TABLE, method, target_column="load", **FEATURES)
    curve = onnxplain.PartialDependence(features=["a"])
    drawn = client.explain(model("y"), TABLE, curve, target_column="load", **FEATURES)
    assert not drawn.partial_dependence.curves[0].observed_means.size


def test_a_column_for_each_output_and_a_chosen_output_are_compared(client) -> None:
    each = onnxplain.AverageLoss(loss="ABSOLUTE_ERROR", target_columns=["load", "price"])
    by_place = client.explain(model("y"), TABLE, each, **FEATURES)
    assert losses(by_place) == {"y_0": pytest.approx(0.5), "y_1": pytest.approx(1.5)}

    chosen = client.explain(
        model("y"), TABLE, LOSS, target_column="price", outputs=["y_1"], **FEATURES
    )
    assert losses(chosen) == {"y_1": pytest.approx(1.5)}


def test_several_targets_of_a_request_are_no_features_and_have_an_output_each(client) -> None:
    shuffled = onnxplain.PermutationImportance(loss="ABSOLUTE_ERROR", repeat_count=1)
    both = {"target_columns": ["load", "price"]}
    explained = client.explain(model("y"), TABLE, LOSS, shuffled, **both)

    expected = {"y_0": pytest.approx(0.5), "y_1": pytest.approx(1.5)}
    assert losses(explained) == expected
    # Each output is one feature: shuffling the other costs nothing.
    first, second = (entry.values for entry in explained.permutation_importance.importances)
    assert first[1] == second[0] == pytest.approx(0, abs=1e-6)
    assert min(first[0], second[1]) > 0.1
    named = client.explain(model("price", "load"), TABLE, LOSS, **FEATURES, **both)
    assert losses(named).keys() == {"load", "price"}
    assert client.predict(model("y"), TABLE, **both).values.shape == (SIZE, 2)
    matching = client.describe_table(TABLE, model("y"), **both).matching
    assert list(matching.feature_columns) == ["a", "b"]


@pytest.mark.parametrize(
    ("method", "fault"),
    [
        (onnxplain.Interactions(permutation_count=20), "permutation_count reads one target"),
        (onnxplain.Swarm(score="F1"), "a score reads the classes of one target"),
        (onnxplain.FeatureVectors(source="LABELS"), "the source LABELS reads one target"),
        (onnxplain.Firm(source="LABELS"), "the source LABELS reads one target"),
        (LOSS, "not both"),
    ],
)
def test_several_targets_are_refused_where_one_is_read(client, method, fault: str) -> None:
    alone = {"target_column": "load"} if method is LOSS else {}
    with pytest.raises(onnxplain.ExplainError, match=fault):
        client.explain(model("y"), TABLE, method, target_columns=["load", "price"], **alone)


def test_an_overview_leaves_losses_out_and_tells_how_to_choose(client) -> None:
    explained = client.explain(
        model("y"), TABLE, target_column="load", budget_seconds=2.0, **FEATURES
    )

    (warning,) = [each for each in explained.warnings if each.code == "UNCLEAR_TARGET"]
    assert "Choose the output in outputs" in warning.message
    assert "'y_0', 'y_1'" in warning.message
    assert "average_loss is left out" not in " ".join(w.message for w in explained.warnings)
    methods = [each.WhichOneof("result") for each in explained.message.explanations]
    assert methods == ["interactions", "partial_dependence"]


def test_a_test_of_permutations_and_a_stress_test_need_one_output_too(client) -> None:
    permuted = onnxplain.Interactions(permutation_count=20)
    with pytest.raises(onnxplain.ExplainError, match="any of 2 outputs"):
        client.explain(model("y"), TABLE, permuted, target_column="load", **FEATURES)
    moved = onnxplain.Swarm(loss="SQUARED_ERROR")
    with pytest.raises(onnxplain.ExplainError, match="any of 2 outputs"):
        client.explain(model("y"), TABLE, moved, target_column="load", **FEATURES)


@pytest.mark.parametrize(
    ("columns", "explained", "found"),
    [
        (("b",), (0, 1, 2), (1,)),
        (("c", "a"), (0, 1, 2), (2, 0)),
        (("x", "y", "z"), (0, 1, 2), (0, 1, 2)),
        (("y", "y", "y"), (0, 1, 2), (0, 1, 2)),
        (("y",), (2,), (2,)),
        (("x", "b", "z"), (0, 1, 2), (0, 1, 2)),
        (("x",), (0, 1, 2), "any of 3 outputs"),
        (("x", "y"), (0, 1, 2), "2 target columns for 3 outputs"),
        (("b", "y", "z"), (0, 1, 2), "the name of another output than 'a'"),
        (("b",), (0,), "the name of another output than 'a'"),
    ],
)
def test_names_tell_the_output_of_each_column_else_their_order(columns, explained, found) -> None:
    outputs = Outputs(("a", "b", "c"), explained)
    if isinstance(found, str):
        with pytest.raises(UnclearTargetError, match=found):
            named_outputs(columns, outputs, "target_columns")
    else:
        assert named_outputs(columns, outputs, "target_columns") == found
