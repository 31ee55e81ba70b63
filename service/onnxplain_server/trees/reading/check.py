"""Check of trees against the model's own predictions, within the rounding of float32 sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.linear.part import LinearPart
from onnxplain_server.trees.reading.refusal import Refusal

RELATIVE = 1e-5
_ROUNDING = 2.0**-24
"""Relative error of one float32 addition."""


def disagreement(ensemble: Ensemble, sums: Matrix, predicted: Matrix) -> Refusal | None:
    """Compare outputs of the ensemble for some rows with the model's predictions.

    Parameters
    ----------
    sums, predicted : (n_rows, n_outputs)
        All outputs of the ensemble.

    Returns
    -------
    Refusal or None
        None where they agree within the rounding of float32 sums.
    """
    allowed = RELATIVE * np.abs(predicted) + rounding(ensemble)
    return first_difference(sums, predicted, allowed, "its trees add up to")


def compare_with_made(
    compare: Callable[[Sequence[Array]], Refusal | None],
    columns: Sequence[Array],
    make: Callable[[], Sequence[Array]],
) -> Refusal | None:
    """Compare predictions on rows of the table, and then on rows that are made of their values.

    A model that takes only some combinations of these values is compared on rows of the table.

    Parameters
    ----------
    compare : callable (columns) -> Refusal or None
        Compares on rows; the refusal names what differs.
    make : callable () -> columns
    """
    mismatch = compare(columns)
    if mismatch is not None:
        return mismatch
    try:
        return compare(make())
    except ExplainError as error:
        if error.reason is not Reason.PREDICTION_FAILED:
            raise
        return None


def permuted(columns: Sequence[Array]) -> list[Array]:
    """Make rows of the values of others: each column in another order."""
    rng = np.random.default_rng(0)
    return [rng.permutation(column) for column in columns]


def first_difference(
    computed: Matrix, predicted: Matrix, allowed: Array, what: str
) -> Refusal | None:
    """Return the first difference of numbers, (n_rows, n_outputs), that is not allowed, or None.

    Parameters
    ----------
    allowed : (n_rows, n_outputs), or (n_outputs,)
    what : str
        Subject and verb of the refusal, in front of what is computed.
    """
    wrong = ~(np.abs(computed - predicted) <= allowed)
    if not wrong.any():
        return None
    row, output = (int(place) for place in np.argwhere(wrong)[0])
    return Refusal(
        f"{what} {computed[row, output]:.9g} where the runtime "
        f"predicts {predicted[row, output]:.9g}"
    )


def linear_rounding(linear: LinearPart, columns: Sequence[Array]) -> Vector:
    """Bound the rounding error of the runtime's float32 linear functions: (n_outputs,).

    Parameters
    ----------
    columns : sequence of (n_rows,)
        Rows, by feature, in the model's types.
    """
    bound: Vector = _ROUNDING * max(4.0, np.sqrt(len(linear.columns))) * linear.size(columns)
    return bound


def rounding(ensemble: Ensemble) -> Matrix:
    """Bound the rounding error of the runtime's float32 sums, but for rare cases: (n_outputs,).

    Each added tree rounds up or down independently.
    """
    bound: Matrix = _ROUNDING * max(4.0, np.sqrt(len(ensemble.roots))) * magnitude(ensemble)
    return bound


def magnitude(ensemble: Ensemble) -> Vector:
    """Bound the absolute value of any output: (n_outputs,)."""
    first_leaves = np.searchsorted(ensemble.leaf, ensemble.roots)
    largest = np.maximum.reduceat(np.abs(ensemble.values), first_leaves)
    total: Vector = np.abs(ensemble.matrix) @ largest.sum(axis=0) + np.abs(ensemble.offset)
    return total
