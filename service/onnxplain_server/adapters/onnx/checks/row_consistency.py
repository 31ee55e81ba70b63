"""Whether a model answers the same row alike: in a second call, in another order, in company.

Explanations compare answers for rows that differ in one feature; a model for which other things
matter too has none. Fresh sessions start from the same seed, so two of them would agree.
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
"""Share of the largest answer up to which another order of additions may change answers."""

_ROUNDINGS = 4
"""Roundings of an output's type that make no difference, in whichever call."""

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """Why a model is no function of the row.

    Attributes
    ----------
    why : str
        The end of "the model is not a function of the row: ...".
    rows : tuple of int
        Positions of the rows whose answers differ; empty where it is known without asking.
    amount, scale : float
        The largest difference between numbers, and the largest number of the same output; 0 where
        answers that are no numbers differ.
    """

    why: str
    rows: tuple[int, ...] = ()
    amount: float = 0.0
    scale: float = 0.0

    def told(self, rows: str) -> str:
        """Tell it with its size; `rows` names the rows whose answers differ."""
        if not self.rows:
            return self.why
        size = f" by up to {self.amount:.2g} where answers reach {self.scale:.2g}," * bool(
            self.amount
        )
        return f"{self.why},{size} in {rows}"


def contradiction(model: ModelProto, run: Run, rows: Mapping[str, Array]) -> Inconsistency | None:
    """Ask the same rows twice in one session, then in another order.

    Parameters
    ----------
    model : ModelProto
    run : Run
        The way in which rows will be evaluated.
    rows : mapping of input name to (n_rows, width)

    Returns
    -------
    Doubt or None
        None where nothing was found. What shows only on other rows stays unseen.
    """
    if drawn := random_operators(model):
        return Inconsistency(f"it draws random numbers ({', '.join(drawn)})")
    first, second = run(rows), run(rows)
    why = "the same rows got different answers in two calls"
    if doubt := compare(second, first, why, tolerance=0.0):
        return doubt
    n = len(next(iter(rows.values())))
    order = np.roll(np.arange(n), 1)
    moved = run({name: values[order] for name, values in rows.items()})
    back = [answer[np.argsort(order)] for answer in moved]
    return compare(back, first, "its answer for a row depends on the rows before and after it")


def compare(
    found: Sequence[Array], expected: Sequence[Array], why: str, tolerance: float = _TOLERANCE
) -> Inconsistency | None:
    """Find where answers differ by more than rounding, and by how much.

    Parameters
    ----------
    found, expected : for each output (n_rows, ...)
    why : str
        What it means that they differ.
    tolerance : float
        Share of the largest answer that makes no difference, where the output's type rounds finer.

    Returns
    -------
    Doubt or None
        None where they are equal but for rounding.
    """
    differing: set[int] = set()
    sizes = [(0.0, 0.0)]
    for one, other in zip(found, expected, strict=True):
        rows, amount, scale = _difference(one, other, tolerance)
        differing.update(rows)
        sizes.append((amount, scale))
    if not differing:
        return None
    amount, scale = max(sizes, key=lambda size: size[0] / size[1] if size[1] else size[0])
    return Inconsistency(why, tuple(sorted(differing)), amount, scale)


def _difference(
    found: Array, expected: Array, tolerance: float
) -> tuple[Sequence[int], float, float]:
    """Rows of which one output differs, the largest difference, and the largest answer."""
    if found.shape != expected.shape:
        return range(len(expected)), 0.0, 0.0
    if found.dtype.kind != "f":
        return _rows(found != expected), 0.0, 0.0
    tolerance = max(tolerance, _ROUNDINGS * float(np.finfo(expected.dtype).eps))
    ours, theirs = found.astype(np.float64), expected.astype(np.float64)
    scale = float(np.abs(theirs, where=np.isfinite(theirs), out=np.zeros(theirs.shape)).max())
    wrong = ~np.isclose(ours, theirs, tolerance, tolerance * scale, equal_nan=True)
    return _rows(wrong), _largest(ours[wrong], theirs[wrong]), scale


def _largest(found: Matrix, expected: Matrix) -> float:
    """Largest difference; infinite where one of two answers is no number."""
    with np.errstate(invalid="ignore"):
        differences = np.abs(found - expected)
    return float(np.nan_to_num(differences, nan=math.inf).max(initial=0.0))


def _rows(wrong: Array) -> Sequence[int]:
    by_row = wrong.reshape(len(wrong), -1).any(axis=1)
    return np.flatnonzero(by_row).tolist()


def named(rows: Sequence[object], kind: str) -> str:
    """Name rows by their numbers, the first few where there are many: "rows 2 and 7 (...)"."""
    if not rows:
        return ""
    shown = [str(row) for row in rows[:_MOST_NAMED]]
    rest = f" and {len(rows) - len(shown)} more" if len(rows) > len(shown) else ""
    numbers = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    if rest:
        numbers = ", ".join(shown) + rest
    return f"row{'s' * (len(rows) > 1)} {numbers} (counted from 0) of {kind}"
