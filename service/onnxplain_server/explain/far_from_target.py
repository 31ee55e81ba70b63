"""Warnings that a loss is no better than the best constant's, or that a ranking is reversed.

Accuracy ties with a constant wherever one class is frequent, so that a single loss or score does
not show that a model has learned nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.core.number_texts import between_zero_and_one
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.effects.weighted_mean import mean
from onnxplain_server.methods.comparison import (
    Comparison,
    RowContext,
    constant_losses,
    weighted_quantiles,
)
from onnxplain_server.methods.losses import (
    Loss,
    LossAt,
    LossParameters,
    Measure,
    plain_loss,
)
from onnxplain_server.methods.ranking.queries import Queries
from onnxplain_server.methods.ranking.scores import agreement
from onnxplain_server.methods.scores import score
from onnxplain_server.plots.elements import loss_names
from onnxplain_server.plots.elements.number_formats import share_format, spell_apart, spell_beside

_AREA_ERRORS = 2.0
"""Standard errors by which an area under the ROC curve of one class is above one half."""
_CAUSES = (
    "Swapped or missing columns, or a target on another scale than the predictions, are likely "
    "causes."
)

_RANK_ERRORS = 3.0
"""Standard errors by which a rank correlation is above 0, or below."""
_LISTED = 3
"""Most outputs that a warning tells of."""
_REVERSED = (
    "Rows of larger predictions have smaller true values, as where 1 is the best place, or where "
    "the model predicts a distance. Turn the target round, or explain minus the prediction, by "
    "an expression in prediction."
)
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


def reversed_ranking(  # noqa: PLR0917 - all that a ranking depends on
    comparison: Comparison,
    actual: Matrix,
    weights: Vector,
    scores: Vector,
    names: tuple[str, ...],
    predict: Callable[[], Matrix],
    beside: RowContext | None,
) -> tuple[Note, ...]:
    """Warn of outputs that order the rows of queries worse than at random, beyond chance.

    Parameters
    ----------
    comparison, actual, weights, scores, names, predict
        As of `far_from_target`.
    beside : RowContext or None
        Queries of these rows, if the score is of a ranking; there is no warning otherwise.
    """
    if not isinstance(beside, Queries):
        return ()
    rows = np.flatnonzero(weights > 0)
    actual, predicted, queries = actual[rows], predict()[rows], beside.take(rows)
    at_random = constant_losses(comparison, actual, weights[rows], queries)
    columns = zip(names, scores, at_random, actual.T, predicted.T, strict=True)
    parts = [
        _comparison_text(comparison.named_measure, name, own, other)
        for name, own, other, y, p in columns
        if own < other and agreement(y, p, queries) < -_RANK_ERRORS
    ]
    if not parts:
        return ()
    start = f"On {len(rows):,} rows of {_queries(queries)} the order is reversed"
    message = f"{start}: {_first(parts)}. {_REVERSED}"
    return (Note(InputWarning.REVERSED_RANKING, message),)


def _queries(queries: Queries) -> str:
    count = len(np.unique(queries.codes))
    return f"{count:,} quer{'y' if count == 1 else 'ies'}"


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
        _comparison_text(comparison.named_measure, name, loss, baseline)
        for name, loss, baseline in zip(names, losses, baselines, strict=True)
        if np.isfinite(loss) and comparison.direction * (loss - baseline) >= 0 < baseline
    ]


def _note(parts: Sequence[str], row_count: int, ranks: float = 0.0) -> Note:
    """Write the warning; predictions that order the rows are not called as bad as a constant."""
    losses = _first(parts)
    message = (
        f"On {row_count:,} rows the model is no better than a constant prediction: {losses}. "
        f"{_CAUSES}"
    )
    if ranks > 0:
        message = (
            f"On {row_count:,} rows the predictions come no closer to the target than a constant: "
            f"{losses}. They rise with it, though (rank correlation {_share(ranks)}), as those of "
            f"a quantile, a ranking or on another scale do. {_ORDER_CURES}"
        )
    return Note(InputWarning.FAR_FROM_TARGET, message)


def _first(parts: Sequence[str]) -> str:
    """Join the first parts, and count the others."""
    more = f"; and {len(parts) - _LISTED} more" if len(parts) > _LISTED else ""
    return f"{'; '.join(parts[:_LISTED])}{more}"


def _share(value: float) -> str:
    return between_zero_and_one(value, f"{value:.2g}")


def _comparison_text(loss: Measure, name: str, value: float, baseline: float) -> str:
    """Write a loss beside that of the constant, with as many digits as tell the two apart."""
    pair = np.array([value, baseline])
    own, other = (spell_apart(each, np.sort(pair), share_format(pair)) for each in pair.tolist())
    r_squared = ""
    if loss is Loss.SQUARED_ERROR:
        r_squared = f" (R² = {spell_beside(1 - value / baseline, np.ones(1))})"
    label = loss if isinstance(loss, str) else plain_loss(loss).value
    if isinstance(loss, LossAt):
        label = f"{label} ({loss_names.parameter(loss)})"
    return f"{label} of {name} {own}, of {loss_names.yardstick(loss)} {other}{r_squared}"


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
