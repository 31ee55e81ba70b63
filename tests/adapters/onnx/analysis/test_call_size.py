"""Size of calls: no bit of a prediction depends on it, but for operators that are told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto
from onnxplain_server.adapters.onnx import load
from onnxplain_server.effects.batch_size import BatchSize, next_call

from tests.adapters.onnx.test_on_buffers import MODELS

RANDOM = np.random.default_rng(0)
ELEMENTWISE = ["Exp", "Log", "Sin", "Softplus", "Tanh", "Sigmoid", "Erf", "Softmax", "Sqrt", "Pow"]
REDUCING = ["ReduceSum", "ReduceMean", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"]
SIZES = st.integers(16, BatchSize.LARGEST)
ROWS = 3000


def in_calls(model, feeds, size: int):
    """Predict rows in calls as the predictor makes them, and return the bits."""
    n, start, parts = len(next(iter(feeds.values()))), 0, []
    while start < n:
        rows = next_call(start, n, size)
        parts.append(model.predict({name: values[rows] for name, values in feeds.items()}))
        start = rows.stop
    return np.concatenate(parts).tobytes()


def assert_size_changes_nothing(model, feeds, size: int) -> None:
    assert in_calls(model, feeds, size) == in_calls(model, feeds, 1024)


def feeds_of(cases, model, name: str):
    """Repeat the rows of an exported model, in another order each time."""
    feeds = cases[name].feeds(model.inputs)
    count = len(next(iter(feeds.values())))
    order = RANDOM.integers(0, count, ROWS)
    return {key: values[order] for key, values in feeds.items()}


@pytest.mark.parametrize("name", MODELS)
def test_an_exported_model_predicts_the_same_bits_or_is_told_apart(cases, name: str) -> None:
    model = load(cases[name].content)
    feeds = feeds_of(cases, model, name)

    if not model.size_dependent_operators:
        for size in (16, 48, 176, 2048, 16_384):
            assert_size_changes_nothing(model, feeds, size)


def test_few_exported_models_depend_on_the_size_of_calls(cases) -> None:
    told = {name: load(cases[name].content).size_dependent_operators for name in MODELS}

    assert {name: operators for name, operators in told.items() if operators} == {
        "sklearn_bagged_votes": ("Sum",),
        "sklearn_logistic_3class": ("ai.onnx.ml:LinearClassifier",),
        "sklearn_votes_of_columns": ("Sum",),
    }


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.DOUBLE])
@pytest.mark.parametrize("op_type", [*ELEMENTWISE, *REDUCING, "MatMul", "Gemm"])
@given(width=st.integers(1, 40), size=SIZES, rows=st.integers(1, ROWS))
def test_an_operator_rounds_each_row_alike(build, op_type, kind, width, size, rows) -> None:
    if op_type in {"Erf", "Softplus"} and kind == TensorProto.DOUBLE:
        return  # the runtime has none
    dtype = build.dtype(kind)
    constants = {
        "Pow": [np.array([1.7], dtype)],
        "ReduceSum": [np.array([1])],
        "MatMul": [RANDOM.normal(size=(width, 7)).astype(dtype)],
        "Gemm": [RANDOM.normal(size=(width, 7)).astype(dtype)],
    }.get(op_type, [])
    attributes = {"axes": [1]} if op_type in REDUCING and op_type != "ReduceSum" else {}
    names = [f"c{i}" for i in range(len(constants))]
    model = load(
        build(
            [build.node(op_type, " ".join(["X", *names]), "y", **attributes)],
            {"y": kind},
            inputs=[build.input("X", [None, width], kind)],
            **dict(zip(names, constants, strict=True)),
        ).SerializeToString()
    )
    feeds = {"X": np.abs(RANDOM.normal(size=(rows, width))).astype(dtype)}

    assert not model.size_dependent_operators
    assert_size_changes_nothing(model, feeds, size)


def test_unknown_operators_are_told_once(build) -> None:
    nodes = [
        build.node("Sinh", "X", "s"),
        build.node("Sinh", "s", "t"),
        build.node("MatMul", "X t", "y"),
    ]
    model = load(build(nodes, inputs=[build.input("X", [None, 1])]).SerializeToString())

    assert model.size_dependent_operators == ("MatMul", "Sinh")


def test_operators_on_constants_alone_do_not_count(build) -> None:
    nodes = [build.node("Sinh", "c", "s"), build.node("Add", "X s", "y")]
    content = build(nodes, inputs=[build.input("X", [None, 1])], c=np.ones(1, np.float32))

    assert load(content.SerializeToString()).size_dependent_operators == ()
