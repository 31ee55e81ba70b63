"""Division of a feature's values into bins, on a table that is read block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.rows import is_missing
from onnxplain_server.methods.firm.bins import first_rows, for_kernel, others_label, own_bins
from onnxplain_server.trees.kernels.binning import find_bins
from onnxplain_server.trees.streaming.column_summary import ColumnSummary
from onnxplain_server.trees.streaming.column_sums import LevelSums


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
    labels = np.array([*ordered, *([others_label(levels)] if has_others else [])], dtype=object)
    bins = np.array([bin_of.get(level, len(ordered)) for level in sums.levels], np.int16)
    missing = bin_of.get("", len(ordered)) if sums.missing_rows else -1
    return Cuts(sums.levels, bins, labels, len(labels), missing, not has_others)
