"""LightGBM's files: the predictions of models of several versions are those of LightGBM itself."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxplain_server.adapters.native import read_native
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model_limits import DEFAULT_LIMITS

FOLDER = Path(__file__).parents[2] / "models/native/lightgbm"
LINEAR = {"linear", "linear_json"}
FILES = sorted(file for file in FOLDER.glob("*/*") if file.stem not in LINEAR | {"answers"})
TABLES = {"filled": "filled", "codes": "codes", "codes_json": "codes"}
TWO_CLASSES = {"binary", "no_splits", "codes_json"}
"""Cases of which LightGBM gives the probability of the second class only."""


def feeds(model, table: Any) -> dict[str, np.ndarray]:
    if isinstance(table, list):
        return {model.inputs[0].name: np.array(table, dtype=np.float64)}
    columns = {name.replace(" ", "_"): values for name, values in table.items()}
    return {each.name: column(each.type, columns[each.name]) for each in model.inputs}


def column(kind: str, values: list[Any]) -> np.ndarray:
    if kind == "string":
        return np.array(["" if v is None else v for v in values], dtype=object).reshape(-1, 1)
    dtype = np.float64 if kind == "double" else np.float32
    return np.array(values, dtype=dtype).reshape(-1, 1)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_predictions_are_those_of_the_library(file):
    kept = json.loads((file.parent / "answers.json").read_text())
    is_frame = file.stem.startswith("frame")
    table = kept["frame" if is_frame else TABLES.get(file.stem, "rows")]
    expected = np.array(kept[f"{file.stem} predicts"])
    if file.stem in TWO_CLASSES | {"frame"}:
        expected = np.hstack([1 - expected, expected])

    model = load(file.read_bytes())

    predictions = model.predict(feeds(model, table))
    assert predictions.dtype == np.float64
    assert predictions == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("name", ["linear.txt", "linear_json.json"])
def test_linear_functions_in_leaves_are_refused(name):
    with pytest.raises(ExplainError, match="linear_tree") as refused:
        load((FOLDER / "4.6.0" / name).read_bytes())

    assert refused.value.reason is Reason.UNSUPPORTED_MODEL


def text(name: str = "codes") -> str:
    return (FOLDER / f"4.6.0/{name}.txt").read_text()


def dump(name: str = "huber") -> str:
    return (FOLDER / f"4.6.0/{name}.json").read_text()


def edited(content: str, pattern: str, replacement: str) -> str:
    changed, count = re.subn(pattern, replacement, content, count=1, flags=re.MULTILINE)
    assert count == 1
    return changed


BROKEN, OTHER = Reason.INVALID_MODEL, Reason.UNSUPPORTED_MODEL


@pytest.mark.parametrize(
    ("content", "pattern", "replacement", "reason", "words"),
    [
        (text(), r"^version=v4", "version=v9", OTHER, "format 'v9'"),
        (text(), r"^version=v4\n", "", OTHER, "format ''"),
        (text(), r"^objective=regression", "objective=best", OTHER, "objective 'best'"),
        (text(), r"^end of trees\n[\s\S]*", "", BROKEN, "ends before its trees do"),
        (text(), r"^tree_sizes=\d+", "tree_sizes=", BROKEN, "4 trees, and tree_sizes for 3"),
        (text(), r"^num_leaves=4", "num_leaves=5", BROKEN, "leaf_value of tree 0 has 4"),
        (text(), r"^num_leaves=4\n", "", BROKEN, "num_leaves of tree 0 is missing"),
        (text(), r"^left_child=\S+", "left_child=0", BROKEN, "tree 0, node 0, has a child"),
        (text(), r"^left_child=\S+", "left_child=3", BROKEN, "the child 3"),
        (text(), r"^split_feature=\d", "split_feature=4", BROKEN, "the feature 4"),
        (text(), r"^decision_type=\d+", "decision_type=64", BROKEN, "the decision type 64"),
        (text(), r"^leaf_value=\S+", "leaf_value=inf", BROKEN, "no finite number"),
        (text(), r"^leaf_value=\S+", "leaf_value=x", BROKEN, "leaf_value of tree 0 has"),
        (text(), r"^cat_boundaries=0 \d+", "cat_boundaries=0 9999", BROKEN, "cat_boundaries"),
        (text(), r"^cat_threshold=\d+", "cat_threshold=0", BROKEN, "has no categories"),
        (text(), r"^cat_threshold=\d+", "cat_threshold=4294967296", BROKEN, "more than 32 bits"),
        (text(), r"^feature_names=", "feature_names=more ", BROKEN, "5 feature_names for 4"),
        (text(), r"^num_tree_per_iteration=1", "num_tree_per_iteration=2", BROKEN, "2 trees"),
        (text(), r"^num_tree_per_iteration=1", "num_tree_per_iteration=3", BROKEN, "3 in each"),
        (text("binary"), r"sigmoid:2.5", "sigmoid:-1", BROKEN, "sigmoid '-1'"),
        (text("frame"), r"^pandas_categorical:\[", "pandas_categorical:[[]", BROKEN, "broken JSON"),
        (text("frame"), r'"blue"', '"red"', BROKEN, "not all different"),
        (text("frame"), r'"blue"', "1", OTHER, "neither all texts nor all numbers"),
        (text("frame"), r"2000.5", "2000.500001", OTHER, "float32"),
        (text("frame"), r'\["blue", [^\]]*\], ', "", OTHER, "2 lists of pandas"),
        (dump(), '"version": "v4"', '"version": "v1"', OTHER, "format 'v1'"),
        (dump(), '"split_feature": ', '"split_feature": 9', BROKEN, "the feature 9"),
        (dump(), '"threshold": [^,]+', '"threshold": "high"', BROKEN, "threshold is no number"),
        (dump(), '"missing_type": "NaN"', '"missing_type": "Null"', BROKEN, "missing_type is none"),
        (dump(), '"decision_type": "<="', '"decision_type": "<"', BROKEN, "neither '<=' nor '=='"),
        (dump(), '"default_left": true', '"default_left": 1', BROKEN, "neither true nor false"),
        (dump(), '"leaf_value": ', '"leaf": ', BROKEN, "leaf_value is missing"),
        (dump("codes_json"), r'"threshold": "\d+', '"threshold": "-1', BROKEN, "no list of codes"),
    ],
)
def test_broken_files_are_refused_by_what_is_wrong(content, pattern, replacement, reason, words):
    with pytest.raises(ExplainError, match=words) as refused:
        load(edited(content, pattern, replacement).encode())

    assert refused.value.reason is reason


def notes(content: str) -> tuple[str, ...]:
    native = read_native(content.encode(), DEFAULT_LIMITS)
    assert native is not None
    return native.notes


def test_what_a_file_does_not_tell_is_told():
    assert notes(text()) == ()
    assert ["no objective" in note for note in notes(text("custom"))] == [True]
    silent = edited(dump(), '"average_output": false, ', "")
    assert ["does not tell whether trees are averaged" in note for note in notes(silent)] == [True]
    (note,) = notes(text("frame"))
    assert note.endswith("as those of color ('blue', ...), size ('low', ...), year (2000.5, ...).")


def test_a_random_forest_averages_over_its_iterations():
    model = text("forest")
    row = {"features": np.zeros((1, 4))}

    (averaged,) = load(model.encode()).predict(row)
    (added,) = load(edited(model, "^average_output\n", "").encode()).predict(row)

    assert added == pytest.approx(3 * averaged)


def test_zeros_in_too_many_places_are_refused():
    """Each level asks for zeros of another feature, so copies double from level to level."""
    depth = 14
    inner = 2**depth - 1
    left = [2 * i + 1 if 2 * i + 1 < inner else -(2 * i + 2 - inner) for i in range(inner)]
    right = [2 * i + 2 if 2 * i + 2 < inner else -(2 * i + 3 - inner) for i in range(inner)]
    features = [(i + 1).bit_length() - 1 for i in range(inner)]
    lines = {
        "num_leaves": [inner + 1],
        "split_feature": features,
        "threshold": [-1] * inner,
        "decision_type": [6] * inner,
        "left_child": left,
        "right_child": right,
        "leaf_value": range(inner + 1),
    }
    body = "\n".join(f"{name}={' '.join(map(str, values))}" for name, values in lines.items())
    names, infos = (" ".join([word] * depth) for word in ("x", "none"))
    model = (
        f"tree\nversion=v4\nnum_tree_per_iteration=1\nmax_feature_idx={depth - 1}\n"
        f"objective=regression\nfeature_names={names}\nfeature_infos={infos}\n\n"
        f"Tree=0\n{body}\n\nend of trees\n"
    )

    with pytest.raises(ExplainError, match="zero_as_missing") as refused:
        load(model.encode())

    assert refused.value.reason is OTHER
