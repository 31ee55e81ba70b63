"""Plane of vectors: dots around an origin, circles of equal length, labels that do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.plots.elements.number_formats import data_number
from onnxplain_server.plots.elements.style import Spec
from onnxplain_server.plots.elements.text_width import text_width

_SIDE = 440
_MARGIN = 0.06
_NARROWEST = np.array([0.9, 0.35])
"""Smallest width and height, as shares of the larger of both."""
_LINE_HEIGHT = 13.0
"""Height of label text, in pixels."""
_ANCHORS = ((9, 0, "left"), (-9, 0, "right"), (0, -12, "center"), (0, 13, "center"))
"""Positions of a label relative to its dot, in order of preference: offset in pixels, and the
alignment of the text."""


@dataclass(frozen=True, slots=True)
class PlaneExtent:
    """Extent of the plane that is drawn; both axes have the same unit.

    Attributes
    ----------
    x, y : (low, high)
    unit : float
        Pixels.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    unit: float

    @property
    def size(self) -> Spec:
        """Width and height."""
        spans = (self.x[1] - self.x[0], self.y[1] - self.y[0])
        return {"width": round(spans[0] * self.unit), "height": round(spans[1] * self.unit)}

    def scale(self, field: str, low_high: tuple[float, float]) -> Spec:
        """Encode a field by its scale, without an axis."""
        domain = [data_number(end) for end in low_high]
        scale = {"domain": domain, "nice": False, "zero": False}
        return {"field": field, "type": "quantitative", "scale": scale, "axis": None}

    def holds(self, point: Vector) -> bool:
        """Tell whether a point, (2,), is inside."""
        return bool(self.x[0] <= point[0] <= self.x[1] and self.y[0] <= point[1] <= self.y[1])

    @property
    def positions(self) -> Spec:
        """Encodings of the fields x and y."""
        return {"x": self.scale("x", self.x), "y": self.scale("y", self.y)}


def extent_of(points: Matrix, *, with_origin: bool = True) -> PlaneExtent:
    """Return the extent that holds points, (n, 2), and the origin."""
    ends = np.vstack([points, [[0.0, 0.0]]]) if with_origin else points
    low, high = ends.min(axis=0), ends.max(axis=0)
    margin = _MARGIN * max(float((high - low).max()), 1e-9)
    low, high = low - margin, high + margin
    # Leaves room for labels if vectors are almost on a line, and fills the width below the title.
    padding = np.maximum(_NARROWEST * (high - low).max() - (high - low), 0) / 2
    low, high = low - padding, high + padding
    unit = _SIDE / float((high - low).max())
    return PlaneExtent((float(low[0]), float(high[0])), (float(low[1]), float(high[1])), unit)


def circles(plane: PlaneExtent, radii: Sequence[float]) -> Spec:
    """Draw circles around the origin, clipped to the extent."""
    angles = np.radians(np.linspace(-180, 180, 181))
    rows = []
    for radius in radii:
        for order, angle in enumerate(angles):
            x, y = radius * np.cos(angle), radius * np.sin(angle)
            point = {"x": data_number(x), "y": data_number(y)}
            rows.append({**point, "radius": radius, "order": order})
    return {
        "data": {"values": rows},
        "mark": {"type": "line", "color": "#dadce0", "strokeWidth": 1, "clip": True},
        "encoding": {
            **plane.positions,
            "detail": {"field": "radius"},
            "order": {"field": "order", "type": "quantitative"},
        },
    }


def spokes(rows: list[Spec], plane: PlaneExtent, colour: Spec) -> Spec:
    """Draw lines from the origin to dots."""
    origin = {"x2": {"datum": 0}, "y2": {"datum": 0}}
    return {
        "data": {"values": rows},
        "mark": {"type": "rule", "strokeWidth": 1, "opacity": 0.35, "clip": True},
        "encoding": {**plane.positions, **origin, **colour},
    }


def outline(plane: PlaneExtent, part: PlaneExtent) -> Spec:
    """Draw the frame of a part of the plane."""
    rows = [{"x": part.x[0], "y": part.y[0], "x2": part.x[1], "y2": part.y[1]}]
    mark = {"type": "rect", "fill": None, "stroke": "#5f6368", "strokeDash": [4, 3], "clip": True}
    ends = {"x2": {"field": "x2"}, "y2": {"field": "y2"}}
    return {"data": {"values": rows}, "mark": mark, "encoding": {**plane.positions, **ends}}


def labels(
    points: Matrix, names: Sequence[str], plane: PlaneExtent, order: Indices
) -> tuple[list[Spec], Indices]:
    """Label dots in an order of importance, where labels do not overlap.

    Returns
    -------
    layers : list of dict
    unnamed : (n,)
        Dots of `points` without a label.
    """
    pixels = np.column_stack(
        [(points[:, 0] - plane.x[0]) * plane.unit, (plane.y[1] - points[:, 1]) * plane.unit]
    )
    occupied = [(x - 4, y - 4, x + 4, y + 4) for x, y in pixels]
    rows, named = [], set[int]()
    for i in order:
        position = _fit(pixels[i], names[i], occupied, plane.size)
        if position is None:
            continue
        (dx, dy, align), box = position
        occupied.append(box)
        x, y = (data_number(value) for value in points[i])
        rows.append({"x": x, "y": y, "label": names[i], "dx": dx, "dy": dy, "align": align})
        named.add(int(i))
    unnamed = np.array([i for i in range(len(points)) if i not in named], np.intp)
    return [_text(rows, anchor, plane) for anchor in _ANCHORS], unnamed


_Box = tuple[float, float, float, float]


def _fit(
    dot: Vector, name: str, occupied: list[_Box], size: Spec
) -> tuple[tuple[int, int, str], _Box] | None:
    """Return the first anchor at which a label overlaps nothing, and its box; None if none."""
    width = text_width(name)
    for dx, dy, align in _ANCHORS:
        left = dot[0] + dx - {"left": 0.0, "right": width, "center": width / 2}[align]
        top = dot[1] + dy - _LINE_HEIGHT / 2
        box = (left, top, left + width, top + _LINE_HEIGHT)
        is_inside = box[0] >= 0 and box[2] <= size["width"]
        if is_inside and not any(_overlap(box, other) for other in occupied):
            return (dx, dy, align), box
    return None


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _text(rows: list[Spec], anchor: tuple[int, int, str], plane: PlaneExtent) -> Spec:
    """Draw the labels of one anchor; Vega-Lite offsets are those of the whole layer."""
    dx, dy, align = anchor
    here = [row for row in rows if (row["dx"], row["dy"]) == (dx, dy)]
    shown = [{"x": row["x"], "y": row["y"], "label": row["label"]} for row in here]
    mark = {"type": "text", "dx": dx, "dy": dy, "align": align, "color": "#202124"}
    return {
        "data": {"values": shown},
        "mark": mark,
        "encoding": {**plane.positions, "text": {"field": "label"}},
    }
