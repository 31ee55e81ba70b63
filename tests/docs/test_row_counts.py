"""Pages and the contract quote the default numbers of rows that explain/row_counts.py defines."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnxplain_server.explain.row_counts import (
    CONTRAST_ROWS,
    FOREST_ROWS,
    QUADRATIC_ROWS,
    SEARCHED_ROWS,
    SHUFFLED_ROWS,
)

ROOT = Path(__file__).parents[2]

QUOTES = [
    ("README.md", f"default: {QUADRATIC_ROWS:,} rows where the cost grows with the square"),
    ("docs/engines.md", f"| rows by default | all | a sample of {QUADRATIC_ROWS:,} where"),
    ("docs/engines.md", f"by default they use {QUADRATIC_ROWS:,} of the rows"),
    ("docs/methods/interactions.md", f"By default, {QUADRATIC_ROWS:,} rows are drawn"),
    ("docs/methods/partial-dependence.md", f"`row_count` ({QUADRATIC_ROWS:,} rows, drawn within"),
    ("docs/methods/partial-dependence.md", f"By default, {QUADRATIC_ROWS:,} rows are drawn"),
    ("docs/methods/individual-conditional-expectation.md", f"`row_count` ({QUADRATIC_ROWS:,}, or"),
    ("docs/methods/permutation-importance.md", f"`row_count` (default {SHUFFLED_ROWS:,})"),
    ("docs/methods/feature-vectors.md", f"to {FOREST_ROWS:,} rows are drawn"),
    ("docs/methods/firm.md", f"use {CONTRAST_ROWS:,} rows unless `row_count` is set"),
    ("docs/methods/swarm.md", f"`row_count` (all rows for `EXACT`, else {SEARCHED_ROWS:,})"),
    ("proto/onnxplain/v1/swarm.proto", f"up to {SEARCHED_ROWS:,} rows unless `row_count`"),
    (
        "proto/onnxplain/v1/permutation_importance.proto",
        f"up to {SHUFFLED_ROWS:,} rows of the table",
    ),
]


@pytest.mark.parametrize(("name", "quote"), QUOTES)
def test_default_row_counts_are_quoted_as_defined(name: str, quote: str) -> None:
    text = " ".join((ROOT / name).read_text(encoding="utf-8").split())

    assert quote in text.replace(" // ", " ")
