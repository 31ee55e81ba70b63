"""What rounding may do to an effect."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector

AVERAGING = 256 * 2.0**-53
"""Relative error of averages over rows and points, and of sums over leaves, in float64: for sums
of many thousand terms, which err by some units times the root of their number."""

_LAST_PLACES = 4
"""Half units in the last place by which a prediction may be off, being a sum itself."""


def prediction_rounding(outputs: Matrix, roundings: Vector) -> Vector:
    """Rounding of predictions, and of averages over them: (n_outputs,), output unit.

    Parameters
    ----------
    outputs : (n_rows, n_outputs)
    roundings : (n_outputs,)
        Relative error of a single rounding; see `Model.roundings`.
    """
    noise: Vector = (_LAST_PLACES * roundings + AVERAGING) * np.abs(outputs).max(axis=0)
    return noise
