"""What sequences are like: a Markov chain of letters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.methods.sequences.kmers import windows


@dataclass(frozen=True, slots=True, eq=False)
class MarkovChain:
    """A Markov chain.

    Attributes
    ----------
    initial : (size ** order,)
        Probability of each beginning of `order` letters; [1] for order 0.
    transitions : (size ** order, size)
        Probability of each letter after `order` others.
    """

    initial: Vector
    transitions: Matrix

    @property
    def size(self) -> int:
        """Number of letters in the alphabet."""
        return int(self.transitions.shape[1])

    @property
    def order(self) -> int:
        """Number of letters that the next one depends on."""
        return round(math.log(len(self.initial), self.size))

    def following(self, codes: Indices) -> Matrix:
        """Probability of the next letter after strings of at least `order` letters: (n, size)."""
        return self.transitions[codes % len(self.initial)]

    def starts(self, length: int) -> Vector:
        """Probability of each string at the start of a sequence: (size ** length,).

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
        """Probabilities of strings one position later; they have at least `order` letters."""
        longer = probabilities[:, None] * self.following(np.arange(len(probabilities)))
        later: Vector = longer.reshape(self.size, -1).sum(axis=0)
        return later

    def sample(self, count: int, length: int, random: np.random.Generator) -> Array:
        """Draw sequences: (count, length), numbers of letters."""
        start = random.choice(len(self.initial), size=count, p=self.initial)
        letters = np.zeros((count, length), dtype=np.int8)
        for place in reversed(range(self.order)):
            start, letters[:, place] = np.divmod(start, self.size)
        self._continue(letters, self.order, random)
        return letters

    def sample_around(
        self, motifs: Array, start: int, length: int, random: np.random.Generator
    ) -> Array:
        """Draw sequences that hold given letters at a position: (count, length).

        Parameters
        ----------
        motifs : (count, n_letters)
            At least `order` letters.
        """
        letters = np.zeros((len(motifs), length), dtype=np.int8)
        end = start + motifs.shape[1]
        letters[:, start:end] = motifs
        self._continue(letters, end, random)
        backward = self._backward(start)
        for place in reversed(range(start)):
            codes = windows(letters[:, place + 1 : place + 1 + self.order], self.order, self.size)
            shares = backward[place][codes[:, 0]]
            letters[:, place] = _pick(shares, random)
        return letters

    def _continue(self, letters: Array, start: int, random: np.random.Generator) -> None:
        """Draw letters from a position to the end, each given those before it."""
        for place in range(start, letters.shape[1]):
            codes = windows(letters[:, place - self.order : place], self.order, self.size)[:, 0]
            letters[:, place] = _pick(self.following(codes), random)

    def _backward(self, count: int) -> list[Matrix]:
        """Probability of the letter before, for each of the first positions: (n_codes, size)."""
        states, found = self.initial, []
        for _ in range(count):
            joint = states[:, None] * self.following(np.arange(len(states)))
            # (letter before, the `order` letters after it)
            before = joint.reshape(self.size, -1).T
            total = before.sum(axis=1, keepdims=True)
            found.append(np.divide(before, total, out=np.zeros_like(before), where=total > 0))
            states = self.moved(states)
        return found


def uniform(size: int) -> MarkovChain:
    """All letters equally likely, whatever the others."""
    return MarkovChain(np.ones(1), np.full((1, size), 1 / size))


def fit(sequences: Sequence[Array], order: int, size: int, pseudo_count: float) -> MarkovChain:
    """Estimate a chain from sequences by counting, each possible count raised a little.

    Parameters
    ----------
    sequences : sequence of (n_letters,)
        Numbers of letters.
    order : int
    pseudo_count : float
        Added to each count; positive, so that nothing has probability 0.
    """
    starts = np.full(size**order, pseudo_count)
    counts = np.full(size ** (order + 1), pseudo_count)
    for letters in sequences:
        if len(letters) > order:
            starts[windows(letters[None, :order], order, size)[0, 0]] += 1
            found = windows(letters[None], order + 1, size)[0]
            counts += np.bincount(found, minlength=len(counts))
    table = counts.reshape(-1, size)
    return MarkovChain(starts / starts.sum(), table / table.sum(axis=1, keepdims=True))


def _pick(shares: Matrix, random: np.random.Generator) -> Array:
    """Draw one letter for each row of probabilities."""
    steps = np.cumsum(shares, axis=1)
    drawn = random.random(len(shares)) * steps[:, -1]
    picked: Array = (drawn[:, None] >= steps).sum(axis=1).astype(np.int8)
    return np.clip(picked, 0, shares.shape[1] - 1)
