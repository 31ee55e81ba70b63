"""Grouping of rows by a column: by distinct value, or by quantile interval of numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.rows import is_missing
from onnxplain_server.effects.column_values import ColumnDistribution, SortedColumn

_MISSING = "missing"


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Group of rows with the same value, or with values in the same interval.

    Attributes
    ----------
    label : str
    rows : (n,)
    """

    label: str
    rows: Indices


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Division of a column's values into groups.

    Attributes
    ----------
    labels : tuple of str
        By ascending value, missing values last.
    levels : (n,)
        Distinct values, ascending; empty where groups are intervals.
    places : (n,) or (2 n_edges + 1,)
        Group of each level; or of the values below the first edge, at it, between it and the
        second one, at that one, and so on to those above the last edge.
    edges : (n_edges,)
        Of intervals, ascending; empty where groups are values.
    """

    labels: tuple[str, ...]
    levels: Array
    places: Indices
    edges: Vector

    def codes(self, column: Array) -> Indices:
        """Return the group of each row: (n_rows,)."""
        values, inverse = np.unique(column, return_inverse=True)
        if len(self.edges):
            below = np.searchsorted(self.edges, values, side="left")
            at_or_below = np.searchsorted(self.edges, values, side="right")
            own = self.places[below + at_or_below]
        else:
            found = np.searchsorted(self.levels, values)
            own = np.append(self.places, len(self.labels) - 1)[found]
        own = np.where(is_missing(values), len(self.labels) - 1, own)
        codes: Indices = own[inverse]
        return codes


def grouping_of(column: ColumnDistribution, group_count: int) -> Grouping:
    """Divide the values of a column.

    Parameters
    ----------
    column : ColumnDistribution
        Text or numbers. More than `group_count` distinct numbers are cut at their quantiles
        into intervals closed at the upper end; a value at which quantiles coincide, as that of
        most rows does, is a group of its own. Missing values form a group of their own, and
        count as one distinct value.
    """
    levels, missing = column.levels(group_count), [_MISSING] * len(column.missing)
    if missing and levels is not None and column.is_text:
        missing = [free_label(_MISSING, "no value", set(levels.tolist()))]
    are_few = levels is not None and len(levels) + len(missing) <= group_count
    if levels is not None and (column.is_text or are_few):
        texts = [str(level) if column.is_text else f"{level + 0.0:.15g}" for level in levels]
        names = list(dict.fromkeys(texts))
        places = np.array([names.index(text) for text in texts], dtype=np.intp)
        return Grouping((*names, *missing), levels, places, np.zeros(0))
    quantiles = column.quantiles(group_ranks(group_count))
    edges, counts = np.unique(quantiles, return_counts=True)
    is_group = counts > 1
    names = interval_names(edges, is_group)
    return Grouping((*names, *missing), np.zeros(0), _interval_places(is_group), edges)


def _interval_places(is_group: Array) -> Indices:
    """Return the groups below, at and between edges, which may be groups of their own.

    Parameters
    ----------
    is_group : (n_edges,)
        Whether each edge is; otherwise, it belongs to the interval that it ends.

    Returns
    -------
    (2 n_edges + 1,)
        `places` of a `Grouping`.
    """
    starts = np.zeros(2 * len(is_group) + 1, dtype=np.intp)
    starts[2:-1:2] = 1
    starts[3::2] = is_group[1:]
    if len(is_group) > 1:
        starts[2] = is_group[0]
    return np.cumsum(starts)


def free_label(label: str, meaning: str, taken: Collection[str]) -> str:
    """Return a label for what is no text, told apart from the texts that are called the same.

    Parameters
    ----------
    meaning : str
        What is added in brackets, as often as it takes.
    taken : collection of str
        The texts.
    """
    while label in taken:
        label = f"{label} ({meaning})"
    return label


def group_ranks(group_count: int) -> Vector:
    """Return the probabilities of the quantiles that intervals are cut at."""
    return np.linspace(0, 1, group_count + 1)


def split(column: Array, group_count: int) -> tuple[Group, ...]:
    """Split rows into groups by ascending value, missing values last, as `grouping_of` does.

    Parameters
    ----------
    column : (n_rows,)
    """
    grouping = grouping_of(SortedColumn(column), group_count)
    groups = map(Group, grouping.labels, rows_by_group(grouping, column))
    return tuple(group for group in groups if len(group.rows))


def rows_by_group(grouping: Grouping, column: Array) -> list[Indices]:
    """Return the rows of each group, ascending, of a column: (n_rows,)."""
    codes = grouping.codes(column)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(grouping.labels) + 1))
    return [order[start:end] for start, end in pairwise(ends)]


def interval_names(edges: Vector, is_group: Array) -> list[str]:
    """Name the intervals between edges with the fewest digits, at least 3, that distinguish them.

    Format of R's `cut(include.lowest = TRUE)`: "[0,1.5]", "(1.5,3]". An edge that is a group of its
    own is named by its value, between "[0,1.5)" and "(1.5,3]".

    Parameters
    ----------
    edges, is_group : (n_edges,)
    """
    for digits in range(3, 18):
        texts = [f"{edge + 0.0:.{digits}g}" for edge in edges]  # no minus in front of 0
        if len(set(texts)) == len(texts):
            break
    own = [f"{edge + 0.0:.{max(digits, 15)}g}" for edge in edges]
    names = own[:1] if is_group[0] else []
    for i, (low, high) in enumerate(pairwise(texts)):
        starts, ends = "(" if i or is_group[0] else "[", ")" if is_group[i + 1] else "]"
        names += [f"{starts}{low},{high}{ends}", *([own[i + 1]] if is_group[i + 1] else [])]
    return names
