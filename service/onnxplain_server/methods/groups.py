"""Groups of rows by the values of a column."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.effects.quantiles import inverse_ecdf


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Rows with the same value of a column, or with values in the same interval.

    Attributes
    ----------
    label : str
    rows : (n,)
    """

    label: str
    rows: Indices


def split(column: Array, group_count: int) -> tuple[Group, ...]:
    """Split rows by a column: groups by ascending value, missing values last.

    Parameters
    ----------
    column : (n_rows,)
        Text, or numbers: with more than `group_count` distinct ones they are cut at
        their quantiles into intervals that hold their upper end. Missing values
        are a group of their own, and count as one distinct value.
    """
    numeric = column.dtype != object
    labels = _intervals(column, group_count) if numeric else [str(v) or None for v in column]
    rows_of: dict[str | None, list[int]] = {}
    for row, label in enumerate(labels):
        rows_of.setdefault(label, []).append(row)
    # Groups hold values that are next to each other, so any of them tells the order.
    ascending = sorted(
        rows_of, key=lambda label: (label is None, label and column[rows_of[label][0]])
    )
    return tuple(Group(label or "missing", np.array(rows_of[label])) for label in ascending)


def _intervals(column: Vector, group_count: int) -> list[str | None]:
    """Label numbers by themselves or by their interval; None where missing."""
    if len(np.unique(column)) <= group_count:
        return [None if np.isnan(value) else f"{value:.15g}" for value in column]
    edges = np.unique(inverse_ecdf(column, np.linspace(0, 1, group_count + 1)))
    names = interval_names(edges)
    place = np.clip(np.searchsorted(edges, column, side="left") - 1, 0, len(names) - 1)
    missing = np.isnan(column)
    return [None if m else names[p] for m, p in zip(missing, place, strict=True)]


def interval_names(edges: Vector) -> list[str]:
    """Name the intervals between edges, with as few digits (at least 3) as tell them apart.

    The way of R's `cut(include.lowest = TRUE)`: "[0,1.5]", "(1.5,3]".
    """
    for digits in range(3, 18):
        texts = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(texts)) == len(texts):
            break
    if len(texts) == 1:
        return [f"[{texts[0]},{texts[0]}]"]
    pairs = enumerate(pairwise(texts))
    return [f"{'(' if i else '['}{low},{high}]" for i, (low, high) in pairs]
