"""Binning of a feature: one bin per distinct value if they are few, otherwise quantile bins."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector, unit_of_squares
from onnxplain_server.core.contract_limits import FirmOptions
from onnxplain_server.effects.quantiles import shared_out
from onnxplain_server.methods.groups import free_label
from onnxplain_server.trees.kernels.binning import average, find_bins, sum_weights


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Bin of each row, with the values of the bins.

    Attributes
    ----------
    codes : (n,), int16
    levels : (n_bins,)
        Value of each bin, or the mean of a quantile bin; ascending, NaN or "" last.
    is_by_value : bool
        Whether each bin holds a single value.
    totals : (2, n_bins)
        Sums of the weights of each bin, and of their squares.
    enough_count : int
        Bins with which at most half of the rows have texts that share one, each other of two rows
        or more; 0 where no number of bins does that, or it is not known.
    """

    codes: Array
    levels: Array
    is_by_value: bool
    totals: Array
    enough_count: int = 0

    @property
    def count(self) -> int:
        """Number of bins."""
        return len(self.levels)

    @property
    def is_two_valued(self) -> bool:
        """Return whether the feature has two values, none of them missing."""
        if self.count != 2 or not self.is_by_value:
            return False
        return bool((self.levels != "").all() and (self.levels == self.levels).all())


def cut(values: Array, weights: Vector, bin_count: int) -> Bins:
    """Assign rows to bins of about equal weight.

    A feature of at most `bin_count` distinct values gets one bin per value. Otherwise the
    distinct values are split, in order, into `bin_count` groups. With equal weights, groups hold
    equal numbers of values, the first ones one more if there is a remainder; otherwise, a value
    belongs to the group that contains the midpoint of its weight. A value with more weight than
    a bin has one of its own; the values below and above it share the other bins by their weight.
    Rows of one value share a bin, so repeating every row changes nothing. Missing values have a
    bin of their own.

    Parameters
    ----------
    values : (n,), float64, float32 or str objects
        float32 takes half the time to sort, with the same result.
    weights : (n,)
        All positive.
    """
    if values.dtype == object:
        return _cut_texts(values, weights, bin_count)
    missing = np.isnan(values)
    if not missing.any():
        return _cut_numbers(values, weights, bin_count)
    bins = _cut_numbers(values[~missing], weights[~missing], bin_count)
    codes = np.full(len(values), bins.count, dtype=np.int16)
    codes[~missing] = bins.codes
    levels = np.append(bins.levels, np.nan)
    return Bins(codes, levels, bins.is_by_value, weight_totals(codes, len(levels), weights))


def _cut_numbers(values: Array, weights: Vector, bin_count: int) -> Bins:
    is_even = bool((weights == weights[:1]).all())
    order = None if is_even else np.argsort(values, kind="stable")
    ascending = np.sort(values) if order is None else values[order]
    is_first = np.ones(len(values), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_first[1:])
    starts = range(len(values)) if is_first.all() else np.flatnonzero(is_first)
    numbers = values.astype(np.float64, copy=False)
    if len(starts) <= bin_count:
        levels = ascending[is_first].astype(np.float64)
        codes = _codes(numbers, levels)
        return Bins(codes, levels, True, weight_totals(codes, len(levels), weights))
    cumulated = None if order is None else np.append(0.0, np.cumsum(weights[order]))
    firsts = first_rows(starts, len(values), cumulated, bin_count)
    codes = _codes(numbers, ascending[firsts].astype(np.float64))
    totals = weight_totals(codes, len(firsts), weights)
    unit = float(unit_of_squares(numbers))
    means = unit * _means(codes, numbers / unit, weights, totals[0], is_even=is_even)
    return Bins(codes, means, False, totals)


def first_rows(
    starts: Sequence[int] | Indices, row_count: int, cumulated: Vector | None, bin_count: int
) -> Indices:
    """Return the first row of each bin, of rows in the order of their values.

    Parameters
    ----------
    starts : (n_values,)
        First row of each distinct value.
    cumulated : (row_count + 1,) or None
        Weight before each row; None for equal weights.
    """

    def before(value: int) -> float:
        """Return the weight of the rows before a value."""
        row = starts[value] if value < len(starts) else row_count
        return float(row if cumulated is None else cumulated[row])

    firsts = _first_values(before, range(len(starts)), bin_count)
    return np.array([starts[first] for first in firsts])


def _first_values(before: Callable[[int], float], values: range, bin_count: int) -> list[int]:
    """Return the first value of each bin of a range of distinct values.

    Parameters
    ----------
    before : callable (int) -> float
        Weight of the rows before a value, which may be the one behind the last.
    """
    if len(values) <= bin_count:
        return list(values)
    heavy = _heavy_values(before, values, bin_count)
    if not heavy:
        return _evenly(before, values, bin_count)
    gaps = _gaps(heavy, values)
    weights = np.array([before(gap.stop) - before(gap.start) for gap in gaps])
    counts = shared_out(bin_count - len(heavy), weights).tolist()
    firsts = [_first_values(before, gap, n) for gap, n in zip(gaps, counts, strict=True)]
    return sorted(chain(heavy, *firsts))


def _heavy_values(before: Callable[[int], float], values: range, bin_count: int) -> list[int]:
    """Return the values that fill a bin each, as far as bins are left for those between them."""
    low, whole = before(values.start), before(values.stop) - before(values.start)
    places = (low + whole * i / bin_count for i in range(1, bin_count))
    found = {values[bisect_right(values, place, key=before) - 1] for place in places}
    weights = {value: before(value + 1) - before(value) for value in sorted(found)}
    heavy = [value for value, weight in weights.items() if weight * bin_count > whole]
    while len(heavy) + len(_gaps(heavy, values)) > bin_count:
        heavy.remove(min(heavy, key=weights.__getitem__))
    return heavy


def _gaps(heavy: Sequence[int], values: range) -> list[range]:
    """Return the ranges of the values between some of them."""
    ends = pairwise([values.start - 1, *heavy, values.stop])
    return [range(low + 1, high) for low, high in ends if high > low + 1]


def _evenly(before: Callable[[int], float], values: range, bin_count: int) -> list[int]:
    """Return the first value of each of `bin_count` bins of about equal numbers of values."""
    low, whole = before(values.start), before(values.stop) - before(values.start)

    def midpoint(value: int) -> float:
        """Return the weight share up to the midpoint of a value."""
        return (before(value) + before(value + 1) - 2 * low) / (2 * whole)

    sizes = np.full(bin_count, len(values) // bin_count)
    sizes[: len(values) % bin_count] += 1
    borders = np.cumsum(sizes)[:-1] / len(values)
    places = [0, *(bisect_left(values, border, key=midpoint) for border in borders)]
    return sorted({values[place] for place in places if place < len(values)})


def _codes(values: Vector, firsts: Vector) -> Array:
    """Return the bin of each value, given the first value of each bin."""
    codes = np.empty(len(values), dtype=np.int16)
    find_bins(for_kernel(values), firsts[1:].copy(), codes)
    return codes


def weight_totals(codes: Array, count: int, weights: Vector) -> Array:
    """Sum the weights of each bin, and their squares: (2, count)."""
    totals = np.zeros((2, count))
    sum_weights(codes, for_kernel(weights), *totals)
    return totals


def _means(codes: Array, values: Vector, weights: Vector, sums: Vector, *, is_even: bool) -> Vector:
    """Average the values of each bin, none of them empty; `is_even` for rows of equal weight."""
    means = np.zeros(len(sums))
    row_weights = weights[:1] if is_even else weights
    average(codes, for_kernel(row_weights), sums, for_kernel(values), means)
    return means


def for_kernel(values: Array) -> Array:
    """Return an array as kernels take it, contiguous and writable: itself, or else a copy."""
    return np.require(values, requirements=("C", "W"))


def _cut_texts(values: Array, weights: Vector, bin_count: int) -> Bins:
    """Give the heaviest texts a bin each, and all others a common one."""
    levels, codes = np.unique(values, return_inverse=True)
    text_weights: Array = np.bincount(codes, weights)
    bins, labels = text_bins(levels, text_weights, bin_count)
    bins = bins[codes]
    is_by_value = len(labels) == len(levels)
    enough = _enough_bins(text_weights, np.bincount(codes))
    return Bins(bins, labels, is_by_value, weight_totals(bins, len(labels), weights), enough)


def _enough_bins(weights: Array, counts: Indices) -> int:
    """Return `enough_count` of texts, by their weights and numbers of rows: (n_texts,) each."""
    order = np.argsort(-weights, kind="stable")
    own = int(np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2)) + 1
    most = FirmOptions.bin_count.max
    is_possible = most is None or own < most
    return own + 1 if is_possible and counts[order[:own]].min() > 1 else 0


def text_bins(levels: Array, weights: Array, bin_count: int) -> tuple[Array, Array]:
    """Return the bin of each text, (n,), int16, and the labels of the bins: (n_bins,).

    The heaviest texts have bins of their own; all others, if there are more, the last one.
    """
    own_bin = np.arange(len(levels))
    if len(levels) > bin_count:
        heaviest = np.argsort(-weights, kind="stable")
        own_bin = np.sort(heaviest[: bin_count - 1])
    # Missing values, "", go last, before the common bin only.
    texts = [level for level in levels[own_bin] if level != ""]
    labels = [*texts, *([""] if "" in levels[own_bin] else [])]
    bin_of = {level: i for i, level in enumerate(labels)}
    bins = np.array([bin_of.get(level, len(labels)) for level in levels], dtype=np.int16)
    if len(labels) < len(levels):
        labels.append(free_label("(others)", "all other texts", set(levels.tolist())))
    return bins, np.array(labels, dtype=object)
