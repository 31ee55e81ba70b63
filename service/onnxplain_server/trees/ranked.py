"""Rows as cells, with their shares: all that counting needs to know of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnxplain_server.arrays import Array, Vector
from onnxplain_server.effects.background import Background, distinct
from onnxplain_server.trees.compile import kernel
from onnxplain_server.trees.ensemble import Ensemble, Numbers

Words = npt.NDArray[np.uint64]
"""(n_sets, n_words); bit i % 64 of word i // 64 is row i. Bits after the last row are 0."""

_MOST_PLANES = 8
"""Weights up to 255 times the least are counted by their binary digits; others are added up."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Rows whose values are replaced by cells.

    Attributes
    ----------
    codes : (n_features, n)
        Lower border of each value's cell.
    shares : (n,)
        Weights, divided by their sum.
    below : (n_borders,)
        Share of the rows below each border of a feature.
    planes : (n_planes, n_words)
        Binary digits of the weights, where these are small multiples of one; else none.
    unit : float
        The share that the lowest digit stands for.
    """

    codes: Numbers
    shares: Vector
    below: Vector
    planes: Words
    unit: float

    def __len__(self) -> int:
        return len(self.shares)


def rank(ensemble: Ensemble, background: Background) -> Ranked:
    """Find the cell of every value."""
    codes = np.stack([_codes(ensemble, j, c) for j, c in enumerate(background.columns)])
    weights = background.weights
    shares = weights / weights.sum()
    below = np.zeros(ensemble.first[-1])
    for j, own in enumerate(codes):
        start, stop = ensemble.first[j], ensemble.first[j + 1]
        counts = np.bincount(own - start, shares, stop - start - 1)
        below[start + 1 : stop] = np.cumsum(counts)
    planes = _planes(weights)
    unit = float(weights.min() / weights.sum())
    return Ranked(codes, shares, below, planes, unit)


def _codes(ensemble: Ensemble, feature: int, column: Array) -> Numbers:
    if column.dtype != object:
        return ensemble.codes(feature, column)
    levels, places = distinct(column)  # text is slow to look up
    return ensemble.codes(feature, levels)[places]


def _planes(weights: Vector) -> Words:
    """Write weights that are small multiples of the least one in binary; none if they are not."""
    multiples = weights / weights.min()
    whole = np.rint(multiples)
    if whole.max() >= 2**_MOST_PLANES or np.abs(multiples - whole).max() > 1e-14 * whole.max():
        return np.zeros((0, words_for(len(weights))), np.uint64)
    digits = range(int(whole.max()).bit_length())
    return np.stack([to_words(whole.astype(np.int64) >> digit & 1 == 1) for digit in digits])


def words_for(count: int) -> int:
    """Number of words that so many bits need."""
    return -(-count // 64)


def to_words(flags: Array) -> Words:
    """Pack (n,) flags into (n_words,) words."""
    padded = np.zeros(64 * words_for(len(flags)), dtype=np.bool_)
    padded[: len(flags)] = flags
    return np.packbits(padded, bitorder="little").view(np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class Bits:
    """For every border, the set of rows below it: any run of cells is a difference of two.

    Borders between which no row lies share a set, so there are at most as many
    sets per feature as rows.

    Attributes
    ----------
    place : (n_borders,)
        Which set belongs to a border; -1 for features that were left out.
    start : (n_features + 1,)
        First set of each feature: the empty one.
    words : (n_sets, n_words)
    """

    place: Numbers
    start: Numbers
    words: Words


def lay_bits(ensemble: Ensemble, codes: Numbers, features: Sequence[int]) -> Bits:
    """Build the sets of rows below borders.

    Parameters
    ----------
    codes : (n_features, n)
        One row per entry of `features`.
    """
    place = np.full(ensemble.first[-1], -1, dtype=np.int32)
    counts = [_occupy(ensemble, place, j, own) for j, own in zip(features, codes, strict=True)]
    ends = np.cumsum([0, *counts])
    words = np.zeros((ends[-1], words_for(codes.shape[1])), np.uint64)
    for j, own, start, stop in zip(features, codes, ends[:-1], ends[1:], strict=True):
        borders = slice(ensemble.first[j], ensemble.first[j + 1])
        place[borders] += start
        _accumulate(place[own], words, start, stop)
    return Bits(place, ends.astype(np.int32), words)


def _occupy(ensemble: Ensemble, place: Numbers, feature: int, codes: Numbers) -> int:
    """Number a feature's occupied cells; each border gets the number of those below it."""
    borders = slice(ensemble.first[feature], ensemble.first[feature + 1])
    occupied = np.zeros(borders.stop - borders.start, dtype=np.int32)
    occupied[codes - borders.start + 1] = 1
    place[borders] = np.cumsum(occupied)
    return int(place[borders.stop - 1]) + 1


@kernel
def _accumulate(places: Numbers, words: Words, start: int, stop: int) -> None:
    """Set each row's bit in the set after its cell's lower border, then add up the sets."""
    for i in range(len(places)):
        words[places[i] + 1, i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    for k in range(start + 1, stop):
        for w in range(words.shape[1]):
            words[k, w] |= words[k - 1, w]
