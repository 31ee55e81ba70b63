"""Plots of differences between groups along a feature, with their bands, and 0 as a dashed line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.methods.partial_dependence import Result
from onnxplain_server.plots.axes.layout import Axis
from onnxplain_server.plots.axes.view_axes import axis_of
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.labels import enumerate_words, shorten, spell_interval
from onnxplain_server.plots.elements.selection import Piece, View, views
from onnxplain_server.plots.marks import curves
from onnxplain_server.plots.marks.curve_marks import NO_MARKS, Marks
from onnxplain_server.plots.marks.under_curves import band_remarks
from onnxplain_server.plots.units.naming import spoken

_MAX_POINTS, _MAX_CATEGORIES = 400, 40
_MOST_NAMED = 4
_ZERO = Marks(average=0.0)


def plots(result: Result) -> Iterator[Plot]:
    """Draw the differences along each single feature; names are like "difference-age"."""
    if not result.differences:
        return
    reference = result.differences[0].reference_group
    others = [curve for curve in result.curves if curve.group != reference]
    differences = tuple(
        replace(curve, values=one.values, band=one.band, predicted_means=None, observed_means=None)
        for curve, one in zip(others, result.differences, strict=True)
    )
    for view in views(replace(result, curves=differences, differences=(), target_gaps="")):
        if len(view.features) == 1:
            yield _plot(view, result.samples, spell_interval(reference))


def _plot(view: View, samples: dict[str, Array], reference: str) -> Plot:
    (feature,) = view.features
    axis, left_out = axis_of(view, 0, samples, _MAX_POINTS, _MAX_CATEGORIES)
    several = len(view.outputs) > 1
    series = [
        curves.Series(
            piece.group,
            piece.output,
            piece.grid[0],
            piece.values,
            piece.row_weights,
            bands=piece.bands,
            outside_shares=piece.outside_shares,
        )
        for piece in view.pieces
    ]
    legend = curves.Legend(
        title=view.group_column or "group",
        labels=view.groups,
        panels=view.outputs if several else (),
        common_scale=view.common_scale,
        value_name="difference",
    )
    sample = samples.get(feature, np.empty(0))
    of = f"{shorten(view.group_column or 'group', 30)} {shorten(reference, 30)}"
    what = (
        f"difference of {shorten(view.groups[0], 30)} to"
        if len(view.groups) == 1
        else ("differences to")
    )
    body = curves.draw(axis, series, legend, f"Difference to {of}", sample, _ZERO)
    title = (
        f"Partial dependence of {spoken(view.outputs, view.output_count)} on "
        f"{shorten(axis.title)}: {what} {of}"
    )
    remarks = [_finding(view, axis), "Dashed: no difference", *view.remarks, *left_out]
    remarks += band_remarks([one.bands for one in series], view.confidence_level)
    remarks += curves.mark_remarks(axis, series, NO_MARKS, sample)
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    return finish(f"difference-{feature}", title, remarks, description, body)


def _finding(view: View, axis: Axis) -> str:
    """Tell which groups differ beyond the bands of whole curves, and where most surely."""
    found = [text for piece in view.pieces if (text := _beyond(view, piece, axis))]
    if not found:
        return "No difference is beyond the band of its whole curve"
    more = [f"{len(found) - _MOST_NAMED} more"] if len(found) > _MOST_NAMED else []
    return f"Beyond the band of the whole curve: {enumerate_words([*found[:_MOST_NAMED], *more])}"


def _beyond(view: View, piece: Piece, axis: Axis) -> str:
    """Tell at how many points a group differs, and where by most of its band; empty if nowhere."""
    low, high = piece.bands[2:]
    with np.errstate(invalid="ignore", divide="ignore"):  # a band may have no width
        is_beyond = (low > 0) | (high < 0)
        distance = np.where(is_beyond, np.abs(piece.values) / (high - low), -np.inf)
    if not is_beyond.any():
        return ""
    at = int(np.argmax(distance))
    name = shorten(piece.group, 30)
    name += f" ({shorten(piece.output, 30)})" if len(view.outputs) > 1 else ""
    count = int(is_beyond.sum())
    return (
        f"{name} at {count:,} of {len(low):,} points, most surely at {axis.text(piece.grid[0][at])}"
    )
