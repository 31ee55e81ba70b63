"""Partial dependence on several features side by side, on one scale of predictions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.plots.axes.layout import Axis, Categories, in_panel
from onnxplain_server.plots.axes.missing_values import is_missing
from onnxplain_server.plots.axes.tiny_steps import without_tiny_steps
from onnxplain_server.plots.axes.view_axes import axis_of, span
from onnxplain_server.plots.claims.leaders import leaders
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import enumerate_words, short_names, shorten
from onnxplain_server.plots.elements.number_formats import data_number, is_flat, scale_format
from onnxplain_server.plots.elements.selection import View
from onnxplain_server.plots.elements.style import NARROWEST_WIDTH, PLAIN_COLOUR, Spec
from onnxplain_server.plots.marks.curves import Legend, colour_channel
from onnxplain_server.plots.marks.under_curves import joining

_MAX_PANELS = 9
_MAX_POINTS, _MAX_CATEGORIES = 200, 12
_COLUMNS = 3
_WIDTH, _HEIGHT = 190, 150
_MARGIN = 0.05
"""Room above and below all curves, as a share of their span."""


def plots(views: Sequence[View], samples: dict[str, Array]) -> tuple[Plot, ...]:
    """Draw one plot, "shared-curves", of two or more curves that can share a scale."""
    curves = [view for view in views if len(view.features) == 1 and not view.groups]
    curves = [view for view in curves if _spans(view)]
    if len(curves) < 2 or not all(view.common_scale for view in curves):
        return ()
    widest = _widest(curves, _MAX_PANELS)
    values = np.concatenate([piece.values for view in widest for piece in view.pieces])
    legend = Legend("output", _outputs(widest), ())
    laid = [axis_of(view, 0, samples, _MAX_POINTS, _MAX_CATEGORIES) for view in widest]
    axes = [(in_panel(axis), left_out) for axis, left_out in laid]
    panels = [
        _panel(without_tiny_steps(view, span(values)), axis, values, legend)
        for view, (axis, _) in zip(widest, axes, strict=True)
    ]
    body = {"concat": panels, "columns": 2 if len(panels) in {2, 4} else _COLUMNS, "spacing": 16}
    title = f"Average prediction{_of_output(widest)} over {len(widest)} features, on one scale"
    remarks = [_finding(widest)]
    if len(widest) < len(curves):
        remarks.append(f"The {len(widest)} widest of {len(curves)} curves")
    remarks += [remark for _, left_out in axes for remark in left_out]
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    return (finish("shared-curves", title, remarks, description, body),)


def _panel(view: View, axis: Axis, values: Vector, legend: Legend) -> Spec:
    number_format = scale_format(values)
    low, high = np.nanmin(values), np.nanmax(values)
    margin = (abs(low) or 1.0) if is_flat(values) else _MARGIN * (high - low)
    scale = {"domain": [data_number(low - margin), data_number(high + margin)], "nice": False}
    value = {
        "field": "value",
        "type": "quantitative",
        "scale": {**scale, "zero": False},
        "axis": {"title": None, "format": number_format, "tickCount": 4},
    }
    shown = [("series", "output", "")] if len(legend.labels) > 1 else []
    tips = tooltip(
        ("value", "average prediction", number_format), *shown, ("point", axis.title, "")
    )
    encoding = {"y": value, **colour_channel(legend), "tooltip": tips}
    size = {"width": _WIDTH, "height": _HEIGHT}
    return {"data": {"values": _rows(view, axis, legend)}, **size, **_drawing(axis, encoding)}


def _drawing(axis: Axis, encoding: Spec) -> Spec:
    plain = {} if "color" in encoding else {"color": PLAIN_COLOUR}
    point = {"type": "point", "filled": True, "opacity": 1, "size": 40, **plain}
    if isinstance(axis, Categories):
        x = {"field": "x", **axis.channel(width=NARROWEST_WIDTH)}
        return {"mark": point, "encoding": {"x": x, **encoding}}
    x = {"field": "x", **axis.channel(to_edges=False)}
    line = {"type": "line", "strokeWidth": 2, **joining(axis), **plain}
    layers = [
        {"transform": [{"filter": "!datum.missing"}], "mark": line},
        {"transform": [{"filter": "datum.missing"}], "mark": {**point, "shape": "diamond"}},
    ]
    return {"layer": layers, "encoding": {"x": x, **encoding}}


def _rows(view: View, axis: Axis, legend: Legend) -> list[Spec]:
    return [
        {
            "x": axis.position(point),
            "point": axis.text(point),
            "value": data_number(value),
            **({"series": piece.output} if len(legend.labels) > 1 else {}),
            **({"missing": True} if is_missing(point) else {}),
        }
        for piece in view.pieces
        for point, value in zip(piece.grid[0], piece.values, strict=True)
        if axis.holds(point) and np.isfinite(value)
    ]


def _outputs(views: Sequence[View]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(output for view in views for output in view.outputs))


def _of_output(views: Sequence[View]) -> str:
    outputs = _outputs(views)
    return f" of {shorten(outputs[0])}" if len(outputs) == 1 else ""


def _widest(views: Sequence[View], count: int) -> list[View]:
    """Return the curves with the widest ranges, in the order of the page's other plots."""
    widest = sorted(views, key=lambda view: -max(_spans(view)))[:count]
    return [view for view in views if any(view is one for one in widest)]


def _finding(views: Sequence[View]) -> str:
    """Name the curves with the widest ranges."""
    ranked = sorted(views, key=lambda view: -max(_spans(view)))
    moved = [view for view in ranked if not all(is_flat(piece.values) for piece in view.pieces)]
    if not moved:
        return "The average prediction stays the same over each of them"
    names = [*short_names((view.features[0] for view in moved[:3]), 30).values()]
    widest = np.array([max(_spans(view)) for view in views])
    if len(leaders(widest)) > 1:
        return "No range is wider than all others"
    widest_ones = "range is that" if len(names) == 1 else "ranges are those"
    return f"From lowest to highest, the widest {widest_ones} over {enumerate_words(names)}"


def _spans(view: View) -> list[float]:
    """Return the distances from lowest to highest value of the curves; empty if one has none."""
    spans = [float(np.ptp(v)) for p in view.pieces if (v := p.values[np.isfinite(p.values)]).size]
    return spans if len(spans) == len(view.pieces) else []
