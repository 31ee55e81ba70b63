"""Precision of models: the float types that they compute in, read from their graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxplain_server.adapters.onnx import load

MODELS = Path(__file__).parents[3] / "models"
DOUBLE, FLOAT, HALF = TensorProto.DOUBLE, TensorProto.FLOAT, TensorProto.FLOAT16


def model(nodes, taken: int, given: int, **constants) -> bytes:
    """A graph from x, (n, 2), to y."""
    graph = helper.make_graph(
        nodes,
        "one",
        [helper.make_tensor_value_info("x", taken, ["n", 2])],
        [helper.make_tensor_value_info("y", given, ["n", None])],
        [numpy_helper.from_array(np.array(v), name) for name, v in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(made.SerializeToString())


def cast(taken: str, given: str, to: int):
    return helper.make_node("Cast", [taken], [given], to=to)


def product(taken: str, given: str):
    return helper.make_node("ReduceProd", [taken], [given], axes=[1])


CASES = [
    pytest.param([product("x", "y")], DOUBLE, DOUBLE, 2.0**-53, id="float64"),
    pytest.param([product("x", "y")], FLOAT, FLOAT, 2.0**-24, id="float32"),
    pytest.param(
        [cast("x", "d", DOUBLE), product("d", "y")], FLOAT, DOUBLE, 2.0**-53, id="float32 taken"
    ),
    pytest.param(
        [cast("x", "f", FLOAT), cast("f", "d", DOUBLE), product("d", "y")],
        DOUBLE,
        DOUBLE,
        2.0**-53,
        id="features rounded one by one",
    ),
    pytest.param(
        [product("x", "f"), cast("f", "d", DOUBLE), helper.make_node("Add", ["d", "b"], ["y"])],
        FLOAT,
        DOUBLE,
        2.0**-24,
        id="float32 inside",
    ),
    pytest.param(
        [product("x", "d"), cast("d", "y", FLOAT)], DOUBLE, FLOAT, 2.0**-24, id="float32 given"
    ),
    pytest.param(
        [cast("x", "h", HALF), product("h", "p"), cast("p", "y", FLOAT)],
        FLOAT,
        FLOAT,
        2.0**-11,
        id="half inside",
    ),
    pytest.param(
        [product("x", "f"), helper.make_node("Greater", ["f", "t"], ["g"]), cast("g", "y", DOUBLE)],
        FLOAT,
        DOUBLE,
        2.0**-53,
        id="a decision is not rounded",
    ),
]


@pytest.mark.parametrize(("nodes", "taken", "given", "expected"), CASES)
def test_the_coarsest_type_on_the_way_counts(
    nodes, taken: int, given: int, expected: float
) -> None:
    content = model(nodes, taken, given, b=np.float64(1e5), t=np.float32(0))

    assert load(content).roundings.tolist() == [expected]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("network_double", 2.0**-53),
        ("sklearn_logistic_3class_double", 2.0**-53),
        ("network_float", 2.0**-24),
        ("xgboost_regressor", 2.0**-24),
        ("lightgbm_3class_zipmap", 2.0**-24),
        ("sklearn_linear_svc_labels_only", 0),
    ],
)
def test_exported_models(name: str, expected: float) -> None:
    loaded = load((MODELS / f"{name}.onnx").read_bytes())

    assert loaded.roundings.tolist() == [expected] * len(loaded.output_names)
