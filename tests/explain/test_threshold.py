"""Interactions beside a large number that all predictions contain: told, or told to be hidden."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, MethodOptions
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Column, Columns, Table
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    made = InProcess(2)
    yield made
    made.close()


def graph(nodes, kind: int, **constants) -> bytes:
    made = helper.make_model(
        helper.make_graph(
            nodes,
            "one",
            [helper.make_tensor_value_info("x", kind, ["n", 2])],
            [helper.make_tensor_value_info("y", kind, ["n", 1])],
            [numpy_helper.from_array(np.array(v), name) for name, v in constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)],
        ir_version=8,
    )
    return bytes(made.SerializeToString())


def product(base: float) -> bytes:
    """The model base + 0.01 x0 x1, in float64."""
    nodes = [
        helper.make_node("ReduceProd", ["x"], ["p"], axes=[1]),
        helper.make_node("Mul", ["p", "s"], ["q"]),
        helper.make_node("Add", ["q", "b"], ["y"]),
    ]
    return graph(nodes, TensorProto.DOUBLE, s=np.float64(0.01), b=np.float64(base))


def tree(base: float, *, in_leaves: bool) -> bytes:
    """One tree: 1 where both features are above 0, plus x0 above 0; all on top of a base."""
    leaves = [0.0, 0.0, 1.0, 2.0]
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=[0] * 7,
        nodes_nodeids=list(range(7)),
        nodes_featureids=[0, 1, 1, 0, 0, 0, 0],
        nodes_modes=["BRANCH_LEQ"] * 3 + ["LEAF"] * 4,
        nodes_values=[0.0] * 7,
        nodes_truenodeids=[1, 3, 5, 0, 0, 0, 0],
        nodes_falsenodeids=[2, 4, 6, 0, 0, 0, 0],
        target_treeids=[0] * 4,
        target_nodeids=[3, 4, 5, 6],
        target_ids=[0] * 4,
        target_weights=[leaf + base * in_leaves for leaf in leaves],
        base_values=[0.0 if in_leaves else base],
    )
    return graph([node], TensorProto.FLOAT)


def ask(runner: InProcess, make, model: bytes, rows, engine: str = "TREES"):
    columns = [Column(name=f"x{j}", numbers=column) for j, column in enumerate(rows.T)]
    request = ExplainRequest(
        model=Model(content=model),
        table=Table(columns=Columns(columns=columns)),
        methods=[MethodOptions(interactions=InteractionsOptions())],
        engine=engine,
    )
    answer = ExplainResponse.FromString(
        runner.answer(Call(ServiceMethod.EXPLAIN, request.SerializeToString()), make.host()).content
    )
    warnings: list[Any] = list(answer.warnings)
    codes = [warning.code for warning in warnings]
    return answer.explanations[0].interactions, "BELOW_THRESHOLD" in codes


SQUARE = np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])


def test_a_float64_model_loses_nothing_to_a_large_base(runner: InProcess, make) -> None:
    """By another way: H² of the model without its base, by its definition."""
    rows = np.random.default_rng(0).normal(0.3, 1, (200, 2))
    a, b = rows.T
    f = a * b - (a * b).mean()
    parts = a * b.mean() + b * a.mean()
    expected = ((f - parts + parts.mean()) ** 2).mean() / (f**2).mean()

    found, is_warned = ask(runner, make, product(1e5), rows, "BLACK_BOX")

    assert found.total.values == pytest.approx([expected], rel=1e-6)
    assert found.pairwise[0].numerators[0] > 0
    assert not is_warned


@pytest.mark.parametrize("in_leaves", [False, True])
@pytest.mark.parametrize("base", [0.0, 2.0**23, -(2.0**23)])
def test_the_trees_engine_loses_nothing_to_a_large_base(
    runner: InProcess, make, base: float, in_leaves: bool
) -> None:
    """By hand: 0, 0, 1, 2 on the square; the interaction is ±1/4, and 1/16 of 11/16."""
    found, is_warned = ask(runner, make, tree(base, in_leaves=in_leaves), SQUARE)

    assert found.total.numerators == pytest.approx([1 / 16])
    assert found.total.values == pytest.approx([1 / 11])
    assert found.pairwise[0].numerators == pytest.approx([1 / 16])
    assert not is_warned


def test_a_float32_model_that_loses_an_interaction_to_its_base_says_so(
    runner: InProcess, make
) -> None:
    """Near 2^23, float32 numbers are 1 apart: an effect of 1/4 may as well be rounding."""
    model = tree(2.0**23, in_leaves=False)

    found, is_warned = ask(runner, make, model, SQUARE, "BLACK_BOX")
    small, is_warned_of_small = ask(runner, make, tree(8.0, in_leaves=False), SQUARE, "BLACK_BOX")

    assert found.total.values == [0]
    assert is_warned
    assert small.total.values == pytest.approx([1 / 11])
    assert not is_warned_of_small


def stumps(base: float) -> bytes:
    """A tree that is the base everywhere, and two of one split each, which add up."""
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=[0] * 3 + [1] * 3 + [2] * 3,
        nodes_nodeids=[0, 1, 2] * 3,
        nodes_featureids=[0, 0, 0, 0, 0, 0, 1, 0, 0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * 3,
        nodes_values=[0.0] * 9,
        nodes_truenodeids=[1, 0, 0] * 3,
        nodes_falsenodeids=[2, 0, 0] * 3,
        target_treeids=[0, 0, 1, 1, 2, 2],
        target_nodeids=[1, 2] * 3,
        target_ids=[0] * 6,
        target_weights=[base, base, 0.1, 0.7, 0.3, 0.05],
    )
    return graph([node], TensorProto.FLOAT)


def test_sums_of_trees_that_add_up_have_exactly_no_interaction(runner: InProcess, make) -> None:
    """Near 2^42, float64 numbers are 2^-10 apart: that much of the stumps is rounding."""
    rows = np.random.default_rng(1).normal(size=(300, 2))

    found, _ = ask(runner, make, stumps(2.0**42), rows)

    assert found.total.values == [0]
    assert [statistic.values[0] for statistic in found.overall] == [0, 0]
