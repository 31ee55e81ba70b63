"""Warning that a model's loss is no better than that of the best constant prediction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.effects.weighted_mean import mean
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.losses import Loss

_CAUSES = (
    "Swapped or missing columns, or a target on another scale than the predictions, are likely "
    "causes."
)


def far_from_target(
    comparison: Comparison, actual: Matrix, weights: Vector, losses: Vector, names: tuple[str, ...]
) -> tuple[Note, ...]:
    """Warn of outputs whose loss is not below that of the best constant prediction.

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
        Empty if losses are lower or infinite, or if the target is constant; also for losses that
        are expressions, whose best constant is not known.
    """
    if comparison.loss_expression:
        return ()
    is_used = weights > 0
    actual, weights = actual[is_used], weights[is_used] / weights.max()
    constant = np.broadcast_to(_best_constants(comparison.loss, actual, weights), actual.shape)
    baselines = comparison.average(actual, constant, weights)
    if comparison.one_hot_target and len(losses) > 1:
        # A single class may be rare by chance; the sum shows whether the model tells them apart.
        losses, baselines = losses.sum(keepdims=True), baselines.sum(keepdims=True)
        names = ("all classes",)
    parts = [
        _comparison_text(comparison.loss, name, loss, baseline)
        for name, loss, baseline in zip(names, losses, baselines, strict=True)
        if np.isfinite(loss) and loss >= baseline > 0
    ]
    return (_note(parts, len(actual)),) if parts else ()


def _note(parts: Sequence[str], row_count: int) -> Note:
    more = f"; and {len(parts) - 3} more" if len(parts) > 3 else ""
    message = (
        f"On {row_count:,} rows the model is no better than a constant prediction: "
        f"{'; '.join(parts[:3])}{more}. {_CAUSES}"
    )
    return Note("FAR_FROM_TARGET", message)


def _comparison_text(loss: Loss, name: str, value: float, baseline: float) -> str:
    r_squared = f" (R² = {1 - value / baseline:.3g})" if loss is Loss.SQUARED_ERROR else ""
    return f"{loss.value} of {name} {value:.4g}, of the constant {baseline:.4g}{r_squared}"


def _best_constants(loss: Loss, actual: Matrix, weights: Vector) -> Vector:
    """Return the constants of least average loss: (n_outputs,)."""
    if loss is not Loss.ABSOLUTE_ERROR:
        return mean(actual, weights)
    return np.array([_median(column, weights) for column in actual.T])


def _median(values: Vector, weights: Vector) -> float:
    order = np.argsort(values, kind="stable")
    shares = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(shares, shares[-1] / 2)])
