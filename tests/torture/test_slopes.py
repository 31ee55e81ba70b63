"""Slopes: a leak is found in noise and beside jumps, and noise is no leak."""

from __future__ import annotations

import numpy as np
import pytest
from rig.checker import ALLOWANCES
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


def descriptors(seed: int) -> np.ndarray:
    """Half an hour of descriptors that nothing explains: 20, and one more now and then."""
    rng = np.random.default_rng(seed)
    return np.asarray(20 + (rng.random(len(TIMES)) < 0.05))


@pytest.mark.parametrize("seed", range(40))
def test_ten_descriptors_lost_per_hour_are_found(seed: int) -> None:
    phase = np.random.default_rng(seed).random()
    leak = np.floor(phase + 10 * TIMES / 3_600)

    assert found(descriptors(seed) + leak).grows(ALLOWANCES["unexplained_descriptors"])


@pytest.mark.parametrize("seed", range(40))
def test_descriptors_that_come_and_go_do_not_grow(seed: int) -> None:
    assert not found(descriptors(seed)).grows(ALLOWANCES["unexplained_descriptors"])


def test_power_is_the_share_of_leaks_that_are_found() -> None:
    """By the noise of a run: none without a leak, all leaks that are large, and more in between."""
    measured = found(noise(0))
    powers = [measured.power(leak * MIB, ALLOWANCE) for leak in (0, 10, 20, 25, 60)]

    assert powers[0] == 0
    assert powers[-1] == 1
    assert powers == sorted(powers)
    assert found(descriptors(0)).power(10, 2.0) == 1


def test_power_is_that_of_fresh_noise() -> None:
    """As many of 40 runs with noise of their own show the leak as the noise of one run tells."""
    leak = 26 * MIB
    fresh = [found(noise(seed) + leak / 3_600 * TIMES).grows(ALLOWANCE) for seed in range(40)]

    assert np.mean(fresh) == pytest.approx(found(noise(99)).power(leak, ALLOWANCE), abs=0.3)


def test_the_slope_of_a_line_is_its_own() -> None:
    slope = found(5 + 0.25 * TIMES)

    assert slope.per_hour == pytest.approx(900)
    assert slope.low == pytest.approx(900)
    assert slope.high == pytest.approx(900)


def test_too_short_a_life_has_no_slope() -> None:
    assert trend("memory", TIMES[:60].tolist(), TIMES[:60].tolist()) is None
    assert trend("memory", [], []) is None
