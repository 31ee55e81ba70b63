"""Points of rows: those shown of many, their places side by side, ranks and layers of colours."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.plots.elements.style import MISSING_COLOUR, PLAIN_COLOUR, Spec

_BINS = 60
_MARK: Spec = {"type": "circle", "size": 24, "opacity": 0.85}


def spread_rows(count: int, most: int) -> Indices:
    """Return the positions of at most so many rows, evenly spaced."""
    rows: Indices = np.unique(np.linspace(0, count - 1, most).round().astype(np.intp))
    return rows


def offsets(values: Vector, span: float) -> Vector:
    """Move points that lie close together aside, by turns up and down: from -1 to 1.

    Parameters
    ----------
    span : float
        Length of the axis, in the unit of the values; 0 where all are equal.
    """
    bins = np.floor((values - values.min()) / (span or 1.0) * (_BINS - 1)).astype(int)
    moved = np.zeros(len(values))
    for place in np.unique(bins):
        here = np.flatnonzero(bins == place)
        turns = np.arange(len(here))
        moved[here] = np.where(turns % 2, 1, -1) * ((turns + 1) // 2)
    largest = np.abs(moved).max()
    scaled: Vector = moved / max(largest, 4)
    return scaled


def ranks_of(own: Array) -> Vector:
    """Return the rank of each value, from 0 to 1; NaN for texts and missing values."""
    ranks = np.full(len(own), np.nan)
    if own.dtype == object:
        return ranks
    values = own.astype(np.float64)
    known = ~np.isnan(values)
    levels, codes = np.unique(values[known], return_inverse=True)
    ranks[known] = codes / max(len(levels) - 1, 1)
    return ranks


def layers(points: list[Spec], encoding: Spec, colour: Spec) -> list[Spec]:
    """Draw points by the field of their colour, grey where they have none; all alike without it.

    Vega-Lite gives points without a number the first colour of its scale, past any condition.
    """
    if not colour:
        return [{"mark": {**_MARK, "color": PLAIN_COLOUR}, "encoding": encoding}]
    field = colour["field"]
    grey = {"mark": {**_MARK, "color": MISSING_COLOUR}, "encoding": encoding}
    coloured = {"mark": _MARK, "encoding": {**encoding, "color": colour}}
    known = f"isValid(datum.{field})"
    parts = (
        (f"!{known}", grey, any(point.get(field) is None for point in points)),
        (known, coloured, any(point.get(field) is not None for point in points)),
    )
    return [
        {"transform": [{"filter": test}], **layer} for test, layer, is_needed in parts if is_needed
    ]
