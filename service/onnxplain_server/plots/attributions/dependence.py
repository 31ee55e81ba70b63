"""Values of a feature's rows against its part in their predictions: a dependence plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.methods.attributions import Result
from onnxplain_server.plots.attributions.colours import Colours, colours_by, plain
from onnxplain_server.plots.attributions.measures import mean_sizes
from onnxplain_server.plots.attributions.partner import partner_of
from onnxplain_server.plots.attributions.scatter import layers, offsets, spread_rows
from onnxplain_server.plots.attributions.words import (
    estimate_remark,
    own_value,
    own_values,
    result_kind,
    row_name,
)
from onnxplain_server.plots.axes.layout import Axis, Categories, lay_axis
from onnxplain_server.plots.axes.missing_values import distinct
from onnxplain_server.plots.axes.number_line import NumberLine
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import clean, identifiers, shorten
from onnxplain_server.plots.elements.number_formats import (
    data_number,
    drawable,
    share_format,
    spell_among,
    spell_beside,
)
from onnxplain_server.plots.elements.style import PLOT_HEIGHT, PLOT_WIDTH, Spec
from onnxplain_server.plots.units.prediction_units import value_unit

_MOST_FEATURES = 3
_MOST_POINTS = 300
"""Rows of one plot, evenly spaced among those explained."""
_MOST_CATEGORIES = 20
_STEP = 30  # pixels of a category
_FEW_VALUES = 15
"""Numbers up to which points of equal ones are moved aside."""
_OF_A_STEP, _OF_THE_LINE = 0.35, 0.03
"""Shares of the smallest step between numbers, and of their line, up to which they are."""
_ZERO: Spec = {"type": "rule", "color": "#9aa0a6"}


@dataclass(frozen=True, slots=True, eq=False)
class _FeaturePoints:
    """Content of one plot.

    Attributes
    ----------
    player, output : int
    name : str
        Of the feature.
    rows : (n_points,)
        Positions of rows with a place on both axes.
    own, values : (n_points,)
        Of the feature at these rows.
    axis : Axis
        Of the feature.
    remarks : list of str
        On what is left out.
    """

    player: int
    output: int
    name: str
    rows: Indices
    own: Array
    values: Vector
    axis: Axis
    remarks: list[str]


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw the features of the largest values: "attributions-dependence-rooms".

    Those that count singly and are not constant, for the output of the largest values.
    """
    sizes = mean_sizes(result)
    output = int(np.argmax(sizes.sum(axis=0)))
    order = np.argsort(-sizes[:, output], kind="stable").tolist()
    players = (p for p in order if sizes[p, output] > 0 and len(result.features[p]) == 1)
    found = (own for p in players if (own := _points_of(result, p, output)) is not None)
    shown = list(islice(found, _MOST_FEATURES))
    names = identifiers(f"attributions-dependence-{points.name}" for points in shown)
    return tuple(_draw(result, points, name) for points, name in zip(shown, names, strict=True))


def _points_of(result: Result, player: int, output: int) -> _FeaturePoints | None:
    """Return the content of a plot; None where the rows have one value of the feature."""
    spread = spread_rows(result.explained_row_count, _MOST_POINTS)
    values = drawable(result.values[spread, player, output])
    finite = np.isfinite(values)
    rows, values, name = spread[finite], values[finite], result.features[player][0]
    own = result.feature_values[result.names.index(name)][rows]
    if len(distinct(own)) < 2:
        return None
    is_text = own.dtype == object
    limit = _MOST_CATEGORIES if is_text else len(own)
    axis, remarks = lay_axis(name, own, own, limit, effects=values)
    held = np.array([axis.holds(value) for value in own.tolist()])
    without = len(spread) - int(finite.sum() if is_text else held.sum())
    if without:
        told = f"{without} of {len(spread)} rows, whose numbers have no place on the axes"
        remarks = [*remarks, f"Not shown: {told}"]
    return _FeaturePoints(player, output, name, rows[held], own[held], values[held], axis, remarks)


def _draw(result: Result, points: _FeaturePoints, name: str) -> Plot:
    partner = partner_of(result, points.player, points.output, points.rows)
    colours = plain(len(points.rows))
    if partner.name:
        other = result.feature_values[result.names.index(partner.name)]
        colours = colours_by(partner.name, other[points.rows])
    output = shorten(clean(result.output_names[points.output]))
    title = f"{result_kind(result)} of {output} along {shorten(clean(points.name))}"
    errors = result.standard_errors[:, points.player, points.output]
    remarks = [
        _finding(points),
        f"A point is a row: {len(points.rows):,} of {result.explained_row_count:,} rows explained",
        "; ".join(filter(None, [partner.remark, colours.remark])),
        *points.remarks,
        *_aside_remark(points),
        *estimate_remark(errors[points.rows] if result.are_estimated else errors),
    ]
    if len(result.output_names) > 1:
        remarks.append(f"Output with the largest values of {len(result.output_names)}")
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    rows = _rows(result, points, colours)
    body = _body(points, rows, colours, value_unit(result.output_names))
    return finish(name, title, remarks, description, body)


def _finding(points: _FeaturePoints) -> str:
    """Tell the lowest and the highest value shown, with those of the feature."""
    low, high = int(np.argmin(points.values)), int(np.argmax(points.values))
    if points.values[low] == points.values[high]:
        return f"Each point shown has the value {spell_among(points.values[low], points.values)}"
    ends = [
        f"{spell_beside(points.values[at], points.values)} at {own_value(points.own, at)}"
        for at in (low, high)
    ]
    return f"Of the points shown, the value is lowest, {ends[0]}, and highest, {ends[1]}"


def _rows(result: Result, points: _FeaturePoints, colours: Colours) -> list[Spec]:
    places = [points.axis.position(own) for own in points.own.tolist()]
    moved, texts = _moved(points, places), own_values(points.own)
    return [
        {
            "row": row_name(result.row_indices, int(row), result.explained_row_count),
            **place,
            "own": texts[at],
            "value": data_number(float(points.values[at])),
            **mark,
        }
        for at, (row, place, mark) in enumerate(zip(points.rows, moved, colours.marks, strict=True))
    ]


def _moved(points: _FeaturePoints, places: Sequence[float | str]) -> list[Spec]:
    """Place points, those of equal values side by side where there are few of these."""
    if isinstance(points.axis, NumberLine):
        width = _width(points.axis)
        numbers = np.array(places, np.float64)
        numbers = numbers + width * _aside(points.values, places) if width else numbers
        return [{"x": points.axis.position(number)} for number in numbers.tolist()]
    aside = _aside(points.values, places)
    return [
        {"x": place, "offset": data_number(offset, -6)}
        for place, offset in zip(places, aside, strict=True)
    ]


def _width(line: NumberLine) -> float:
    """Return how far points of equal numbers may be moved aside; 0 for many or close ones."""
    if not 1 < len(line.values) <= _FEW_VALUES:
        return 0.0
    most = _OF_THE_LINE * float(line.values[-1] - line.values[0])
    step = float(np.diff(line.values).min())
    return min(_OF_A_STEP * step, most) if step > most else 0.0


def _aside_remark(points: _FeaturePoints) -> list[str]:
    line, count = points.axis, len(points.rows)
    is_moved = isinstance(line, NumberLine) and len(line.values) < count and _width(line) > 0
    return ["Points of equal numbers stand side by side"] * is_moved


def _aside(values: Vector, places: Sequence[float | str]) -> Vector:
    """Return how far points of each place are moved aside: from -1 to 1."""
    at, span = np.array(places), float(np.ptp(values))
    moved = np.zeros(len(values))
    for place in np.unique(at):
        moved[at == place] = offsets(values[at == place], span)
    return moved


def _body(points: _FeaturePoints, rows: list[Spec], colours: Colours, unit: str) -> Spec:
    axis = {"title": f"Part in the prediction ({unit})"}
    value: Spec = {"field": "value", "type": "quantitative", "axis": axis}
    size: Spec = {"width": PLOT_WIDTH, "height": PLOT_HEIGHT}
    if isinstance(points.axis, Categories):
        size["height"] = {"step": _STEP}
        places, along = _in_lines(points.axis, value), "x"
    else:
        channel = points.axis.channel(to_edges=_width(points.axis) > 0)
        places, along = {"x": {"field": "x", **channel}, "y": value}, "y"
    zero: Spec = {
        "data": {"values": [{"value": 0}]},
        "mark": _ZERO,
        "encoding": {along: value},
    }
    encoding = {**places, "tooltip": _tooltip(points, colours)}
    drawn = layers(rows, encoding, colours.encoding)
    return {"data": {"values": rows}, **size, "layer": [zero, *drawn]}


def _tooltip(points: _FeaturePoints, colours: Colours) -> list[Spec]:
    return tooltip(
        ("row", "row", ""),
        ("own", points.axis.title, ""),
        ("value", "part in the prediction", share_format(points.values)),
        *([("other", colours.title, "")] if colours.title else []),
    )


def _in_lines(axis: Categories, value: Spec) -> Spec:
    """Place points in the band of their category."""
    y = {"field": "x", **axis.channel()}
    y["axis"] |= {"domain": False, "ticks": False}
    offset = {"field": "offset", "type": "quantitative", "scale": {"domain": [-1.6, 1.6]}}
    return {"y": y, "yOffset": offset, "x": value}
