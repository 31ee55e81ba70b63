"""Partial dependence on a table in blocks: that of the table in memory, on all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnxplain.v1 import partial_dependence_pb2 as pb2
from onnxplain_server.trees.streaming import column_sums, engine

from tests.adapters.runner.streaming import (
    MODELS,
    against_memory,
    answers,
    cut_blocks,
    keep_levels,
    known_rows,
    names_of,
    request_of,
)

N = 1_100
MODEL = "sklearn_gradient_boosting"


@pytest.fixture(params=[1 << 14, 20], ids=["levels", "cells"])
def blocks(request, monkeypatch) -> None:
    keep_levels(monkeypatch, request.param)
    cut_blocks(monkeypatch, 128)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    columns = known_rows(MODEL, N, rng)
    return {
        **columns,
        "weight": rng.integers(0, 3, N).astype(np.float64),
        "kind": rng.choice(np.array(["a", "b", ""]), N),
        "years": np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N)),
        "mostly": rng.normal(size=N) * (rng.random(N) < 0.1),
    }


def asked(options, model=MODEL, **fields):
    request = request_of(model, **fields)
    request.methods.add().partial_dependence.MergeFrom(options)
    return request


def compared(runner, table, tmp_path, request, names):
    """Return the first difference from memory; rows and receipt tell that all rows were used."""
    request.feature_columns.extend(names)
    different, found, _ = against_memory(runner, request, table, tmp_path, largest_value)
    assert not [note for note in found.warnings if note.code == "ROWS_DRAWN"]
    return different


def largest_value(explanation):
    curves = explanation.partial_dependence.curves
    return max(abs(value) for curve in curves for value in curve.values)


STRATEGY = pb2.PartialDependenceOptions.Strategy
PAIR = pb2.FeatureGroup(names=["bmi", "s5"])
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "quantiles": {"strategy": STRATEGY.QUANTILE, "grid_size": 9, "include_missing": True},
    "steps": {"strategy": STRATEGY.STEPS},
    "pair and triple": {
        "features": [PAIR, pb2.FeatureGroup(names=["bmi", "bp", "s5"])],
        "grid_size": 60,
    },
    "groups by text": {"group_column": "kind"},
    "groups by value": {"group_column": "weight"},
    "groups by interval": {"group_column": "years", "group_count": 3},
    "groups by a feature": {"group_column": "bmi"},
    "groups by a value that most rows have": {"group_column": "mostly"},
}


@pytest.mark.parametrize("kind", OPTIONS)
def test_curves_are_those_of_the_table_in_memory(runner, table, tmp_path, blocks, kind) -> None:
    request = asked(pb2.PartialDependenceOptions(**OPTIONS[kind]), weight_column="weight")

    assert not compared(runner, table, tmp_path, request, names_of(MODEL))


@pytest.mark.parametrize(
    "model", ["sklearn_random_forest_3class", "lightgbm_categorical_regressor"]
)
def test_several_outputs_and_columns_of_text_are_as_in_memory(
    runner, tmp_path, monkeypatch, model
) -> None:
    cut_blocks(monkeypatch, 128)
    rng = np.random.default_rng(1)
    columns = known_rows(model, N, rng)
    request = asked(pb2.PartialDependenceOptions(), model)

    assert not compared(runner, columns, tmp_path, request, list(columns))


def test_groups_are_counted_in_as_many_passes_as_memory_asks_for(
    runner, table, tmp_path, blocks, monkeypatch
) -> None:
    monkeypatch.setattr(engine, "counts_at_once", lambda *_: 2)
    request = asked(pb2.PartialDependenceOptions(group_column="years", group_count=7))

    assert not compared(runner, table, tmp_path, request, names_of(MODEL))


def test_curves_are_averages_of_the_predictions_of_all_rows(
    runner, table, tmp_path, blocks
) -> None:
    """By definition: each point takes the place of the feature in every row."""
    names = names_of(MODEL)
    points = [-0.05, 0.0, 0.07]
    options = pb2.PartialDependenceOptions(features=[pb2.FeatureGroup(names=["bmi"])])
    grid = options.grids.add().columns.add(name="bmi")
    grid.numbers.extend(points)
    request = asked(options, weight_column="weight", feature_columns=names)

    found, _ = answers(runner, request, table, tmp_path)

    session = onnxruntime.InferenceSession((MODELS / f"{MODEL}.onnx").read_bytes())
    expected = []
    for point in points:
        rows = np.stack([table[name] for name in names], axis=1)
        rows[:, names.index("bmi")] = point
        predicted = session.run(None, {session.get_inputs()[0].name: rows})[0].ravel()
        expected.append(np.average(predicted, weights=table["weight"]))
    (curve,) = found.explanations[0].partial_dependence.curves
    assert list(curve.values) == pytest.approx(expected, rel=1e-6)
    assert curve.weight == table["weight"].sum()


def test_many_texts_are_left_to_the_sample(runner, table, tmp_path, blocks, monkeypatch) -> None:
    monkeypatch.setattr(column_sums, "MAX_LEVELS", 1)
    request = asked(pb2.PartialDependenceOptions(group_column="kind"))
    request.feature_columns.extend(names_of(MODEL))

    found, _ = answers(runner, request, table, tmp_path)

    assert found.explanations[0].rows.drawn_row_count == 150
    assert "read in blocks" not in found.receipt.engine_reason


@pytest.mark.parametrize("group_column", ["", "kind"])
def test_support_is_that_of_memory_where_the_sample_has_all_rows(
    runner, table, tmp_path, monkeypatch, group_column: str
) -> None:
    cut_blocks(monkeypatch, 128, sampled=N)
    options = pb2.PartialDependenceOptions(group_column=group_column, max_outside_share=0.9)
    names = names_of(MODEL)
    table["s6"] = table["s5"] + np.float32(0.001)
    request = asked(options, weight_column="weight", feature_columns=names)

    found, expected = answers(runner, request, table, tmp_path)

    pairs = zip(
        *(answer.explanations[0].partial_dependence.curves for answer in (found, expected)),
        strict=True,
    )
    for in_blocks, in_memory in pairs:
        assert list(in_blocks.outside_shares) == pytest.approx(list(in_memory.outside_shares))
        assert in_blocks.outside_share == pytest.approx(in_memory.outside_share)
        assert in_blocks.outside_partner == in_memory.outside_partner
    assert "CURVES_EXTRAPOLATE" in {note.code for note in found.warnings}
    assert not any(curve.row_weights for curve in found.explanations[0].partial_dependence.curves)
