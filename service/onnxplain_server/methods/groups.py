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
    places : (n,)
        Group of each level.
    edges : (n_groups + 1,)
        Of intervals closed at the upper end, the first one at both; empty where groups are values.
    """

    labels: tuple[str, ...]
    levels: Array
    places: Indices
    edges: Vector

    def codes(self, column: Array) -> Indices:
        """Return the group of each row: (n_rows,)."""
        values, inverse = np.unique(column, return_inverse=True)
        if len(self.edges):
            last = max(len(self.edges) - 2, 0)
            own = np.clip(np.searchsorted(self.edges, values, side="left") - 1, 0, last)
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
        into intervals closed at the upper end. Missing values form a group of their own, and
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
    edges = np.unique(column.quantiles(group_ranks(group_count)))
    nothing = np.zeros(0, np.intp)
    return Grouping((*interval_names(edges), *missing), np.zeros(0), nothing, edges)


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
    codes = grouping.codes(column)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(grouping.labels) + 1))
    groups = (Group(label, order[ends[k] : ends[k + 1]]) for k, label in enumerate(grouping.labels))
    return tuple(group for group in groups if len(group.rows))


def interval_names(edges: Vector) -> list[str]:
    """Name the intervals between edges with the fewest digits, at least 3, that distinguish them.

    Format of R's `cut(include.lowest = TRUE)`: "[0,1.5]", "(1.5,3]".
    """
    for digits in range(3, 18):
        texts = [f"{edge + 0.0:.{digits}g}" for edge in edges]  # no minus in front of 0
        if len(set(texts)) == len(texts):
            break
    if len(texts) == 1:
        return [f"[{texts[0]},{texts[0]}]"]
    pairs = enumerate(pairwise(texts))
    return [f"{'(' if i else '['}{low},{high}]" for i, (low, high) in pairs]
