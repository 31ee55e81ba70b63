"""Markov chain of letters: the background distribution of sequences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.methods.sequences.kmers import windows


@dataclass(frozen=True, slots=True, eq=False)
class MarkovChain:
    """Markov chain over an alphabet, homogeneous in position.

    Attributes
    ----------
    initial : (size ** order,)
        Probability of each initial string of `order` letters; [1] for order 0.
    transitions : (size ** order, size)
        Probability of each letter after each string of `order` letters.
    """

    initial: Vector
    transitions: Matrix

    @property
    def size(self) -> int:
        """Number of letters in the alphabet."""
        return int(self.transitions.shape[1])

    @property
    def order(self) -> int:
        """Number of preceding letters that a letter depends on."""
        return round(math.log(len(self.initial), self.size))

    def following(self, codes: Indices) -> Matrix:
        """Return next-letter probabilities after strings of at least `order` letters: (n, size)."""
        return self.transitions[codes % len(self.initial)]

    def starts(self, length: int) -> Vector:
        """Return the probability of each string at the start of a sequence: (size ** length,).

        Parameters
        ----------
        length : int
            At least `order`.
        """
        probabilities = self.initial
        while len(probabilities) < self.size**length:
            codes = np.arange(len(probabilities))
            probabilities = (probabilities[:, None] * self.following(codes)).ravel()
        return probabilities

    def moved(self, probabilities: Vector) -> Vector:
        """Return the probabilities of strings, of at least `order` letters, one position later."""
        longer = probabilities[:, None] * self.following(np.arange(len(probabilities)))
        later: Vector = longer.reshape(self.size, -1).sum(axis=0)
        return later

    def sample(self, count: int, length: int, random: np.random.Generator) -> Array:
        """Sample sequences: (count, length), codes of letters."""
        start = random.choice(len(self.initial), size=count, p=self.initial)
        letters = np.zeros((count, length), dtype=np.int8)
        for place in reversed(range(self.order)):
            start, letters[:, place] = np.divmod(start, self.size)
        self._extend(letters, self.order, random)
        return letters

    def sample_around(
        self, motifs: Array, start: int, length: int, random: np.random.Generator
    ) -> Array:
        """Sample sequences given the letters at a position: (count, length).

        Parameters
        ----------
        motifs : (count, n_letters)
            At least `order` letters.
        """
        letters = np.zeros((len(motifs), length), dtype=np.int8)
        end = start + motifs.shape[1]
        letters[:, start:end] = motifs
        self._extend(letters, end, random)
        backward = self._backward(start)
        for place in reversed(range(start)):
            codes = windows(letters[:, place + 1 : place + 1 + self.order], self.order, self.size)
            shares = backward[place][codes[:, 0]]
            letters[:, place] = _sample_letters(shares, random)
        return letters

    def _extend(self, letters: Array, start: int, random: np.random.Generator) -> None:
        """Sample letters from a position to the end, each given its predecessors."""
        for place in range(start, letters.shape[1]):
            codes = windows(letters[:, place - self.order : place], self.order, self.size)[:, 0]
            letters[:, place] = _sample_letters(self.following(codes), random)

    def _backward(self, count: int) -> list[Matrix]:
        """Return previous-letter probabilities at each of the first positions: (n_codes, size)."""
        states, probabilities = self.initial, []
        for _ in range(count):
            joint = states[:, None] * self.following(np.arange(len(states)))
            # (letter before, the `order` letters after it)
            before = joint.reshape(self.size, -1).T
            total = before.sum(axis=1, keepdims=True)
            probabilities.append(
                np.divide(before, total, out=np.zeros_like(before), where=total > 0)
            )
            states = self.moved(states)
        return probabilities


def uniform(size: int) -> MarkovChain:
    """Return the chain of independent, uniformly distributed letters."""
    return MarkovChain(np.ones(1), np.full((1, size), 1 / size))


def fit(sequences: Sequence[Array], order: int, size: int, pseudo_count: float) -> MarkovChain:
    """Estimate a chain from counts in sequences, smoothed by pseudo-counts.

    Parameters
    ----------
    sequences : sequence of (n_letters,)
        Codes of letters.
    order : int
    pseudo_count : float
        Added to each count; positive, so that nothing has probability 0.
    """
    starts = np.full(size**order, pseudo_count)
    counts = np.full(size ** (order + 1), pseudo_count)
    for letters in sequences:
        if len(letters) > order:
            starts[windows(letters[None, :order], order, size)[0, 0]] += 1
            codes = windows(letters[None], order + 1, size)[0]
            counts += np.bincount(codes, minlength=len(counts))
    table = counts.reshape(-1, size)
    return MarkovChain(starts / starts.sum(), table / table.sum(axis=1, keepdims=True))


def _sample_letters(shares: Matrix, random: np.random.Generator) -> Array:
    """Sample one letter per row of probabilities."""
    cumulated = np.cumsum(shares, axis=1)
    uniform_draws = random.random(len(shares)) * cumulated[:, -1]
    letters: Array = (uniform_draws[:, None] >= cumulated).sum(axis=1).astype(np.int8)
    return np.clip(letters, 0, shares.shape[1] - 1)
