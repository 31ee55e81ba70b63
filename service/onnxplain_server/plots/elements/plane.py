"""A plane of vectors: dots around an origin, circles of equal length, labels that keep apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.plots.elements.labels import data_number
from onnxplain_server.plots.elements.style import Spec

_SIDE = 440
_MARGIN = 0.06
_LETTER, _LINE = 6.2, 12.0
"""Pixels that a letter and a line take in labels."""
_PLACES = ((9, 0, "left"), (-9, 0, "right"), (0, -12, "center"), (0, 13, "center"))
"""Where a label may stand beside its dot, in order of preference: offset in pixels, and what part
of it stands there."""


@dataclass(frozen=True, slots=True)
class PlaneExtent:
    """What part of the plane is drawn, and how large: both axes have the same unit.

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
        """Place a field, without an axis."""
        domain = [data_number(end) for end in low_high]
        scale = {"domain": domain, "nice": False, "zero": False}
        return {"field": field, "type": "quantitative", "scale": scale, "axis": None}

    @property
    def places(self) -> Spec:
        """Place the fields x and y."""
        return {"x": self.scale("x", self.x), "y": self.scale("y", self.y)}


def lay(points: Matrix) -> PlaneExtent:
    """Choose the part that holds points, (n, 2), and the origin."""
    ends = np.vstack([points, [[0.0, 0.0]]])
    low, high = ends.min(axis=0), ends.max(axis=0)
    margin = _MARGIN * max(float((high - low).max()), 1e-9)
    low, high = low - margin, high + margin
    # Wide enough for labels where vectors are almost on a line.
    short = np.maximum(0.35 * (high - low).max() - (high - low), 0) / 2
    low, high = low - short, high + short
    unit = _SIDE / float((high - low).max())
    return PlaneExtent((float(low[0]), float(high[0])), (float(low[1]), float(high[1])), unit)


def circles(plane: PlaneExtent, radii: Sequence[float]) -> Spec:
    """Draw arcs of equal length, as far as they are in the plane."""
    turns = np.radians(np.linspace(-180, 180, 181))
    rows = []
    for radius in radii:
        for order, turn in enumerate(turns):
            x, y = radius * np.cos(turn), radius * np.sin(turn)
            place = {"x": data_number(x), "y": data_number(y)}
            rows.append({**place, "radius": radius, "order": order})
    return {
        "data": {"values": rows},
        "mark": {"type": "line", "color": "#dadce0", "strokeWidth": 1, "clip": True},
        "encoding": {
            **plane.places,
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
        "encoding": {**plane.places, **origin, "color": colour},
    }


def labels(points: Matrix, names: Sequence[str], plane: PlaneExtent, order: Indices) -> list[Spec]:
    """Write names beside dots, in an order of importance, wherever they fit."""
    pixels = np.column_stack(
        [(points[:, 0] - plane.x[0]) * plane.unit, (plane.y[1] - points[:, 1]) * plane.unit]
    )
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in pixels]
    rows = []
    for place in order:
        found = _fit(pixels[place], names[place], taken, plane.size)
        if found is None:
            continue
        (dx, dy, align), box = found
        taken.append(box)
        x, y = (data_number(value) for value in points[place])
        rows.append({"x": x, "y": y, "label": names[place], "dx": dx, "dy": dy, "align": align})
    return [_text(rows, place, plane) for place in _PLACES]


_Box = tuple[float, float, float, float]


def _fit(
    at: Vector, name: str, taken: list[_Box], size: Spec
) -> tuple[tuple[int, int, str], _Box] | None:
    """Find a place for a label that touches nothing."""
    width = _LETTER * len(name)
    for dx, dy, align in _PLACES:
        left = at[0] + dx - {"left": 0.0, "right": width, "center": width / 2}[align]
        top = at[1] + dy - _LINE / 2
        box = (left, top, left + width, top + _LINE)
        inside = box[0] >= 0 and box[2] <= size["width"]
        if inside and not any(_overlap(box, other) for other in taken):
            return (dx, dy, align), box
    return None


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _text(rows: list[Spec], place: tuple[int, int, str], plane: PlaneExtent) -> Spec:
    """Labels at one of the places."""
    dx, dy, align = place
    chosen = [row for row in rows if (row["dx"], row["dy"]) == (dx, dy)]
    shown = [{"x": row["x"], "y": row["y"], "label": row["label"]} for row in chosen]
    mark = {"type": "text", "dx": dx, "dy": dy, "align": align, "color": "#202124", "fontSize": 11}
    return {
        "data": {"values": shown},
        "mark": mark,
        "encoding": {**plane.places, "text": {"field": "label"}},
    }
