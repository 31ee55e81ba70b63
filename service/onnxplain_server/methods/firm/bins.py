"""Binning of a feature: one bin per distinct value if they are few, otherwise quantile bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector


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
    """

    codes: Array
    levels: Array
    is_by_value: bool

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
    belongs to the group that contains the midpoint of its weight. Rows of one value share a bin,
    so repeating every row changes nothing. Missing values have a bin of their own.

    Parameters
    ----------
    values : (n,), float64 or str objects
    weights : (n,)
        All positive.
    """
    if values.dtype == object:
        return _cut_texts(values, weights, bin_count)
    missing = np.isnan(values)
    bins = _cut_numbers(values[~missing], weights[~missing], bin_count)
    if not missing.any():
        return bins
    codes = np.full(len(values), bins.count, dtype=np.int16)
    codes[~missing] = bins.codes
    return Bins(codes, np.append(bins.levels, np.nan), bins.is_by_value)


def _cut_numbers(values: Vector, weights: Vector, bin_count: int) -> Bins:
    is_even = bool((weights == weights[:1]).all())
    order = None if is_even else np.argsort(values, kind="stable")
    ascending = np.sort(values) if order is None else values[order]
    starts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])[: len(values)])
    levels = ascending[starts]
    if len(levels) <= bin_count:
        return Bins(np.searchsorted(levels, values).astype(np.int16), levels, True)
    ends = np.append(starts[1:], len(values))
    if order is not None:
        cumulated = np.append(0.0, np.cumsum(weights[order]))
        starts, ends = cumulated[starts], cumulated[ends]
    edges = levels[_first_values((starts + ends) / (2 * ends[-1]), bin_count)]
    codes = np.searchsorted(edges[1:], values, side="right")
    totals = np.bincount(codes, weights)
    means = np.bincount(codes, weights / totals[codes] * values)
    return Bins(codes.astype(np.int16), means, False)


def _first_values(midpoints: Vector, bin_count: int) -> Indices:
    """Return the first value of each bin, given the weight share up to each value's midpoint."""
    sizes = np.full(bin_count, len(midpoints) // bin_count)
    sizes[: len(midpoints) % bin_count] += 1
    borders = np.cumsum(sizes)[:-1] / len(midpoints)
    bins = np.searchsorted(borders, midpoints, side="right")
    return np.flatnonzero(np.append(True, bins[1:] != bins[:-1]))


def _cut_texts(values: Array, weights: Vector, bin_count: int) -> Bins:
    """Give the heaviest texts a bin each, and all others a common one."""
    levels, codes = np.unique(values, return_inverse=True)
    own_bin = np.arange(len(levels))
    if len(levels) > bin_count:
        heaviest = np.argsort(-np.bincount(codes, weights), kind="stable")
        own_bin = np.sort(heaviest[: bin_count - 1])
    # Missing values, "", go last, before the common bin only.
    texts = [level for level in levels[own_bin] if level != ""]
    ordered = [*texts, *([""] if "" in levels[own_bin] else [])]
    bin_of = {level: i for i, level in enumerate(ordered)}
    bins = np.array([bin_of.get(level, len(ordered)) for level in levels], dtype=np.int16)[codes]
    others = [OTHERS] if len(own_bin) < len(levels) else []
    return Bins(bins, np.array([*ordered, *others], dtype=object), not others)


OTHERS = "(others)"
"""Label of the common bin of all texts without a bin of their own."""
