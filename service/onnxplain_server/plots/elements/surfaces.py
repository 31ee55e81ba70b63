"""Heat maps over two features: coloured cells, or points if the grid is not a full rectangle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.plots.axes.layout import Axis, Categories, in_panel
from onnxplain_server.plots.elements.chart import in_panels, tooltip
from onnxplain_server.plots.elements.number_formats import data_number, scale_format
from onnxplain_server.plots.elements.style import AREA_SCHEME, Spec


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """Values at points of two features.

    Attributes
    ----------
    panel : str
        Panel of the heat map; may be empty.
    first, second : (n,)
        Values of the features.
    values : (n,)
    """

    panel: str
    first: Array
    second: Array
    values: Vector


def draw(
    axes: tuple[Axis, Axis],
    surfaces: Sequence[Surface],
    panels: tuple[str, ...],
    value_title: str,
    common_scale: bool,
) -> Spec:
    """Draw the first feature as x, the second as y, the values as colours."""
    if len(panels) > 1:
        axes = (in_panel(axes[0]), in_panel(axes[1]))
    values = np.concatenate([surface.values for surface in surfaces])
    full = all(_is_rectangle(surface) for surface in surfaces)
    number_format = scale_format(values) if common_scale else ",.4~r"
    legend: Spec = {"title": value_title if common_scale else None, "tickCount": 5}
    legend |= {"format": number_format} if common_scale else {}
    value = {"field": "value", "type": "quantitative"}
    encoding: Spec = {
        **_place(axes[0], "x", full),
        **_place(axes[1], "y", full),
        "color": {
            **value,
            "scale": {"scheme": AREA_SCHEME, "zero": False, "nice": True},
            "legend": legend,
        },
        "tooltip": _tooltip(axes, len(panels) > 1, number_format),
    }
    mark = _cell(axes) if full else {"type": "circle", "size": 60, "opacity": 1}
    resolve = {} if common_scale else {"scale": {"color": "independent"}}
    rows = [row for surface in surfaces for row in _rows(axes, surface, full, len(panels) > 1)]
    return in_panels(rows, panels, {"mark": mark, "encoding": encoding}, resolve)


def _is_rectangle(surface: Surface) -> bool:
    """Tell whether every value of one feature occurs once with every value of the other."""
    first, second = ([str(value) for value in side] for side in (surface.first, surface.second))
    pairs = set(zip(first, second, strict=True))
    return len(pairs) == len(first) == len(set(first)) * len(set(second))


def _cell(axes: tuple[Axis, Axis]) -> Spec:
    """Return the mark of cells, which overlap slightly to hide gaps between them."""
    mark: Spec = {"type": "rect"}
    for axis, band, offset, overlap in zip(
        axes, ("width", "height"), ("x2Offset", "y2Offset"), (0.5, -0.5), strict=True
    ):
        mark |= {band: {"band": 1.01}} if isinstance(axis, Categories) else {offset: overlap}
    return mark


def _place(axis: Axis, channel: str, full: bool) -> Spec:
    """Encode one feature; numbers of a full grid by the borders of their cells."""
    if isinstance(axis, Categories):
        return {channel: {"field": channel, **axis.channel(upright=channel == "x")}}
    place: Spec = {channel: {"field": channel, **axis.channel(to_edges=full)}}
    place[channel]["axis"]["grid"] = not full
    return {**place, f"{channel}2": {"field": f"{channel}2"}} if full else place


def _rows(axes: tuple[Axis, Axis], surface: Surface, full: bool, several: bool) -> list[Spec]:
    panel = {"panel": surface.panel} if several else {}
    points = zip(surface.first, surface.second, surface.values, strict=True)
    return [
        {
            **_at(axes[0], "x", first, full),
            **_at(axes[1], "y", second, full),
            "value": data_number(value),
            **panel,
        }
        for first, second, value in points
        if axes[0].holds(first) and axes[1].holds(second) and np.isfinite(value)
    ]


def _at(axis: Axis, channel: str, value: object, full: bool) -> Spec:
    described = {f"{channel}_text": axis.text(value)}
    if isinstance(axis, Categories) or not full:
        return {channel: axis.position(value), **described}
    low, high = axis.cell(value)
    return {channel: low, f"{channel}2": high, **described}


def _tooltip(axes: tuple[Axis, Axis], several: bool, number_format: str) -> list[Spec]:
    panel = [("panel", "panel", "")] if several else []
    features = [("x_text", axes[0].title, ""), ("y_text", axes[1].title, "")]
    return tooltip(("value", "average prediction", number_format), *panel, *features)
