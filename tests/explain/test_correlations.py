"""Correlated features of an overview, beside numpy."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain_server.explain.planning.correlations import correlation_notes

RANDOM = np.random.default_rng(3)
NORTH = RANDOM.normal(size=200)
COLUMNS = {
    "north": NORTH,
    "south": -NORTH + 0.3 * RANDOM.normal(size=200),
    "noise": RANDOM.normal(size=200),
    "one": np.ones(200),
    "text": np.array(["a", "b"] * 100, dtype=object),
}


def notes(drawn: set[str], weights: np.ndarray | None = None, **columns: np.ndarray) -> list[str]:
    own = COLUMNS | columns
    given = np.ones(200) if weights is None else weights
    return [note.message for note in correlation_notes(list(own), list(own.values()), given, drawn)]


def test_pairs_that_go_together_are_named_with_their_correlation() -> None:
    expected = np.corrcoef(NORTH, COLUMNS["south"])[0, 1]
    (message,) = notes({"north"})

    assert message.startswith(f"Correlated features: north and south (−{-expected:.2f}). Curves")


@pytest.mark.parametrize("drawn", [{"noise"}, {"one", "text"}])
def test_features_without_a_curve_or_a_correlation_are_not_told(drawn: set[str]) -> None:
    assert notes(drawn) == []


def test_rows_count_by_their_weight_and_missing_values_not_at_all() -> None:
    """Of the first 50 rows alone, a column is the other one, and elsewhere noise."""
    mixed = np.where(np.arange(200) < 50, NORTH, RANDOM.normal(size=200))
    weights = np.where(np.arange(200) < 50, 1.0, 0.0)

    assert "north and mixed (1.00)" in notes({"mixed"}, weights, mixed=mixed)[0]
    assert not any("mixed" in message for message in notes({"mixed"}, mixed=mixed))
    gaps = np.where(np.arange(200) < 5, np.nan, NORTH)
    assert "north and gaps (0.9" in notes({"gaps"}, gaps=gaps)[0]
