"""Prose quotes the default numbers of rows that explain/row_counts.py defines.

Tables and lines that are made from the contract are compared in tests/wire/test_contract_limits.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from onnxplain_server.explain.row_counts import (
    CONTRAST_ROWS,
    FOREST_ROWS,
    LINKED_PAIR_ROWS,
    QUADRATIC_ROWS,
)

ROOT = Path(__file__).parents[2]

QUOTES = [
    ("README.md", f"default: {QUADRATIC_ROWS:,} rows where the cost grows with the square"),
    (
        "docs/engines.md",
        f"| rows by default | all | all; a sample of {QUADRATIC_ROWS:,} behind a softmax |",
    ),
    ("docs/engines.md", f"by default they use {LINKED_PAIR_ROWS:,} of the rows"),
    ("docs/methods/interactions.md", f"By default, {QUADRATIC_ROWS:,} rows are drawn"),
    ("docs/methods/partial-dependence.md", f"By default, {QUADRATIC_ROWS:,} rows are drawn"),
    ("docs/methods/feature-vectors.md", f"to {FOREST_ROWS:,} rows are drawn"),
    ("docs/methods/firm.md", f"use {CONTRAST_ROWS:,} rows unless `row_count` is set"),
]


@pytest.mark.parametrize(("name", "quote"), QUOTES)
def test_default_row_counts_are_quoted_as_defined(name: str, quote: str) -> None:
    text = " ".join((ROOT / name).read_text(encoding="utf-8").split())

    assert quote in text.replace(" // ", " ")
