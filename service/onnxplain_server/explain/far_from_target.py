"""Predictions far from the target: no better than one constant for every row."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.effects.weighted_mean import mean
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.target import Comparison

_CAUSES = (
    "Swapped or missing columns, or a target on another scale than the predictions, are likely "
    "causes."
)


def far_from_target(
    comparison: Comparison, actual: Matrix, weights: Vector, losses: Vector, names: tuple[str, ...]
) -> tuple[Note, ...]:
    """Say where a model's loss is not below that of the best constant prediction.

    Parameters
    ----------
    comparison : Comparison
        Resolved.
    actual : (n_rows, n_outputs)
    weights : (n_rows,)
    losses : (n_outputs,), or (1,) where they are summed
        Average losses of the model on these rows.
    names : tuple of str
        Of the losses.

    Returns
    -------
    tuple of Note
        None where losses are lower, infinite, or the target is constant.
    """
    kept = weights > 0
    actual, weights = actual[kept], weights[kept] / weights.max()
    constant = np.broadcast_to(_best(comparison.loss, actual, weights), actual.shape)
    limits = comparison.average(actual, constant, weights)
    if comparison.one_hot_target and len(losses) > 1:
        # One class may be rare by chance; together they say whether the model knows them.
        losses, limits = losses.sum(keepdims=True), limits.sum(keepdims=True)
        names = ("all classes",)
    parts = [
        _compared(comparison.loss, name, loss, limit)
        for name, loss, limit in zip(names, losses, limits, strict=True)
        if np.isfinite(loss) and loss >= limit > 0
    ]
    if not parts:
        return ()
    more = f"; and {len(parts) - 3} more" if len(parts) > 3 else ""
    message = (
        f"On {len(actual):,} rows the model is no better than a constant prediction: "
        f"{'; '.join(parts[:3])}{more}. {_CAUSES}"
    )
    return (Note("FAR_FROM_TARGET", message),)


def _compared(loss: Loss, name: str, value: float, limit: float) -> str:
    share = f" (R² = {1 - value / limit:.3g})" if loss is Loss.SQUARED_ERROR else ""
    return f"{loss.value} of {name} {value:.4g}, of the constant {limit:.4g}{share}"


def _best(loss: Loss, actual: Matrix, weights: Vector) -> Vector:
    """The constants of least average loss: (n_outputs,)."""
    if loss is not Loss.ABSOLUTE_ERROR:
        return mean(actual, weights)
    return np.array([_median(column, weights) for column in actual.T])


def _median(values: Vector, weights: Vector) -> float:
    order = np.argsort(values, kind="stable")
    shares = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(shares, shares[-1] / 2)])
