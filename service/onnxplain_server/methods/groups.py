"""Grouping of rows by a column: by distinct value, or by quantile interval of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.effects.quantiles import inverse_ecdf


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


def split(column: Array, group_count: int) -> tuple[Group, ...]:
    """Split rows into groups by ascending value, missing values last.

    Parameters
    ----------
    column : (n_rows,)
        Text or numbers. More than `group_count` distinct numbers are cut at their quantiles
        into intervals closed at the upper end. Missing values form a group of their own, and
        count as one distinct value.
    """
    numeric = column.dtype != object
    labels = _intervals(column, group_count) if numeric else [str(v) or None for v in column]
    rows_of: dict[str | None, list[int]] = {}
    for row, label in enumerate(labels):
        rows_of.setdefault(label, []).append(row)
    # Values of a group are contiguous, so any of them gives its rank.
    ascending = sorted(
        rows_of, key=lambda label: (label is None, label and column[rows_of[label][0]])
    )
    return tuple(Group(label or "missing", np.array(rows_of[label])) for label in ascending)


def _intervals(column: Vector, group_count: int) -> list[str | None]:
    """Label numbers by value or by interval; None for missing ones."""
    if len(np.unique(column)) <= group_count:
        return [None if np.isnan(value) else f"{value:.15g}" for value in column]
    edges = np.unique(inverse_ecdf(column, np.linspace(0, 1, group_count + 1)))
    names = interval_names(edges)
    place = np.clip(np.searchsorted(edges, column, side="left") - 1, 0, len(names) - 1)
    missing = np.isnan(column)
    return [None if m else names[p] for m, p in zip(missing, place, strict=True)]


def interval_names(edges: Vector) -> list[str]:
    """Name the intervals between edges with the fewest digits, at least 3, that distinguish them.

    Format of R's `cut(include.lowest = TRUE)`: "[0,1.5]", "(1.5,3]".
    """
    for digits in range(3, 18):
        texts = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(texts)) == len(texts):
            break
    if len(texts) == 1:
        return [f"[{texts[0]},{texts[0]}]"]
    pairs = enumerate(pairwise(texts))
    return [f"{'(' if i else '['}{low},{high}]" for i, (low, high) in pairs]
