"""Bins of a feature: its distinct values where they are few, quantiles of it otherwise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Which bin each row is in.

    Attributes
    ----------
    codes : (n,), int16
    levels : (n_bins,)
        The value of each bin, or, of quantile bins, the mean; ascending, NaN or "" last.
    is_by_value : bool
        Whether each bin holds one value only.
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
        """Whether the feature has two values, none of them missing."""
        if self.count != 2 or not self.is_by_value:
            return False
        return bool((self.levels != "").all() and (self.levels == self.levels).all())


def cut(values: Array, weights: Vector, bin_count: int) -> Bins:
    """Put rows into bins of about equal weight.

    A feature of at most `bin_count` distinct values gets a bin for each. Otherwise its
    distinct values are split, in order, into `bin_count` groups that hold equal numbers of
    them where all weigh the same, the first groups one more where that does not come out
    even; a value belongs where the middle of its weight lies. So rows of one value stay
    together, and repeating every row changes nothing. Missing values are a bin of their own.

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
        reached = np.append(0.0, np.cumsum(weights[order]))
        starts, ends = reached[starts], reached[ends]
    edges = levels[_firsts((starts + ends) / (2 * ends[-1]), bin_count)]
    codes = np.searchsorted(edges[1:], values, side="right")
    totals = np.bincount(codes, weights)
    means = np.bincount(codes, weights / totals[codes] * values)
    return Bins(codes.astype(np.int16), means, False)


def _firsts(middles: Vector, bin_count: int) -> Indices:
    """Find the first value of each bin, from the share of the weight up to each value's middle."""
    sizes = np.full(bin_count, len(middles) // bin_count)
    sizes[: len(middles) % bin_count] += 1
    borders = np.cumsum(sizes)[:-1] / len(middles)
    placed = np.searchsorted(borders, middles, side="right")
    return np.flatnonzero(np.append(True, placed[1:] != placed[:-1]))


def _cut_texts(values: Array, weights: Vector, bin_count: int) -> Bins:
    """Give the texts of most weight a bin each, and the others one together."""
    levels, codes = np.unique(values, return_inverse=True)
    kept = np.arange(len(levels))
    if len(levels) > bin_count:
        heaviest = np.argsort(-np.bincount(codes, weights), kind="stable")
        kept = np.sort(heaviest[: bin_count - 1])
    # Missing ones, which are "", go last; what has no bin of its own goes behind them.
    named = [level for level in levels[kept] if level != ""]
    shown = [*named, *([""] if "" in levels[kept] else [])]
    place = {level: i for i, level in enumerate(shown)}
    rest = len(shown)
    found = np.array([place.get(level, rest) for level in levels], dtype=np.int16)[codes]
    others = [OTHERS] if len(kept) < len(levels) else []
    return Bins(found, np.array([*shown, *others], dtype=object), not others)


OTHERS = "(others)"
"""The bin of texts that are too many for bins of their own."""
