"""The rows that effects are averaged over: as the model takes them, equal rows merged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.rows import Features


@dataclass(frozen=True, eq=False)
class Background:
    """Distinct rows with weights.

    A row that occurs twice is kept once with twice the weight, and a row of
    weight 0 not at all: every weighted average stays what it was.

    Attributes
    ----------
    features : Features
        The distinct rows, as the table gave them.
    columns : tuple of (n,) arrays
        The same in the model's types.
    weights : (n,)
        All positive.
    source : (n,)
        For each, the first row of the table that it stands for.
    unit : float
        Case weight that a weight of 1 stands for.
    """

    features: Features
    columns: tuple[Array, ...]
    weights: Vector
    source: Indices
    unit: float = 1.0

    def __len__(self) -> int:
        return len(self.weights)

    def weight(self, rows: Indices | slice = slice(None)) -> float:
        """Add up the case weights of rows; infinity where that is beyond float64."""
        # A product of Python's floats overflows without a warning.
        return float(self.weights[rows].sum()) * self.unit

    @cached_property
    def codes(self) -> tuple[Indices, ...]:
        """For each feature, the position of each row's value in `levels`: (n,)."""
        return tuple(level[1] for level in self._levels)

    @cached_property
    def levels(self) -> tuple[Array, ...]:
        """For each feature, its distinct values in the model's type, ascending."""
        return tuple(level[0] for level in self._levels)

    @cached_property
    def _levels(self) -> tuple[tuple[Array, Indices], ...]:
        return tuple(distinct(column) for column in self.columns)

    @cached_property
    def digest(self) -> str:
        """Identity of the rows and weights, as the model sees them."""
        digest = hashlib.sha256(repr((self.features.names, self.features.matrix)).encode())
        for values in (*self.columns, self.weights):
            digest.update(fingerprint(values))
        return digest.hexdigest()

    def apart_from(self, features: Sequence[int]) -> tuple[Background, Indices]:
        """Merge rows that differ in these features only.

        Returns
        -------
        background : Background
            Itself where no two rows are alike.
        inverse : (n,)
            For each row, the merged one that stands for it.
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

    def take(self, rows: Indices) -> Background:
        """Keep these rows, which must be distinct."""
        columns = tuple(column[rows] for column in self.columns)
        return Background(
            self.features.take(rows), columns, self.weights[rows], self.source[rows], self.unit
        )


def merge(features: Features, weights: Vector, source: Indices, unit: float = 1.0) -> Background:
    """Bring rows into the model's types, merge equal ones and drop those of weight 0.

    Parameters
    ----------
    weights, source : (n_rows,)
        Weight of each row, and its position in the table.
    unit : float
        As in `Background`.

    Returns
    -------
    Background
        In order of first appearance.
    """
    kept = np.flatnonzero(weights)
    features, weights, source = features.take(kept), weights[kept], source[kept]
    columns = tuple(features.cast(j, column) for j, column in enumerate(features.columns))
    first, inverse = _first_of_equal(columns)
    return Background(
        features.take(first),
        tuple(column[first] for column in columns),
        np.bincount(inverse, weights, len(first)).astype(np.float64),
        source[first],
        unit,
    )


def unmerged(features: Features, weights: Vector, source: Indices, unit: float = 1.0) -> Background:
    """Bring rows into the model's types as they are: each is kept, whatever its weight.

    For what is about single rows. Parameters are those of `merge`.
    """
    columns = tuple(features.cast(j, column) for j, column in enumerate(features.columns))
    return Background(features, columns, weights, source, unit)


def distinct(values: Array) -> tuple[Array, Indices]:
    """Return the distinct values, ascending and NaN last as one value, and the code of each."""
    levels, codes = np.unique(values, return_inverse=True)
    return levels, codes.reshape(values.shape)


def fingerprint(values: Array) -> bytes:
    """Return bytes that are equal only for equal values of equal type."""
    if values.dtype == object:
        texts = [str(value).encode() for value in values]
        return b"text" + b"".join(len(text).to_bytes(8, "little") + text for text in texts)
    return values.dtype.str.encode() + np.ascontiguousarray(values).tobytes()


def combine(codes: Iterable[Indices]) -> tuple[Indices, Indices]:
    """Number the distinct combinations of several codes, of which one at least is given.

    Returns
    -------
    first : (n_distinct,)
        A position of each combination; combinations ascend, the first code counting most.
    inverse : (n,)
        For each position, its combination.
    """
    combined = np.zeros(1, dtype=np.intp)
    for code in codes:
        # Renumbered at every step, so that the product cannot overflow.
        joined = combined * (int(code.max(initial=0)) + 1) + code
        levels, combined = np.unique(joined, return_inverse=True)
        if len(levels) == len(code):
            break  # all are apart, in an order that further codes do not change
    _, first, inverse = np.unique(combined, return_index=True, return_inverse=True)
    return first, inverse


def sum_by_code(shares: Array, codes: Indices) -> Array:
    """Add up what belongs to the same code: (..., n) -> (..., n_codes)."""
    count = int(codes.max()) + 1
    if shares.ndim == 1:
        return np.bincount(codes, shares, count)
    return np.stack([np.bincount(codes, replicate, count) for replicate in shares])


def _first_of_equal(columns: Sequence[Array]) -> tuple[Indices, Indices]:
    """Return where each distinct row comes first, ascending, and which one each row is."""
    first, inverse = combine(distinct(column)[1] for column in columns)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[inverse]
