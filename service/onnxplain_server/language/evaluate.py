"""Evaluation of expression trees: NaN for missing values, errors for infinite ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.columns import widen
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.language.columns import ColumnValues, codes_of
from onnxplain_server.language.tree import (
    ColumnReference,
    Computation,
    Constant,
    Expression,
    Node,
    walk,
)
from onnxplain_server.language.words import has_words, words_of


def _comparing(compare: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Vector]:
    """Wrap a comparison so that its result is NaN where either side is missing."""

    def compared(left: Array, right: Array) -> Vector:
        condition: Vector = np.asarray(compare(left, right)).astype(np.float64)
        absent = _absent(left) | _absent(right)
        return np.where(absent, np.nan, condition)

    return compared


def _absent(values: Array) -> Array:
    return values == "" if values.dtype == object else np.isnan(values)


def _not(condition: Vector) -> Vector:
    return 1.0 - condition


def _xor(first: Vector, second: Vector) -> Vector:
    return np.abs(first - second)


def _fold(choose: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """Extend a choice between two values to any number of them."""
    return lambda *values: reduce(choose, values)


OPERATIONS: dict[str, Callable[..., Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.mod,
    "**": np.power,
    "negative": np.negative,
    "<": _comparing(np.less),
    "<=": _comparing(np.less_equal),
    ">": _comparing(np.greater),
    ">=": _comparing(np.greater_equal),
    "==": _comparing(np.equal),
    "!=": _comparing(np.not_equal),
    # On 0, 1 and NaN; NaN propagates.
    "and": np.multiply,
    "or": np.maximum,
    "not": _not,
    "xor": _xor,
    "abs": np.abs,
    "clip": np.clip,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "max": _fold(np.maximum),
    "min": _fold(np.minimum),
    "sqrt": np.sqrt,
}
"""Operations on values; those on columns are in `_Evaluator`."""


def evaluate(expression: Expression, columns: ColumnValues) -> Array:
    """Evaluate a feature: (n,), float64 with NaN for missing values, or str objects.

    A feature is missing if any column it uses is missing, except inside `missing(...)`.

    Raises
    ------
    ExplainError
        INVALID_OPTION for infinite values, or a column used as condition that is not 0 or 1.
    """
    return widen(evaluate_stored(expression, columns))


def evaluate_stored(expression: Expression, columns: ColumnValues) -> Array:
    """Evaluate a feature as `evaluate` does; a column that is float32 in memory stays so: (n,)."""
    root = expression.root
    if isinstance(root, ColumnReference):
        values = columns.stored(root.name)
    else:
        values = evaluate_unchecked(expression, columns)
    if values.dtype != object:
        _check_finite(expression, columns, values)
    return values


def evaluate_unchecked(expression: Expression, columns: ColumnValues) -> Array:
    """Evaluate an expression as `evaluate` does, with NaN and infinity as they come out."""
    with np.errstate(all="ignore"):
        return _Evaluator(expression, columns).values(expression.root)


class _Evaluator:
    def __init__(self, expression: Expression, columns: ColumnValues) -> None:
        self._expression = expression
        self._columns = columns

    def values(self, node: Node) -> Array:
        """Evaluate a node: (n,), or () for a constant."""
        match node:
            case ColumnReference():
                return self._columns[node.name]
            case Constant():
                return np.array(node.value, dtype=object if isinstance(node.value, str) else float)
            case Computation(name="holds" | "missing" | "kmer" | "contains"):
                return self._of_column(node)
            case _:
                return OPERATIONS[node.name](*[self.values(operand) for operand in node.operands])

    def _of_column(self, node: Computation) -> Array:
        """Evaluate an operation on a column by itself: (n,)."""
        match node.name:
            case "holds":
                return self._holds(node)
            case "missing":
                return self._missing(node)
            case "kmer":
                return self._kmer(node)
            case _:
                return self._contains(node)

    def _holds(self, node: Computation) -> Array:
        """Use a column as a condition; reject values other than 0 and 1."""
        values = self.values(node.operands[0])
        wrong = ~((values == 0) | (values == 1) | np.isnan(values))
        if wrong.any():
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"{_name(node)!r} holds {values[wrong][0]:g}, but a condition is 0 or 1; compare "
                f"it, as in x > 0, at position {node.place + 1} of {self._expression.text!r}",
                self._expression.path,
            )
        return values

    def _missing(self, node: Computation) -> Array:
        condition: Vector = self._columns.missing(_name(node)).astype(np.float64)
        return condition

    def _kmer(self, node: Computation) -> Array:
        """Return where a motif occurs, at a position or anywhere."""
        name, motif = _name(node), node.operands[1]
        letters, codes = self._columns.letters(name), codes_of(str(_constant(motif)))
        last = letters.shape[1] - len(codes)
        starts = range(last + 1)
        if len(node.operands) == 3:
            start = int(_constant(node.operands[2]))
            starts = range(start, start + 1) if start <= last else range(0)
        occurs = np.zeros(len(letters))
        for start in starts:
            occurs[(letters[:, start : start + len(codes)] == codes).all(axis=1)] = 1.0
        occurs[self._columns.missing(name)] = np.nan
        return occurs

    def _contains(self, node: Computation) -> Array:
        """Return where words occur, one after the other."""
        name, words = _name(node), words_of(str(_constant(node.operands[1])))
        # Python's loop, as words are cut by Unicode's rules; equal texts are looked at once.
        texts, rows = np.unique(self._columns[name], return_inverse=True)
        occurs = np.array([float(has_words(text, words)) for text in texts])[rows]
        return np.where(self._columns.missing(name), np.nan, occurs)


def _name(node: Computation) -> str:
    column = node.operands[0]
    return column.name if isinstance(column, ColumnReference) else ""


def _constant(node: Node) -> float | str:
    return node.value if isinstance(node, Constant) else ""


def _check_finite(expression: Expression, columns: ColumnValues, values: Array) -> None:
    wrong = ~np.isfinite(values)
    if not wrong.any():
        return
    for node in walk(expression.root):
        if isinstance(node, ColumnReference):
            wrong &= ~columns.missing(node.name) | np.isinf(values)
    rows = np.flatnonzero(wrong)
    if len(rows):
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{expression.text!r} is {values[rows[0]]:g} in {len(rows):,} of {len(values):,} rows, "
            "without a missing value there; keep it finite, or leave these rows out",
            expression.path,
        )
