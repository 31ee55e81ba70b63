"""Whether a tree view says what the model says."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.refusal import Refusal

_RELATIVE = 1e-5
_ROUNDING = 2.0**-24
"""Of one addition in float32, relative to what is added up."""


def disagreement(ensemble: Ensemble, found: Matrix, predicted: Matrix) -> Refusal | None:
    """Compare what the view gives for some rows with the model's own predictions.

    Parameters
    ----------
    found, predicted : (n_rows, n_outputs)
        Of all outputs of the ensemble.

    Returns
    -------
    Refusal or None
        None where they agree but for the runtime's float32 sums.
    """
    allowed = _RELATIVE * np.abs(predicted) + rounding(ensemble)
    wrong = ~(np.abs(found - predicted) <= allowed)
    if not wrong.any():
        return None
    row, output = (int(place) for place in np.argwhere(wrong)[0])
    return Refusal(
        f"its trees add up to {found[row, output]:.9g} where the runtime "
        f"predicts {predicted[row, output]:.9g}"
    )


def rounding(ensemble: Ensemble) -> Matrix:
    """How far the runtime's float32 sums are off, at most but for rare cases: (n_outputs,).

    Each tree that is added rounds anew, up or down.
    """
    bound: Matrix = _ROUNDING * max(4.0, np.sqrt(len(ensemble.roots))) * magnitude(ensemble)
    return bound


def magnitude(ensemble: Ensemble) -> Vector:
    """Most that any row adds up, by absolute value: (n_outputs,)."""
    number = np.searchsorted(ensemble.roots, ensemble.leaf, side="right") - 1
    largest = np.zeros((len(ensemble.roots), ensemble.values.shape[1]))
    np.maximum.at(largest, number, np.abs(ensemble.values))
    total: Vector = np.abs(ensemble.matrix) @ largest.sum(axis=0) + np.abs(ensemble.offset)
    return total
