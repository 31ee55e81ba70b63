"""SeriesMoments added up by blocks, against exact fractions and NumPy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.trees.streaming.moments import SeriesMoments


def by_blocks(values, weights, size):
    parts = [slice(a, a + size) for a in range(0, len(values), size)]
    total = SeriesMoments.of([values[parts[0]]], weights[parts[0]])
    for part in parts[1:]:
        total.add(SeriesMoments.of([values[part]], weights[part]))
    return total


@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40),
    size=st.integers(1, 10),
    shift=st.sampled_from([0.0, 1e8]),
)
def test_moments_are_those_of_exact_fractions(values, size, shift) -> None:
    """A large constant costs the digits that it takes from the values, and no more."""
    rows = np.array(values)[:, None] + shift
    weights = np.arange(1.0, len(values) + 1)
    own = [Fraction(float(v)) for v in rows[:, 0]]
    whole = sum(Fraction(float(w)) for w in weights)
    pairs = [(Fraction(float(w)), v) for w, v in zip(weights, own, strict=True)]
    mean = sum(w * v for w, v in pairs) / whole
    square = sum(w * (v - mean) ** 2 for w, v in pairs) / whole

    found = by_blocks(rows, weights, size)

    largest = max(map(abs, values), default=0.0) + shift
    assert found.means[0, 0] == pytest.approx(float(mean), rel=1e-14, abs=1e-14 * largest)
    noise = (1e-15 * largest) ** 2 + 1e-15 * largest * float(square) ** 0.5
    assert found.mean_squares[0, 0] == pytest.approx(float(square), rel=1e-12, abs=100 * noise)


def test_constants_have_a_square_of_exactly_0() -> None:
    values = np.full((1_000, 2), 0.1)

    assert by_blocks(values, np.arange(1.0, 1_001.0), 7).squares.tolist() == [[0.0, 0.0]]


def test_two_blocks_worked_by_hand() -> None:
    """0 and 2 have mean 1 and square 1; with 4 of weight 2, mean 5/2 and square 11/4."""
    total = SeriesMoments.of([np.array([[0.0], [2.0]])], np.ones(2))
    total.add(SeriesMoments.of([np.array([[4.0]])], np.array([2.0])))

    assert (total.weight, total.means[0, 0], total.mean_squares[0, 0]) == (4.0, 2.5, 2.75)
