"""Plots of accumulated local effects: curves with bands, and heat maps of two features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.methods import partial_dependence
from onnxplain_server.methods.accumulated_local_effects import AccumulatedLocalEffect, Result
from onnxplain_server.methods.partial_dependence import PartialDependenceCurve
from onnxplain_server.plots.axes.layout import Axis, lay_axis
from onnxplain_server.plots.axes.view_axes import span
from onnxplain_server.plots.claims.directions import ends_of_trend
from onnxplain_server.plots.claims.support import extremes
from onnxplain_server.plots.drawing import Drawing
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.labels import identifiers, shorten
from onnxplain_server.plots.elements.number_formats import is_flat, spell_on_scale, spell_whole
from onnxplain_server.plots.elements.selection import Piece, View, views
from onnxplain_server.plots.marks import curves, surfaces
from onnxplain_server.plots.marks.curve_marks import NO_MARKS
from onnxplain_server.plots.marks.under_curves import band_remarks, interval_remarks
from onnxplain_server.plots.units.naming import spoken

_MAX_POINTS, _MAX_CATEGORIES, _MAX_CELLS = 400, 40, 50
_MAX_PANELS = 12


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw a curve for each feature, a heat map for two; names are like "effect-age"."""
    drawn = [
        _curve(view, result) if len(view.features) == 1 else _heat_map(view, result)
        for view in views(_as_partial_dependence(result))
    ]
    names = identifiers(plot.name for plot in drawn)
    return tuple(replace(plot, name=name) for plot, name in zip(drawn, names, strict=True))


def _as_partial_dependence(result: Result) -> partial_dependence.Result:
    """Return effects as curves that plots of average predictions select from."""
    found = [
        PartialDependenceCurve(
            one.features,
            one.group,
            one.grid,
            one.values,
            one.weight,
            row_weights=one.row_weights,
            band=one.band,
        )
        for one in result.curves
    ]
    return partial_dependence.Result(
        result.output_names, tuple(found), result.samples, result.group_column
    )


def _curve(view: View, result: Result) -> Plot:
    (feature,) = view.features
    sample = result.samples.get(feature, np.empty(0))
    axis, left_out = _axis(view, 0, sample, _MAX_POINTS)
    grouped, several = bool(view.groups), len(view.outputs) > 1
    by_output = several and (grouped or not view.common_scale)
    series = [
        curves.Series(
            label=piece.group if grouped else piece.output,
            panel=piece.output,
            points=piece.grid[0],
            values=piece.values,
            row_weights=piece.row_weights,
            bands=piece.bands,
        )
        for piece in view.pieces
    ]
    legend = curves.Legend(
        title=(view.group_column or "group") if grouped else "output",
        labels=view.groups if grouped else () if by_output else view.outputs,
        panels=view.outputs if by_output else (),
        common_scale=view.common_scale,
        value_name="accumulated effect",
    )
    only = f" on {shorten(view.outputs[0])}" if not several else ""
    body = curves.draw(axis, series, legend, f"Accumulated effect{only}", sample)
    title = _title(view, shorten(axis.title))
    remarks = [_finding(view, (axis,)), *view.remarks, *left_out, *_rows_left_out(view, result)]
    remarks += band_remarks([one.bands for one in series], result.confidence_level)
    remarks += curves.mark_remarks(axis, series, NO_MARKS, sample)
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    return finish(f"effect-{feature}", title, remarks, description, body)


def _heat_map(view: View, result: Result) -> Plot:
    none = np.empty(0)
    samples = [result.samples.get(name, none) for name in view.features]
    laid = [_axis(view, place, samples[place], _MAX_CELLS) for place in (0, 1)]
    axes = laid[0][0], laid[1][0]
    panels = tuple(dict.fromkeys(_name(view, piece) for piece in view.pieces))[:_MAX_PANELS]
    drawn = [
        surfaces.Surface(
            _name(view, piece),
            piece.grid[0],
            piece.grid[1],
            piece.values,
            piece.row_weights,
            bands=piece.bands,
            is_of_zero=True,
        )
        for piece in view.pieces
        if _name(view, piece) in panels
    ]
    shown = panels if len(panels) > 1 else ()
    value, rows = "effect together", (samples[0], samples[1])
    body = surfaces.draw(axes, drawn, shown, value, view.common_scale, rows, value)
    names = " and ".join(shorten(axis.title, 30) for axis in axes)
    title = _title(view, f"{names} together")
    remarks = ["Without the effects of each: 0 where they do not interact", _finding(view, axes)]
    weights = [piece.row_weights for piece in view.pieces if piece.row_weights is not None]
    if any((own == 0).any() for own in weights):
        remarks.append("Crossed: no rows, and the difference of the nearest that are")
    count = sum(int(one.may_be_zero.sum()) for one in drawn)
    if count:
        every = sum(len(one.values) for one in drawn)
        remarks.append(f"Veiled: {count:,} of {every:,} cells whose band of the whole holds 0")
    remarks += interval_remarks([one.bands for one in drawn], result.confidence_level)
    remarks += [*view.remarks, *laid[0][1], *laid[1][1], *_rows_left_out(view, result)]
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    return finish(f"effect-{'-'.join(view.features)}", title, remarks, description, body)


def _title(view: View, features: str) -> str:
    by = f", by {shorten(view.group_column or 'group', 30)}" if view.groups else ""
    outputs = spoken(view.outputs, view.output_count)
    return f"Accumulated local effects of {features} on {outputs}{by}"


def _axis(view: View, place: int, sample: Array, most: int) -> tuple[Axis, list[str]]:
    """Make the axis of all groups' points; text in the order in which effects were added up."""
    points = np.concatenate([piece.grid[place] for piece in view.pieces])
    limit = _MAX_CATEGORIES if points.dtype.kind in "OU" else most
    return lay_axis(view.features[place], np.unique(points), sample, limit)


def _finding(view: View, axes: tuple[Axis, ...]) -> str:
    """Return a sentence on the extremes of the curve that moves most."""
    pieces = [piece for piece in view.pieces if np.isfinite(piece.values).any()]
    if not pieces:
        return "No effect is finite, or small enough for this picture"
    if all(is_flat(piece.values) for piece in pieces):
        return "The effect stays the same"
    widest = pieces[int(np.argmax([span(piece.values) for piece in pieces]))]
    trend = None
    if len(axes) == 1:
        trend = ends_of_trend(widest.grid[0], widest.values, widest.row_weights)
    way, *places = trend or ("", *extremes(widest.values, widest.row_weights))
    first, last = (
        f"{spell_on_scale(widest.values[at], widest.values)} at {_place(widest, axes, at)}"
        for at in places
    )
    panel = _name(view, widest)
    subject = f"{shorten(panel)} moves most" if panel else "Effect"
    it = ": it" if panel else ""
    told = f"{it} {way} from {first} to {last}" if way else f": lowest {first}; highest {last}"
    return f"{subject}{told}; 0 is the mean over the rows"


def _place(piece: Piece, axes: tuple[Axis, ...], at: int) -> str:
    places = [axis.text(grid[at]) for axis, grid in zip(axes, piece.grid, strict=True)]
    if len(axes) == 1:
        return places[0]
    titles = [shorten(axis.title, 30) for axis in axes]
    return " and ".join(f"{title} = {place}" for title, place in zip(titles, places, strict=True))


def _name(view: View, piece: Piece) -> str:
    output = [piece.output] if len(view.outputs) > 1 else []
    return ", ".join([*output, *([piece.group] if view.groups else [])])


def _rows_left_out(view: View, result: Result) -> Iterator[str]:
    """Tell how many rows have no value of the feature, and so no part."""
    weight = sum(one.missing_weight for one in _of(view, result))
    if weight:
        yield f"Left out, without a value: rows of weight {spell_whole(weight)}"


def _of(view: View, result: Result) -> list[AccumulatedLocalEffect]:
    return [one for one in result.curves if one.features == view.features]


DRAWING = Drawing(plots=plots)
