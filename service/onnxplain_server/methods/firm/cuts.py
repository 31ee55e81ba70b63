"""Division of a feature's values into bins, on a table that is read block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.rows import is_missing
from onnxplain_server.effects.quantiles import quantile_places, shared_out
from onnxplain_server.methods.firm.bins import first_rows, for_kernel, text_bins
from onnxplain_server.trees.kernels.binning import find_bins
from onnxplain_server.trees.streaming.column_summary import ColumnSummary, Found
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

    The column must lack no places: see `missing_places`.
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
        firsts = np.array(_first_values(column.places, _all_rows(column), bin_count, set()))
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


def missing_places(column: ColumnSummary, bin_count: int) -> list[int]:
    """Return the places whose values `cut_streamed` needs and the column lacks, ascending.

    Where a value has more rows than a bin, the others have bins of their own shares of the rows.
    """
    if column.is_text or column.sums.is_complete:
        return []
    missing: set[int] = set()
    _first_values(column.places, _all_rows(column), bin_count, missing)
    return sorted(missing)


class _SortedRows(NamedTuple):
    """Rows in the order of their values: from `start` to before `end`, with the least value."""

    start: int
    end: int
    least: float


def _all_rows(column: ColumnSummary) -> _SortedRows:
    return _SortedRows(0, int(column.sums.known_rows), float(column.sums.levels[0]))


def _first_values(
    places: Mapping[int, Found], rows: _SortedRows, bin_count: int, missing: set[int]
) -> list[float]:
    """Return the first value of each bin: the first whose middle row is not before its share.

    Where values at places are not known, these are added to `missing`.
    """
    count = rows.end - rows.start
    wanted = (rows.start + quantile_places(count, cut_ranks(bin_count))).tolist()
    if unknown := set(wanted) - places.keys():
        missing |= unknown
        return []
    found = [places[place] for place in wanted]
    heavy = _heavy(sorted(set(found)), rows, bin_count)
    if not heavy:
        return _evenly(found, rows)
    gaps = _gaps(heavy, rows)
    counts = shared_out(bin_count - len(heavy), np.array([gap.end - gap.start for gap in gaps]))
    firsts = [at.value for at in heavy]
    for gap, own in zip(gaps, counts.tolist(), strict=True):
        firsts += _first_values(places, gap, own, missing)
    return sorted(firsts)


def _heavy(found: Sequence[Found], rows: _SortedRows, bin_count: int) -> list[Found]:
    """Return the values that fill a bin each, as far as bins are left for those between them."""
    heavy = [at for at in found if (at.end - at.start) * bin_count > rows.end - rows.start]
    while len(heavy) + len(_gaps(heavy, rows)) > bin_count:
        heavy.remove(min(heavy, key=lambda at: at.end - at.start))
    return heavy


def _gaps(heavy: Sequence[Found], rows: _SortedRows) -> list[_SortedRows]:
    """Return the rows between some values."""
    starts = [(rows.start, rows.least), *((at.end, at.following) for at in heavy)]
    ends = [*(at.start for at in heavy), rows.end]
    gaps = [
        _SortedRows(start, end, least) for (start, least), end in zip(starts, ends, strict=True)
    ]
    return [gap for gap in gaps if gap.end > gap.start]


def _evenly(found: Sequence[Found], rows: _SortedRows) -> list[float]:
    """Return the first value of each bin, given the values at their shares of the rows."""
    firsts = {rows.least}
    for share, at in zip(cut_ranks(len(found) + 1).tolist(), found, strict=True):
        if (at.start + at.end - 2 * rows.start) / (2 * (rows.end - rows.start)) >= share:
            firsts.add(at.value)
        elif at.end < rows.end:
            firsts.add(at.following)
    return sorted(firsts)


def _cut_texts(column: ColumnSummary, bin_count: int) -> Cuts:
    sums = column.sums
    levels, weights = sums.levels, sums.weights
    if sums.missing_rows:
        levels, weights = np.append([""], levels), np.append(sums.missing_weight, weights)
    bins, labels = text_bins(levels.astype(object), weights, bin_count)
    missing = int(bins[0]) if sums.missing_rows else -1
    own = bins[len(levels) - len(sums.levels) :]
    return Cuts(sums.levels, own, labels, len(labels), missing, len(labels) == len(levels))
