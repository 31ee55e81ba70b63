"""Plots of curves before and after, with the band of their difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.methods.changes.found import Changes, CurveDifference
from onnxplain_server.plots.axes.layout import Axis, lay_axis
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.labels import clean, shorten
from onnxplain_server.plots.elements.number_formats import spell_beside
from onnxplain_server.plots.marks import curves

_MAX_POINTS, _MAX_CATEGORIES = 400, 40
_MOST_CURVES = 12
_LEGEND = curves.Legend("curve", ("before", "after"), (), ordered=True, common_scale=True)
_BANDS = "Dark band: interval of the change at each point, from the curve before; pale: of all"
_KINDS = {
    "PARTIAL_DEPENDENCE": ("partial dependence", "Average prediction"),
    "ACCUMULATED_LOCAL_EFFECT": ("accumulated local effects", "Accumulated effect"),
}
"""Names of curves, and titles of their axes."""


def curve_plots(changes: Changes, name_of: Callable[[str], str]) -> Iterator[Plot]:
    """Draw the curves over one feature whose change is surest.

    Names are like "change-partial_dependence-age-price".
    """
    drawable = [
        each
        for each in changes.curves
        if len(each.subject.features) == 1
        and np.isfinite([each.reference_values, each.values]).all()
    ]
    drawable.sort(key=lambda each: float(np.nan_to_num(each.test.adjusted_p_value, nan=2.0)))
    for each in drawable[:_MOST_CURVES]:
        yield _plot(each, name_of(each.subject.output_name))


def _plot(each: CurveDifference, output: str) -> Plot:
    subject, (grid,) = each.subject, each.grid
    none = np.empty(0)
    most = _MAX_CATEGORIES if grid.dtype.kind in "OU" else _MAX_POINTS
    axis, left_out = lay_axis(subject.features[0], grid, none, most, effects=each.values)
    before, ends = each.reference_values, _ends(each)
    series = [
        curves.Series("before", "", grid, before),
        curves.Series("after", "", grid, each.values, bands=tuple(before + end for end in ends)),
    ]
    kind, value_title = _KINDS.get(subject.kind, (subject.kind.lower(), "Value"))
    group = f" in {shorten(clean(subject.group), 30)}" if subject.group else ""
    name = shorten(clean(output))
    title = f"Change of {kind} of {name} on {shorten(axis.title)}{group}"
    body = curves.draw(axis, series, _LEGEND, f"{value_title} of {name}", none)
    has_bands = any(np.isfinite(end).any() for end in ends)
    remarks = [_finding(each, axis), *([_BANDS] if has_bands else []), *left_out]
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    stem = f"change-{subject.kind}-{subject.features[0]}-{subject.output_name}".lower()
    return finish(stem, title, remarks, description, body)


def _ends(each: CurveDifference) -> tuple[Vector, ...]:
    return each.lower, each.upper, each.simultaneous_lower, each.simultaneous_upper


def _finding(each: CurveDifference, axis: Axis) -> str:
    """Tell whether the curve has changed by more than chance, and where by most."""
    at = int(np.argmax(np.abs(each.differences)))
    size = spell_beside(each.differences[at], each.differences)
    sign = "+" if each.differences[at] > 0 else ""
    verdict = {"CHANGED": "Changed by more than chance", "NOT_SHOWN": "No change is shown"}
    told = verdict.get(each.test.verdict, "Not tested")
    return f"{told}; the largest difference is {sign}{size}, at {axis.text(each.grid[0][at])}"
