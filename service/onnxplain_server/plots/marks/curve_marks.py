"""Marks beside a curve: its average over the rows, counts of rows, and the scale of all curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.plots.axes.layout import Axis, Categories
from onnxplain_server.plots.elements.chart import tooltip
from onnxplain_server.plots.elements.number_formats import data_number, scale_format, spell_on_scale
from onnxplain_server.plots.elements.selection import View
from onnxplain_server.plots.elements.style import PLAIN_COLOUR, SERIES_COLOURS, Spec

_SILENT: Spec = {"tooltip": None, "aria": False}
_AVERAGE: Spec = {"type": "rule", "color": "#5f6368", "strokeDash": [4, 3], **_SILENT}
_TRACK = 14
"""Pixels from the plot to the track of the common scale."""
_TRACK_COLOUR, _TRACK_WIDTH = "#dadce0", 5
_PREDICTED = ("mean prediction of rows", {"size": 36, "color": SERIES_COLOURS[5]})
_OBSERVED = (
    "mean true value of rows",
    {"size": 44, "shape": "cross", "filled": True, "color": SERIES_COLOURS[2]},
)
"""Names and looks of the means of rows."""
_MOST_WIDENED = 4.0
"""Times that means of true values may widen the scale of a curve."""
PREDICTED_BINS, OBSERVED_BINS = 20, 10
"""Most means of a curve: true values differ more from row to row than predictions."""
_LEAST = 0.006
"""Shortest range on the track that can be seen, as a share of it."""


@dataclass(frozen=True, slots=True)
class CommonScale:
    """Range of all curves of a page that share a scale; output unit."""

    low: float
    high: float

    @classmethod
    def of(cls, views: Sequence[View]) -> CommonScale | None:
        """Return the range of two or more curves over one feature each; None if there is none."""
        curves = [view for view in views if len(view.features) == 1 and not view.groups]
        if len(curves) < 2 or not all(view.common_scale for view in curves):
            return None
        values = np.concatenate([piece.values for view in curves for piece in view.pieces])
        finite = values[np.isfinite(values)]
        if not finite.size or not finite.max() > finite.min():
            return None
        return cls(float(finite.min()), float(finite.max()))

    def shares(self, values: Vector) -> tuple[float, float]:
        """Return where the range of values begins and ends on this scale, from 0 to 1."""
        finite = values[np.isfinite(values)]
        low, high = ((end - self.low) / (self.high - self.low) for end in np.sort(finite)[[0, -1]])
        middle, half = (low + high) / 2, max(high - low, _LEAST) / 2
        return float(middle - half), float(middle + half)


Means: TypeAlias = tuple[tuple[Any, float], ...]
"""Values of a feature, each with a mean of the rows there."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks of one curve.

    Attributes
    ----------
    average : float or None
        Mean of the curve at the rows' own values, where it is known.
    reach : (low, high) or None
        Its range on the common scale, from 0 to 1; None without such a scale.
    predicted_means, observed_means : tuple of (value of the feature, mean)
        Of the predictions and the true values of rows as they are, which differ in other features
        too.
    are_observed_beyond : bool
        Whether the means of true values are left out, as they would flatten the curve.
    """

    average: float | None = None
    reach: tuple[float, float] | None = None
    predicted_means: Means = ()
    observed_means: Means = ()
    are_observed_beyond: bool = False


NO_MARKS = Marks()


def marks_of(values: Vector, row_weights: Vector | None, scale: CommonScale | None) -> Marks:
    """Return the marks of the only curve of a plot."""
    finite = np.isfinite(values)
    if not finite.any():
        return NO_MARKS
    average = None
    if row_weights is not None and finite.all() and 0 < row_weights.sum() < np.inf:
        average = float(np.average(values, weights=row_weights / row_weights.max()))
    return Marks(average, scale.shares(values) if scale else None)


def with_means(marks: Marks, values: Vector, predicted: Means, observed: Means) -> Marks:
    """Add means of rows; those of true values where the scale has place for them."""
    known = np.array([value for _, value in predicted] + [*values.tolist()])
    true = np.array([value for _, value in observed])
    beyond = _range([known, true]) > _MOST_WIDENED * _range([known])
    return replace(
        marks,
        predicted_means=predicted,
        observed_means=() if beyond else observed,
        are_observed_beyond=beyond,
    )


def _range(parts: Sequence[Vector]) -> float:
    joined = np.concatenate(parts)
    finite = joined[np.isfinite(joined)]
    return float(np.ptp(finite)) if finite.size else 0.0


def binned(points: Array, row_weights: Vector, near_means: Vector | None, count: int) -> Means:
    """Return the means of rows at their points, of many numbers in `count` bins of equal weight."""
    if near_means is None:
        return ()
    held = np.flatnonzero(row_weights > 0)
    if points.dtype.kind in "OU" or len(held) <= count:
        return tuple(zip(points[held].tolist(), near_means[held].tolist(), strict=True))
    held = held[np.isfinite(points[held])]
    held = held[np.argsort(points[held], kind="stable")]
    middles = np.cumsum(row_weights[held]) - row_weights[held] / 2
    bins = (count * middles / row_weights[held].sum()).astype(int)
    found = []
    for number in np.unique(bins):
        own = held[bins == number]
        weights = row_weights[own]
        at = float(np.average(points[own], weights=weights))
        found.append((at, float(np.average(near_means[own], weights=weights))))
    return tuple(found)


def layers(axis: Axis, marks: Marks, value: Spec) -> list[Spec]:
    """Draw the marks: the average across the plot, the common scale as a track beside it."""
    is_list = isinstance(axis, Categories)
    drawn: list[Spec] = []
    if marks.average is not None:
        own = [{"value": data_number(marks.average)}]
        place = {"x" if is_list else "y": value}
        drawn.append({"data": {"values": own}, "mark": _AVERAGE, "encoding": place})
    drawn += _points(axis, marks.predicted_means, value, _PREDICTED)
    drawn += _points(axis, marks.observed_means, value, _OBSERVED)
    if marks.reach is not None:
        low, high = marks.reach
        drawn += [
            _on_track(0.0, 1.0, _TRACK_COLOUR, is_list=is_list),
            _on_track(low, high, PLAIN_COLOUR, is_list=is_list),
        ]
    return drawn


def _is_on(axis: Axis, point: Any) -> bool:
    return axis.holds(point) if isinstance(axis, Categories) else axis.spans(point)


def _points(axis: Axis, means: Means, value: Spec, look: tuple[str, Spec]) -> list[Spec]:
    """Draw means of rows as points that no line joins; none without any."""
    rows: list[Spec] = [
        {"x": axis.position(point), "value": data_number(mean), "point": axis.text(point)}
        for point, mean in means
        if math.isfinite(mean) and _is_on(axis, point)
    ]
    if not rows:
        return []
    is_list = isinstance(axis, Categories)
    channel = axis.channel() if isinstance(axis, Categories) else axis.channel(to_edges=False)
    place = {"field": "x", **channel}
    name, mark = look
    tips = tooltip(
        ("value", name, scale_format(np.array([row["value"] for row in rows]))),
        ("point", axis.title, ""),
    )
    places = {"y": place, "x": value} if is_list else {"x": place, "y": value}
    mark = {"type": "point", "strokeWidth": 1.5, "clip": True, **mark}
    return [{"data": {"values": rows}, "mark": mark, "encoding": {**places, "tooltip": tips}}]


def _on_track(low: float, high: float, colour: str, *, is_list: bool) -> Spec:
    """Draw a part of the track: above a list, or to the right of a line."""
    mark: Spec = {"type": "rect", "color": colour, **_SILENT}
    # A rectangle with a length is placed by its middle.
    middle = (low + high) / 2
    right, down, length = round(middle, 4), round(1 - middle, 4), round(high - low, 4)
    if is_list:
        mark |= {"x": {"expr": f"width * {right:g}"}, "width": {"expr": f"width * {length:g}"}}
        mark |= {"y": -_TRACK, "height": _TRACK_WIDTH}
    else:
        mark |= {"y": {"expr": f"height * {down:g}"}, "height": {"expr": f"height * {length:g}"}}
        mark |= {"x": {"expr": f"width + {_TRACK}"}, "width": _TRACK_WIDTH}
    return {"data": {"values": [{}]}, "mark": mark, "encoding": {}}


def remarks(axis: Axis, values: Vector, marks: Marks) -> list[str]:
    """Return what the marks mean, in words."""
    told = []
    if marks.average is not None:
        average = spell_on_scale(marks.average, values)
        told.append(f"dashed: its mean over the rows, {average}")
    if marks.predicted_means:
        told.append(
            "circles: mean prediction of the rows there, which differ in other features too"
        )
    if marks.observed_means:
        of = "these rows" if marks.predicted_means else "the rows there"
        told.append(f"crosses: mean true value of {of}")
    if marks.are_observed_beyond:
        told.append("mean true values of the rows there lie beyond this scale")
    if marks.reach is not None:
        side = "above" if isinstance(axis, Categories) else "at the right"
        told.append(f"bar {side}: its range on the scale of all curves")
    return told
