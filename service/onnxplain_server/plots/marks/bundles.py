"""Bundles of curves over one feature: thin curves of single rows, and their bold mean."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.plots.axes.layout import Axis, Categories, in_panel
from onnxplain_server.plots.axes.missing_values import is_missing, key
from onnxplain_server.plots.elements.chart import in_panels, tooltip
from onnxplain_server.plots.elements.number_formats import data_number
from onnxplain_server.plots.elements.style import PLAIN_COLOUR, Spec
from onnxplain_server.plots.marks.curves import (
    Legend,
    colour_channel,
    number_format,
    value_channel,
)
from onnxplain_server.plots.marks.under_curves import joining, rug

_MEAN_COLOUR = "#202124"
_SILENT: Spec = {"tooltip": None, "aria": False}
_ROW_STEP = 32
_FEW_POINTS = 15  # of a mean, each marked


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """Curves of one series, in one panel.

    Attributes
    ----------
    label, panel : str
        May be empty.
    rows : tuple of int
        Names of the curves.
    values : (n_rows, n_points)
    mean : (n_points,)
    own : (n_rows,) or None
        Where on the axis each row is, if that is known.
    """

    label: str
    panel: str
    rows: tuple[int, ...]
    values: Matrix
    mean: Vector
    own: Array | None = None


def draw(
    axis: Axis, grid: Array, bundles: Sequence[Bundle], legend: Legend, value_title: str
) -> Spec:
    """Draw bundles over the points of a grid that have a place on the axis."""
    axis = in_panel(axis) if len(legend.panels) > 1 else axis
    held = [place for place, point in enumerate(grid) if axis.holds(point)]
    numbers = np.concatenate([bundle.values[:, held].ravel() for bundle in bundles])
    value = value_channel(numbers, legend, value_title)
    places = _places(axis, value)
    colour = _opaque(colour_channel(legend))
    in_one_panel = max(sum(len(b.rows) for b in bundles if b.panel == a.panel) for a in bundles)
    layers = [
        *_rug(axis, bundles, in_panel=len(legend.panels) > 1),
        *_thin(axis, places, colour, legend, in_one_panel),
        *_own(axis, grid, bundles, places, colour, legend),
        *_bold(axis, places, colour, _mean_tooltip(axis, legend, number_format(numbers, legend))),
    ]
    drawing: Spec = {"height": {"step": _ROW_STEP}} if isinstance(axis, Categories) else {}
    free = "x" if isinstance(axis, Categories) else "y"
    resolve = {} if legend.common_scale else {"scale": {free: "independent"}}
    decimals = _decimals(numbers)
    rows = [row for bundle in bundles for row in _rows(bundle, held, legend, decimals)]
    body = in_panels(rows, legend.panels, {**drawing, "layer": layers}, resolve)
    return {**body, "transform": _unfold(axis, grid[held])}


def _rows(bundle: Bundle, held: list[int], legend: Legend, decimals: int) -> list[Spec]:
    """Return one data row per curve, which keeps specifications short; Vega unfolds them."""
    place = {"series": bundle.label} if len(legend.labels) > 1 else {}
    place |= {"panel": bundle.panel} if len(legend.panels) > 1 else {}
    curves = zip(bundle.rows, bundle.values, strict=True)
    return [
        *(
            {"row": row, **place, "values": _numbers(values[held], decimals)}
            for row, values in curves
        ),
        {"mean": True, **place, "values": _numbers(bundle.mean[held], decimals)},
    ]


def _numbers(values: Vector, decimals: int) -> list[float | None]:
    return [round(value, decimals) if math.isfinite(value) else None for value in values.tolist()]


def _decimals(values: Vector) -> int:
    """Return the decimals that resolve a ten-thousandth of the span."""
    finite = values[np.isfinite(values)]
    span = float(np.ptp(finite)) if finite.size else 0.0
    return 4 - math.floor(math.log10(span)) if span else 9


def _unfold(axis: Axis, grid: Array) -> list[Spec]:
    """Turn a data row per curve into one per point."""
    places = [axis.position(point) for point in grid]
    alone = len(set(places)) == 1
    columns = {
        "x": places,
        "point": [axis.text(point) for point in grid],
        "apart": [alone or is_missing(point) for point in grid],
    }
    if isinstance(axis, Categories):
        order = axis.channel()["sort"]
        columns["order"] = [order.index(place) for place in places]
    return [
        *({"calculate": json.dumps(column), "as": name} for name, column in columns.items()),
        {"flatten": [*columns, "values"], "as": [*columns, "value"]},
    ]


def _places(axis: Axis, value: Spec) -> Spec:
    """Encode feature and value; categories run downwards, and curves follow their order."""
    if isinstance(axis, Categories):
        y = {"field": "x", **axis.channel()}
        y["axis"] |= {"grid": True, "domain": False, "ticks": False}
        value["axis"]["grid"] = False
        return {"y": y, "x": value, "order": {"field": "order", "type": "quantitative"}}
    return {"x": {"field": "x", **axis.channel(to_edges=False)}, "y": value}


def _thin(axis: Axis, places: Spec, colour: Spec, legend: Legend, count: int) -> list[Spec]:
    """Draw one line per row, fainter the more there are; points for values apart."""
    plain = {} if colour else {"color": PLAIN_COLOUR}
    look = {**plain, "opacity": round(min(0.6, max(0.12, 6.5 / max(count, 1) ** 0.7)), 2)}
    row = {"detail": {"field": "row", "type": "nominal"}, "tooltip": _row_tooltip(legend)}
    encoding = {**places, **colour, **row}
    line = {"type": "line", "strokeWidth": 1, **joining(axis), **look}
    point = {"type": "circle", "size": 24, **look}
    return [
        {"transform": [_where("!datum.mean && !datum.apart")], "mark": line, "encoding": encoding},
        {"transform": [_where("!datum.mean && datum.apart")], "mark": point, "encoding": encoding},
    ]


def _rug(axis: Axis, bundles: Sequence[Bundle], *, in_panel: bool) -> list[Spec]:
    """Draw a tick for the own value of each row with a curve, over a number line."""
    owns = [bundle.own for bundle in bundles if bundle.own is not None]
    if isinstance(axis, Categories) or not owns:
        return []
    values = np.concatenate(owns).astype(np.float64)
    return rug(axis, values[np.isfinite(values)], in_panel)


def _own(  # noqa: PLR0917 - dots lie on all of these
    axis: Axis,
    grid: Array,
    bundles: Sequence[Bundle],
    places: Spec,
    colour: Spec,
    legend: Legend,
) -> list[Spec]:
    """Draw a dot on each thin curve, at the row's own value."""
    rows = []
    for bundle in bundles:
        place = {"series": bundle.label} if len(legend.labels) > 1 else {}
        place |= {"panel": bundle.panel} if len(legend.panels) > 1 else {}
        own = [] if bundle.own is None else bundle.own.tolist()
        for point, curve in zip(own, bundle.values, strict=False):
            value = _on_curve(axis, grid, curve, point)
            if value is not None:
                rows.append({"x": axis.position(point), "value": data_number(value), **place})
    if not rows:
        return []
    order = {"order": None} if "order" in places else {}
    mark = {"type": "circle", "size": 14, "opacity": 0.7, **_SILENT}
    mark |= {} if colour else {"color": PLAIN_COLOUR}
    return [{"data": {"values": rows}, "mark": mark, "encoding": {**places, **colour, **order}}]


def _on_curve(axis: Axis, grid: Array, curve: Vector, point: Any) -> float | None:
    """Return the value of a curve, as it is drawn, at a point; None where it is not drawn."""
    if isinstance(axis, Categories) or is_missing(point):
        same = [k for k, other in enumerate(grid.tolist()) if key(other) == key(point)]
        value = float(curve[same[0]]) if same and axis.holds(point) else math.nan
    else:
        known = np.isfinite(grid)
        inside = known.any() and grid[known].min() <= point <= grid[known].max()
        value = _between(grid[known], curve[known], point, axis.is_stepped) if inside else math.nan
    return value if math.isfinite(value) else None


def _between(grid: Array, curve: Vector, point: float, is_stepped: bool) -> float:
    order = np.argsort(grid, kind="stable")
    if is_stepped:
        return float(curve[order][np.searchsorted(grid[order], point, side="right") - 1])
    return float(np.interp(point, grid[order], curve[order]))


def _bold(axis: Axis, places: Spec, colour: Spec, described: list[Spec]) -> list[Spec]:
    """Draw the means with a white border; hollow points for values apart."""
    plain = {} if colour else {"color": _MEAN_COLOUR}
    joined, apart = _where("datum.mean && !datum.apart"), _where("datum.mean && datum.apart")
    joins = joining(axis)
    border = {"type": "line", "color": "white", "strokeWidth": 5.5, "opacity": 0.85, **joins}
    series = {"detail": {"field": "series", "type": "nominal"}} if colour else {}
    line = {"type": "line", "strokeWidth": 2.5, "opacity": 1, **joins, **plain}
    hollow = {"type": "point", "shape": "diamond", "size": 90, "strokeWidth": 2, **plain}
    hollow |= {"filled": False, "opacity": 1}
    encoding = {**places, **colour}
    lines = [
        {"transform": [joined], "mark": border, "encoding": {**places, **series}},
        {"transform": [joined], "mark": line, "encoding": encoding},
    ]
    return [
        *([] if isinstance(axis, Categories) else lines),
        {
            "transform": [joined],
            "mark": {**_mean_point(axis), **plain},
            "encoding": {**encoding, "tooltip": described},
        },
        {"transform": [apart], "mark": hollow, "encoding": {**encoding, "tooltip": described}},
    ]


def _mean_point(axis: Axis) -> Spec:
    """Return the mark of a mean's point; on crowded lines it is visible under the pointer only."""
    point: Spec = {"type": "point", "filled": True, "size": 30, "opacity": 1}
    if isinstance(axis, Categories):
        return {**point, "size": 110, "stroke": "white", "strokeWidth": 1.5}
    return point if axis.values.size <= _FEW_POINTS else {**point, "opacity": 0}


def _opaque(colour: Spec) -> Spec:
    """Make the colours of the legend as opaque as those of the means."""
    if not colour:
        return {}
    legend = {**colour["color"]["legend"], "symbolOpacity": 1, "symbolType": "circle"}
    return {"color": {**colour["color"], "legend": legend}}


def _where(condition: str) -> Spec:
    return {"filter": condition}


def _row_tooltip(legend: Legend) -> list[Spec]:
    return tooltip(("row", "row of the table", ""), *_series_fields(legend))


def _mean_tooltip(axis: Axis, legend: Legend, digits: str) -> list[Spec]:
    mean = ("value", "mean prediction", digits)
    return tooltip(mean, *_series_fields(legend), ("point", axis.title, ""))


def _series_fields(legend: Legend) -> list[tuple[str, str, str]]:
    series = [("series", legend.title, "")] if len(legend.labels) > 1 else []
    return [*([("panel", "panel", "")] if len(legend.panels) > 1 else []), *series]
