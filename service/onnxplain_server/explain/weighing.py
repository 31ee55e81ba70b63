"""The rows of a table that weigh something, and weights that can be added up."""

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
class Weighed:
    """A table without its rows of weight 0, but for those that are explained by themselves.

    Attributes
    ----------
    table : Table
    weights : (n_rows,)
        The largest in [1, 2): a power of two is taken out of all, so that no sum of them
        overflows, and none of them is rounded.
    unit : float
        Case weight that a weight of 1 stands for: that power of two.
    sent_row_count : int
        Rows of the table as sent.
    """

    table: Table
    weights: Vector
    unit: float
    sent_row_count: int


def weigh(table: Table, question: Question) -> Weighed:
    """Leave out rows of weight 0: what is explained is the table without them.

    Raises
    ------
    ExplainError
        MISSING_COLUMN, WRONG_TYPE or INVALID_WEIGHTS.
    """
    scaled, unit = _scale(weights(table, question.weight_column))
    is_kept = scaled > 0
    is_kept[_named(question.methods, table.n_rows)] = True
    if is_kept.all():
        return Weighed(table, scaled, unit, table.n_rows)
    rows = np.flatnonzero(is_kept)
    return Weighed(table.take(rows), scaled[rows], unit, table.n_rows)


def _scale(values: Vector) -> tuple[Vector, float]:
    """Divide weights by the largest power of two that none of them is below."""
    exponent = math.frexp(float(values.max(initial=0.0)))[1] - 1
    return np.ldexp(values, -exponent), math.ldexp(1.0, exponent)


def _named(methods: Sequence[Options], n_rows: int) -> Indices:
    """Rows that are asked for by their positions, as far as they are there."""
    asked = [
        row
        for options in methods
        for row in method_of(options).row_indices(options)
        if 0 <= row < n_rows
    ]
    return np.array(asked, dtype=np.intp)
