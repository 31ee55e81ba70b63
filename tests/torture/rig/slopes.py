"""Whether something grows: a robust slope, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from onnxplain_server.core.arrays import Vector
from rig.history import Sample
from scipy.stats import linregress, theilslopes

CONFIDENCE = 0.95

_BLOCK_SECONDS = 15.0
"""Samples are merged to medians of such blocks, which follow each other less closely."""

_FEWEST_BLOCKS = 8

_STANDARD_ERRORS = 2.0

_WARM_SHARE, _WARM_SECONDS = 0.3, 300.0
"""Of a process' life, and at least: caches, pools and arenas fill."""


@dataclass(frozen=True)
class Trend:
    """How a size moved.

    Attributes
    ----------
    name : str
    first, last : float
        Medians of the first and the last block after warm-up.
    per_hour : float
        Theil and Sen's slope: the median over all pairs of blocks.
    low, high : float
        Its confidence interval.
    minutes : float
        How long it was looked at.
    halves : (float, float)
        Slopes per hour of the first and the second half alone, less two standard errors. By least
        squares: where little grows, in whole steps, most pairs of blocks in a half are equal.
    blocks : Vector
        Medians of all blocks.
    """

    name: str
    first: float
    last: float
    per_hour: float
    low: float
    high: float
    minutes: float
    halves: tuple[float, float]
    blocks: Vector

    def grows(self, allowance: float) -> bool:
        """Whether it grows by more than this per hour: for sure, and in both halves of its time.

        A leak goes on; a pool that was made larger once does not.
        """
        return self.low > allowance and min(self.halves) > 0

    def power(self, leak: float, allowance: float) -> float:
        """Return the share of simulated runs in which a steady leak of so much per hour is found.

        The noise of a simulated run is that of this one around its slope, shifted in time by any
        number of blocks, the end put before the beginning. Leaks come in whole units.
        """
        hours = np.arange(len(self.blocks), dtype=np.float64) * (_BLOCK_SECONDS / 3_600)
        noise = self.blocks - np.median(self.blocks) - self.per_hour * (hours - np.median(hours))
        found = 0
        for shift in range(len(noise)):
            leaked = np.floor(shift / len(noise) + leak * hours)
            values = np.asarray(np.roll(noise, shift) + leaked, np.float64)
            made = _of_blocks(self.name, np.asarray(3_600 * hours, np.float64), values)
            found += made.grows(allowance)
        return found / len(noise)


def trend(name: str, times: Sequence[float], values: Sequence[float]) -> Trend | None:
    """Measure the slope of a size over time, after warm-up; None where it was seen too shortly.

    Parameters
    ----------
    name : str
    times : sequence of float
        Seconds, rising.
    values : sequence of float

    References
    ----------
    Sen (1968), "Estimates of the Regression Coefficient Based on Kendall's Tau", Journal of the
    American Statistical Association 63, 1379-1389, also for the interval. It takes the blocks for
    independent.
    """
    t, y = np.asarray(times, float), np.asarray(values, float)
    if len(t) == 0:
        return None
    warm = t >= t[0] + max(_WARM_SECONDS, _WARM_SHARE * (t[-1] - t[0]))
    if not warm.any():
        return None
    block = ((t[warm] - t[warm][0]) // _BLOCK_SECONDS).astype(int)
    numbers = np.unique(block)
    if len(numbers) < _FEWEST_BLOCKS:
        return None
    mids = np.array([float(np.median(t[warm][block == k])) for k in numbers])
    medians = np.array([float(np.median(y[warm][block == k])) for k in numbers])
    return _of_blocks(name, mids, medians)


def _of_blocks(name: str, mids: Vector, medians: Vector) -> Trend:
    slope, _, low, high = (3600 * float(v) for v in theilslopes(medians, mids, CONFIDENCE))
    minutes = float(mids[-1] - mids[0]) / 60
    half = len(mids) // 2
    parts = (slice(None, half), slice(half, None))
    first, second = (_low(mids[part], medians[part]) for part in parts)
    ends = float(medians[0]), float(medians[-1])
    return Trend(name, *ends, slope, low, high, minutes, (first, second), medians)


def _low(times: Vector, values: Vector) -> float:
    """The least slope per hour that is likely."""
    line = linregress(times, values)
    return 3600 * float(line.slope - _STANDARD_ERRORS * line.stderr)


def of_samples(samples: Sequence[Sample], life: str, key: str) -> Trend | None:
    """Measure one size of one process over its life."""
    found = [each for each in samples if each.life == life and key in each.values]
    times = [each.time for each in found]
    return trend(f"{life} {key}", times, [each.values[key] for each in found])
