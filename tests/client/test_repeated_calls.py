"""Calls that are repeated: the second answer is read from the cache, and has the same bits."""

from __future__ import annotations

import json
from pathlib import Path

import onnxplain
import pandas as pd
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
IRIS = EXAMPLES / "iris"


def rows_of(explanations: onnxplain.Explanations) -> object:
    return json.loads(explanations.to_json())["explanations"]


def test_a_repeated_call_has_the_bits_of_the_first_behind_a_link_of_several_outputs() -> None:
    table = pd.read_csv(IRIS / "iris.csv").iloc[::7].drop(columns="species")
    with onnxplain.local() as client:
        first, again = (
            client.explain(IRIS / "lightgbm.onnx", table, "interactions", progress=False)
            for _ in range(2)
        )

    assert first.receipt.cache_hit_count == 0
    assert again.receipt.cache_hit_count > 0
    assert rows_of(first) == rows_of(again)


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(onnxplain.PartialDependence(features=["bmi"]), id="one curve"),
        pytest.param(onnxplain.Interactions(pairwise_feature_count=3), id="pairs"),
    ],
)
def test_a_repeated_call_on_trees_finds_each_number(method) -> None:
    """Effects are stored together, the last ones too: a method takes no more than it needs."""
    table = pd.read_csv(EXAMPLES / "vectors/diabetes.csv").drop(columns="progression")
    with onnxplain.local() as client:
        model = EXAMPLES / "vectors/diabetes.onnx"
        first, again = (client.explain(model, table, method, progress=False) for _ in range(2))

    assert first.receipt.cache_miss_count > 0
    assert again.receipt.cache_miss_count == 0
    assert again.receipt.cache_hit_count == first.receipt.cache_miss_count
