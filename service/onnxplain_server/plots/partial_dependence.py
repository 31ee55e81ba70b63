"""Plots of partial dependence: one feature as a curve, two as a heat map and as curves.

More than two features have no plot. Differences between groups, where there are, come last.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.methods.partial_dependence import Result
from onnxplain_server.plots import group_differences, shared_curves
from onnxplain_server.plots.axes.layout import Axis, Categories
from onnxplain_server.plots.axes.missing_values import distinct, key
from onnxplain_server.plots.axes.number_line import NumberLine
from onnxplain_server.plots.axes.tiny_steps import without_tiny_steps
from onnxplain_server.plots.axes.view_axes import axis_of, span
from onnxplain_server.plots.claims.directions import ends_of_trend
from onnxplain_server.plots.claims.support import MOST_OUTSIDE, extremes, support_note
from onnxplain_server.plots.drawing import Drawing
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.labels import distinguish, identifiers, shorten, with_value
from onnxplain_server.plots.elements.number_formats import is_flat, spell_on_scale
from onnxplain_server.plots.elements.selection import Piece, View, views
from onnxplain_server.plots.elements.style import Spec
from onnxplain_server.plots.marks import curves, surfaces
from onnxplain_server.plots.marks.curve_marks import NO_MARKS, CommonScale
from onnxplain_server.plots.marks.under_curves import band_remarks, interval_remarks
from onnxplain_server.plots.units.naming import spoken

_MAX_PANELS = 12
_MAX_POINTS, _MAX_CATEGORIES, _MAX_CELLS = 400, 40, 50  # along one axis
_FEW_VALUES = 9  # of a second feature, up to which each gets a curve


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw all curves side by side, then each curve and surface; names are like "curve-age"."""
    shown = list(views(result))
    drawn = [*shared_curves.plots(shown, result.samples)]
    reach = CommonScale.of(shown)
    drawn += [plot for view in shown for plot in _draw(view, result.samples, reach)]
    drawn += group_differences.plots(result)
    names = identifiers(plot.name for plot in drawn)
    return tuple(replace(plot, name=name) for plot, name in zip(drawn, names, strict=True))


def _draw(view: View, samples: dict[str, Array], reach: CommonScale | None) -> list[Plot]:
    if len(view.features) == 1:
        return [_curve(view, samples, reach)]
    if len(view.features) > 2:
        return []
    few = len(distinct(view.pieces[0].grid[1])) <= _FEW_VALUES
    return [_heat_map(view, samples), *([_curves_by_second(view, samples)] if few else [])]


def _curve(view: View, samples: dict[str, Array], reach: CommonScale | None) -> Plot:
    axis, left_out = axis_of(view, 0, samples, _MAX_POINTS, _MAX_CATEGORIES)
    grouped, several = bool(view.groups), len(view.outputs) > 1
    by_output = several and (grouped or not view.common_scale)
    series = [
        curves.Series(
            label=piece.group if grouped else piece.output,
            panel=piece.output,
            points=piece.grid[0],
            values=piece.values,
            row_weights=piece.row_weights,
            predicted_means=piece.predicted_means,
            observed_means=piece.observed_means,
            bands=piece.bands,
            outside_shares=piece.outside_shares,
        )
        for piece in without_tiny_steps(view, _range(view)).pieces
    ]
    legend = curves.Legend(
        title=(view.group_column or "group") if grouped else "output",
        labels=view.groups if grouped else () if by_output else view.outputs,
        panels=view.outputs if by_output else (),
        common_scale=view.common_scale,
    )
    sample = samples.get(view.features[0], np.empty(0))
    marks = curves.marks_of(series, reach)
    body = curves.draw(axis, series, legend, _value_title(view), sample, marks)
    title = f"Partial dependence of {_outputs(view)} on {shorten(axis.title)}{_by(view)}"
    remarks = [_finding(view, (axis,)), *view.remarks, *left_out]
    remarks += band_remarks([one.bands for one in series], view.confidence_level)
    remarks += curves.mark_remarks(axis, series, marks, sample)
    return _finish(f"curve-{view.features[0]}", title, remarks, body)


def _range(view: View) -> float:
    """Return the range of the scale of a plot, or the smallest one where outputs have their own."""
    if view.common_scale:
        return span(np.concatenate([piece.values for piece in view.pieces]))
    return min(span(piece.values) for piece in view.pieces)


def _heat_map(view: View, samples: dict[str, Array]) -> Plot:
    first, less_first = axis_of(view, 0, samples, _MAX_CELLS, _MAX_CATEGORIES)
    second, less_second = axis_of(view, 1, samples, _MAX_CELLS, _MAX_CATEGORIES)
    panels, left_out = _panels(view)
    order = (1, 0) if _is_longer_list(first, second) else (0, 1)
    drawn = [
        surfaces.Surface(
            _panel(view, piece),
            piece.grid[order[0]],
            piece.grid[order[1]],
            piece.values,
            piece.row_weights,
            piece.outside_shares,
            piece.bands,
        )
        for piece in view.pieces
        if not panels or _panel(view, piece) in panels
    ]
    value_title = view.outputs[0] if len(view.outputs) == 1 else "average prediction"
    none = np.empty(0)
    rows = [samples.get(view.features[k], none) for k in order]
    axes = (second, first) if order[0] else (first, second)
    body = surfaces.draw(axes, drawn, panels, value_title, view.common_scale, (rows[0], rows[1]))
    remarks = [_finding(view, (first, second)), *view.remarks, *_cell_remarks(view, axes)]
    if any(
        (one.outside_shares > MOST_OUTSIDE).any() for one in drawn if one.outside_shares is not None
    ):
        remarks.append("Veiled: cells with over half of the moved rows outside the data")
    remarks += interval_remarks([one.bands for one in drawn], view.confidence_level)
    remarks += [*less_first, *less_second, *left_out]
    return _finish(
        f"heat-map-{'-'.join(view.features)}", _pair_title(view, first, second), remarks, body
    )


def _is_longer_list(first: Axis, second: Axis) -> bool:
    """Tell whether the first axis lists more categories than the second, so that it runs down."""
    listed = [len(axis.labels) if isinstance(axis, Categories) else 0 for axis in (first, second)]
    return listed[0] > listed[1]


def _cell_remarks(view: View, axes: tuple[Axis, Axis]) -> list[str]:
    """Tell how many cells have no rows, and what the marks mean."""
    weights = [piece.row_weights for piece in view.pieces if piece.row_weights is not None]
    if len(weights) < len(view.pieces):
        return []
    empty, count = int((weights[0] == 0).sum()), len(weights[0])
    if len({int((own == 0).sum()) for own in weights}) > 1 or not empty:
        return ["Crossed: cells without rows"] if any((own == 0).any() for own in weights) else []
    is_list = all(isinstance(axis, Categories) for axis in axes)
    dots = "" if is_list else "; dots: rows of the table"
    return [f"Crossed: {empty:,} of {count:,} cells, without rows{dots}"]


def _curves_by_second(view: View, samples: dict[str, Array]) -> Plot:
    first, less_first = axis_of(view, 0, samples, _MAX_POINTS, _MAX_CATEGORIES)
    second, _ = axis_of(view, 1, samples, _FEW_VALUES, _FEW_VALUES)
    panels, left_out = _panels(view)
    values = distinct(view.pieces[0].grid[1])
    if isinstance(second, Categories):
        order = second.channel()["sort"]
        values.sort(key=lambda value: order.index(second.text(value)))
    labels = distinguish(map(second.text, values))  # neighbouring steps may round to one label
    series = [
        one
        for piece in view.pieces
        if not panels or _panel(view, piece) in panels
        for one in _split(piece, dict(zip(values, labels, strict=True)), _panel(view, piece))
    ]
    legend = curves.Legend(
        title=second.title,
        labels=labels,
        panels=panels,
        ordered=isinstance(second, NumberLine),
        common_scale=view.common_scale,
    )
    sample = samples.get(view.features[0], np.empty(0))
    body = curves.draw(first, series, legend, _value_title(view), sample)
    remarks = [_finding(view, (first, second)), *view.remarks, *less_first, *left_out]
    remarks += curves.mark_remarks(first, series, NO_MARKS, sample)
    return _finish(
        f"curves-{'-'.join(view.features)}", _pair_title(view, first, second), remarks, body
    )


def _split(piece: Piece, labels: dict[Any, str], panel: str) -> Iterable[curves.Series]:
    """Split a surface into one series per value of the second feature."""
    keys = [key(value) for value in piece.grid[1].tolist()]
    for value, label in labels.items():
        is_value = np.array([other == value for other in keys])
        outside = None if piece.outside_shares is None else piece.outside_shares[is_value]
        points, values = piece.grid[0][is_value], piece.values[is_value]
        yield curves.Series(label, panel, points, values, outside_shares=outside)


def _panel(view: View, piece: Piece) -> str:
    """Name the panel of a surface: by output, by group, or by both."""
    output = [piece.output] if len(view.outputs) > 1 else []
    return ", ".join([*output, *([piece.group] if view.groups else [])])


def _panels(view: View) -> tuple[tuple[str, ...], list[str]]:
    names = list(dict.fromkeys(_panel(view, piece) for piece in view.pieces))
    if len(names) < 2:
        return (), []
    left_out = [f"First {_MAX_PANELS} of {len(names)} panels"]
    return tuple(names[:_MAX_PANELS]), left_out if len(names) > _MAX_PANELS else []


def _value_title(view: View) -> str:
    only = f" of {shorten(view.outputs[0])}" if len(view.outputs) == 1 else ""
    return f"Average prediction{only}"


def _pair_title(view: View, first: Axis, second: Axis) -> str:
    names = f"{shorten(first.title, 30)} and {shorten(second.title, 30)}"
    return f"Partial dependence of {_outputs(view)} on {names}{_by(view)}"


def _outputs(view: View) -> str:
    return spoken(view.outputs, view.output_count)


def _by(view: View) -> str:
    return f", by {shorten(view.group_column or 'group', 30)}" if view.groups else ""


def _finish(stem: str, title: str, remarks: list[str], body: Spec) -> Plot:
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    return finish(stem, title, remarks, description, body)


def _finding(view: View, axes: tuple[Axis, ...]) -> str:
    """Return a sentence on the extremes of the curve or surface that moves most."""
    pieces = [piece for piece in view.pieces if np.isfinite(piece.values).any()]
    if not pieces:
        return "No average prediction is finite, or small enough for this picture"
    if all(is_flat(piece.values) for piece in pieces):
        return "The average prediction stays the same"
    widest = pieces[int(np.argmax([span(piece.values) for piece in pieces]))]
    trend = None
    if len(axes) == 1 and isinstance(axes[0], NumberLine):
        trend = ends_of_trend(widest.grid[0], widest.values, widest.row_weights)
    way, *places = trend or ("", *extremes(widest.values, widest.row_weights))
    first, last = (
        f"{spell_on_scale(widest.values[at], widest.values)} at {_point_text(widest, axes, at)}"
        for at in places
    )
    panel = _panel(view, widest)
    note = support_note(widest.values, widest.row_weights)
    where = f", {note}" if note else ""
    if way:
        subject = f"{shorten(panel)} moves most: it" if panel else "Average prediction"
        return f"{subject} {way} from {first} to {last}{where}"
    subject = f"{shorten(panel)} moves most" if panel else "Average prediction"
    return f"{subject}: lowest {first}; highest {last}{where}"


def _point_text(piece: Piece, axes: tuple[Axis, ...], at: int) -> str:
    places = [axis.text(grid[at]) for axis, grid in zip(axes, piece.grid, strict=True)]
    if len(axes) == 1:
        return places[0]
    titles = [shorten(axis.title, 30) for axis in axes]
    return " and ".join(map(with_value, titles, places))


DRAWING = Drawing(plots=plots)
