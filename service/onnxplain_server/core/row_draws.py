"""Random draws of rows that depend on the seed and on row numbers only.

A row is drawn, weighted or grouped by a hash of its number. So one process, or many that each
have some of the rows in any blocks, give it the same place, and the answer does not depend on how
the table is split. The row number is the position in the table as sent (`Table.as_sent`); rows
that are left out, as of weight 0, change nothing for the others.

The hash is SplitMix64: Steele, Lea and Flood (2014), "Fast Splittable Pseudorandom Number
Generators", OOPSLA, doi:10.1145/2660193.2660195. Output i of the generator costs no outputs
before it, so that it is a hash of i; it passes BigCrush; and it is additions, multiplications and
shifts of 64-bit integers only, which NumPy computes alike on all platforms. Generators of NumPy
give their numbers in sequence, and may give others in later versions.

    hash(row)  =  output `row` of SplitMix64 with the state `key`, counted from 0
    key        =  fold over seed, purpose and numbers: first output with the state key ^ number
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from fractions import Fraction
from functools import cache
from math import factorial

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix, Words

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_STEPS = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)
_LAST_SHIFT = np.uint64(31)
_LARGEST_COUNT = 20
"""Of a Poisson weight; larger ones have a probability below 2^-64, the resolution of a hash."""
_HASHES_AT_ONCE = 1 << 15
"""Hashes that fit into a processor's cache."""
_SERIES_TERMS = 40
"""Terms of the series of e, which give it to 1e-48."""


class Purpose(Enum):
    """Purpose of a hash: draws of different purposes are independent."""

    DRAW = 1
    BOOTSTRAP = 2
    JACKKNIFE = 3
    SHUFFLE = 4
    ORDER = 5


def row_hashes(rows: Indices, seed: int, purpose: Purpose, *numbers: int) -> Words:
    """Hash row numbers to 64 bits: (n,).

    Parameters
    ----------
    rows : (n,)
        Row numbers, in any order.
    seed : int
        In [0, 2^63), as `numbers`.
    numbers : int
        Each sequence of numbers, as of a repetition, gives independent hashes.
    """
    return _mix(_key(seed, purpose.value, *numbers) + _places(rows))


def _key(*numbers: int) -> Words:
    """Return the key of numbers: (1,)."""
    key = np.zeros(1, np.uint64)
    for number in numbers:
        key = _folded(key, np.uint64(number))
    return key


def _folded(key: Words, number: np.uint64 | Words) -> Words:
    return _mix((key ^ number) + _GAMMA)


def _places(rows: Indices) -> Words:
    """Return how far the outputs of rows lie behind the state: (n,)."""
    return (rows.astype(np.uint64) + np.uint64(1)) * _GAMMA


def _mix(states: Words) -> Words:
    """Return the outputs of SplitMix64 for its states: (n,)."""
    for shift, factor in _STEPS:
        states = (states ^ (states >> shift)) * factor
    return states ^ (states >> _LAST_SHIFT)


def draw(rows: Indices, count: int, seed: int) -> Indices:
    """Draw rows without replacement: those with the smallest hashes.

    A smaller draw is part of a larger one of the same seed. A draw from the draws of blocks is the
    draw from all their rows, so one pass over blocks needs memory for `count` rows.

    Parameters
    ----------
    rows : (n,)
        Row numbers, ascending.

    Returns
    -------
    (min(n, count),)
        Positions in `rows`, ascending.
    """
    if len(rows) <= count:
        return np.arange(len(rows))
    hashes = row_hashes(rows, seed, Purpose.DRAW)
    largest = np.partition(hashes, count - 1)[count - 1]
    is_drawn = hashes < largest
    tied = np.flatnonzero(hashes == largest)  # of equal hashes, the first rows are drawn
    is_drawn[tied[: count - np.count_nonzero(is_drawn)]] = True
    return np.flatnonzero(is_drawn)


def poisson_counts(rows: Indices, seed: int, repeats: Sequence[int]) -> Matrix:
    """Draw how often each bootstrap replicate has each row: (n_repeats, n), Poisson of mean 1.

    Hanley and MacGibbon (2006), "Creating non-parametric bootstrap samples using Poisson
    frequencies", Computer Methods and Programs in Biomedicine 83(1), 57-62.
    doi:10.1016/j.cmpb.2006.04.006

    Parameters
    ----------
    rows : (n,)
        Row numbers, in any order.
    repeats : sequence of int
        Numbers of the replicates, which do not depend on how many there are.
    """
    keys = _folded(_key(seed, Purpose.BOOTSTRAP.value), np.array(repeats, np.uint64))
    places, thresholds = _places(rows), _poisson_thresholds()
    counts = np.empty((len(keys), len(rows)))
    step = max(1, _HASHES_AT_ONCE // max(1, len(rows)))
    for start in range(0, len(keys), step):
        hashes, some = _mix(keys[start : start + step, None] + places), counts[start : start + step]
        some[:] = hashes >= thresholds[0]
        # Large counts are rare: most thresholds are above all hashes.
        largest = np.searchsorted(thresholds, hashes.max(initial=0), side="right")
        for threshold in thresholds[1:largest]:
            some += hashes >= threshold
    return counts


@cache
def _poisson_thresholds() -> Words:
    """Return the smallest hashes that stand for a count of 1, 2, ...: 2^64 P(count < k)."""
    e = sum(Fraction(1, factorial(i)) for i in range(_SERIES_TERMS))
    below = [sum(Fraction(1, factorial(i)) for i in range(k)) for k in range(1, _LARGEST_COUNT + 1)]
    return np.array([int(2**64 * share / e) for share in below], np.uint64)


def jackknife_groups(rows: Indices, group_count: int, seed: int) -> Indices:
    """Assign each row to one of `group_count` random groups: (n,), in [0, group_count).

    The size of a group is binomial: of n rows its mean is n / group_count, its variance somewhat
    less. Groups of few rows may be empty.
    """
    hashes = row_hashes(rows, seed, Purpose.JACKKNIFE)
    return (hashes % np.uint64(group_count)).astype(np.intp)


def shuffles(rows: Indices, count: int, seed: int, *numbers: int) -> list[Indices]:
    """Return random orders of rows, by their hashes: positions in `rows`, (n,) each.

    The order of two rows does not depend on the others, nor an order on their count.

    Parameters
    ----------
    rows : (n,)
        Row numbers, ascending.
    numbers : int
        See `row_hashes`, which the number of the order follows.
    """
    keys = _folded(_key(seed, Purpose.SHUFFLE.value, *numbers), np.arange(count, dtype=np.uint64))
    places = _places(rows)
    return [np.argsort(_mix(key + places), kind="stable") for key in keys]
