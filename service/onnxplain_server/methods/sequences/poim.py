"""Positional oligomer importance matrices (POIM): exact expected scores given a string.

For scores that are sums of weights of strings at positions, and sequences from a Markov chain.
Zien, Philips and Sonnenburg (2007), "Computing Positional Oligomer Importance Matrices (POIMs)",
Fraunhofer FIRST 2. Here by dynamic programming over windows of letters; the window is one letter
shorter than the longest weighted string, or as long as the order of the chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.methods.sequences.background import MarkovChain
from onnxplain_server.methods.sequences.kmers import code_of


@dataclass(frozen=True, eq=False)
class Weights:
    """Score of a sequence: the sum of the weights of its substrings by position.

    Attributes
    ----------
    tables : tuple of (length - k + 1, size ** k), for k = 1, 2, ...
    length : int
        Length of the sequences.
    constant : float
        Added to each score.
    """

    tables: tuple[Matrix, ...]
    length: int
    constant: float = 0.0

    def ending(self, place: int, width: int, size: int) -> Vector:
        """Return the weight of strings ending at a position, by the `width` letters up to it."""
        codes, total = np.arange(size**width), np.zeros(size**width)
        for k, table in enumerate(self.tables, 1):
            if place - k + 1 >= 0:
                total += table[place - k + 1][codes % size**k]
        return total

    def beginning(self, place: int, width: int, size: int) -> Vector:
        """Return the weight of strings starting at a position, by the `width` letters from it."""
        codes, total = np.arange(size**width), np.zeros(size**width)
        for k, table in enumerate(self.tables, 1):
            if place < len(table):
                total += table[place][codes // size ** (width - k)]
        return total


@dataclass(frozen=True, slots=True, eq=False)
class PositionColumn:
    """Column of a POIM: all strings of one length at one position.

    Attributes
    ----------
    probabilities : (size ** k,)
    differences : (size ** k,)
        Expected score given the string, minus the overall one (Q'); NaN for impossible strings.
    """

    probabilities: Vector
    differences: Vector

    @property
    def importances(self) -> Vector:
        """Signed importance Q = Q' sqrt(p / (1 - p)); 0 for certain or impossible strings.

        The paper prints the inverse ratio by mistake; this one follows from its Equation 10.
        """
        p = self.probabilities
        varies = (p > 0) & (p < 1)
        odds = np.divide(p, 1 - p, out=np.zeros_like(p), where=varies)
        return np.where(varies, self.differences, 0.0) * np.sqrt(odds)


class Poim:
    """POIM calculator: expected scores under a background, with memoized recursions.

    Parameters
    ----------
    weights : Weights
    background : MarkovChain
        Its order must be below the length of the sequences.

    Notes
    -----
    Time and memory grow with length · size ** (window + 1).
    """

    def __init__(self, weights: Weights, background: MarkovChain) -> None:
        self._weights = weights
        self._background = background
        self._size = background.size
        self._window = max(background.order, len(weights.tables) - 1)

    @property
    def mean(self) -> float:
        """Expected score."""
        return self._scores[0]

    @property
    def deviation(self) -> float:
        """Standard deviation of the score."""
        return self._scores[1]

    def columns(self, k: int) -> Iterator[PositionColumn]:
        """Yield all strings of `k` letters, position by position."""
        for start in range(self._weights.length - k + 1):
            yield self.column(k, start)

    def column(self, k: int, start: int) -> PositionColumn:
        """Compute the expected score given each string of `k` letters at a position."""
        if k < self._window:
            return self._marginal(k, start)
        probabilities, within = self._probabilities[start], self._left[start] + self._inside[start]
        for place in range(start + self._window, start + k):
            codes = np.arange(len(probabilities) * self._size)
            ending = self._ending[place][codes % self._size ** (self._window + 1)]
            within = np.repeat(within, self._size) + ending
            following = self._background.following(np.arange(len(probabilities)))
            probabilities = (probabilities[:, None] * following).ravel()
        right = self._right[start + k][np.arange(len(within)) % self._size**self._window]
        return self._column(probabilities, within + right)

    def _marginal(self, k: int, start: int) -> PositionColumn:
        """Marginalize over the letters of a window outside the string."""
        begin = min(start, self._weights.length - self._window)
        whole = self.column(self._window, begin)
        offset = start - begin
        shape = (self._size**offset, self._size**k, -1)
        shares = whole.probabilities.reshape(shape)
        finite = np.where(whole.probabilities > 0, whole.differences, 0.0).reshape(shape)
        probabilities, total = shares.sum(axis=(0, 2)), (shares * finite).sum(axis=(0, 2))
        differences = np.full(len(total), np.nan)
        np.divide(total, probabilities, out=differences, where=probabilities > 0)
        return PositionColumn(probabilities, differences)

    def _column(self, probabilities: Vector, scores: Vector) -> PositionColumn:
        expected = scores + self._weights.constant - self.mean
        return PositionColumn(probabilities, np.where(probabilities > 0, expected, np.nan))

    @cached_property
    def _places(self) -> range:
        """Start positions of windows."""
        return range(self._weights.length - self._window + 1)

    @cached_property
    def _probabilities(self) -> list[Vector]:
        """Probabilities of each window, by start position."""
        probabilities = [self._background.starts(self._window)]
        for _ in self._places[1:]:
            probabilities.append(self._background.moved(probabilities[-1]))
        return probabilities

    @cached_property
    def _ending(self) -> list[Vector]:
        """Weights ending at each position, by the window before it and its letter."""
        width = self._window + 1
        return [
            self._weights.ending(place, width, self._size) for place in range(self._weights.length)
        ]

    @cached_property
    def _inside(self) -> list[Vector]:
        """Weights inside each window."""
        return [self._within(start) for start in self._places]

    def _within(self, start: int) -> Vector:
        total = np.zeros(self._size**self._window)
        codes = np.arange(len(total))
        for k, table in enumerate(self._weights.tables, 1):
            for offset in range(self._window - k + 1):
                part = codes // self._size ** (self._window - k - offset) % self._size**k
                total += table[start + offset][part]
        return total

    @cached_property
    def _right(self) -> dict[int, Vector]:
        """Expected weights ending at or after a position, given the window before it."""
        expected = {self._weights.length: np.zeros(self._size**self._window)}
        for place in reversed(range(self._window, self._weights.length)):
            ending = self._ending[place] + self._next(expected[place + 1])
            expected[place] = self._expectation(ending)
        return expected

    @cached_property
    def _right_squares(self) -> Vector:
        """Expected squares of the weights ending after the first window, given that window."""
        squares = np.zeros(self._size**self._window)
        for place in reversed(range(self._window, self._weights.length)):
            ending, after = self._ending[place], self._next(self._right[place + 1])
            squares = self._expectation(ending**2 + 2 * ending * after + self._next(squares))
        return squares

    def _next(self, values: Vector) -> Vector:
        """Return the values of the window one letter later."""
        codes = np.arange(self._size ** (self._window + 1))
        shifted: Vector = values[codes % self._size**self._window]
        return shifted

    def _expectation(self, values: Vector) -> Vector:
        """Return the expectation over the letter after a window."""
        by_window = values.reshape(-1, self._size)
        following = self._background.following(np.arange(len(by_window)))
        averaged: Vector = (by_window * following).sum(axis=1)
        return averaged

    @cached_property
    def _left(self) -> list[Vector]:
        """Expected weights starting before a position, given the window from it."""
        width = self._window + 1
        expected = [np.zeros(self._size**self._window)]
        for start in self._places[1:]:
            before = self._probabilities[start - 1]
            joint = (before[:, None] * self._background.following(np.arange(len(before)))).ravel()
            starting = self._weights.beginning(start - 1, width, self._size)
            earlier = np.repeat(expected[-1], self._size)
            # (letter before, window)
            total = (joint * (starting + earlier)).reshape(self._size, -1).sum(axis=0)
            shares = self._probabilities[start]
            expected.append(np.divide(total, shares, out=np.zeros_like(total), where=shares > 0))
        return expected

    @cached_property
    def _scores(self) -> tuple[float, float]:
        """Mean and standard deviation of the score."""
        shares, inside = self._probabilities[0], self._inside[0]
        after = self._right[self._window]
        mean = float(shares @ (inside + after))
        square = float(shares @ (inside**2 + 2 * inside * after + self._right_squares))
        return mean + self._weights.constant, float(np.sqrt(max(square - mean**2, 0.0)))


def tables(
    kmers: Sequence[str],
    positions: Sequence[int],
    values: Sequence[float],
    length: int,
    alphabet: str,
) -> tuple[Matrix, ...]:
    """Arrange listed weights as tables; repeated entries are summed."""
    size = len(alphabet)
    weights = tuple(np.zeros((length - k + 1, size**k)) for k in range(1, max(map(len, kmers)) + 1))
    for kmer, position, value in zip(kmers, positions, values, strict=True):
        weights[len(kmer) - 1][position, code_of(kmer, alphabet)] += value
    return weights
