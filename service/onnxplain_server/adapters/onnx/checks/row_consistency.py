"""Row consistency of a model: equal answers for a row in repeated calls, other orders and batches.

Explanations compare answers for rows that differ in one feature, so a model that also depends on
other things has none. All calls share one session, because fresh ones start from the same seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto

from onnxplain_server.adapters.onnx.checks.allowed_operators import random_operators
from onnxplain_server.adapters.onnx.evaluation import Run
from onnxplain_server.core.arrays import Array, Matrix

_TOLERANCE = 1e-4
"""Relative to the largest answer: effect of another order of additions."""

_ROUNDINGS = 4
"""Roundings in an output's type that count as equal, in any call."""

_NAMED_ROWS = 5


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """Evidence that a model is not a function of the row.

    Attributes
    ----------
    reason : str
        Continues "the model is not a function of the row: ...".
    rows : tuple of int
        Positions of the rows with different answers; empty for static evidence.
    amount, scale : float
        Largest difference, and largest answer of the same output; 0 for answers that are no
        floats.
    """

    reason: str
    rows: tuple[int, ...] = ()
    amount: float = 0.0
    scale: float = 0.0

    def describe(self, rows: str) -> str:
        """Format reason and size; `rows` names the rows with different answers."""
        if not self.rows:
            return self.reason
        size = f" by up to {self.amount:.2g} where answers reach {self.scale:.2g}," * bool(
            self.amount
        )
        return f"{self.reason},{size} in {rows}"


def find_inconsistency(
    model: ModelProto, run: Run, rows: Mapping[str, Array]
) -> Inconsistency | None:
    """Evaluate the same rows twice in one session, then in another order.

    Parameters
    ----------
    model : ModelProto
    run : Run
        Evaluation that predictions will use.
    rows : mapping of input name to (n_rows, width)

    Returns
    -------
    Doubt or None
        None if all answers agree. Inconsistencies on other rows go undetected.
    """
    if operators := random_operators(model):
        return Inconsistency(f"it draws random numbers ({', '.join(operators)})")
    first, second = run(rows), run(rows)
    reason = "the same rows got different answers in two calls"
    if inconsistency := compare(second, first, reason, tolerance=0.0):
        return inconsistency
    n = len(next(iter(rows.values())))
    order = np.roll(np.arange(n), 1)
    reordered = run({name: values[order] for name, values in rows.items()})
    restored = [answer[np.argsort(order)] for answer in reordered]
    return compare(restored, first, "its answer for a row depends on the rows before and after it")


def compare(
    actual: Sequence[Array], expected: Sequence[Array], reason: str, tolerance: float = _TOLERANCE
) -> Inconsistency | None:
    """Find the rows whose answers differ by more than rounding, and the size of the difference.

    Parameters
    ----------
    actual, expected : for each output (n_rows, ...)
    reason : str
        Meaning of a difference.
    tolerance : float
        Relative to the largest answer; at least some roundings of the output's type.

    Returns
    -------
    Doubt or None
        None if they are equal up to rounding.
    """
    differing: set[int] = set()
    sizes = [(0.0, 0.0)]
    for outputs in zip(actual, expected, strict=True):
        rows, amount, scale = _difference(*outputs, tolerance)
        differing.update(rows)
        sizes.append((amount, scale))
    if not differing:
        return None
    amount, scale = max(sizes, key=lambda size: size[0] / size[1] if size[1] else size[0])
    return Inconsistency(reason, tuple(sorted(differing)), amount, scale)


def find_resizing(batched: Sequence[Array], alone: Sequence[Array]) -> Inconsistency | None:
    """Find an output whose answer for several rows is no arrangement of their answers alone.

    A model that takes one row at a time gives other shapes too: all answers in one row, or that
    of the first row only.

    Parameters
    ----------
    batched, alone : for each output, its answer for all rows; and (n_rows, ...), row by row

    Returns
    -------
    Inconsistency or None
        Without rows; None where each output holds the answers of rows alone.
    """
    for together, single in zip(batched, alone, strict=True):
        if together.shape == single.shape or not together.size:
            continue
        expected = single.ravel()[: together.size]
        if together.size > single.size or compare([together.ravel()], [expected], ""):
            return Inconsistency(
                f"its answer for {len(single)} rows, of the shape {together.shape}, is not made of "
                f"one for each row, of the shape {(1, *single.shape[1:])}, so it depends on the "
                "rows beside it"
            )
    return None


def _difference(
    actual: Array, expected: Array, tolerance: float
) -> tuple[Sequence[int], float, float]:
    """Return the rows where one output differs, the largest difference and the largest answer."""
    if actual.shape != expected.shape:
        return range(len(expected)), 0.0, 0.0
    if actual.dtype.kind != "f":
        return _rows(actual != expected), 0.0, 0.0
    tolerance = max(tolerance, _ROUNDINGS * float(np.finfo(expected.dtype).eps))
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    scale = float(np.abs(expected, where=np.isfinite(expected), out=np.zeros(expected.shape)).max())
    wrong = ~np.isclose(actual, expected, tolerance, tolerance * scale, equal_nan=True)
    return _rows(wrong), _largest(actual[wrong], expected[wrong]), scale


def _largest(actual: Matrix, expected: Matrix) -> float:
    """Return the largest difference; infinite where one of two answers is NaN."""
    with np.errstate(invalid="ignore"):
        differences = np.abs(actual - expected)
    return float(np.nan_to_num(differences, nan=math.inf).max(initial=0.0))


def _rows(wrong: Array) -> Sequence[int]:
    by_row = wrong.reshape(len(wrong), -1).any(axis=1)
    return np.flatnonzero(by_row).tolist()


def row_names(rows: Sequence[object], kind: str) -> str:
    """Format row numbers for a message, at most five of them: "rows 2 and 7 (...)"."""
    if not rows:
        return ""
    shown = [str(row) for row in rows[:_NAMED_ROWS]]
    rest = f" and {len(rows) - len(shown)} more" if len(rows) > len(shown) else ""
    numbers = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    if rest:
        numbers = ", ".join(shown) + rest
    return f"row{'s' * (len(rows) > 1)} {numbers} (counted from 0) of {kind}"
