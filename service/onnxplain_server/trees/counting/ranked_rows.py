"""Ranked rows: the background as cells with weights, and bitsets of the rows below each border."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxplain_server.core.arrays import Array, Counts, Int32Vector, Vector, WordCube, WordMatrix
from onnxplain_server.effects.background import Background, distinct
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.compile import inlined, kernel
from onnxplain_server.trees.reading.axes import FIRST, MISSING
from onnxplain_server.trees.reading.ensemble import CellSets, Ensemble, Int32Array

_MAX_PLANES = 8
"""Weights up to 255 times the least are counted by bit planes; others are added up."""
_CHUNK = 128
"""Most words per chunk, so that some sets fit into the first-level cache."""
_GROUP = 32
"""Numbers that are looked up side by side."""
_MAGNITUDE = np.int64(2**63 - 1)
"""All bits of a number but its sign."""
_INFINITY = np.int64(0x7FF << 52)
"""Bits of infinity; those of NaN are larger."""


@dataclass(frozen=True, slots=True, eq=False)
class RankedRows:
    """Rows with their values replaced by cells.

    Attributes
    ----------
    codes : (n_features, n)
        Lower border of each value's cell.
    shares : (n,)
        Weights divided by their sum.
    below : (n_borders,)
        Share of the rows below each border of a feature.
    planes : (n_planes, n_chunks, n_words)
        Bit planes of the weights, if these are small multiples of the least; else none.
    unit : float
        Share of the lowest bit.
    """

    codes: Int32Array
    shares: Vector
    below: Vector
    planes: WordCube
    unit: float

    def __len__(self) -> int:
        return len(self.shares)


def rank_rows(
    ensemble: Ensemble, background: Background, pool: BlockPool, total: float | None = None
) -> RankedRows:
    """Find the cell of every value.

    Parameters
    ----------
    total : float or None
        Weight that the shares are of; None: of these rows. With 1, shares are weights.
    """
    weights = background.weights
    total = float(weights.sum()) if total is None else total
    shares = weights / total
    codes = np.empty((len(background.columns), len(weights)), dtype=np.int32)
    below = np.zeros(ensemble.first[-1])

    def rank_column(j: int) -> None:
        codes[j] = _codes(ensemble, j, background.columns[j])
        start, stop = ensemble.first[j], ensemble.first[j + 1]
        counts = np.bincount(codes[j] - start, shares, stop - start - 1)
        below[start + 1 : stop] = np.cumsum(counts)

    pool.run(rank_column, range(len(codes)))
    planes = _planes(weights)
    unit = _least(weights) / total
    return RankedRows(codes, shares, below, planes, unit)


def cells_of(ensemble: Ensemble, rows: Background, pool: BlockPool) -> Int32Array:
    """Find the cells of rows alone: (n_features, n)."""
    codes = np.empty((len(rows.columns), len(rows)), dtype=np.int32)

    def find_column(j: int) -> None:
        codes[j] = _codes(ensemble, j, rows.columns[j])

    pool.run(find_column, range(len(codes)))
    return codes


def _codes(ensemble: Ensemble, feature: int, column: Array) -> Int32Array:
    axis = ensemble.axes[feature]
    if column.dtype == object:
        levels, places = distinct(column)  # looking text up is slow
        return ensemble.codes(feature, levels)[places]
    if axis.accepted or axis.categories is not None:
        return ensemble.codes(feature, column)
    codes = np.empty(len(column), dtype=np.int32)
    _find_cells(
        column.astype(np.float64).view(np.int64), axis.cuts, int(ensemble.first[feature]), codes
    )
    return codes


@kernel
def _find_cells(bits: Counts, cuts: Counts, first: int, codes: Int32Vector) -> None:
    """Find the cells of float64 numbers given by their bits, as `Axis.cells` does, from `first`.

    Groups of numbers take each step of the search together, without branches, so that the
    processor waits for their loads at once. Keys overwrite the bits.
    """
    for a in range(0, len(bits), _GROUP):
        b = min(a + _GROUP, len(bits))
        for i in range(a, b):
            bits[i], codes[i] = _key(bits[i]), 0
        count = len(cuts)
        while count > 0:
            half = (count + 1) >> 1
            for i in range(a, b):
                place = np.uint32(codes[i] + half - 1)
                codes[i] += half * (cuts[place] <= bits[i])
            count -= half
        for i in range(a, b):
            codes[i] += first


@inlined
def _key(bits: Any) -> Any:
    """Return the key of a number, as `key_of` does."""
    key = bits if bits >= 0 else FIRST - bits
    return MISSING if bits & _MAGNITUDE > _INFINITY else key


def _planes(weights: Vector) -> WordCube:
    """Split weights into bit planes if they are small multiples of the least; else return none."""
    none = np.zeros((0, *chunks_for(len(weights))), np.uint64)
    if weights.max() >= 2**_MAX_PLANES * _least(weights):
        return none  # before the division, which could overflow
    multiples = weights / _least(weights)
    integers = np.rint(multiples)
    largest = integers.max()
    if largest >= 2**_MAX_PLANES or np.abs(multiples - integers).max() > 1e-14 * largest:
        return none
    bits = range(int(largest).bit_length())
    return np.stack([to_words(integers.astype(np.int64) >> bit & 1 == 1) for bit in bits])


def _least(weights: Vector) -> float:
    """Return the least positive weight."""
    return float(weights[weights > 0].min())


def chunks_for(count: int) -> tuple[int, int]:
    """Divide `count` rows: the number of chunks, and of words in each."""
    words = -(-count // 64)
    chunks = -(-words // _CHUNK)
    return chunks, -(-words // chunks)


def to_words(flags: Array) -> WordMatrix:
    """Pack flags into words: (n,) to (n_chunks, n_words)."""
    shape = chunks_for(len(flags))
    padded = np.zeros(64 * shape[0] * shape[1], dtype=np.bool_)
    padded[: len(flags)] = flags
    return np.packbits(padded, bitorder="little").view(np.uint64).reshape(shape)


@dataclass(frozen=True, slots=True, eq=False)
class SetNumbers:
    """Numbers of the bitsets of rows below borders.

    Borders without a row between them share a set, which bounds the sets by the rows.

    Attributes
    ----------
    position : (n_borders,)
        Set of each border; -1 for features that were left out.
    start : (n_features + 1,)
        First set of each feature, which is empty.
    """

    position: Int32Array
    start: Int32Array

    def to_positions(self, cells: CellSets) -> CellSets:
        """Replace the borders of runs by positions of bitsets."""
        return CellSets(cells.start, self.position[cells.low], self.position[cells.high])


@dataclass(frozen=True, slots=True, eq=False)
class Bitsets:
    """Bitsets of the rows below each border: the rows of a run of cells are a difference of two.

    Attributes
    ----------
    numbers : SetNumbers
    words : (n_chunks, n_sets, n_words)
        By chunk of the rows, so that the sets of a chunk are adjacent.
    """

    numbers: SetNumbers
    words: WordCube


def number_sets(
    ensemble: Ensemble, codes: Sequence[Int32Array], features: Sequence[int]
) -> SetNumbers:
    """Number the bitsets of rows below borders.

    Parameters
    ----------
    codes : sequence of (n,)
        Cells of rows or points, for each of `features`.
    """
    position = np.full(ensemble.first[-1], -1, dtype=np.int32)
    counts = [_occupy(ensemble, position, j, own) for j, own in zip(features, codes, strict=True)]
    ends = np.cumsum([0, *counts])
    for j, start in zip(features, ends, strict=False):
        position[ensemble.first[j] : ensemble.first[j + 1]] += start
    return SetNumbers(position, ends.astype(np.int32))


def build_bitsets(
    ensemble: Ensemble, codes: Sequence[Int32Array], features: Sequence[int]
) -> Bitsets:
    """Build the bitsets of rows below borders; parameters are those of `number_sets`."""
    numbers = number_sets(ensemble, codes, features)
    chunks, size = chunks_for(len(codes[0]))
    words = np.zeros((chunks, numbers.start[-1], size), np.uint64)
    for own, start, stop in zip(codes, numbers.start[:-1], numbers.start[1:], strict=True):
        _accumulate(numbers.position[own], words, int(start), int(stop))
    return Bitsets(numbers, words)


def _occupy(ensemble: Ensemble, position: Int32Array, feature: int, codes: Int32Array) -> int:
    """Number a feature's occupied cells: each border gets the count of those below it."""
    borders = slice(ensemble.first[feature], ensemble.first[feature + 1])
    occupied = np.zeros(borders.stop - borders.start, dtype=np.int32)
    occupied[codes - borders.start + 1] = 1
    position[borders] = np.cumsum(occupied)
    return int(position[borders.stop - 1]) + 1


@kernel
def _accumulate(positions: Int32Vector, words: WordCube, start: int, stop: int) -> None:
    """Set each row's bit in the set above its cell's lower border, then accumulate the sets."""
    chunks, _, size = words.shape
    for i in range(len(positions)):
        chunk, word = divmod(i >> 6, size)
        words[chunk, positions[i] + 1, word] |= np.uint64(1) << np.uint64(i & 63)
    for chunk in range(chunks):
        for k in range(start + 1, stop):
            for w in range(size):
                words[chunk, k, w] |= words[chunk, k - 1, w]
