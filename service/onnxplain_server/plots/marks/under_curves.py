"""Lines of curves, and marks under them: a rug of rows, and bands of intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.plots.axes.layout import Axis, Categories
from onnxplain_server.plots.axes.number_line import NumberLine
from onnxplain_server.plots.elements.number_formats import data_number, spell
from onnxplain_server.plots.elements.style import PANEL_HEIGHT, PLAIN_COLOUR, PLOT_HEIGHT, Spec

_MAX_TICKS = 300
_END_FIELDS = ("low", "high", "wide_low", "wide_high")
_OPACITIES = {"wide_low": ("wide_high", 0.12), "low": ("high", 0.2)}
"""Lower and upper ends of bands, and how dark they are: the narrower one lies on the wider one."""


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


def ends_of(bands: Sequence[Vector], count: int) -> list[Spec]:
    """Return the ends of the interval and of the simultaneous band at each of so many points."""
    if not bands:
        return [{}] * count
    return [
        dict(zip(_END_FIELDS, map(data_number, ends), strict=True))
        if all(map(math.isfinite, ends))
        else {}
        for ends in zip(*(numbers.tolist() for numbers in bands), strict=True)
    ]


def band_remarks(bands_of_series: Sequence[Sequence[Vector]], level: float) -> list[str]:
    """Return one remark on what bands mean; none without any."""
    if not any(np.isfinite(ends).any() for bands in bands_of_series for ends in bands):
        return []
    percent = f"{100 * level:.3g} %"
    whole = "it" if len(bands_of_series) == 1 else "each"
    remark = f"Dark band: {percent} interval of each point by itself; pale: of {whole} as a whole"
    return [f"{remark}, over replicates of the rows"]


def interval_remarks(bands_of_surfaces: Sequence[Sequence[Vector]], level: float) -> list[str]:
    """Return one remark on how wide the intervals of cells are; none without any."""
    widths = [bands[1] - bands[0] for bands in bands_of_surfaces if bands]
    known = [float(width) / 2 for own in widths for width in own[np.isfinite(own)]]
    if not known:
        return []
    middle, most = (spell(value, ".2~r") for value in (float(np.median(known)), max(known)))
    percent = f"{100 * level:.3g} %"
    return [f"{percent} intervals of cells: ± {middle} at the median, ± {most} at most"]


def bands(axis: Axis, value: Spec, encoding: Spec) -> list[Spec]:
    """Draw the intervals of values: bands along a line, bars beside each category.

    The rows of the plot have the ends of intervals as "low" and "high", those of the simultaneous
    band, which is paler, as "wide_low" and "wide_high".
    """
    return [_band(axis, value, encoding, low, *mark) for low, mark in _OPACITIES.items()]


def _band(  # noqa: PLR0917 - a band has all of these
    axis: Axis, value: Spec, encoding: Spec, low_field: str, high_field: str, opacity: float
) -> Spec:
    colour = {key: encoding[key] for key in ("color",) if key in encoding}
    mark: Spec = {"opacity": opacity, "tooltip": None, "aria": False}
    mark |= {} if colour else {"color": PLAIN_COLOUR}
    low, high = {**value, "field": low_field}, {"field": high_field}
    known = f"isValid(datum.{low_field}) && isValid(datum.{high_field})"
    if isinstance(axis, Categories):
        mark |= {"type": "bar", "height": 8}
        places = {"y": {"field": "x", **axis.channel()}, "x": low, "x2": high}
    else:
        mark |= {"type": "area", **joining(axis)}
        known += " && !datum.missing"
        x = {"field": "x", **axis.channel(to_edges=False)}
        places = {"x": x, "y": low, "y2": high}
    return {"transform": [{"filter": known}], "mark": mark, "encoding": {**places, **colour}}


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
