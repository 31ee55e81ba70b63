"""FIRM on a table that is read block by block: one pass, which fills the bins of all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Array, Flags, Matrix, Vector
from onnxplain_server.methods.firm.bins import Bins, for_kernel, weight_totals
from onnxplain_server.methods.firm.cuts import Cuts
from onnxplain_server.methods.firm.scores import (
    BinStatistics,
    score_sums,
    statistics_of,
    sum_of_squares,
)
from onnxplain_server.methods.firm.weighted_scores import ROUNDING, WeightedScores
from onnxplain_server.trees.counting.ranked_rows import rank_rows
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.streaming.block_effects import predict_rows
from onnxplain_server.trees.streaming.blocks import RowBlock
from onnxplain_server.trees.streaming.passes import Summed, TreeSums


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
        leaves.descent()  # before threads need it

        def summed(block: RowBlock, pool: BlockPool) -> FirmSums:
            background = block.background
            cells = rank_rows(trees.ensemble, background, pool, total=1.0).codes
            scores = predict_rows(leaves, trees.outputs, background, cells, pool)
            return self._fill(block, scores)

        return summed

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
class StreamedScores(WeightedScores):
    """Scores in bins, as estimators by bins ask for them; `centered` has no rows.

    Attributes
    ----------
    sums : FirmSums
    shift : (n_outputs,)
    features : mapping of Bins to int
        Bins of each feature, and its position.
    """

    sums: FirmSums
    shift: Vector
    features: Mapping[Bins, int]

    @cached_property
    def means(self) -> Vector:
        """Means of the scores: (n_outputs,)."""
        return self.shift + self._offset

    @property
    def _offset(self) -> Vector:
        return self.sums.total / self.sums.weight

    @cached_property
    def _varies(self) -> Flags:
        """Return which scores are not constant up to rounding."""
        low, high = self.sums.low, self.sums.high
        reach = np.maximum(high - self.means, self.means - low)
        return np.asarray(reach > ROUNDING * np.maximum(np.abs(low), np.abs(high)))

    @cached_property
    def _square(self) -> Vector:
        square = self.sums.square - self.sums.weight * self._offset**2
        return np.where(self._varies, np.maximum(square, 0.0), 0.0)

    @cached_property
    def deviations(self) -> Vector:
        return np.sqrt(self._square / self.sums.weight)

    def bin_statistics(self, bins: Bins) -> BinStatistics:
        """Return the statistics of a feature's bins."""
        scores = self.sums.scores[self.features[bins]] - bins.totals[0][:, None] * self._offset
        return statistics_of(np.where(self._varies, scores, 0.0), bins.totals, self._square)


def scores_and_bins(
    cuts: Sequence[Cuts], sums: FirmSums, shift: Vector
) -> tuple[StreamedScores, list[Bins]]:
    """Return the scores, and the bins of each feature, without codes of rows."""
    filled = []
    for cut, totals, values in zip(cuts, sums.totals, sums.values, strict=True):
        levels = cut.labels
        if not len(levels):
            levels = values / np.where(totals[0] > 0, totals[0], np.nan)
            if cut.missing_bin >= 0:
                levels[cut.missing_bin] = np.nan
        filled.append(Bins(np.zeros(0, np.int16), levels, cut.is_by_value, totals))
    nothing = np.zeros((0, len(shift)))
    scores = StreamedScores(
        nothing, np.zeros(0), None, sums=sums, shift=shift,
        features={bins: k for k, bins in enumerate(filled)},
    )  # fmt: skip
    return scores, filled
