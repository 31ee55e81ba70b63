"""Heat maps over two features: coloured cells, or points if the grid is not a full rectangle.

Cells without rows are crossed out, as their values are extrapolated; dots are rows of the table.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.plots.axes.layout import Axis, Categories, in_panel
from onnxplain_server.plots.claims.support import marks_of_support, supported
from onnxplain_server.plots.elements.chart import in_panels, tooltip
from onnxplain_server.plots.elements.number_formats import data_number, scale_format
from onnxplain_server.plots.elements.style import (
    AREA_SCHEME,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    PLOT_HEIGHT,
    PLOT_WIDTH,
    Spec,
)
from onnxplain_server.plots.marks.under_curves import ends_of

_LEAST_STEP, _MOST_STEP = 15, 28
"""Pixels of a category."""
_ENDS = ("low", "high")
_DOT: Spec = {"type": "circle", "size": 7, "color": "black", "stroke": "white", "opacity": 0.8}
_DOT |= {"strokeWidth": 0.5, "tooltip": None, "aria": False}
_HATCH: Spec = {"type": "rule", "color": "white", "strokeWidth": 1, "opacity": 0.55}
_HATCH |= {"tooltip": None, "aria": False}


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
    row_weights : (n,) or None
        Weights of the rows nearest to each point, where they are known.
    outside_shares : (n,) or None
        Shares of the rows outside the table's support, where they are known.
    bands : tuple of four (n,) arrays, or empty
        As of `selection.Piece`.
    is_of_zero : bool
        Whether a value of 0 is no effect, so that cells whose band holds 0 are veiled.
    """

    panel: str
    first: Array
    second: Array
    values: Vector
    row_weights: Vector | None = None
    outside_shares: Vector | None = None
    bands: tuple[Vector, ...] = ()
    is_of_zero: bool = False

    @property
    def may_be_zero(self) -> Array:
        """Cells without an effect beyond chance: (n,) of bool."""
        if not self.bands or not self.is_of_zero:
            return np.zeros(len(self.values), bool)
        low, high = self.bands[2:]
        is_unsure: Array = (low <= 0) & (high >= 0)
        return is_unsure


# Long: one specification, whose parts share axes, data and scale.
def draw(  # noqa: PLR0917 - a heat map shows all of these
    axes: tuple[Axis, Axis],
    surfaces: Sequence[Surface],
    panels: tuple[str, ...],
    value_title: str,
    common_scale: bool,
    rows: tuple[Array, Array],
    value_name: str = "average prediction",
) -> Spec:
    """Draw the first feature as x, the second as y, the values as colours, and some rows as dots.

    Parameters
    ----------
    rows : two (n_rows,) arrays
        Values of both features in rows of the table; may be empty.
    value_name : str
        What the values are.
    """
    several = len(panels) > 1
    if several:
        axes = (in_panel(axes[0]), in_panel(axes[1]))
    values = np.concatenate([surface.values for surface in surfaces])
    full = all(_is_rectangle(surface) for surface in surfaces)
    number_format = scale_format(values) if common_scale else ",.4~r"
    legend: Spec = {"title": value_title if common_scale else None, "tickCount": 5}
    legend |= {"format": number_format} if common_scale else {}
    colour: Spec = {
        "field": "value",
        "type": "quantitative",
        "scale": {"scheme": AREA_SCHEME, "zero": False, **_domain(surfaces, common_scale)},
        "legend": legend,
    }
    places = {**_place(axes[0], "x", full), **_place(axes[1], "y", full)}
    knows_rows = all(surface.row_weights is not None for surface in surfaces)
    value_tip = ("value", value_name, number_format)
    has_bands = any(surface.bands for surface in surfaces)
    described = _tooltip(axes, several, value_tip, knows_rows, has_bands)
    mark = _cell(axes) if full else {"type": "circle", "size": 60, "opacity": 1}
    data = [row for surface in surfaces for row in _rows(axes, surface, several)]
    layers = [
        {"mark": mark, "encoding": {**places, "color": colour, "tooltip": described}},
        *([_fading(mark, places)] if any("veiled" in row for row in data) else []),
        *(_hatching(axes, places) if full and knows_rows else []),
        *_dots(axes, rows, full),
    ]
    resolve = {} if common_scale else {"scale": {"color": "independent"}}
    body = in_panels(data, panels, {**_size(axes, several=several), "layer": layers}, resolve)
    return {**body, "transform": _lookups(axes, full=full)}


def _domain(surfaces: Sequence[Surface], common_scale: bool) -> Spec:
    """Return the domain of the colours, that of values where there are rows, for contrast there."""
    if not common_scale:
        return {"nice": True}
    parts = [np.where(supported(one.row_weights), one.values, np.nan) for one in surfaces]
    shown = np.concatenate(parts)
    shown = shown[np.isfinite(shown)]
    if not shown.size or not shown.max() > shown.min():
        return {"nice": True}
    return {"domain": [data_number(shown.min()), data_number(shown.max())], "clamp": True}


def _size(axes: tuple[Axis, Axis], *, several: bool) -> Spec:
    """Return width and height by the numbers of categories; nothing for those of numbers."""
    usual = (PANEL_WIDTH, PANEL_HEIGHT) if several else (PLOT_WIDTH, PLOT_HEIGHT)
    size: Spec = {}
    for axis, name, pixels in zip(axes, ("width", "height"), usual, strict=True):
        if isinstance(axis, Categories):
            size[name] = {"step": _step(axis, pixels)}
    return size


def _step(axis: Categories, pixels: int) -> int:
    """Return the pixels of a category on a side of so many."""
    return max(_LEAST_STEP, min(_MOST_STEP, pixels // max(_count(axis), 1)))


def _count(axis: Categories) -> int:
    return len(axis.labels) + axis.has_missing


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
        width = _step(axis, PANEL_WIDTH) * _count(axis) if channel == "x" else None
        return {channel: {"field": channel, **axis.channel(width=width)}}
    place: Spec = {channel: {"field": channel, **axis.channel(to_edges=full)}}
    place[channel]["axis"]["grid"] = not full
    if not full:
        return place
    place[channel]["field"] = f"{channel}1"
    return {**place, f"{channel}2": {"field": f"{channel}2"}}


def _fading(mark: Spec, places: Spec) -> Spec:
    """Draw a veil over each cell whose value is not to be relied on."""
    veil = {**mark, "color": "white", "opacity": 0.5, "tooltip": None, "aria": False}
    return {"transform": [{"filter": "datum.veiled"}], "mark": veil, "encoding": places}


def _hatching(axes: tuple[Axis, Axis], places: Spec) -> list[Spec]:
    """Draw a line across each cell without rows."""
    ends = dict(places)
    for axis, channel in zip(axes, ("x", "y"), strict=True):
        if isinstance(axis, Categories):
            ends[channel] = {**places[channel], "bandPosition": 0}
            ends[f"{channel}2"] = {"field": channel, "bandPosition": 1}
    return [{"transform": [{"filter": "datum.rows === 0"}], "mark": _HATCH, "encoding": ends}]


def _dots(axes: tuple[Axis, Axis], rows: tuple[Array, Array], full: bool) -> list[Spec]:
    """Draw rows of the table as dots, those that both axes hold; none between categories.

    Nor any where the values are not of the same rows.
    """
    if all(isinstance(axis, Categories) for axis in axes) or len(rows[0]) != len(rows[1]):
        return []
    values = [
        {channel: _dot_place(axis, value) for axis, channel, value in zip(axes, "xy", pair)}  # noqa: B905 - of one length
        for pair in zip(rows[0].tolist(), rows[1].tolist(), strict=True)
    ]
    held = [one for one in values if None not in one.values()]
    if not held:
        return []
    encoding: Spec = {}
    for axis, channel in zip(axes, ("x", "y"), strict=True):
        encoding |= {channel: _place(axis, channel, full)[channel] | {"field": channel}}
    return [{"data": {"values": held}, "mark": _DOT, "encoding": encoding}]


def _dot_place(axis: Axis, value: object) -> object:
    """Return the position of a row along an axis; None beyond its ends."""
    if isinstance(axis, Categories):
        return axis.position(value) if axis.holds(value) else None
    return axis.position(value) if axis.spans(value) else None


def _rows(axes: tuple[Axis, Axis], surface: Surface, several: bool) -> list[Spec]:
    panel = {"panel": surface.panel} if several else {}
    count = len(surface.values)
    weights = [None] * count if surface.row_weights is None else surface.row_weights.tolist()
    marks = marks_of_support(None, surface.outside_shares, count)
    veiled = ["outside" in mark for mark in marks] | surface.may_be_zero
    ends = ends_of(surface.bands, count)
    cells = zip(weights, veiled.tolist(), ends, strict=True)
    points = zip(surface.first, surface.second, surface.values, cells, strict=True)
    return [
        {
            **_at(axes[0], "x", first),
            **_at(axes[1], "y", second),
            "value": data_number(value),
            **({} if weight is None else {"rows": _count_of(weight)}),
            **({"veiled": True} if is_veiled else {}),
            **{name: end for name, end in interval.items() if name in _ENDS},
            **panel,
        }
        for first, second, value, (weight, is_veiled, interval) in points
        if axes[0].holds(first) and axes[1].holds(second) and np.isfinite(value)
    ]


def _count_of(weight: float) -> float | int:
    """Round a weight; a whole number is one, which keeps specifications short."""
    return int(weight) if weight == int(weight) else data_number(weight)


def _at(axis: Axis, channel: str, value: object) -> Spec:
    return {channel: axis.position(value)}


def _lookups(axes: tuple[Axis, Axis], *, full: bool) -> list[Spec]:
    """Look up texts of numbers, and the borders of their cells, by their positions."""
    transforms: list[Spec] = []
    for axis, channel in zip(axes, ("x", "y"), strict=True):
        if isinstance(axis, Categories):
            continue
        values = [*axis.values.tolist(), *([None] if axis.has_missing else [])]
        lists: dict[str, list[Any]] = {"_text": [axis.text(value) for value in values]}
        if full:
            low, high = zip(*map(axis.cell, values), strict=True)
            lists |= {"1": [*low], "2": [*high]}
        places = json.dumps([axis.position(value) for value in values])
        at = f"[indexof({places}, datum.{channel})]"
        transforms += [
            {"calculate": f"{json.dumps(own)}{at}", "as": f"{channel}{name}"}
            for name, own in lists.items()
        ]
    return transforms


def _tooltip(
    axes: tuple[Axis, Axis],
    several: bool,
    value: tuple[str, str, str],
    knows_rows: bool,
    has_bands: bool,
) -> list[Spec]:
    panel = [("panel", "panel", "")] if several else []
    names = [f"{c}{'' if isinstance(a, Categories) else '_text'}" for a, c in zip(axes, "xy")]  # noqa: B905 - of one length
    features = [(name, axis.title, "") for name, axis in zip(names, axes, strict=True)]
    rows = [("rows", "rows here", ",.6~r")] if knows_rows else []
    interval = [("low", "interval from", value[2]), ("high", "to", value[2])] if has_bands else []
    return tooltip(value, *interval, *panel, *features, *rows)
