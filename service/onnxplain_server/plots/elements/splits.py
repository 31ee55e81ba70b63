"""Split of rows into groups by one column, limited to the largest groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.plots.elements.labels import clean, distinguish, shorten, spell_interval
from onnxplain_server.plots.elements.selection import ascending


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Rows split into groups by one column, or not at all.

    Attributes
    ----------
    title : str
        Name of the column; empty without a split.
    labels : tuple of str
        The groups shown, in order.
    codes : (n_rows,)
        Position of each row's group, -1 for groups not shown.
    remarks : tuple of str
        Remarks on groups left out.
    """

    title: str
    labels: tuple[str, ...]
    codes: Indices
    remarks: tuple[str, ...] = ()


def no_split(n_rows: int) -> Split:
    """Return one group with all rows."""
    return Split("", ("",), np.zeros(n_rows, np.intp))


def split(column: str, groups: Sequence[str], limit: int) -> Split:
    """Split rows by their groups; shows at most `limit` groups, those with most rows."""
    counts = Counter(groups)
    largest = {group for group, _ in counts.most_common(limit)}
    shown = [group for group in counts if group in largest]
    shown = [shown[place] for place in ascending(shown)]
    code_of = {group: code for code, group in enumerate(shown)}
    codes = np.array([code_of.get(group, -1) for group in groups])
    title = clean(column)
    remark = f"{limit} largest of {len(counts)} groups by {shorten(title, 30)}"
    remarks = (remark,) if len(counts) > limit else ()
    return Split(title, distinguish(map(spell_interval, shown)), codes, remarks)
