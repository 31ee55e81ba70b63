"""FIRM on a table that is read block by block: bins of all rows, and one pass that fills them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Array, Flags, Matrix, Vector
from onnxplain_server.core.rows import is_missing
from onnxplain_server.methods.firm.bins import (
    OTHERS,
    Bins,
    first_rows,
    for_kernel,
    own_bins,
    weight_totals,
)
from onnxplain_server.methods.firm.scores import BinStatistics, statistics_of
from onnxplain_server.methods.firm.weighted_scores import ROUNDING, WeightedScores
from onnxplain_server.trees.counting.ranked_rows import rank_rows
from onnxplain_server.trees.kernels.binning import find_bins, sum_scores
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.streaming.block_effects import predict_rows
from onnxplain_server.trees.streaming.blocks import RowBlock
from onnxplain_server.trees.streaming.column_summary import ColumnSummary
from onnxplain_server.trees.streaming.column_sums import LevelSums
from onnxplain_server.trees.streaming.passes import Summed, TreeSums


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Division of a feature's values into bins.

    Attributes
    ----------
    firsts : (n_bins,)
        Least value of each bin of numbers; of texts, all distinct ones but the missing one.
    bins : (n_texts,)
        Bin of each text; empty for numbers.
    labels : (n_labels,)
        Values of the bins, the missing one last; empty for means of bins.
    count : int
        Number of bins.
    missing_bin : int
        Bin of missing values; -1 without any.
    is_by_value : bool
        As of `Bins`.
    """

    firsts: Array
    bins: Array
    labels: Array
    count: int
    missing_bin: int
    is_by_value: bool

    def codes(self, values: Array) -> Array:
        """Return the bin of each value: (n,), int16."""
        missing = is_missing(values)
        codes = np.full(len(values), self.missing_bin, dtype=np.int16)
        if values.dtype == object:
            texts, inverse = np.unique(values[~missing], return_inverse=True)
            codes[~missing] = self.bins[np.searchsorted(self.firsts, texts)][inverse]
            return codes
        known = values[~missing].astype(np.float64)
        found = np.empty(len(known), dtype=np.int16)
        find_bins(for_kernel(known), for_kernel(self.firsts[1:].copy()), found)
        codes[~missing] = found
        return codes


def cut_ranks(bin_count: int) -> Vector:
    """Return the shares of the rows at which bins of equal rows begin."""
    return np.arange(1, bin_count) / bin_count


def cut_streamed(column: ColumnSummary, bin_count: int, *, is_even: bool) -> Cuts:
    """Divide values as `bins.cut` does; `is_even` for rows of equal weight.

    Of numbers with more distinct values than are kept, bins begin at equal shares of the rows, and
    not of the distinct values: the two differ by less than one value.
    """
    sums, missing = column.sums, len(column.missing)
    if column.is_text:
        return _cut_texts(column, bin_count)
    if sums.is_complete and len(sums.levels) <= bin_count:
        count = len(sums.levels)
        labels = np.append(sums.levels, column.missing)
        return _of_numbers(sums.levels, labels, count, missing)
    if sums.is_complete:
        firsts = _first_levels(sums, bin_count, is_even=is_even)
    else:
        firsts = _quantiles(column, bin_count)
    return _of_numbers(firsts, np.zeros(0), len(firsts), missing)


def _of_numbers(firsts: Vector, labels: Array, count: int, missing: int) -> Cuts:
    nothing = np.zeros(0, np.int16)
    missing_bin, is_by_value = count if missing else -1, bool(len(labels))
    return Cuts(firsts, nothing, labels, count + missing, missing_bin, is_by_value)


def _first_levels(sums: LevelSums, bin_count: int, *, is_even: bool) -> Vector:
    """Return the first value of each bin, where all values are known."""
    if is_even:
        starts, cumulated = (np.cumsum(sums.rows) - sums.rows).astype(np.intp), None
        count = int(sums.known_rows)
    else:  # a row for each value
        starts, cumulated = np.arange(len(sums.levels)), np.append(0.0, np.cumsum(sums.weights))
        count = len(starts)
    found = first_rows(starts, count, cumulated, bin_count)
    firsts: Vector = sums.levels[np.searchsorted(starts, found)]
    return firsts


def _quantiles(column: ColumnSummary, bin_count: int) -> Vector:
    """Return the first value of each bin: the first whose middle row is not before its share."""
    count, firsts = int(column.sums.known_rows), [float(column.sums.levels[0])]
    shares = cut_ranks(bin_count)
    for share, place in zip(shares.tolist(), column.places_of(shares).tolist(), strict=True):
        at = column.places[place]
        is_first = (at.start + at.end) / (2 * count) >= share
        firsts.append(at.value if is_first else at.following)
    found: Vector = np.unique([first for first in firsts if np.isfinite(first)])
    return found


def _cut_texts(column: ColumnSummary, bin_count: int) -> Cuts:
    sums = column.sums
    levels, weights = sums.levels, sums.weights
    if sums.missing_rows:
        levels, weights = np.append([""], levels), np.append(sums.missing_weight, weights)
    ordered, bin_of = own_bins(levels.astype(object), weights, bin_count)
    has_others = len(ordered) < len(levels)
    labels = np.array([*ordered, *([OTHERS] if has_others else [])], dtype=object)
    bins = np.array([bin_of.get(level, len(ordered)) for level in sums.levels], np.int16)
    missing = bin_of.get("", len(ordered)) if sums.missing_rows else -1
    return Cuts(sums.levels, bins, labels, len(labels), missing, not has_others)


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
            own = np.zeros((cuts.count, shifted.shape[1]))
            sum_scores(codes, weights, shifted, own)
            sums.append(own)
        weighted = weights[:, None] * shifted
        return FirmSums(
            totals,
            values,
            sums,
            (weighted * shifted).sum(axis=0),
            weighted.sum(axis=0),
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
