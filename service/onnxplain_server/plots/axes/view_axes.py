"""Axes of the features of a plot of partial dependence, with remarks on values left out."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.plots.axes.layout import Axis, lay_axis
from onnxplain_server.plots.elements.selection import View


def axis_of(
    view: View, place: int, samples: dict[str, Array], limit: int, category_limit: int
) -> tuple[Axis, list[str]]:
    """Make the axis of one feature, categories by their effect, the largest first."""
    name, grid = view.features[place], view.pieces[0].grid[place]
    sample = samples.get(name, np.empty(0))
    if grid.dtype.kind in "OU":
        widest = view.pieces[int(np.argmax([span(piece.values) for piece in view.pieces]))]
        effects = widest.values if len(widest.values) == len(grid) else None
        return lay_axis(name, grid, sample, category_limit, effects=effects)
    # Leaving out points does not change a smooth curve, but leaving out steps does.
    limit = 2 * limit if view.is_stepped else limit
    return lay_axis(name, grid, sample, limit, is_stepped=view.is_stepped)


def span(values: Vector) -> float:
    """Return the distance from lowest to highest finite value; 0 without any."""
    finite = values[np.isfinite(values)]
    return float(np.ptp(finite)) if finite.size else 0.0
