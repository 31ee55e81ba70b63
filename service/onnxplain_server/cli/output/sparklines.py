"""Sparklines: curves as a line of bars, all on one scale."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Vector

_BARS = "▁▂▃▄▅▆▇█"
_GAP = " "
WIDTH = 16
"""Bars of a curve over numbers, at most."""


def resampled(grid: Vector, values: Vector, width: int = WIDTH) -> Vector:
    """Return values at evenly spaced places of a grid: (width,).

    Parameters
    ----------
    grid : (n,)
        Finite and ascending.
    values : (n,)
    """
    if len(grid) < 2 or not grid[0] < grid[-1]:
        return values[:width]
    return np.interp(np.linspace(grid[0], grid[-1], width), grid, values)


def sparkline(values: Vector, low: float, high: float) -> str:
    """Draw values on a scale; the lowest bar also where all values are alike, a gap for NaN."""
    span = high - low
    shares = (values - low) / span if span > 0 else np.zeros_like(values)
    places = np.clip(np.nan_to_num(shares * len(_BARS)), 0, len(_BARS) - 1).astype(int)
    pairs = zip(values, places, strict=True)
    return "".join(_BARS[place] if np.isfinite(value) else _GAP for value, place in pairs)
