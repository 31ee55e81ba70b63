"""Curves over one feature: lines over a number line, dots beside a list of categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.plots.axes.layout import PANEL_TITLE_LENGTH, Axis, Categories, in_panel
from onnxplain_server.plots.axes.missing_values import MISSING, is_missing
from onnxplain_server.plots.axes.number_line import NumberLine
from onnxplain_server.plots.claims.support import marks_of_support
from onnxplain_server.plots.elements.chart import in_panels, tooltip
from onnxplain_server.plots.elements.labels import shorten
from onnxplain_server.plots.elements.number_formats import (
    data_number,
    is_flat,
    scale_format,
    spell_whole,
)
from onnxplain_server.plots.elements.style import (
    MISSING_COLOUR,
    MOST_SERIES,
    PLAIN_COLOUR,
    SERIES_COLOURS,
    Spec,
    ordered_colours,
)
from onnxplain_server.plots.marks import curve_marks
from onnxplain_server.plots.marks.curve_marks import NO_MARKS, CommonScale, Marks
from onnxplain_server.plots.marks.under_curves import (
    bands,
    ends_of,
    fading_lines,
    joining,
    rug,
)

_ROW_STEP = 24
_PALE: Spec = {
    "opacity": {"condition": {"test": "datum.few || datum.outside", "value": 0.3}, "value": 1}
}
_COUNT: Spec = {
    "type": "text",
    "x": {"expr": "width + 8"},
    "align": "left",
    "color": "#5f6368",
    "tooltip": None,
}
_CROWDED = 60  # points of a line, above which they are drawn small


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One curve.

    Attributes
    ----------
    label, panel : str
        Its entries in the legend and in the list of panels; may be empty.
    points : (n,)
        Values of the feature.
    values : (n,)
    row_weights : (n,) or None
        Weights of the rows nearest to each point, where they are known.
    predicted_means : (n,) or None
        Mean predictions of these rows, where they are known.
    observed_means : (n,) or None
        Mean true values of these rows, where they are known.
    bands : tuple of four (n,) arrays, or empty
        Lower and upper ends of the intervals of the values, then those of the simultaneous band.
    outside_shares : (n,) or None
        Shares of the rows outside the table's support, where they are known.
    """

    label: str
    panel: str
    points: Array
    values: Vector
    row_weights: Vector | None = None
    predicted_means: Vector | None = None
    observed_means: Vector | None = None
    bands: tuple[Vector, ...] = ()
    outside_shares: Vector | None = None


@dataclass(frozen=True, slots=True)
class Legend:
    """Labels of series and panels.

    Attributes
    ----------
    title : str
    labels, panels : tuple of str
        In order; with fewer than two entries there is no legend, or no panels.
    ordered : bool
        Whether the labels have an order, like numbers.
    common_scale : bool
        Whether panels share the scale of values.
    value_name : str
        What the values are.
    """

    title: str
    labels: tuple[str, ...]
    panels: tuple[str, ...]
    ordered: bool = False
    common_scale: bool = True
    value_name: str = "average prediction"


def draw(  # noqa: PLR0917 - a plot of curves shows all of these
    axis: Axis,
    series: Sequence[Series],
    legend: Legend,
    value_title: str,
    sample: Array,
    marks: Marks = NO_MARKS,
) -> Spec:
    """Draw series over a feature, with a rug of a sample of its values, or counts of rows."""
    axis = in_panel(axis) if len(legend.panels) > 1 else axis
    values = np.concatenate([one.values for one in series])
    value = value_channel(values, legend, value_title)
    encoding = {**colour_channel(legend), "tooltip": _tooltip(axis, legend, values)}
    rows = _rows(axis, series, legend)
    if isinstance(axis, Categories):
        drawing = _dots(axis, value, encoding, has_counts=any("count" in row for row in rows))
        free = "x"
    else:
        ticks = rug(axis, sample, len(legend.panels) > 1)
        fades = any("few" in row or "outside" in row for row in rows)
        drawing = _lines(axis, value, encoding, ticks, fades=fades)
        free = "y"
    under = bands(axis, value, encoding) if any("low" in row for row in rows) else []
    drawing["layer"] = [*under, *curve_marks.layers(axis, marks, value), *drawing["layer"]]
    resolve = {} if legend.common_scale else {"scale": {free: "independent"}}
    return in_panels(rows, legend.panels, drawing, resolve)


def marks_of(series: Sequence[Series], scale: CommonScale | None) -> Marks:
    """Return the marks of a plot with one curve; none for several."""
    if len(series) != 1:
        return NO_MARKS
    (one,) = series
    marks = curve_marks.marks_of(one.values, one.row_weights, scale)
    if one.row_weights is None:
        return marks
    binned = partial(curve_marks.binned, one.points, one.row_weights)
    predicted = binned(one.predicted_means, curve_marks.PREDICTED_BINS)
    observed = binned(one.observed_means, curve_marks.OBSERVED_BINS)
    return curve_marks.with_means(marks, one.values, predicted, observed)


def mark_remarks(axis: Axis, series: Sequence[Series], marks: Marks, sample: Array) -> list[str]:
    """Return one remark on what ticks, marks, pale points and numbers mean."""
    has_rug = isinstance(axis, NumberLine) and sample.size
    found = ["ticks along the axis: values in the table"] if has_rug else []
    found += curve_marks.remarks(axis, series[0].values, marks)
    rows = _rows(axis, series, Legend("", (), ()))
    if any("count" in row for row in rows):
        found.append("numbers at the right: rows")
    causes = {"few": "few rows", "outside": "over half of the moved rows outside the data"}
    pale = [text for mark, text in causes.items() if any(mark in row for row in rows)]
    found += [f"pale: {', or '.join(pale)}"] if pale else []
    text = "; ".join(found)
    return [text[0].upper() + text[1:]] if text else []


def value_channel(values: Vector, legend: Legend, title: str) -> Spec:
    """Return scale and axis of the values."""
    if len(legend.panels) > 1:
        title = shorten(title, PANEL_TITLE_LENGTH)
    value: Spec = {
        "field": "value",
        "type": "quantitative",
        "scale": {"zero": False, "nice": False, "padding": 14, **_widened(values)},
        "axis": {"title": title, "tickCount": 4 if len(legend.panels) > 1 else 6},
    }
    if legend.common_scale:
        value["axis"]["format"] = scale_format(values)
    return value


def colour_channel(legend: Legend) -> Spec:
    """Return the colours of series; empty if there is only one."""
    if len(legend.labels) < 2:
        return {}
    scale = {"domain": list(legend.labels), "range": _colours(legend)}
    field = {"field": "series", "type": "nominal"}
    title = {"title": legend.title, "symbolOpacity": 1}
    return {"color": {**field, "scale": scale, "legend": title}}


def number_format(values: Vector, legend: Legend) -> str:
    """Choose a d3 format for the values."""
    return scale_format(values) if legend.common_scale else ",.4~r"


def _rows(axis: Axis, series: Sequence[Series], legend: Legend) -> list[Spec]:
    rows = []
    for one in series:
        place = {"series": one.label} if len(legend.labels) > 1 else {}
        place |= {"panel": one.panel} if len(legend.panels) > 1 else {}
        near = zip(
            _near(axis, one, counted=len(series) == 1),
            ends_of(one.bands, len(one.points)),
            strict=True,
        )
        for point, value, (own, ends) in zip(one.points, one.values, near, strict=True):
            if axis.holds(point) and np.isfinite(value):
                at = {"x": axis.position(point), "point": axis.text(point)}
                missing = {"missing": True} if is_missing(point) else {}
                rows.append({**at, "value": data_number(value), **place, **missing, **own, **ends})
    return rows


def _near(axis: Axis, series: Series, *, counted: bool) -> list[Spec]:
    """Return what rows there are at each point: a count beside categories, and if it is pale."""
    weights, count = series.row_weights, len(series.points)
    marks = marks_of_support(weights, series.outside_shares, count)
    if weights is None or not (counted and isinstance(axis, Categories)):
        return marks
    counts = map(spell_whole, weights.tolist())
    return [{"count": own, **mark} for own, mark in zip(counts, marks, strict=True)]


def _lines(
    axis: NumberLine, value: Spec, encoding: Spec, ticks: list[Spec], *, fades: bool
) -> Spec:
    x = {"field": "x", **axis.channel(to_edges=False)}
    size = 28 if axis.values.size <= _CROWDED else 6
    known = [{"filter": "!datum.missing"}]
    colour = {key: encoding[key] for key in ("color",) if key in encoding}
    line = {"type": "line", "strokeWidth": 2, **joining(axis), **_plain(encoding)}
    point = {"type": "point", "filled": True, "size": size, **_plain(encoding)}
    layers = [
        *ticks,
        *fading_lines(line, {"x": x, "y": value, **colour}, fades=fades),
        {"transform": known, "mark": point, "encoding": {"x": x, "y": value, **encoding, **_PALE}},
        *_missing(axis, {"x": x, "y": value, **encoding}),
    ]
    return {"layer": layers}


def _dots(axis: Categories, value: Spec, encoding: Spec, *, has_counts: bool) -> Spec:
    y = {"field": "x", **axis.channel()}
    y["axis"] |= {"grid": True, "domain": False, "ticks": False}
    value["axis"]["grid"] = False
    point = {"type": "point", "filled": True, "size": 80, **_plain(encoding)}
    places = {"y": y, "x": value, **encoding}
    known = [{"filter": "!datum.missing"}]
    layers = [
        {"transform": known, "mark": point, "encoding": {**places, **_PALE}},
        *_missing(axis, places),
    ]
    if has_counts:
        layers.append({"mark": _COUNT, "encoding": {"y": y, "text": {"field": "count"}}})
    return {"height": {"step": _ROW_STEP}, "layer": layers}


def _missing(axis: Axis, encoding: Spec) -> list[Spec]:
    """Draw the values for missing ones as hollow points, not joined by lines."""
    if not axis.has_missing:
        return []
    mark = {"type": "point", "shape": "diamond", "size": 90, "strokeWidth": 2}
    mark |= {"filled": False, "opacity": 1, **_plain(encoding)}
    return [{"transform": [{"filter": "datum.missing"}], "mark": mark, "encoding": encoding}]


def _colours(legend: Legend) -> list[str]:
    count = len(legend.labels)
    if legend.ordered and legend.labels[-1] == MISSING:
        return [*ordered_colours(count - 1), MISSING_COLOUR]
    if legend.ordered or count > MOST_SERIES:
        return ordered_colours(count)
    return list(SERIES_COLOURS[:count])


def _plain(encoding: Spec) -> Spec:
    return {} if "color" in encoding else {"color": PLAIN_COLOUR}


def _tooltip(axis: Axis, legend: Legend, values: Vector) -> list[Spec]:
    series = [("series", legend.title, "")] if len(legend.labels) > 1 else []
    panel = [("panel", "panel", "")] if len(legend.panels) > 1 else []
    value = ("value", legend.value_name, number_format(values, legend))
    return tooltip(value, *panel, *series, ("point", axis.title, ""))


def _widened(values: Vector) -> Spec:
    """Widen the scale of flat curves, so that rounding errors do not fill the height."""
    if not is_flat(values):
        return {}
    middle = data_number(float(np.nanmedian(values)))
    return {"domain": [middle - (abs(middle) or 1), middle + (abs(middle) or 1)]}
