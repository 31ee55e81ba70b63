"""Batch sizes: models declared for a number of rows, or unable to take several at once."""

from itertools import pairwise

import numpy as np
import pytest
from onnx import TensorProto
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.errors import ExplainError, Reason

X = np.arange(21, dtype=np.float32).reshape(7, 3)
WEIGHT = np.array([[1.0], [2.0], [-1.0]], np.float32)


def codes(model):
    return [note.code for note in model.notes]


@pytest.mark.parametrize("rows", [1, 4, "rows", None])
def test_a_declared_number_of_rows_does_not_limit_the_answer(build, rows) -> None:
    content = build(
        [build.node("MatMul", "X w", "y")], inputs=[build.input("X", [rows, 3])], w=WEIGHT
    ).SerializeToString()

    model = load(content)

    assert model.predict({"X": X}).tolist() == (X @ WEIGHT).tolist()
    assert codes(model) == []


@pytest.mark.parametrize("rows", [1, 3, 5])
def test_a_number_of_rows_that_is_pinned_inside_is_kept_call_by_call(build, rows) -> None:
    content = build(
        [build.node("MatMul", "X w", "column"), build.node("Reshape", "column pinned", "y")],
        inputs=[build.input("X", [rows, 3])],
        w=WEIGHT,
        pinned=np.array([rows, 1]),
    ).SerializeToString()

    model = load(content)

    (note,) = model.notes
    assert note.code == "ROW_BY_ROW"
    assert ("on its own" in note.message) == (rows == 1)
    assert (f"takes {rows} rows at once" in note.message) == (rows > 1)
    assert model.predict({"X": X}).tolist() == (X @ WEIGHT).tolist()
    assert model.predict({"X": X[:1]}).tolist() == (X[:1] @ WEIGHT).tolist()


def test_a_number_of_rows_that_is_pinned_without_being_declared_is_found(build) -> None:
    content = build(
        [build.node("MatMul", "X w", "column"), build.node("Reshape", "column pinned", "y")],
        w=WEIGHT,
        pinned=np.array([1, 1]),
    ).SerializeToString()

    model = load(content)

    assert codes(model) == ["ROW_BY_ROW"]
    assert model.predict({"X": X}).tolist() == (X @ WEIGHT).tolist()


def test_rows_that_would_influence_each_other_are_evaluated_alone(build) -> None:
    """The answer subtracts the mean over the rows of the call: alone, that is the row itself."""
    content = build(
        [build.node("ReduceMean", "X", "mean", axes=[0]), build.node("Sub", "X mean", "y")]
    ).SerializeToString()

    model = load(content)

    assert codes(model) == ["ROW_BY_ROW", "INCONSISTENT_MODEL"]
    assert not model.predict({"X": X}).any()


def test_columns_of_one_row_each_are_freed_too(build) -> None:
    content = build(
        [build.node("Add", "a b", "y")],
        inputs=[build.input("a", [1, 1]), build.input("b", [1, 1], TensorProto.FLOAT)],
    ).SerializeToString()

    model = load(content)

    assert codes(model) == []
    a, b = X[:, :1], X[:, 1:2]
    assert model.predict({"a": a, "b": b}).tolist() == (a + b).tolist()


def test_an_answer_with_another_number_of_rows_is_refused(build) -> None:
    content = build(
        [build.node("ReduceSum", "X axis", "y", keepdims=0)], axis=np.array([0])
    ).SerializeToString()

    with pytest.raises(ExplainError) as failed:
        load(content)
    assert failed.value.reason is Reason.UNSUPPORTED_MODEL
    assert "for 1 rows it gives an answer of shape (3,)" in failed.value.message


def test_an_answer_that_is_the_same_for_all_rows_is_given_for_each(build) -> None:
    content = build(
        [build.node("ReduceSum", "X", "sum"), build.node("Mul", "sum nothing", "y")],
        nothing=np.zeros((1, 1), np.float32),
    ).SerializeToString()

    assert load(content).predict({"X": X}).tolist() == [[0.0]] * 7


def test_shapes_declared_inside_do_not_pin_the_number_of_rows(build) -> None:
    names = ["X", "a", "b", "c", "d", "e", "y"]
    model = build(
        [build.node("Softplus", *pair) for pair in pairwise(names)],
        inputs=[build.input("X", [1, 3])],
    )
    model.graph.value_info.extend(build.input(name, [1, 3]) for name in names[1:-1])

    loaded = load(model.SerializeToString())

    assert codes(loaded) == []
    assert loaded.predict({"X": X}).shape == X.shape


def test_rows_that_a_model_drops_are_missed(build) -> None:
    """It leaves out rows whose first value is very large, which trial rows do not show."""
    content = build(
        [
            build.node("Slice", "X zero one one", "first"),
            build.node("Less", "first limit", "kept"),
            build.node("Reshape", "kept flat", "mask"),
            build.node("Compress", "X mask", "y", axis=0),
        ],
        zero=np.array([0]),
        one=np.array([1]),
        flat=np.array([-1]),
        limit=np.array([1e9], np.float32),
    ).SerializeToString()
    model = load(content)

    assert model.predict({"X": X}).tolist() == X.tolist()
    with pytest.raises(ExplainError, match=r"shape \(6, 3\) instead of \(7, 3\)") as failed:
        model.predict({"X": np.where(X == 0, np.float32(1e10), X)})
    assert failed.value.reason is Reason.PREDICTION_FAILED
