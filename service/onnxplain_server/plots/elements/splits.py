"""Rows told apart by the groups that they belong to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.plots.elements.labels import clean, distinguish, shorten
from onnxplain_server.plots.elements.selection import ascending


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Rows told apart by one column, or not at all.

    Attributes
    ----------
    title : str
        Empty where they are not told apart.
    labels : tuple of str
        The groups shown, in order.
    codes : (n_rows,)
        For each row the position of its group, or -1 where that is not shown.
    remarks : tuple of str
        What is left out.
    """

    title: str
    labels: tuple[str, ...]
    codes: Indices
    remarks: tuple[str, ...] = ()


def no_split(n_rows: int) -> Split:
    """Keep all rows together."""
    return Split("", ("",), np.zeros(n_rows, np.intp))


def split(column: str, groups: Sequence[str], most: int) -> Split:
    """Tell rows apart by their groups, at most so many: those of most rows."""
    counted = Counter(groups)
    largest = {group for group, _ in counted.most_common(most)}
    shown = [group for group in counted if group in largest]
    shown = [shown[place] for place in ascending(shown)]
    code_of = {group: code for code, group in enumerate(shown)}
    codes = np.array([code_of.get(group, -1) for group in groups])
    title = clean(column)
    remark = f"{most} largest of {len(counted)} groups by {shorten(title, 30)}"
    remarks = (remark,) if len(counted) > most else ()
    return Split(title, distinguish(shown), codes, remarks)
