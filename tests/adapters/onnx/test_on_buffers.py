"""Calls on fixed buffers: the bits of plain calls, whatever the rows are at each call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.errors import ExplainError, Reason

MODELS = sorted(path.stem for path in (Path(__file__).parents[2] / "models").glob("*.onnx"))
ENDS = [(0, 4), (0, 4), (0, 4), (2, 9), (2, 9), (3, 6), (0, 4), (0, 12)]
KINDS = [
    *(TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BOOL),
    *(TensorProto.INT64, TensorProto.INT32, TensorProto.INT16, TensorProto.INT8),
    *(TensorProto.UINT64, TensorProto.UINT32, TensorProto.UINT16, TensorProto.UINT8),
]
X = np.arange(24, dtype=np.float32).reshape(8, 3)


def assert_equals_plain_calls(model, feeds) -> None:
    """Call on different rows, each time with other values in the buffers."""
    count = len(next(iter(feeds.values())))
    buffers = {name: np.ascontiguousarray(rows[:count]) for name, rows in feeds.items()}
    on_buffers = model.on_buffers(buffers)
    for turn, ends in enumerate(ENDS):
        rows = slice(*ends)
        for name, buffer in buffers.items():
            buffer[:] = np.roll(feeds[name], turn, axis=0)
        expected = model.predict({name: buffer[rows].copy() for name, buffer in buffers.items()})
        answer = on_buffers(rows)
        assert (answer.dtype, answer.shape) == (expected.dtype, expected.shape)
        assert answer.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", MODELS)
def test_calls_on_buffers_equal_plain_calls(cases, name) -> None:
    model = load(cases[name].content)

    assert_equals_plain_calls(model, cases[name].feeds(model.inputs))


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_of_each_type_are_read_as_they_are(build, kind) -> None:
    content = build(
        [build.node("Cast", "X", "y", to=TensorProto.FLOAT)],
        inputs=[build.input("X", [None, 2], kind)],
    ).SerializeToString()
    rows = (np.arange(24).reshape(12, 2) % 5 % 3).astype(build.dtype(kind))

    assert_equals_plain_calls(load(content), {"X": rows})


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16])
@pytest.mark.parametrize("op_type", ["Identity", "Neg", "Flatten"])
def test_outputs_of_each_type_are_right_even_if_they_are_the_input(build, kind, op_type) -> None:
    content = build(
        [build.node(op_type, "X", "y")], {"y": kind}, inputs=[build.input("X", [None, 2], kind)]
    ).SerializeToString()
    rows = np.arange(24).reshape(12, 2).astype(build.dtype(kind))

    assert_equals_plain_calls(load(content), {"X": rows})


@pytest.mark.parametrize("shape", [[None], [1], [1, 1], [5, 1]])
def test_several_columns_and_outputs_of_a_declared_batch_size(build, shape) -> None:
    content = build(
        [build.node("Add", "a b", "y"), build.node("Sub", "a b", "z")],
        {"y": None, "z": None},
        inputs=[build.input("a", shape), build.input("b", shape)],
    ).SerializeToString()
    a, b = (np.random.default_rng(seed).normal(size=(12, 1)).astype(np.float32) for seed in (1, 2))

    assert_equals_plain_calls(load(content), {"a": a, "b": b})


def test_calls_write_their_answer_to_the_same_place(cases) -> None:
    """Which spares the copies that a plain call makes."""
    model = load(cases["network_float"].content)
    buffers = cases["network_float"].feeds(model.inputs)
    on_buffers = model.on_buffers(buffers)
    rows = slice(0, 4)
    on_buffers(rows)

    first, second = on_buffers(rows), on_buffers(rows)

    assert np.shares_memory(first, second)


def dropping(build) -> bytes:
    """A model that leaves out rows whose first value is very large, unlike all trial rows."""
    content: bytes = build(
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
    return content


def test_rows_that_a_model_drops_are_missed_between_good_calls(build) -> None:
    buffer = X.copy()
    on_buffers = load(dropping(build)).on_buffers({"X": buffer})
    for _ in range(3):
        assert on_buffers(slice(0, 8)).tobytes() == X.tobytes()

    buffer[2, 0] = 1e10
    with pytest.raises(ExplainError, match=r"shape \(7, 3\) instead of \(8, 3\)") as failed:
        on_buffers(slice(0, 8))
    buffer[2, 0] = X[2, 0]

    assert failed.value.reason is Reason.PREDICTION_FAILED
    assert on_buffers(slice(0, 8)).tobytes() == X.tobytes()


def test_values_that_a_model_refuses_are_told_as_by_plain_calls(build) -> None:
    content = build(
        [build.node("Gather", "table X", "rows"), build.node("Reshape", "rows shape", "y")],
        inputs=[build.input("X", [None, 1], TensorProto.INT64)],
        table=np.array([1.5, 2.5], np.float32),
        shape=np.array([-1, 1]),
    ).SerializeToString()
    model, buffer = load(content), np.array([[0], [1], [0]])
    on_buffers = model.on_buffers({"X": buffer})
    for _ in range(2):
        assert on_buffers(slice(0, 3)).tolist() == [[1.5], [2.5], [1.5]]

    buffer[1] = 7
    with pytest.raises(ExplainError) as plain:
        model.predict({"X": buffer})
    with pytest.raises(ExplainError) as bound:
        on_buffers(slice(0, 3))

    assert bound.value.reason is Reason.PREDICTION_FAILED
    assert bound.value.message == plain.value.message


def test_threads_with_buffers_of_their_own_do_not_disturb_each_other(cases) -> None:
    case = cases["lightgbm_3class"]
    model = load(case.content)
    matrix = np.ascontiguousarray(case.feeds(model.inputs)["X"])
    count = len(matrix) // 4
    parts = [matrix[k * count : (k + 1) * count].copy() for k in range(4)]

    def answers(part) -> set[bytes]:
        on_buffers = model.on_buffers({"X": part})
        return {on_buffers(slice(0, count)).tobytes() for _ in range(200)}

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(answers, parts))

    assert found == [{model.predict({"X": part}).tobytes()} for part in parts]
