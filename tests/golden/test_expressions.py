"""Predictions and losses as expressions: the numbers of hstats with its functions of its user."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pytest
from onnx import TensorProto, helper

HERE = Path(__file__).parent / "expressions"
DOCUMENT = json.loads((HERE / "expected.json").read_text())
ROWS = np.genfromtxt(HERE / "data.csv", delimiter=",", names=True)
OUTPUTS = ("low", "high")
X1, X2, X3 = range(3)

# A leaf, or (feature, threshold, at most the threshold, above it). hstats.R has the same trees.
TREES = [
    ("low", (X1, 0.505, 0.0, 1.0)),
    ("low", (X2, 0.305, 0.5, (X1, 0.205, 0.25, -0.75))),
    ("high", (X3, 0.605, 0.25, (X2, 0.505, 0.0, 1.0))),
    ("high", (X1, 0.405, -0.25, 0.5)),
]


def regressor(output: str) -> Any:
    """The trees of one output as a node of ONNX."""
    nodes: dict[str, Any] = {
        name: []
        for name in (
            *("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_modes"),
            *("nodes_truenodeids", "nodes_falsenodeids"),
            *("target_treeids", "target_nodeids", "target_weights", "target_ids"),
        )
    }

    def add(names: list[str], *values: Any) -> None:
        for name, value in zip(names, values, strict=True):
            nodes[name].append(value)

    def grow(tree: int, part: Any) -> int:
        number, place = int(nodes["nodes_treeids"].count(tree)), len(nodes["nodes_treeids"])
        if isinstance(part, float):
            add(list(nodes)[:7], tree, number, 0, 0.0, "LEAF", 0, 0)
            add(list(nodes)[7:], tree, number, part, 0)
            return number
        add(list(nodes)[:7], tree, number, part[0], part[1], "BRANCH_LEQ", 0, 0)
        nodes["nodes_truenodeids"][place] = grow(tree, part[2])
        nodes["nodes_falsenodeids"][place] = grow(tree, part[3])
        return number

    for tree, root in enumerate(root for name, root in TREES if name == output):
        grow(tree, root)
    domain, kind = "ai.onnx.ml", "TreeEnsembleRegressor"
    return helper.make_node(kind, ["x"], [output], domain=domain, n_targets=1, **nodes)


def ensemble() -> bytes:
    rows = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 3])
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None, 1]) for n in OUTPUTS]
    graph = helper.make_graph([regressor(name) for name in OUTPUTS], "trees", [rows], outputs)
    domains = [helper.make_opsetid("", 11), helper.make_opsetid("ai.onnx.ml", 1)]
    model = helper.make_model(graph, opset_imports=domains, ir_version=8)
    return bytes(model.SerializeToString())


@pytest.fixture(scope="module")
def ask() -> Iterator[Callable[..., onnxplain.Explanations]]:
    model = ensemble()
    with onnxplain.local() as client:
        yield lambda *methods, **request: client.explain(
            model,
            {name: ROWS[name] for name in ROWS.dtype.names or ()},
            *methods,
            feature_columns=["x1", "x2", "x3"],
            target_column="y",
            plots=False,
            **request,
        )


ENGINES = {
    "exp(low)": "TREES",
    "2 * exp(high) - expm1(low / 2)": "TREES",
    "high - low": "TREES",
    "log(high + 2)": "BLACK_BOX",
    "clip(low, 0, 1)": "BLACK_BOX",
}


@pytest.mark.parametrize("engine", [None, "BLACK_BOX"])
@pytest.mark.parametrize("case", DOCUMENT["cases"])
def test_the_numbers_are_those_of_hstats(ask, case, engine) -> None:
    text, losses = case["prediction"], DOCUMENT["losses"]
    request = {"prediction": text, "engine": engine, "weight_column": case["weight_column"]}
    effects = ask(
        onnxplain.Interactions(pairwise_feature_count=3),
        onnxplain.PartialDependence(features=["x1"], grids=[[0.1, 0.3, 0.45, 0.9]]),
        **request,
    )
    averages = [ask(onnxplain.AverageLoss(loss_expression=loss), **request) for loss in losses]

    found = effects.interactions
    assert found.total.values == pytest.approx(case["h2"], rel=1e-6, abs=1e-9)
    assert [one.numerators[0] for one in found.overall] == pytest.approx(
        case["overall_numerators"], rel=1e-6, abs=1e-9
    )
    pairs = {one.features: one for one in found.pairwise}
    for i, pair in enumerate([("x1", "x2"), ("x1", "x3"), ("x2", "x3")]):
        if pair in pairs:
            assert pairs[pair].numerators[0] == pytest.approx(
                case["pairwise_numerators"][i], rel=1e-6, abs=1e-9
            )
        else:  # hstats pads pairs that it does not pick
            assert case["pairwise_numerators"][i] == 0
    assert effects.partial_dependence.curves[0].values[:, 0] == pytest.approx(
        case["x1"], rel=1e-6, abs=1e-9
    )
    averaged = [answer.average_loss.losses[0].values[0] for answer in averages]
    assert averaged == pytest.approx(case["losses"], rel=1e-6, abs=1e-9)
    assert effects.receipt.engine == (engine or ENGINES[text])
    assert effects.receipt.prediction == (text,)
