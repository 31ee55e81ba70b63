"""Permutation importance on a sample of the rows, with intervals of the values on all rows.

A value depends on a row twice: its features are shuffled, and its values are given to another row.
Both parts are the row's influence. Which row got which values is chance too, which shuffles of the
sample and those of all rows have of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.effects.engine import Effects
from onnxplain_server.methods import permutation_importance as shuffles
from onnxplain_server.methods.comparison import RowContext
from onnxplain_server.methods.permutation_importance import Options, PermutedLoss, Result
from onnxplain_server.methods.sampled.intervals import SampledRows, mean_variances


def is_average(options: Options) -> bool:
    """Return whether importances are averages over rows: of a loss, not of a score."""
    return not options.comparison.is_score


def compute(  # noqa: PLR0917 - as on all rows, and the sample
    effects: Effects,
    options: Options,
    actual: Matrix,
    seed: int,
    beside: RowContext | None,
    sample: SampledRows,
) -> Result:
    """Shuffle each entry on the sample, as `permutation_importance.compute` does.

    Raises
    ------
    ExplainError
        As there.
    """
    entries: list[tuple[Sequence[Indices], Array]] = []

    def observe(orders: Sequence[Indices], predictions: Sequence[Matrix]) -> None:
        losses = [options.comparison.losses(actual, each, beside) for each in predictions]
        entries.append((orders, np.stack(losses)))

    result = shuffles.compute(effects, options, actual, seed, beside, observe)
    weights = effects.background.weights
    before = options.comparison.losses(actual, effects.outputs(), beside)
    scale = result.baseline_losses if options.normalize else np.ones(before.shape[1])
    importances = []
    with np.errstate(divide="ignore", invalid="ignore"):  # the notes of the result report them
        for importance, (orders, after) in zip(result.importances, entries, strict=True):
            influences = _influences(after, orders, before, weights)
            if options.normalize:
                shares = len(weights) * weights[:, None] / weights.sum()
                influences -= importance.values * shares * (before - result.baseline_losses)
            variances = _variances(influences / scale, importance, sample)
            importances.append(_with_interval(importance, sample.reach(variances, weights)))
    return replace(result, importances=tuple(importances))


def _influences(after: Array, orders: Sequence[Indices], before: Matrix, weights: Vector) -> Matrix:
    """Return the influence of each row on the rise of the loss: (n_rows, n_outputs).

    Parameters
    ----------
    after : (n_repeats, n_rows, n_outputs)
        Losses with shuffled features.
    orders : (n_rows,) each
        Row whose values each row got.
    before : (n_rows, n_outputs)
        Losses.
    """
    shares = len(weights) * weights[:, None] / weights.sum()
    weighted = shares * after
    as_donor = np.zeros_like(before)
    for losses, order in zip(weighted, orders, strict=True):
        as_donor[order] += losses / len(orders)
    rises = after.mean(axis=0) - before
    own = shares * (rises - (shares * rises).mean(axis=0))
    influences: Matrix = own + as_donor - as_donor.mean(axis=0)
    return influences


def _variances(influences: Matrix, importance: PermutedLoss, sample: SampledRows) -> Vector:
    """Return the variance of the difference to the value on all rows: (n_outputs,).

    The chance of shuffles, whose variance is that of the standard error, is in the influences
    twice, once for each row of a pair.
    """
    count, of_rows = len(influences), mean_variances(influences)
    of_shuffles = np.nan_to_num(importance.standard_errors) ** 2
    of_rows = np.maximum(of_rows - 2 * of_shuffles, 0)
    missing = sample.missing_share(count)
    variances: Vector = missing * of_rows + (2 - missing) * of_shuffles
    return variances


def _with_interval(importance: PermutedLoss, reach: Vector) -> PermutedLoss:
    return replace(importance, lower=importance.values - reach, upper=importance.values + reach)
