"""Rounding error of effects, as bounds from the arithmetic behind them."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector

AVERAGING = 256 * 2.0**-53
"""Relative error of float64 averages over rows and points, and of sums over leaves: for many
thousand terms, whose error is a few units times the root of their number."""

_LAST_PLACES = 4
"""Error of a prediction, which is a sum itself, in half units in the last place."""


def prediction_rounding(outputs: Matrix, roundings: Vector) -> Vector:
    """Bound the rounding error of predictions and of averages over them: (n_outputs,), output unit.

    Parameters
    ----------
    outputs : (n_rows, n_outputs)
    roundings : (n_outputs,)
        Relative error of one rounding; see `Model.roundings`.
    """
    error: Vector = (_LAST_PLACES * roundings + AVERAGING) * np.abs(outputs).max(axis=0)
    return error
