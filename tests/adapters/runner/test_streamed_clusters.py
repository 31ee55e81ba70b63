"""Clusters of a table in blocks: replicates on the rows drawn from it, as of these in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from google.protobuf import json_format
from onnxplain.v1 import explanation_service_pb2 as service_pb2

from tests.adapters.runner.streaming import (
    answers,
    cut_blocks,
    difference,
    known_rows,
    names_of,
    request_of,
)

N, MODEL = 700, "sklearn_gradient_boosting"
OPTIONS: dict[str, dict[str, Any]] = {
    "partial_dependence": {"features": [{"names": ["bmi"]}], "group_column": "kind"},
    "accumulated_local_effects": {"features": [{"names": ["s5"]}]},
    "average_loss": {},
    "firm": {"features": ["bmi", "s5 > 0"]},
    "interactions": {"features": ["bmi", "bp", "s5"]},
}


@pytest.fixture
def table() -> dict[str, Any]:
    """Clusters of which rows are in several blocks."""
    rng = np.random.default_rng(0)
    return {
        **known_rows(MODEL, N, rng),
        "y": rng.normal(size=N),
        "weight": rng.integers(0, 3, N).astype(np.float64),
        "kind": rng.choice(np.array(["a", "b"]), N),
        "patient": np.array([f"p{number}" for number in rng.integers(0, 90, N)]),
    }


def asked(method: str, **fields) -> service_pb2.ExplainRequest:
    request = request_of(
        MODEL,
        feature_columns=names_of(MODEL),
        weight_column="weight",
        target_column="y" if method == "average_loss" else "",
        row_count=N,
        **fields,
    )
    json_format.ParseDict({method: {"repeat_count": 20, **OPTIONS[method]}}, request.methods.add())
    return request


@pytest.mark.parametrize("method", OPTIONS)
def test_clusters_in_several_blocks_are_resampled_as_in_memory(
    runner, table, tmp_path, monkeypatch, method: str
) -> None:
    """All rows are drawn; only how the table was read is told."""
    cut_blocks(monkeypatch, 64, sampled=N)

    found, expected = answers(
        runner, asked(method, cluster_column="patient"), table, tmp_path, memory_bytes=1
    )
    alone, _ = answers(runner, asked(method), table, tmp_path, memory_bytes=1)

    (own,), (other,) = found.explanations, expected.explanations
    assert own.rows.cluster_count == other.rows.cluster_count > 80
    assert not difference(own, other, 1.0)
    by_rows = getattr(alone.explanations[0], method)
    assert difference(getattr(own, method), by_rows, 1.0)
