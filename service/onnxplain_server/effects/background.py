"""Background sample: rows that effects average over, in the model's types, duplicates merged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.rows import Features

_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Factor of hashes: 2^64 over the golden ratio, which spreads the bits."""
_HASHING_THREADS = 2
_THREADED_BYTES = 2**24
"""Size of rows from which starting threads takes less time than they save."""


@dataclass(frozen=True, eq=False)
class Background:
    """Weighted rows without duplicates.

    Duplicates become one row with the sum of their weights, and rows of weight 0 are dropped;
    weighted averages do not change.

    Attributes
    ----------
    features : Features
        The rows as in the table.
    columns : tuple of (n,) arrays
        The rows in the model's types.
    weights : (n,)
        All positive.
    source : (n,)
        Position in the table of each row's first occurrence.
    unit : float
        Case weight that equals a weight of 1.
    """

    features: Features
    columns: tuple[Array, ...]
    weights: Vector
    source: Indices
    unit: float = 1.0

    def __len__(self) -> int:
        return len(self.weights)

    def weight(self, rows: Indices | slice = slice(None)) -> float:
        """Sum the case weights of rows; infinity where the sum exceeds float64."""
        # Python floats overflow without NumPy's warning.
        return float(self.weights[rows].sum()) * self.unit

    def case_weights(self, sums: Vector) -> Vector:
        """Return sums of weights as sums of case weights; infinity beyond float64."""
        with np.errstate(over="ignore"):
            return sums * self.unit

    @cached_property
    def codes(self) -> tuple[Indices, ...]:
        """Per feature, the position of each row's value in `levels`: (n,)."""
        return tuple(codes for _, codes in self._levels)

    @cached_property
    def levels(self) -> tuple[Array, ...]:
        """Per feature, the distinct values in the model's type, ascending."""
        return tuple(levels for levels, _ in self._levels)

    @cached_property
    def _levels(self) -> tuple[tuple[Array, Indices], ...]:
        return tuple(distinct(column) for column in self.columns)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the rows and weights, as the model sees them."""
        named = (self.features.names, self.features.matrix, *self.features.spans)
        digest = hashlib.sha256(repr(named).encode())
        arrays = (*self.columns, self.weights)
        if sum(array.nbytes for array in arrays) < _THREADED_BYTES:
            digests = list(map(_digest, arrays))
        else:
            with ThreadPoolExecutor(_HASHING_THREADS, thread_name_prefix="digest") as threads:
                digests = list(threads.map(_digest, arrays))
        digest.update(b"".join(digests))
        return digest.hexdigest()

    def merge_ignoring(self, features: Sequence[int]) -> tuple[Background, Indices]:
        """Merge rows that are equal in all but these features.

        Returns
        -------
        background : Background
            `self` where nothing merges.
        inverse : (n,)
            Position of each row in the merged background.
        """
        others = [j for j in range(len(self.columns)) if j not in features]
        if any(len(self.levels[j]) == len(self) for j in others):
            return self, np.arange(len(self))
        first, inverse = combine([self.codes[j] for j in others] or [np.zeros_like(self.source)])
        if len(first) == len(self):
            return self, np.arange(len(self))
        weights = np.bincount(inverse, self.weights).astype(np.float64)
        merged = replace(self.take(first), weights=weights)
        return merged, inverse

    def values_of(self, group: Sequence[int]) -> tuple[tuple[Array, ...], Indices]:
        """Find the distinct values of features together, ascending.

        Returns
        -------
        values : tuple of (n_values,), one per feature
        codes : (n,)
            Position of each row's own.
        """
        if len(group) == 1:
            return (self.levels[group[0]],), self.codes[group[0]]
        first, inverse = combine([self.codes[j] for j in group])
        return tuple(self.columns[j][first] for j in group), inverse

    def take(self, rows: Indices) -> Background:
        """Select rows, which must be distinct."""
        columns = tuple(column[rows] for column in self.columns)
        return Background(
            self.features.take(rows), columns, self.weights[rows], self.source[rows], self.unit
        )


def _digest(values: Array) -> bytes:
    digest = hashlib.sha256(values.dtype.str.encode())
    if values.dtype == object:
        digest.update(fingerprint(values))
    else:  # the bytes of the fingerprint, without a copy
        digest.update(np.ascontiguousarray(values).view(np.uint8).data)
    return digest.digest()


def merge(features: Features, weights: Vector, source: Indices, unit: float = 1.0) -> Background:
    """Cast rows to the model's types, merge duplicates and drop rows of weight 0.

    Parameters
    ----------
    weights, source : (n_rows,)
        Weight of each row, and its position in the table.
    unit : float
        See `Background`.

    Returns
    -------
    Background
        In order of first occurrence.
    """
    rows = np.flatnonzero(weights)
    features, weights, source = features.take(rows), weights[rows], source[rows]
    columns = features.cast_columns()
    first, inverse = _first_of_equal(columns)
    return Background(
        features.take(first),
        tuple(column[first] for column in columns),
        np.bincount(inverse, weights, len(first)).astype(np.float64),
        source[first],
        unit,
    )


def unmerged(features: Features, weights: Vector, source: Indices, unit: float = 1.0) -> Background:
    """Cast rows to the model's types and keep each, for statistics about single rows.

    Parameters are those of `merge`.
    """
    columns = features.cast_columns()
    return Background(features, columns, weights, source, unit)


def distinct(values: Array) -> tuple[Array, Indices]:
    """Return the distinct values, ascending with one NaN last, and the position of each value."""
    levels, codes = np.unique(values, return_inverse=True)
    return levels, codes.reshape(values.shape)


def fingerprint(values: Array) -> bytes:
    """Serialize an array for hashing: equal bytes mean equal values of equal type."""
    if values.dtype == object:
        texts = [str(value).encode() for value in values]
        return b"text" + b"".join(len(text).to_bytes(8, "little") + text for text in texts)
    return values.dtype.str.encode() + np.ascontiguousarray(values).tobytes()


def combine(codes: Iterable[Indices]) -> tuple[Indices, Indices]:
    """Number the distinct combinations of one or more codes.

    Returns
    -------
    first : (n_distinct,)
        A position of each combination, in lexicographic order of the combinations.
    inverse : (n,)
        Number of the combination at each position.
    """
    combined = np.zeros(1, dtype=np.intp)
    for code in codes:
        # Renumbered after every code, so that the product cannot overflow.
        joined = combined * (int(code.max(initial=0)) + 1) + code
        levels, combined = np.unique(joined, return_inverse=True)
        if len(levels) == len(code):
            break  # all distinct: further codes do not change the order
    _, first, inverse = np.unique(combined, return_index=True, return_inverse=True)
    return first, inverse


def sum_by_code(shares: Array, codes: Indices) -> Array:
    """Sum shares by code: (..., n) -> (..., n_codes)."""
    count = int(codes.max()) + 1
    if shares.ndim == 1:
        return np.bincount(codes, shares, count)
    return np.stack([np.bincount(codes, replicate, count) for replicate in shares])


def _first_of_equal(columns: Sequence[Array]) -> tuple[Indices, Indices]:
    """Return the first position of each distinct row, ascending, and the number of each row."""
    if _are_distinct(columns):
        return np.arange(len(columns[0])), np.arange(len(columns[0]))
    first, inverse = combine(distinct(column)[1] for column in columns)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[inverse]


def _are_distinct(columns: Sequence[Array]) -> bool:
    """Return True only if no two rows are equal: a quick check by hashes, not of text.

    Equal rows have equal hashes, so rows with distinct hashes are distinct.
    """
    if any(column.dtype == object for column in columns):
        return False
    hashes = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        values = column.astype(np.float64) + 0.0  # the bits of -0.0 are not those of 0.0
        values[np.isnan(values)] = np.nan
        hashes ^= values.view(np.uint64)
        hashes *= _ODD
        hashes ^= hashes >> np.uint64(32)
    hashes.sort()
    return bool((hashes[1:] != hashes[:-1]).all())
