"""Warning that a model's loss or score is no better than that of the best constant prediction.

Accuracy ties with a constant wherever one class is frequent, so that a single loss or score does
not show that a model has learned nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.effects.weighted_mean import mean
from onnxplain_server.methods.comparison import (
    Comparison,
    constant_losses,
    weighted_quantiles,
)
from onnxplain_server.methods.losses import Loss, LossParameters
from onnxplain_server.methods.scores import score

_AREA_ERRORS = 2.0
"""Standard errors by which an area under the ROC curve of one class is above one half."""
_CAUSES = (
    "Swapped or missing columns, or a target on another scale than the predictions, are likely "
    "causes."
)

_RANK_ERRORS = 3.0
"""Standard errors by which a rank correlation is above 0."""
_ORDER_CURES = (
    "Of a quantile, set loss to PINBALL with its quantile; of a ranking, NDCG or "
    "PAIRWISE_ACCURACY; otherwise check units and columns."
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
        for losses that are expressions, whose best constant is not known, and for rankings.
    """
    is_used = weights > 0
    has_constant = not (comparison.loss_expression or comparison.is_ranking)
    if not has_constant or (actual[is_used] == actual[is_used][:1]).all():
        return ()
    actual, weights = actual[is_used], weights[is_used] / weights.max()
    parts = _not_better(comparison, actual, weights, losses, names)
    if not parts:
        return ()
    if predict is None:
        return (_note(parts, len(actual)),)
    return _unless_skilled(parts, comparison, actual, predict()[is_used], weights)


def _unless_skilled(
    parts: Sequence[str], comparison: Comparison, actual: Matrix, predicted: Matrix, weights: Vector
) -> tuple[Note, ...]:
    """Warn of these losses, unless another one shows skill; see `_has_skill`."""
    if _has_skill(comparison, actual, predicted, weights):
        return ()
    ranks = 0.0 if comparison.one_hot_target else _rank_correlation(actual, predicted, weights)
    return (_note(parts, len(actual), ranks),)


def _not_better(
    comparison: Comparison, actual: Matrix, weights: Vector, losses: Vector, names: tuple[str, ...]
) -> list[str]:
    """Compare losses with those of constants, and return the words for those that are no better."""
    baselines = constant_losses(comparison, actual, weights)
    if comparison.one_hot_target and len(losses) > 1 and not comparison.is_score:
        # A single class may be rare by chance; the sum shows whether the model tells them apart.
        losses, baselines = losses.sum(keepdims=True), baselines.sum(keepdims=True)
        names = ("all classes",)
    return [
        _comparison_text(comparison.measure, name, loss, baseline)
        for name, loss, baseline in zip(names, losses, baselines, strict=True)
        if np.isfinite(loss) and comparison.direction * (loss - baseline) >= 0 < baseline
    ]


def _note(parts: Sequence[str], row_count: int, ranks: float = 0.0) -> Note:
    """Write the warning; predictions that order the rows are not called as bad as a constant."""
    more = f"; and {len(parts) - 3} more" if len(parts) > 3 else ""
    losses = f"{'; '.join(parts[:3])}{more}"
    message = (
        f"On {row_count:,} rows the model is no better than a constant prediction: {losses}. "
        f"{_CAUSES}"
    )
    if ranks > 0:
        message = (
            f"On {row_count:,} rows the predictions come no closer to the target than a constant: "
            f"{losses}. They rise with it, though (rank correlation {ranks:.2g}), as those of a "
            f"quantile, a ranking or on another scale do. {_ORDER_CURES}"
        )
    return Note(InputWarning.FAR_FROM_TARGET, message)


def _comparison_text(loss: Loss | str, name: str, value: float, baseline: float) -> str:
    r_squared = f" (R² = {1 - value / baseline:.3g})" if loss is Loss.SQUARED_ERROR else ""
    label = loss if isinstance(loss, str) else loss.value
    return f"{label} of {name} {value:.4g}, of the constant {baseline:.4g}{r_squared}"


def _has_skill(comparison: Comparison, actual: Matrix, predicted: Matrix, weights: Vector) -> bool:
    """Return whether a loss or score of the task is better than the constant's, beyond its error.

    Parameters
    ----------
    comparison : Comparison
        Resolved.
    actual, predicted : (n_rows, n_outputs)
    weights : (n_rows,)
        Positive.
    """
    if comparison.one_hot_target and _ranks(actual, predicted, weights):
        return True
    with np.errstate(over="ignore", invalid="ignore"):  # a loss beyond float64 shows no skill
        losses = _losses(comparison, actual, predicted, weights)
        return any(_is_better(own, of_constant, weights) for own, of_constant in losses)


def _losses(
    comparison: Comparison, actual: Matrix, predicted: Matrix, weights: Vector
) -> Iterator[tuple[Vector, Vector]]:
    """Yield the losses of each row, by the predictions and by a constant: (n_rows,) each."""
    average = np.broadcast_to(mean(actual, weights), actual.shape)
    if not comparison.one_hot_target:
        median = np.broadcast_to(weighted_quantiles(actual, weights, 0.5), actual.shape)
        for k in range(actual.shape[1]):
            yield (actual - predicted)[:, k] ** 2, (actual - average)[:, k] ** 2
            yield np.abs(actual - predicted)[:, k], np.abs(actual - median)[:, k]
        return
    yield ((actual - predicted) ** 2).sum(axis=1), ((actual - average) ** 2).sum(axis=1)
    if predicted.min() < 0 or predicted.max() > 1:
        return
    by_row = replace(comparison, loss=Loss.LOGLOSS, sum_outputs=True, parameters=LossParameters())
    with np.errstate(divide="ignore", invalid="ignore"):
        yield by_row.losses(actual, predicted)[:, 0], by_row.losses(actual, average)[:, 0]


def _is_better(own: Vector, of_constant: Vector, weights: Vector) -> bool:
    """Return whether losses are lower on average, by more than a standard error."""
    gains = of_constant - own
    if not np.isfinite(gains).all():
        return False
    shares = weights / weights.sum()
    gain = float(shares @ gains)
    error = float(np.sqrt(np.sum(shares**2 * (gains - gain) ** 2)))
    return gain > error


def _rank_correlation(actual: Matrix, predicted: Matrix, weights: Vector) -> float:
    """Return the largest correlation of ranks of an output and its target beyond chance, or 0."""
    shares = weights / weights.sum()
    error = float(np.sqrt(np.sum(shares**2)))
    found = [0.0]
    for true, own in zip(actual.T, predicted.T, strict=True):
        a, b = (_centered_ranks(values, shares) for values in (true, own))
        spread = float(np.sqrt((shares @ a**2) * (shares @ b**2)))
        correlation = float(shares @ (a * b)) / spread if spread > 0 else 0.0
        found.append(correlation if correlation > _RANK_ERRORS * error else 0.0)
    return max(found)


def _centered_ranks(values: Vector, shares: Vector) -> Vector:
    """Return ranks with mean 0, equal values at the middle of theirs: (n_rows,)."""
    _, inverse = np.unique(values, return_inverse=True)
    weights = np.bincount(inverse, shares)
    ranks: Vector = (np.cumsum(weights) - weights / 2)[inverse]
    return ranks - shares @ ranks


def _ranks(actual: Matrix, predicted: Matrix, weights: Vector) -> bool:
    """Return whether the rows of any class are ranked above others, by more than chance does."""
    areas = score(Loss.AUC, actual, predicted, weights, None)
    shares = weights / weights.sum()
    effective = 1 / float(np.sum(shares**2))
    positive = mean(actual, weights) * effective
    negative = effective - positive
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.sqrt((effective + 1) / (12 * positive * negative))
    return bool((areas - 0.5 > _AREA_ERRORS * errors).any())
