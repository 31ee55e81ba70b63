"""Weights to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain_server.methods.swarm.bisection import before, crossings, first_where
from onnxplain_server.methods.swarm.options import Motion
from onnxplain_server.methods.swarm.perturbation import (
    JointMove,
    Move,
    scaled,
    shaken,
    widest,
)

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def passes(move: Move, weight: float, threshold: float) -> bool:
    reached = bool(move.at(weight)[0] >= threshold)
    return reached == bool(move.slope[0] >= 0)


def neighbours(weight: float, kind) -> tuple[float, float]:
    return float(np.nextafter(kind(weight), kind(-1))), float(weight)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_crossing_is_the_first_weight_past_the_threshold(kind, sign: int) -> None:
    random = np.random.default_rng(3)
    values = (sign * random.gamma(2.0, size=200)).astype(kind)
    thresholds = values * random.uniform(0.01, 9.9, 200)
    move = scaled(values, Motion(), has_zeros=False)

    found = crossings(move, thresholds, 10.0, kind)

    for i, weight in enumerate(found):
        earlier, here = neighbours(weight, kind)
        one = move.take(np.array([i]))
        assert passes(one, here, thresholds[i])
        assert not passes(one, earlier, thresholds[i])


def test_a_threshold_that_is_reached_exactly_is_passed_by_values_that_rise_only() -> None:
    """0.5 · 4 is 2: at or above; but −0.5 · 4 is −2: not below yet."""
    rising = scaled(np.array([0.5], np.float32), Motion(), has_zeros=False)
    falling = scaled(np.array([-0.5], np.float32), Motion(), has_zeros=False)

    assert crossings(rising, np.array([2.0]), 10.0, np.float32)[0] == 4.0
    assert crossings(falling, np.array([-2.0]), 10.0, np.float32)[0] == np.nextafter(
        np.float32(4), np.float32(5)
    )


def test_what_holds_nowhere_is_given_the_limit() -> None:
    found = first_where(lambda w: w > 20, np.zeros(1), np.full(1, 10.0), np.float32)

    assert found.tolist() == [10.0]


def test_the_product_is_the_float32_product() -> None:
    random = np.random.default_rng(3)
    values = random.normal(size=500).astype(np.float32)
    weights = random.uniform(0, 10, 500).astype(np.float32)
    move = scaled(values, Motion(), has_zeros=False)

    assert np.array_equal(move.at(weights), weights * values)


def test_zeros_move_because_something_is_added_before() -> None:
    move = scaled(np.array([0.0, 3.0], np.float32), Motion(zero_offset=1.0), has_zeros=True)

    assert move.at(2.0).tolist() == [1.0, 7.0]
    assert move.at(1.0).tolist() == [0.0, 3.0]
    assert move.at(0.0).tolist() == [-1.0, -1.0]


def test_without_zeros_nothing_is_added() -> None:
    move = scaled(np.array([3.0], np.float32), Motion(zero_offset=1.0), has_zeros=False)

    assert move.at(2.0).tolist() == [6.0]


def test_gaussian_numbers_grow_with_the_weight() -> None:
    move = shaken(np.array([1.0, 1.0], np.float32), 2.0, np.array([0.5, -1.5]))

    assert move.at(0.0).tolist() == [1.0, 1.0]
    assert move.at(2.0).tolist() == [3.0, -5.0]


def test_whole_numbers_are_rounded_and_stay_in_their_range() -> None:
    move = scaled(np.array([3, 100], np.int8), Motion(), has_zeros=False)

    assert move.at(1.5).tolist() == [4, 127]
    assert move.at(0.1).tolist() == [0, 10]


def test_weights_are_as_precise_as_the_most_precise_feature() -> None:
    single = scaled(np.ones(1, SINGLE), Motion(), has_zeros=False)
    double = scaled(np.ones(1, DOUBLE), Motion(), has_zeros=False)

    assert widest([JointMove((0,), (single,)), JointMove((1,), (single,))]) is np.float32
    assert widest([JointMove((0,), (single,)), JointMove((1,), (double,))]) is np.float64
    assert widest([JointMove((0, 1), (single, double))]) is np.float64


def test_the_weight_before_is_the_next_smaller_number() -> None:
    assert before(np.array([1.0]), np.float32)[0] == 1 - 2**-24
    assert before(np.array([0.0]), np.float32)[0] == 0.0
