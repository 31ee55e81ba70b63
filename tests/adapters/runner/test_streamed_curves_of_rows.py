"""Curves of single rows of a table in blocks: grids and groups are those of all rows."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnxplain_server.trees.streaming import column_sums

from tests.adapters.runner.streaming import (
    MODELS,
    answers,
    cut_blocks,
    difference,
    known_rows,
    names_of,
    request_of,
)

N = 900
MODEL = "sklearn_gradient_boosting"


@pytest.fixture
def answered(runner, tmp_path, monkeypatch):
    """Curves of a table in blocks, the table, and the curves of the table in memory."""
    cut_blocks(monkeypatch, 128)
    monkeypatch.setattr(column_sums, "MAX_LEVELS", 20)
    rng = np.random.default_rng(0)
    table = {**known_rows(MODEL, N, rng), "years": rng.normal(size=N)}
    table["weight"] = rng.integers(0, 3, N).astype(np.float64)
    request = request_of(MODEL, feature_columns=names_of(MODEL), weight_column="weight")
    options = request.methods.add().individual_conditional_expectation
    options.curve_count = 30
    options.group_columns.extend(["years", "bmi"])
    found, expected = answers(runner, request, table, tmp_path)
    return found, table, expected


def test_curves_are_those_of_the_same_rows_in_memory(answered) -> None:
    """Also grids and groups, which are of all rows."""
    found, _, expected = answered
    result = expected.explanations[0].individual_conditional_expectation
    scale = max(abs(value) for curves in result.curves for value in curves.values)

    assert not difference(found.explanations[0], expected.explanations[0], scale)


def test_each_curve_is_the_prediction_of_its_row(answered) -> None:
    found, table, _ = answered
    result = found.explanations[0].individual_conditional_expectation
    names = names_of(MODEL)
    rows = np.stack([table[name] for name in names], axis=1)
    session = onnxruntime.InferenceSession((MODELS / f"{MODEL}.onnx").read_bytes())
    curves = result.curves[names.index("bmi")]
    rows = rows[list(curves.row_indices)]
    for k, point in enumerate(curves.grid[0].numbers):
        moved = rows.copy()
        moved[:, names.index("bmi")] = point
        predicted = session.run(None, {session.get_inputs()[0].name: moved})[0].ravel()
        values = np.reshape(curves.values, (len(rows), -1))[:, k]
        assert values == pytest.approx(predicted, rel=1e-5)


def test_the_rows_are_told_as_drawn_from_all(answered) -> None:
    found, table, _ = answered
    used = np.count_nonzero(table["weight"])

    assert found.explanations[0].rows.drawn_row_count == 30
    (note,) = [note for note in found.warnings if note.code == "ROWS_DRAWN"]
    assert f"30 of {used} rows were drawn" in note.message
