"""Work of a model for a row, counted in its graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import skl2onnx
from onnx import TensorProto, helper, numpy_helper
from onnxplain_server.adapters.onnx import load
from onnxplain_server.adapters.onnx.analysis.row_work import row_seconds
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.neighbors import KNeighborsRegressor

MODELS = Path(__file__).parents[3] / "models"


def graph_of(nodes, weights, width=8, shape=("n",)) -> onnx.ModelProto:
    tensors = [numpy_helper.from_array(np.zeros(s, np.float32), name) for name, s in weights]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [*shape, width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        tensors,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def seconds(*args, is_batched=True, **kwargs) -> float:
    return row_seconds(graph_of(*args, **kwargs), is_batched=is_batched)


def dense(width: int, **attributes) -> float:
    shape = (width, 8) if attributes else (8, width)
    op = "Gemm" if attributes else "MatMul"
    return seconds([helper.make_node(op, ["x", "w"], ["y"], **attributes)], [("w", shape)])


def test_work_grows_with_the_products_of_a_matrix_however_it_is_stored() -> None:
    assert dense(100_000) > 50 * dense(1_000) > 50 * dense(10)
    assert dense(1_000) == pytest.approx(dense(1_000, transB=1), rel=0.1)


def test_a_matrix_product_of_many_positions_counts_each() -> None:
    node = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    one, many = (seconds(node, [("w", (8, 500))], shape=("n", length)) for length in (1, 1_000))

    assert many > 200 * one


def test_a_convolution_counts_each_place_of_its_output() -> None:
    node = [helper.make_node("Conv", ["x", "w"], ["y"])]
    small, large = (
        seconds(node, [("w", (4, 1, 3, 3))], shape=("n", 1, width), width=width)
        for width in (8, 200)
    )

    assert large > 20 * small


def test_many_small_nodes_and_loops_count_too() -> None:
    chain = [helper.make_node("Neg", [f"{i or 'x'}"], [str(i + 1)]) for i in range(1_000)]
    chain.append(helper.make_node("Neg", ["1000"], ["y"]))
    [single] = [helper.make_node("Neg", ["x"], ["y"])]

    assert seconds(chain, []) > 10 * seconds([single], [])


@pytest.mark.parametrize(
    "name", ["lightgbm_regressor", "sklearn_gradient_boosting", "catboost_binary"]
)
def test_trees_take_steps_and_so_does_a_model_without_batches(name) -> None:
    content = (MODELS / f"{name}.onnx").read_bytes()
    model = onnx.load_from_string(content)

    whole, alone = (row_seconds(model, is_batched=is_batched) for is_batched in (True, False))
    assert 0.6e-6 < whole < 3e-6
    assert alone > 10e-6
    assert load(content).row_seconds == pytest.approx(whole, rel=0.1)


@pytest.mark.parametrize(
    "estimator", [KNeighborsRegressor(), GaussianProcessRegressor(optimizer=None, alpha=0.1)]
)
def test_work_of_kernels_and_neighbours_grows_with_their_training_rows(estimator) -> None:
    """A `Scan` over the training rows, and element by element what is divided by their scales."""
    few, many = (converted(estimator, count) for count in (200, 2_000))

    assert 8 * few < many < 12 * few


def converted(estimator, count: int) -> float:
    values = np.random.default_rng(0).normal(size=(count, 4)).astype(np.float32)
    fitted = estimator.fit(values, values.sum(axis=1))
    return row_seconds(skl2onnx.to_onnx(fitted, values[:1]), is_batched=True)


@pytest.mark.parametrize(("op", "most"), [("Add", 12), ("Gather", 1.01)])
def test_constants_that_nothing_is_multiplied_by_make_no_products(op, most) -> None:
    """Ten times as many are ten times as much to add, and no more to look up."""
    inputs = ["w", "x"] if op == "Gather" else ["x", "w"]
    node = [helper.make_node(op, inputs, ["y"])]
    few, many = (seconds(node, [("w", (count, 8))]) for count in (1_000, 10_000))
    assert many < most * few


def test_a_scan_over_the_rows_is_one_round_for_each() -> None:
    body = helper.make_graph(
        [helper.make_node("Neg", ["each"], ["negated"])],
        "body",
        [helper.make_tensor_value_info("each", TensorProto.FLOAT, [1_000])],
        [helper.make_tensor_value_info("negated", TensorProto.FLOAT, [1_000])],
    )
    scan = helper.make_node("Scan", ["x"], ["y"], body=body, num_scan_inputs=1)
    plain = seconds([helper.make_node("Neg", ["x"], ["y"])], [], width=1_000)

    assert 1.5 * plain < seconds([scan], [], width=1_000) < 3 * plain
