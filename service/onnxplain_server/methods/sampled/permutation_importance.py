"""Permutation importance as an average over rows: influences of rows, by intervals and replicates.

A value depends on a row twice: its features are shuffled, and its values are given to another row.
Both parts are the row's influence. Which row got which values is chance too, which shuffles of the
sample and those of all rows have of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.effects.engine import Effects
from onnxplain_server.methods import permutation_importance as shuffles
from onnxplain_server.methods.comparison import RowContext
from onnxplain_server.methods.permutation_importance import Options, PermutedLoss, Result
from onnxplain_server.methods.resampling import ReplicatedStatistic, RowUnits, bootstrap_counts
from onnxplain_server.methods.sampled.intervals import SampledRows, mean_variances


def is_average(options: Options) -> bool:
    """Return whether importances are averages over rows: of a loss, not of a score."""
    return not options.comparison.is_score


class Influences(NamedTuple):
    """Importances, and what each row has to do with them.

    Attributes
    ----------
    result : Result
    of_entries : list of (n_rows, n_outputs)
        Of each importance, in its unit; their mean over rows is 0.
    weights : (n_rows,)
    """

    result: Result
    of_entries: list[Matrix]
    weights: Vector

    def with_intervals(self, sample: SampledRows) -> Result:
        """Add intervals of the values on all rows."""
        importances = []
        for importance, influences in zip(self.result.importances, self.of_entries, strict=True):
            variances = _variances(influences, importance, sample)
            importances.append(_with_interval(importance, sample.reach(variances, self.weights)))
        return replace(self.result, importances=tuple(importances))

    def with_replicates(
        self, result: Result, units: RowUnits, seed: int, repeat_count: int
    ) -> Result:
        """Keep replicates of importances that are known: a row counts as often in both its parts.

        Parameters
        ----------
        result : Result
            These importances, perhaps with intervals.
        units : RowUnits
            Of the rows.
        """
        more = bootstrap_counts(units, seed, range(repeat_count)) - 1
        count, kept = units.effective_count(self.weights), []
        for importance, influences in zip(result.importances, self.of_entries, strict=True):
            if not np.isfinite(influences).all() or not np.isfinite(importance.values).all():
                continue
            spread = np.sqrt(_single_share(influences, importance)) * influences
            replicates = importance.values + more @ spread / len(influences)
            numbers = np.concatenate([importance.values[None], replicates])
            kind = "PERMUTATION_IMPORTANCE"
            kept.append(ReplicatedStatistic.of_numbers(kind, importance.features, numbers, count))
        return replace(result, replicates=tuple(kept))


def influences_of(
    effects: Effects,
    options: Options,
    actual: Matrix,
    seed: int,
    beside: RowContext | None,
) -> Influences:
    """Shuffle each entry, as `permutation_importance.compute` does, and see what rows do.

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
    found = []
    with np.errstate(divide="ignore", invalid="ignore"):  # the notes of the result report them
        for importance, (orders, after) in zip(result.importances, entries, strict=True):
            influences = _influences(after, orders, before, weights)
            if options.normalize:
                shares = len(weights) * weights[:, None] / weights.sum()
                influences -= importance.values * shares * (before - result.baseline_losses)
            found.append(influences / scale)
    return Influences(result, found, weights)


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
    as_donor = np.zeros_like(before)
    for losses, order in zip(after, orders, strict=True):
        # Not the losses: those of the row that got the values are chance of it alone.
        as_donor[order] += shares * (losses - before) / len(orders)
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


def _single_share(influences: Matrix, importance: PermutedLoss) -> Vector:
    """Return the share of the influences' variance that has the chance of shuffles once."""
    whole, of_shuffles = mean_variances(influences), np.nan_to_num(importance.standard_errors) ** 2
    twice = np.divide(of_shuffles, whole, out=np.zeros_like(whole), where=whole > 0)
    shares: Vector = np.clip(1 - twice, 0.5, 1)
    return shares


def _with_interval(importance: PermutedLoss, reach: Vector) -> PermutedLoss:
    return replace(importance, lower=importance.values - reach, upper=importance.values + reach)
