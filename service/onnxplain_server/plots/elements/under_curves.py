"""Lines of curves, and marks under them: a rug of rows, and bands of intervals."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.plots.axes.layout import Axis, Categories
from onnxplain_server.plots.axes.number_line import NumberLine
from onnxplain_server.plots.elements.number_formats import data_number
from onnxplain_server.plots.elements.style import PANEL_HEIGHT, PLAIN_COLOUR, PLOT_HEIGHT, Spec

_MAX_TICKS = 300
_BAND_OPACITY = 0.2


def rug(axis: NumberLine, sample: Array, in_panel: bool) -> list[Spec]:
    """Draw a rug: a tick for each value of a sample within the grid."""
    low, high = axis.values[[0, -1]]
    inside = np.sort(sample[(sample >= low) & (sample <= high)])
    if inside.size > _MAX_TICKS:
        inside = inside[np.linspace(0, inside.size - 1, _MAX_TICKS).round().astype(int)]
    if not inside.size:
        return []
    height = PANEL_HEIGHT if in_panel else PLOT_HEIGHT
    mark = {"type": "tick", "orient": "vertical", "size": 8, "thickness": 1}
    x = {"field": "x", **axis.channel(to_edges=False)}
    return [
        {
            "data": {"values": [{"x": data_number(value)} for value in inside]},
            "mark": {**mark, "color": "#3c4043", "opacity": 0.4, "tooltip": None, "aria": False},
            "encoding": {"x": x, "y": {"value": height - 5}},
        }
    ]


def band(axis: Axis, value: Spec, encoding: Spec) -> list[Spec]:
    """Draw the intervals of values: a band along a line, a bar beside each category.

    The rows of the plot have their ends as "low" and "high".
    """
    colour = {key: encoding[key] for key in ("color",) if key in encoding}
    mark: Spec = {"opacity": _BAND_OPACITY, "tooltip": None, "aria": False}
    mark |= {} if colour else {"color": PLAIN_COLOUR}
    low = {**value, "field": "low"}
    if isinstance(axis, Categories):
        mark |= {"type": "bar", "height": 8}
        places = {"y": {"field": "x", **axis.channel()}, "x": low, "x2": {"field": "high"}}
    else:
        mark |= {"type": "area"}
        x = {"field": "x", **axis.channel(to_edges=False)}
        places = {"x": x, "y": low, "y2": {"field": "high"}}
    known = [{"filter": "isValid(datum.low) && isValid(datum.high)"}]
    return [{"transform": known, "mark": mark, "encoding": {**places, **colour}}]


def fading_lines(line: Spec, encoding: Spec, *, fades: bool) -> list[Spec]:
    """Draw the lines; where some points are pale, in full between neighbours that are not."""
    known = [{"filter": "!datum.missing"}]
    if not fades:
        return [{"transform": known, "mark": line, "encoding": encoding}]
    runs = {**encoding, "detail": {"field": "run", "type": "nominal"}}
    firm = [*known, {"filter": "isValid(datum.run)"}]
    return [
        {"transform": known, "mark": {**line, "opacity": 0.3}, "encoding": encoding},
        {"transform": firm, "mark": line, "encoding": runs},
    ]


def joining(axis: Axis) -> Spec:
    """Return the interpolation of lines: linear, or by steps."""
    is_stepped = isinstance(axis, NumberLine) and axis.is_stepped
    return {"interpolate": "step-after"} if is_stepped else {}
