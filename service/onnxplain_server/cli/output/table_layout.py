"""Layout of tables in a terminal: no word and no number is broken, however narrow it is."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

_EDGES = 2
_PADDINGS = (1, 0)
"""Spaces on each side of a column, the roomy layout first."""


def fitted(table: Table, width: int) -> RenderableType:
    """Fit a table into a width by breaking lines between words, or else by a line for each cell.

    A table without a header, such as that of a model, keeps its form.
    """
    cells = [[_plain(column.header), *map(_plain, column.cells)] for column in table.columns]
    words = [max((_longest_word(text) for text in texts), default=0) for texts in cells]
    whole = [max(map(cell_len, texts)) for texts in cells]
    for padding in _PADDINGS:
        between = len(cells) - 1 + 2 * padding * len(cells)
        spare = width - _EDGES - between - sum(words)
        if spare >= 0 and cells:
            table.padding = (0, padding)
            _set_widths(table, words, whole, spare)
            return table
    return _in_lines(cells) if table.show_header else table


def _set_widths(table: Table, words: Sequence[int], whole: Sequence[int], spare: int) -> None:
    """Give columns the width of their longest words, and of what is spare, as they need more."""
    needs = [most - least for least, most in zip(words, whole, strict=True)]
    total = sum(needs)
    for column, least, need in zip(table.columns, words, needs, strict=True):
        column.width = least + (need if total <= spare else need * spare // total)


def _in_lines(cells: Sequence[Sequence[str]]) -> RenderableType:
    """Write each row as lines of a heading and its cell."""
    titles = [texts[0] for texts in cells]
    rows = zip(*(texts[1:] for texts in cells), strict=True)
    lines = [
        Text(f"{'  ' if at else '- '}{title}: {text}" if title else text)
        for row in rows
        for at, (title, text) in enumerate(zip(titles, row, strict=True))
    ]
    return Group(*lines, Text())


def _plain(cell: RenderableType) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)


def _longest_word(text: str) -> int:
    return max((cell_len(word) for word in text.split()), default=0)
