"""Step grids: one point per step of a piecewise constant model, which misses no change."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.effects.grids import GridLayout, sort_values
from onnxplain_server.effects.quantiles import sorted_quantiles


def make_step_grid(column: Array, breakpoints: Vector, layout: GridLayout) -> Array:
    """Make the grid of one feature: its lower end, the breakpoints, its upper end.

    Parameters
    ----------
    column : (n_rows,)
        The feature's values in the model's type, as float64; or str objects, which are all
        points.
    breakpoints : (n,)
        Values at which the model may change; see `PiecewiseConstant.breakpoints`.
    layout : GridLayout
        Its trimming quantiles are the ends; its size is ignored.

    Returns
    -------
    (n_points,)
        Ascending, then the missing value if included. Two points where no breakpoint lies
        between the ends, and one where the ends coincide.
    """
    known, missing = sort_values(column)
    if column.dtype != object:
        low, high = sorted_quantiles(known, np.array([layout.trim_lower, layout.trim_upper]))
        known = np.unique([low, *breakpoints[(breakpoints > low) & (breakpoints < high)], high])
    return np.append(known, missing) if layout.include_missing else known
