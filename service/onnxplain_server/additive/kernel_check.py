"""Check of a kernel model against predictions, and of the table's values for its kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from onnxplain_server.additive.kernel_model import KernelModel
from onnxplain_server.additive.kernel_rows import KERNELS_AT_ONCE, outputs_of
from onnxplain_server.core.arrays import Array, Matrix
from onnxplain_server.core.model import Model
from onnxplain_server.core.rows import Features, feeds
from onnxplain_server.effects.background import Background
from onnxplain_server.trees.reading.check import compare_with_made, first_difference, permuted
from onnxplain_server.trees.reading.refusal import Refusal

_DEVIATIONS = 2.0
"""Factor of the root of a number of roundings, which a sum of as many hardly ever exceeds."""
_ROUNDINGS = 8
"""Roundings of a kernel beside those of additions."""
_MOST_OF_RANGE = 0.1
"""Most rounding error of predictions, as a share of their range, of which a check says anything."""


def check_kernels(kernels: KernelModel, model: Model, background: Background) -> Refusal | None:
    """Compare a kernel model with the model's predictions.

    Parameters
    ----------
    background : Background
        Rows of the table; as many are made of their values, each column in another order.

    Returns
    -------
    Refusal or None
        The refusal names what differs.
    """
    features, columns = background.features, background.columns
    compare = partial(_disagreement, kernels, model, features)
    return compare_with_made(compare, columns, lambda: permuted(columns))


def _disagreement(
    kernels: KernelModel, model: Model, features: Features, columns: Sequence[Array]
) -> Refusal | None:
    rows = feeds(features, columns)
    values, predicted = kernels.front(rows), model.predict(rows).astype(np.float64)
    allowed = errors(kernels, values, float(model.roundings.max(initial=2.0**-53)))
    if (allowed.max(axis=0) > _MOST_OF_RANGE * np.ptp(predicted, axis=0)).any():
        return Refusal(
            "the rounding of its sum of kernels may be more than a tenth of the range of its "
            "predictions"
        )
    return first_difference(
        outputs_of(kernels, values), predicted, allowed, "its kernels add up to"
    )


def errors(model: KernelModel, values: Matrix, rounding: float) -> Matrix:
    """Bound how far outputs are from those of a runtime that rounds each operation.

    Parameters
    ----------
    values : (n_rows, n_values)
    rounding : float
        Relative error of one operation.

    Returns
    -------
    (n_rows, n_outputs)
        The exponent of a kernel of q values has the relative error (q + 8) u, and its exponential
        that absolute one. Sums over kernels round up and down: by a multiple of the root of the
        number of additions, of the sum of absolute terms (Higham and Mary 2019, A new approach to
        probabilistic rounding error analysis).
    """
    rounding = max(rounding, model.rounding)
    every, count = np.arange(values.shape[1]), model.kernel_count
    of_sums = _DEVIATIONS * np.sqrt(count + model.addition_count) + _ROUNDINGS
    bound = np.tile(of_sums * np.abs(model.offset), (len(values), 1))
    for start in range(0, count, KERNELS_AT_ONCE):
        kernels = slice(start, start + KERNELS_AT_ONCE)
        exponents = model.exponents(values, every, kernels)
        relative = (len(every) + _ROUNDINGS) * exponents + of_sums
        bound += (np.exp(-exponents) * relative) @ np.abs(model.weights[:, kernels]).T
    return rounding * bound
