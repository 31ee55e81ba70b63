"""Two models of which one has a known change, on ten tables: it is found, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnxplain
import pytest
from onnx import TensorProto, helper
from onnxplain.v1.explanation_comparison_pb2 import ExplanationComparison, ReplicatedStatistic

N = 250
NAMES = ("a", "b", "c", "leak")
BEFORE = {"a": 1.0, "c": 1.0, "leak": 0.0, "ab": 0.5}
METHODS = onnxplain.Interactions(), onnxplain.PartialDependence(features=[*NAMES], grid_size=5)


@pytest.fixture(scope="module")
def client() -> Iterator[onnxplain.Client]:
    with onnxplain.local() as client:
        yield client


def model(a: float, c: float, leak: float, ab: float) -> bytes:
    """The model a + c + leak + a b, each with its coefficient."""
    constants = {"ka": a, "kc": c, "kleak": leak, "kab": ab}
    nodes = [
        helper.make_node("Mul", ["a", "b"], ["ab"]),
        *(helper.make_node("Mul", [n, f"k{n}"], [f"t{n}"]) for n in ("a", "c", "leak", "ab")),
        helper.make_node("Sum", ["ta", "tc", "tleak", "tab"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "known",
        [helper.make_tensor_value_info(n, TensorProto.DOUBLE, ["n", 1]) for n in NAMES],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, ["n", 1])],
        [helper.make_tensor(n, TensorProto.DOUBLE, [1, 1], [v]) for n, v in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(made.SerializeToString())


def changed(comparison: Any) -> set[tuple[str, str]]:
    """Mean squares and curves that have changed: shares change with all others."""
    names = ReplicatedStatistic.Kind.Name
    found = {
        (names(each.kind), "".join(each.features))
        for each in (*comparison.differences, *comparison.curves)
        if each.verdict == ExplanationComparison.CHANGED
    }
    return {
        (kind, name) for kind, name in found if kind.endswith("_SQUARE") or kind.startswith("PART")
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            {"c": 0.6},
            {("IMPORTANCE_SQUARE", "c"), ("PARTIAL_DEPENDENCE", "c")},
            id="a coefficient",
        ),
        pytest.param(
            {"ab": 0.0},
            {
                ("TOTAL_INTERACTION_SQUARE", ""),
                *(("OVERALL_INTERACTION_SQUARE", name) for name in "ab"),
                ("PAIRWISE_INTERACTION_SQUARE", "ab"),
                ("IMPORTANCE_SQUARE", "b"),
            },
            id="a dropped interaction",
        ),
        pytest.param(
            {"leak": 0.8},
            {("IMPORTANCE_SQUARE", "leak"), ("PARTIAL_DEPENDENCE", "leak")},
            id="a leak",
        ),
    ],
)
def test_the_change_is_found_and_nothing_else(client, seed, change, expected) -> None:
    """A mean of b that is not 0 makes a dropped interaction a change of a's effect too."""
    random = np.random.default_rng(seed)
    rows = {name: random.normal(size=N) for name in NAMES}
    asked = {"plots": False}
    before = client.explain(model(**BEFORE), rows, *METHODS, replicates=True, **asked)
    after = client.explain(model(**BEFORE | change), rows, reference=before, **asked)

    own = changed(after.message.comparison)
    allowed = {("IMPORTANCE_SQUARE", "a"), *(("PARTIAL_DEPENDENCE", name) for name in "ab")}
    assert own >= expected
    assert own - expected <= (allowed if "ab" in change else set())
