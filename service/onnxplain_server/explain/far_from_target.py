"""Warning that a model's loss or score is no better than that of the best constant prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.effects.weighted_mean import mean
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.skill import has_skill

_CAUSES = (
    "Swapped or missing columns, or a target on another scale than the predictions, are likely "
    "causes."
)


def far_from_target(
    comparison: Comparison,
    actual: Matrix,
    weights: Vector,
    losses: Vector,
    names: tuple[str, ...],
    *,
    predict: Callable[[], Matrix] | None = None,
) -> tuple[Note, ...]:
    """Warn of outputs whose loss or score is no better than the best constant prediction's.

    Parameters
    ----------
    comparison : Comparison
    actual : (n_rows, n_outputs)
    weights : (n_rows,)
    losses : (n_outputs,), or (1,) where they are summed
        Average losses, or scores, of the model on these rows.
    names : tuple of str
        Of the losses.
    predict : callable () -> (n_rows, n_outputs), or None
        Returns the predictions, by which another score may show skill; None: not looked at.

    Returns
    -------
    tuple of Note
        Empty if losses are lower or infinite, or if the target is constant, as one class is; also
        for losses that are expressions, whose best constant is not known.
    """
    if comparison.loss_expression or (actual[weights > 0] == actual[weights > 0][:1]).all():
        return ()
    is_used = weights > 0
    actual, weights = actual[is_used], weights[is_used] / weights.max()
    parts = _not_better(comparison, actual, weights, losses, names)
    if not parts:
        return ()
    if predict is not None and has_skill(comparison, actual, predict()[is_used], weights):
        return ()
    return (_note(parts, len(actual)),)


def _not_better(
    comparison: Comparison, actual: Matrix, weights: Vector, losses: Vector, names: tuple[str, ...]
) -> list[str]:
    """Compare losses with those of constants, and return the words for those that are no better."""
    baselines = _constant_losses(comparison, actual, weights)
    if comparison.one_hot_target and len(losses) > 1 and not comparison.is_score:
        # A single class may be rare by chance; the sum shows whether the model tells them apart.
        losses, baselines = losses.sum(keepdims=True), baselines.sum(keepdims=True)
        names = ("all classes",)
    return [
        _comparison_text(comparison.measure, name, loss, baseline)
        for name, loss, baseline in zip(names, losses, baselines, strict=True)
        if np.isfinite(loss) and comparison.direction * (loss - baseline) >= 0 < baseline
    ]


def _note(parts: Sequence[str], row_count: int) -> Note:
    more = f"; and {len(parts) - 3} more" if len(parts) > 3 else ""
    message = (
        f"On {row_count:,} rows the model is no better than a constant prediction: "
        f"{'; '.join(parts[:3])}{more}. {_CAUSES}"
    )
    return Note("FAR_FROM_TARGET", message)


def _comparison_text(loss: Loss | str, name: str, value: float, baseline: float) -> str:
    r_squared = f" (R² = {1 - value / baseline:.3g})" if loss is Loss.SQUARED_ERROR else ""
    label = loss if isinstance(loss, str) else loss.value
    return f"{label} of {name} {value:.4g}, of the constant {baseline:.4g}{r_squared}"


def _constant_losses(comparison: Comparison, actual: Matrix, weights: Vector) -> Vector:
    """Return the loss or score of the best constant prediction: (n_outputs,), or (1,)."""
    if not comparison.is_score:
        constants = _best_constants(comparison, actual, weights)
        return comparison.average(actual, np.broadcast_to(constants, actual.shape), weights)
    if comparison.loss is Loss.AUC:
        return np.full(actual.shape[1], 0.5)
    # A constant prediction is one class in all rows; for a threshold, the class or not.
    by_largest = comparison.parameters.threshold is None
    low, high = (-np.inf, np.inf) if not by_largest else (0.0, 1.0)
    classes = np.eye(actual.shape[1]) if by_largest else np.array([[0.0], [1.0]])
    candidates = [np.where(row > 0, high, low) for row in classes]
    scores = [
        comparison.average(actual, np.broadcast_to(row, actual.shape), weights)
        for row in candidates
    ]
    best: Vector = np.nanmax(scores, axis=0)
    return best


def _best_constants(comparison: Comparison, actual: Matrix, weights: Vector) -> Vector:
    """Return the constants of least average loss: (n_outputs,)."""
    match comparison.loss:
        case Loss.ABSOLUTE_ERROR:
            return np.array([_quantile(column, weights, 0.5) for column in actual.T])
        case Loss.PINBALL:
            level = comparison.parameters.quantile or 0.5
            return np.array([_quantile(column, weights, level) for column in actual.T])
        case Loss.MAPE:
            pairs = ((column, weights / np.abs(column)) for column in actual.T)
            return np.array([_quantile(column, shares, 0.5) for column, shares in pairs])
        case _:
            return mean(actual, weights)


def _quantile(values: Vector, weights: Vector, level: float) -> float:
    order = np.argsort(values, kind="stable")
    shares = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(shares, shares[-1] * level)])
