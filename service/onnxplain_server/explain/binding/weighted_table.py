"""Case weights applied to a table: rows of weight 0 are dropped, weights scaled against overflow.

Rows that a method explains one by one stay, whatever their weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices, Vector
from onnxplain_server.core.table import Table, weights
from onnxplain_server.explain.question import Question
from onnxplain_server.methods.registry import Options, method_of


@dataclass(frozen=True, slots=True, eq=False)
class WeightedTable:
    """A table without rows of weight 0, except those that are explained one by one.

    Attributes
    ----------
    table : Table
    weights : (n_rows,)
        Divided by a power of two, so that the largest is in [1, 2): no sum overflows, and no
        weight is rounded.
    unit : float
        That power of two: the case weight that a weight of 1 stands for.
    sent_row_count : int
        Rows of the table as sent.
    """

    table: Table
    weights: Vector
    unit: float
    sent_row_count: int


def apply_weights(table: Table, question: Question) -> WeightedTable:
    """Drop rows of weight 0, and scale the weights of the others.

    Raises
    ------
    ExplainError
        MISSING_COLUMN, WRONG_TYPE or INVALID_WEIGHTS.
    """
    if not question.weight_column:
        return WeightedTable(table, np.ones(table.n_rows), 1.0, table.n_rows)
    scaled, unit = _scale(weights(table, question.weight_column))
    is_used = scaled > 0
    is_used[_explained_rows(question.methods, table.n_rows)] = True
    if is_used.all():
        return WeightedTable(table, scaled, unit, table.n_rows)
    rows = np.flatnonzero(is_used)
    return WeightedTable(table.take(rows), scaled[rows], unit, table.n_rows)


def _scale(values: Vector) -> tuple[Vector, float]:
    """Divide weights by the power of two that brings the largest into [1, 2)."""
    unit = unit_of(float(values.max(initial=0.0)))
    return values / unit, unit


def unit_of(largest: float) -> float:
    """Return the power of two that brings the largest weight into [1, 2) when it divides it."""
    return math.ldexp(1.0, math.frexp(largest)[1] - 1)


def _explained_rows(methods: Sequence[Options], n_rows: int) -> Indices:
    """Return the existing rows among those that methods explain one by one."""
    rows = [
        row
        for options in methods
        for row in method_of(options).row_indices(options)
        if 0 <= row < n_rows
    ]
    return np.array(rows, dtype=np.intp)
