"""Rows as cells, with their shares: all that counting needs to know of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.effects.background import Background, distinct
from onnxplain_server.trees.kernels.compile import kernel
from onnxplain_server.trees.reading.ensemble import CellSets, Ensemble, Int32Array

Words = npt.NDArray[np.uint64]
"""(n_words,); bit i % 64 of word i // 64 is row i. Bits after the last row are 0."""

_MOST_PLANES = 8
"""Weights up to 255 times the least are counted by their binary digits; others are added up."""
_CHUNK = 128
"""Words per chunk, at most: some sets of this size fit into the first-level cache."""


@dataclass(frozen=True, slots=True, eq=False)
class RankedRows:
    """Rows whose values are replaced by cells.

    Attributes
    ----------
    codes : (n_features, n)
        Lower border of each value's cell.
    shares : (n,)
        Weights, divided by their sum.
    below : (n_borders,)
        Share of the rows below each border of a feature.
    planes : (n_planes, n_chunks, n_words)
        Binary digits of the weights, where these are small multiples of one; else none.
    unit : float
        The share that the lowest digit stands for.
    """

    codes: Int32Array
    shares: Vector
    below: Vector
    planes: Words
    unit: float

    def __len__(self) -> int:
        return len(self.shares)


def rank_rows(ensemble: Ensemble, background: Background) -> RankedRows:
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
    unit = float(_least(weights) / weights.sum())
    return RankedRows(codes, shares, below, planes, unit)


def _codes(ensemble: Ensemble, feature: int, column: Array) -> Int32Array:
    if column.dtype != object:
        return ensemble.codes(feature, column)
    levels, places = distinct(column)  # text is slow to look up
    return ensemble.codes(feature, levels)[places]


def _planes(weights: Vector) -> Words:
    """Write weights that are small multiples of the least one in binary; none if they are not."""
    none = np.zeros((0, *chunks_for(len(weights))), np.uint64)
    if weights.max() >= 2**_MOST_PLANES * _least(weights):
        return none  # before dividing, which could overflow
    multiples = weights / _least(weights)
    whole = np.rint(multiples)
    if whole.max() >= 2**_MOST_PLANES or np.abs(multiples - whole).max() > 1e-14 * whole.max():
        return none
    digits = range(int(whole.max()).bit_length())
    return np.stack([to_words(whole.astype(np.int64) >> digit & 1 == 1) for digit in digits])


def _least(weights: Vector) -> float:
    """Return the least weight that is not 0."""
    return float(weights[weights > 0].min())


def chunks_for(count: int) -> tuple[int, int]:
    """Divide so many rows: number of chunks, and of words in each."""
    words = -(-count // 64)
    chunks = -(-words // _CHUNK)
    return chunks, -(-words // chunks)


def to_words(flags: Array) -> Words:
    """Pack (n,) flags: (n_chunks, n_words)."""
    shape = chunks_for(len(flags))
    padded = np.zeros(64 * shape[0] * shape[1], dtype=np.bool_)
    padded[: len(flags)] = flags
    return np.packbits(padded, bitorder="little").view(np.uint64).reshape(shape)


@dataclass(frozen=True, slots=True, eq=False)
class Bitsets:
    """For every border, the set of rows below it: any run of cells is a difference of two.

    Borders between which no row lies share a set, so there are at most as many
    sets per feature as rows.

    Attributes
    ----------
    place : (n_borders,)
        Which set belongs to a border; -1 for features that were left out.
    start : (n_features + 1,)
        First set of each feature: the empty one.
    words : (n_chunks, n_sets, n_words)
        Chunk by chunk of the rows, so that the sets of a chunk are close together.
    """

    place: Int32Array
    start: Int32Array
    words: Words

    def placed(self, cells: CellSets) -> CellSets:
        """Sets of cells whose runs end at sets of rows instead of borders."""
        return CellSets(cells.start, self.place[cells.low], self.place[cells.high])


def build_bitsets(ensemble: Ensemble, codes: Int32Array, features: Sequence[int]) -> Bitsets:
    """Build the sets of rows below borders.

    Parameters
    ----------
    codes : (n_features, n)
        One row per entry of `features`.
    """
    place = np.full(ensemble.first[-1], -1, dtype=np.int32)
    counts = [_occupy(ensemble, place, j, own) for j, own in zip(features, codes, strict=True)]
    ends = np.cumsum([0, *counts])
    chunks, size = chunks_for(codes.shape[1])
    words = np.zeros((chunks, ends[-1], size), np.uint64)
    for j, own, start, stop in zip(features, codes, ends[:-1], ends[1:], strict=True):
        borders = slice(ensemble.first[j], ensemble.first[j + 1])
        place[borders] += start
        _accumulate(place[own], words, start, stop)
    return Bitsets(place, ends.astype(np.int32), words)


def _occupy(ensemble: Ensemble, place: Int32Array, feature: int, codes: Int32Array) -> int:
    """Number a feature's occupied cells; each border gets the number of those below it."""
    borders = slice(ensemble.first[feature], ensemble.first[feature + 1])
    occupied = np.zeros(borders.stop - borders.start, dtype=np.int32)
    occupied[codes - borders.start + 1] = 1
    place[borders] = np.cumsum(occupied)
    return int(place[borders.stop - 1]) + 1


@kernel
def _accumulate(places: Int32Array, words: Words, start: int, stop: int) -> None:
    """Set each row's bit in the set after its cell's lower border, then add up the sets."""
    chunks, _, size = words.shape
    for i in range(len(places)):
        chunk, word = divmod(i >> 6, size)
        words[chunk, places[i] + 1, word] |= np.uint64(1) << np.uint64(i & 63)
    for chunk in range(chunks):
        for k in range(start + 1, stop):
            for w in range(size):
                words[chunk, k, w] |= words[chunk, k - 1, w]
