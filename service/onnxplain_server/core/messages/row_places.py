"""Places of rows in messages: the first ones, counted from 0 in the table, and how many more."""

from __future__ import annotations

from collections.abc import Iterable

_SHOWN = 5


def row_places(rows: Iterable[int]) -> str:
    """Name rows: "row 7 (counted from 0)", "rows 0, 2, 3, 4, 5 and 33 more (counted from 0)"."""
    numbers = [f"{row}" for row in rows]
    more = len(numbers) - _SHOWN
    listed = ", ".join(numbers[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
    return f"row{'s' * (len(numbers) > 1)} {listed} (counted from 0)"
