"""FIRM on a table that is read block by block: one pass, which fills the bins of all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.firm.bins import Bins, for_kernel, weight_totals
from onnxplain_server.methods.firm.cuts import Cuts
from onnxplain_server.methods.firm.scores import (
    BinStatistics,
    score_sums,
    statistics_of,
    sum_of_squares,
)
from onnxplain_server.methods.firm.weighted_scores import ROUNDING, WeightedScores
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.streaming.blocks import RowBlock
from onnxplain_server.trees.streaming.passes import Summed, TreeSums, predicting


@dataclass(slots=True, eq=False)
class FirmSums:
    """Scores of the rows in the bins of features.

    Attributes
    ----------
    totals : tuple of (2, n_bins)
        Per feature, sums of the weights of each bin, and of their squares.
    values : tuple of (n_bins,)
        Sums of the values of numbers, times weights.
    scores : tuple of (n_bins, n_outputs)
        Sums of the scores minus the shift, times weights.
    square, total : (n_outputs,)
        Sums of the squares of scores minus the shift, and of these, times weights.
    low, high : (n_outputs,)
        Least and largest score.
    weight : float
    """

    totals: Sequence[Matrix]
    values: Sequence[Vector]
    scores: Sequence[Matrix]
    square: Vector
    total: Vector
    low: Vector
    high: Vector
    weight: float

    def add(self, later: FirmSums) -> None:
        """Add later rows."""
        for name in ("totals", "values", "scores"):
            for own, other in zip(getattr(self, name), getattr(later, name), strict=True):
                np.add(own, other, out=own)
        self.square += later.square
        self.total += later.total
        self.weight += later.weight
        np.minimum(self.low, later.low, out=self.low)
        np.maximum(self.high, later.high, out=self.high)


@dataclass(frozen=True, slots=True, eq=False)
class FirmPass:
    """Scores of all rows in the bins of features: sums are `FirmSums`.

    Attributes
    ----------
    columns : tuple of str
        Features.
    cuts : tuple of Cuts
    shift : (n_outputs,)
        About the mean of the scores, for precision.
    """

    columns: tuple[str, ...]
    cuts: tuple[Cuts, ...]
    shift: Vector

    @property
    def evaluations(self) -> int:
        return 1

    def prepare(self, trees: TreeSums, leaves: Leaves, pool: BlockPool) -> Summed:  # noqa: ARG002 - of the protocol
        predict = predicting(trees, leaves)
        return lambda block, pool: self._fill(block, predict(block, pool))

    def _fill(self, block: RowBlock, scores: Matrix) -> FirmSums:
        weights = for_kernel(block.background.weights)
        shifted = for_kernel(scores - self.shift)
        totals, values, sums = [], [], []
        for name, cuts in zip(self.columns, self.cuts, strict=True):
            column = block.rows.column(name)
            codes = cuts.codes(column)
            totals.append(weight_totals(codes, cuts.count, weights))
            values.append(_value_sums(column, codes, cuts.count, weights))
            sums.append(score_sums(codes, cuts.count, shifted, weights))
        return FirmSums(
            totals,
            values,
            sums,
            sum_of_squares(shifted, weights),
            (weights[:, None] * shifted).sum(axis=0),
            scores.min(axis=0),
            scores.max(axis=0),
            float(weights.sum()),
        )


def _value_sums(column: Array, codes: Array, count: int, weights: Vector) -> Vector:
    if column.dtype == object:
        return np.zeros(count)
    known = np.where(np.isnan(column), 0.0, column)
    return np.bincount(codes, weights * known, count).astype(np.float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class SummedScores(WeightedScores):
    """Scores without rows, of which estimators by bins know all that they ask for.

    Attributes
    ----------
    means, spread : (n_outputs,)
        Means and standard deviations of the scores.
    statistics : mapping of Bins to BinStatistics
    """

    means: Vector
    spread: Vector
    statistics: Mapping[Bins, BinStatistics]

    @cached_property
    def deviations(self) -> Vector:
        return self.spread

    def bin_statistics(self, bins: Bins) -> BinStatistics:
        return self.statistics[bins]


def scores_and_bins(
    cuts: Sequence[Cuts], sums: FirmSums, shift: Vector
) -> tuple[SummedScores, list[Bins]]:
    """Return the scores and the bins of each feature, both without rows.

    Scores that are constant up to rounding are exactly so.
    """
    offset = sums.total / sums.weight
    means = shift + offset
    reach = np.maximum(sums.high - means, means - sums.low)
    varies = reach > ROUNDING * np.maximum(np.abs(sums.low), np.abs(sums.high))
    square = np.where(varies, np.maximum(sums.square - sums.weight * offset**2, 0.0), 0.0)
    bins = list(map(_bins, cuts, sums.totals, sums.values))
    statistics = {}
    for own, bin_sums in zip(bins, sums.scores, strict=True):
        centered = np.where(varies, bin_sums - own.totals[0][:, None] * offset, 0.0)
        statistics[own] = statistics_of(centered, own.totals, square)
    scores = SummedScores(
        np.zeros((0, len(shift))), np.zeros(0), None,
        means=means, spread=np.sqrt(square / sums.weight), statistics=statistics,
    )  # fmt: skip
    return scores, bins


def _bins(cuts: Cuts, totals: Matrix, values: Vector) -> Bins:
    levels = cuts.labels
    if not len(levels):
        levels = values / np.where(totals[0] > 0, totals[0], np.nan)
        if cuts.missing_bin >= 0:
            levels[cuts.missing_bin] = np.nan
    return Bins(np.zeros(0, np.int16), levels, cuts.is_by_value, totals)
