"""Positional oligomer importance matrices: expected scores given a string at a position, exactly.

For scores that are sums of weights of strings at positions, and sequences from a Markov chain.
Zien, Philips and Sonnenburg (2007), "Computing Positional Oligomer Importance Matrices (POIMs)",
Fraunhofer FIRST 2. Here by recursion over the letters before and after a window, which is as
long as the longest string with a weight, less one, or as the order of the chain.
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
    """A score: the sum of the weights of all strings that stand in a sequence, where they stand.

    Attributes
    ----------
    tables : tuple of (length - k + 1, size ** k), for k = 1, 2, ...
    length : int
        Of the sequences.
    constant : float
        Added to each score.
    """

    tables: tuple[Matrix, ...]
    length: int
    constant: float = 0.0

    def ending(self, place: int, width: int, size: int) -> Vector:
        """Weights of all strings that end at a letter, by the `width` letters up to it."""
        codes, total = np.arange(size**width), np.zeros(size**width)
        for k, table in enumerate(self.tables, 1):
            if place - k + 1 >= 0:
                total += table[place - k + 1][codes % size**k]
        return total

    def beginning(self, place: int, width: int, size: int) -> Vector:
        """Weights of all strings that begin at a letter, by the `width` letters from it."""
        codes, total = np.arange(size**width), np.zeros(size**width)
        for k, table in enumerate(self.tables, 1):
            if place < len(table):
                total += table[place][codes // size ** (width - k)]
        return total


@dataclass(frozen=True, slots=True, eq=False)
class PositionColumn:
    """All strings of one length at one position.

    Attributes
    ----------
    probabilities : (size ** k,)
    differences : (size ** k,)
        Expected score with the string, minus that of all sequences (Q'); NaN for strings of
        probability 0.
    """

    probabilities: Vector
    differences: Vector

    @property
    def importances(self) -> Vector:
        """Signed importance Q = Q' sqrt(p / (1 - p)); 0 for what is always or never there.

        The ratio is printed upside down in the paper; it follows from its Equation 10.
        """
        p = self.probabilities
        varies = (p > 0) & (p < 1)
        odds = np.divide(p, 1 - p, out=np.zeros_like(p), where=varies)
        return np.where(varies, self.differences, 0.0) * np.sqrt(odds)


class Poim:
    """Expected scores of a weighting under a background.

    Parameters
    ----------
    weights : Weights
    background : MarkovChain
        Of an order below the length of the sequences.

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
        """Tell the expected score given each string of `k` letters at a position."""
        if k < self._window:
            return self._narrowed(k, start)
        probabilities, within = self._probabilities[start], self._left[start] + self._inside[start]
        for place in range(start + self._window, start + k):
            codes = np.arange(len(probabilities) * self._size)
            ending = self._ending[place][codes % self._size ** (self._window + 1)]
            within = np.repeat(within, self._size) + ending
            following = self._background.following(np.arange(len(probabilities)))
            probabilities = (probabilities[:, None] * following).ravel()
        right = self._right[start + k][np.arange(len(within)) % self._size**self._window]
        return self._column(probabilities, within + right)

    def _narrowed(self, k: int, start: int) -> PositionColumn:
        """Average over the letters of a window that do not belong to the string."""
        begin = min(start, self._weights.length - self._window)
        whole = self.column(self._window, begin)
        offset = start - begin
        shape = (self._size**offset, self._size**k, -1)
        shares = whole.probabilities.reshape(shape)
        known = np.where(whole.probabilities > 0, whole.differences, 0.0).reshape(shape)
        probabilities, total = shares.sum(axis=(0, 2)), (shares * known).sum(axis=(0, 2))
        found = np.full(len(total), np.nan)
        np.divide(total, probabilities, out=found, where=probabilities > 0)
        return PositionColumn(probabilities, found)

    def _column(self, probabilities: Vector, scores: Vector) -> PositionColumn:
        expected = scores + self._weights.constant - self.mean
        return PositionColumn(probabilities, np.where(probabilities > 0, expected, np.nan))

    @cached_property
    def _places(self) -> range:
        """Where a window can begin."""
        return range(self._weights.length - self._window + 1)

    @cached_property
    def _probabilities(self) -> list[Vector]:
        """Of each window, by where it begins."""
        found = [self._background.starts(self._window)]
        for _ in self._places[1:]:
            found.append(self._background.moved(found[-1]))
        return found

    @cached_property
    def _ending(self) -> list[Vector]:
        """Weights that end at a letter, by the window before it and the letter."""
        width = self._window + 1
        return [
            self._weights.ending(place, width, self._size) for place in range(self._weights.length)
        ]

    @cached_property
    def _inside(self) -> list[Vector]:
        """Weights that lie in a window."""
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
        """Expected weights that end at or after a place, given the window before it."""
        found = {self._weights.length: np.zeros(self._size**self._window)}
        for place in reversed(range(self._window, self._weights.length)):
            found[place] = self._onward(self._ending[place] + self._next(found[place + 1]))
        return found

    @cached_property
    def _right_squares(self) -> Vector:
        """Expected squares of the weights that end after the first window, given that window."""
        squares = np.zeros(self._size**self._window)
        for place in reversed(range(self._window, self._weights.length)):
            ending, after = self._ending[place], self._next(self._right[place + 1])
            squares = self._onward(ending**2 + 2 * ending * after + self._next(squares))
        return squares

    def _next(self, values: Vector) -> Vector:
        """Look values up for the window that begins one letter later."""
        codes = np.arange(self._size ** (self._window + 1))
        found: Vector = values[codes % self._size**self._window]
        return found

    def _onward(self, values: Vector) -> Vector:
        """Average over the letter that follows a window."""
        by_window = values.reshape(-1, self._size)
        following = self._background.following(np.arange(len(by_window)))
        averaged: Vector = (by_window * following).sum(axis=1)
        return averaged

    @cached_property
    def _left(self) -> list[Vector]:
        """Expected weights that begin before a place, given the window from it."""
        width = self._window + 1
        found = [np.zeros(self._size**self._window)]
        for start in self._places[1:]:
            before = self._probabilities[start - 1]
            joint = (before[:, None] * self._background.following(np.arange(len(before)))).ravel()
            begun = self._weights.beginning(start - 1, width, self._size)
            earlier = np.repeat(found[-1], self._size)
            # (letter before, window)
            total = (joint * (begun + earlier)).reshape(self._size, -1).sum(axis=0)
            shares = self._probabilities[start]
            found.append(np.divide(total, shares, out=np.zeros_like(total), where=shares > 0))
        return found

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
    """Arrange weights that are listed one by one; those listed twice add up."""
    size = len(alphabet)
    found = tuple(np.zeros((length - k + 1, size**k)) for k in range(1, max(map(len, kmers)) + 1))
    for kmer, position, value in zip(kmers, positions, values, strict=True):
        found[len(kmer) - 1][position, code_of(kmer, alphabet)] += value
    return found
