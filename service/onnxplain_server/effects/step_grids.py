"""Grids with one point for every step of a model, so that nothing happens between two points."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.effects.grids import GridLayout, split_missing
from onnxplain_server.effects.quantiles import inverse_ecdf


def make_step_grid(column: Array, breakpoints: Vector, layout: GridLayout) -> Array:
    """Lay the grid of one feature: its lower end, the start of every step, its upper end.

    Parameters
    ----------
    column : (n_rows,)
        The feature's values in the type in which the model takes them, as float64; or str
        objects, whose grid has all of them.
    breakpoints : (n,)
        Numbers at which the model may change; see `PiecewiseConstant.breakpoints`.
    layout : GridLayout
        Its trimming quantiles are the ends; its size does not count.

    Returns
    -------
    (n_points,)
        Ascending, then the missing value where it is wanted. Two points where there is no
        step between the ends, and one where the ends coincide.
    """
    known, missing = split_missing(np.unique(column))
    if column.dtype != object:
        low, high = inverse_ecdf(column, np.array([layout.trim_lower, layout.trim_upper]))
        known = np.unique([low, *breakpoints[(breakpoints > low) & (breakpoints < high)], high])
    return np.append(known, missing) if layout.include_missing else known
