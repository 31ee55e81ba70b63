"""CatBoost's files: the predictions of models of several versions are those of CatBoost itself."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxplain_server.adapters.native import read_native
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model_limits import DEFAULT_LIMITS

FOLDER = Path(__file__).parents[2] / "models/native/catboost"
FILES = sorted(file for file in FOLDER.glob("*/*.json") if file.stem != "answers")


def answers(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, of numbers and two categories, and the library's predictions."""
    kept = json.loads((file.parent / "answers.json").read_text())
    return np.array(kept["rows"], object), np.array(kept[file.stem])


def feeds(model: Any, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return the rows as inputs: a matrix of numbers, or a column for each feature."""
    if len(model.inputs) == 1:
        return {model.inputs[0].name: rows[:, :4].astype(np.float32)}
    columns = {own.name: rows[:, [i]] for i, own in enumerate(model.inputs)}
    return {
        name: column if isinstance(column[0, 0], str) else column.astype(np.float32)
        for name, column in columns.items()
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_predictions_are_those_of_the_library(file):
    rows, expected = answers(file)

    model = load(file.read_bytes())

    assert model.predict(feeds(model, rows)) == pytest.approx(expected, rel=1e-6, abs=3e-7)


WHOLE = FOLDER / "1.2.10"


def document(name: str) -> Any:
    return json.loads((WHOLE / f"{name}.json").read_text())


def read(content: object):
    return read_native(json.dumps(content).encode(), DEFAULT_LIMITS)


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("binary", ("no", "yes")),
        ("truth", ("False", "True")),
        ("classes_depthwise", ("5", "6", "7")),
        ("one_vs_all", ("0", "1", "2")),
        ("shares", ("0", "1")),
        ("several_labels", ("prediction_0", "prediction_1")),
        ("targets", ("prediction_0", "prediction_1")),
    ],
)
def test_columns_are_named_by_classes_of_which_a_row_has_one(name, names):
    assert load((WHOLE / f"{name}.json").read_bytes()).output_names == names


def changed(name: str, *path: str | int, value: object) -> Any:
    """Return a file with one value changed; None as `value` takes it away."""
    content = document(name)
    place = content
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return content


LOSS = ("model_info", "params", "loss_function", "type")
FIRST_SPLIT = ("oblivious_trees", 0, "splits", 0)


@pytest.mark.parametrize(
    ("content", "reason", "words"),
    [
        (
            changed("one_hot", "features_info", "cat_features_hash", value=None),
            Reason.UNSUPPORTED_MODEL,
            r"Save it with them: model\.save_model\(path, format=\"json\", pool=POOL\)",
        ),
        (
            changed("regression", *FIRST_SPLIT, "split_type", value="OnlineCtr"),
            Reason.UNSUPPORTED_MODEL,
            "one_hot_max_size",
        ),
        (
            changed("regression", *LOSS, value="RMSEWithUncertainty"),
            Reason.UNSUPPORTED_MODEL,
            "the loss 'RMSEWithUncertainty', whose predictions are not known",
        ),
        (
            changed("regression", "features_info", "float_features", 1, value=None),
            Reason.UNSUPPORTED_MODEL,
            "neither numbers nor categories",
        ),
        (
            changed("targets", *LOSS, value="Logloss"),
            Reason.INVALID_MODEL,
            "2 values in a leaf, and the loss Logloss one",
        ),
        (
            changed("classes", "model_info", "class_params", "class_names", value=["a"]),
            Reason.INVALID_MODEL,
            "1 class_names for 3 classes",
        ),
        (
            changed("regression", "oblivious_trees", value=[]),
            Reason.INVALID_MODEL,
            "no trees",
        ),
        (
            changed("regression", *FIRST_SPLIT, value={}),
            Reason.INVALID_MODEL,
            "float_feature_index is missing",
        ),
        (
            # 2**40 leaves, which a file of some bytes only claims.
            changed(
                "regression",
                *("oblivious_trees", 0, "splits"),
                value=40 * [{"float_feature_index": 0, "border": 0}],
            ),
            Reason.INVALID_MODEL,
            "leaf_values has 4 values for 40 splits",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_is_not_read_is_refused_with_the_reason(content, reason, words):
    with pytest.raises(ExplainError, match=words) as refusal:
        read(content)

    assert refusal.value.reason is reason


def test_a_nested_tree_is_as_deep_as_the_limit_and_no_deeper():
    leaf = {"value": 1.0, "weight": 1}
    split = {"float_feature_index": 0, "border": 0.5}
    content = document("lossguide")

    def chain(levels: int) -> Any:
        tree: Any = leaf
        for _ in range(levels - 1):
            tree = {"split": split, "left": leaf, "right": tree}
        return content | {"trees": [tree]}

    limits = replace(DEFAULT_LIMITS, tree_depth=300)
    assert read_native(json.dumps(chain(300)).encode(), limits) is not None
    with pytest.raises(ExplainError, match="301 levels") as refusal:
        read_native(json.dumps(chain(301)).encode(), limits)
    assert refusal.value.reason is Reason.MODEL_TOO_COMPLEX


def test_the_same_bias_of_two_classes_changes_no_probability():
    rows, expected = answers(WHOLE / "two_of_many.json")
    content = changed("two_of_many", "scale_and_bias", value=[1, [1, 1]])

    model = load(json.dumps(content).encode())

    assert model.predict(feeds(model, rows)) == pytest.approx(expected, rel=1e-6, abs=3e-7)
