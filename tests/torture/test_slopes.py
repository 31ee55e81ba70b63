"""Slopes: a leak is found in noise and beside jumps, and noise is no leak."""

from __future__ import annotations

import numpy as np
import pytest
from rig.slopes import Trend, trend

MIB = 2**20
ALLOWANCE = 16 * MIB
TIMES = np.arange(0.0, 1_800.0)


def noise(seed: int) -> np.ndarray:
    """Half an hour of memory: 300 MiB, with peaks of some MiB that come and go."""
    rng = np.random.default_rng(seed)
    peaks = np.repeat(rng.exponential(3 * MIB, size=180), 10)
    warming = 20 * MIB * (1 - np.exp(-TIMES / 60))
    return np.asarray(300 * MIB + peaks + warming)


def found(values: np.ndarray) -> Trend:
    made = trend("memory", TIMES.tolist(), values.tolist())
    assert made is not None
    return made


@pytest.mark.parametrize("seed", range(10))
def test_memory_that_warms_up_and_varies_does_not_grow(seed: int) -> None:
    assert not found(noise(seed)).grows(ALLOWANCE)


@pytest.mark.parametrize("seed", range(10))
def test_a_leak_of_sixty_mebibytes_per_hour_is_found(seed: int) -> None:
    leak = 60 * MIB / 3_600 * TIMES

    slope = found(noise(seed) + leak)

    assert slope.grows(ALLOWANCE)
    assert slope.per_hour == pytest.approx(60 * MIB, rel=0.2)


@pytest.mark.parametrize("when", [600, 900, 1_200, 1_500])
def test_one_jump_is_no_leak(when: int) -> None:
    jump = np.where(when < TIMES, 10 * MIB, 0)

    assert not found(noise(0) + jump).grows(ALLOWANCE)


def test_a_descriptor_lost_each_minute_is_found() -> None:
    held = 60 + TIMES // 60

    assert found(held).grows(4.0)


def test_the_slope_of_a_line_is_its_own() -> None:
    slope = found(5 + 0.25 * TIMES)

    assert slope.per_hour == pytest.approx(900)
    assert slope.low == pytest.approx(900)
    assert slope.high == pytest.approx(900)


def test_too_short_a_life_has_no_slope() -> None:
    assert trend("memory", TIMES[:60].tolist(), TIMES[:60].tolist()) is None
    assert trend("memory", [], []) is None
