"""Cells of the matrix: two colour scales, numbers where they fit, and a panel for each output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.methods.interactions import Statistic
from onnxplain_server.plots.elements.bars import JOINT
from onnxplain_server.plots.elements.chart import tooltip
from onnxplain_server.plots.elements.labels import clean, shorten
from onnxplain_server.plots.elements.number_formats import data_number, share_format, spell
from onnxplain_server.plots.elements.style import (
    MISSING_COLOUR,
    PANEL_COLUMNS,
    PANEL_WIDTH,
    PLOT_WIDTH,
    Spec,
    colour_at,
    is_dark,
)

_GREENS = ("#f4faf2", "#bae4b3", "#74c476", "#31a354", "#006d2c")
_PURPLES = ("#f6f4fa", "#cbc9e2", "#9e9ac8", "#756bb1", "#54278f")
_TINY = 1e-4  # share of the scale below which a number is written as "≈ 0"
_DIGIT, _MARGIN = 6.4, 10  # pixels
_NARROWEST, _WIDEST = 14, 96  # pixels of a cell
_RECT: Spec = {"type": "rect", "stroke": "white"}
_NUMBER: Spec = {"type": "text", "fontSize": 11, "style": "cell-number"}
"""Numbers in cells, which a page leaves out where it narrows the cells; see report/drawing.js."""
_CONTRAST = {"condition": {"test": "datum.dark", "value": "white"}, "value": "black"}
_PLACES = (("first", "second"), ("second", "first"))
_MAX_DIGITS = 7
_LEGEND_LENGTH = 90  # pixels
_SIMILAR = 20  # times: outputs share a scale unless their largest sizes differ by more


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """Content of the matrix.

    Attributes
    ----------
    labels : tuple of str
        Of the features, in the order of rows and columns.
    places : dict of str to int
        Positions of the features in that order.
    importances, pairs : tuple of Statistic
    outputs : dict of int to str
        Names of the outputs shown, by their positions in the result.
    confidence : float
        Level of the intervals.
    """

    labels: tuple[str, ...]
    places: dict[str, int]
    importances: tuple[Statistic, ...]
    pairs: tuple[Statistic, ...]
    outputs: dict[int, str]
    confidence: float

    def sizes(self, output: int) -> tuple[Vector, Vector]:
        """Return the sizes of importances and of pairs."""
        first, second = (
            np.sqrt([statistic.numerators[output] for statistic in statistics])
            for statistics in (self.importances, self.pairs)
        )
        return first, second


@dataclass(frozen=True, slots=True)
class _Kind:
    """Kind of cells: its colours and its words.

    Each kind has a field of its own: Vega-Lite from 6.5 on makes one legend of a field's colours.
    """

    channel: str
    field: str
    colours: tuple[str, ...]
    legend: tuple[str, ...]
    row: str
    value: str
    share: str


_IMPORTANCE = _Kind(
    "color",
    "effects",
    _GREENS,
    ("Size of a feature's", "effects (diagonal)"),
    "feature",
    "size of effects",
    "share of prediction variance",
)
_INTERACTION = _Kind(
    "fill",
    "size",
    _PURPLES,
    ("Size of the interaction", "of a pair"),
    "pair",
    "size of interaction",
    "H², share of joint effect",
)


def draw(content: Content) -> Spec:
    """Draw one matrix, or a panel for each output."""
    tops = _tops(content)
    is_single = len(content.outputs) == 1
    side, has_numbers = _side(content, tops, PLOT_WIDTH if is_single else PANEL_WIDTH)
    panels = [
        _panel(content, output, tops[:, k], side, has_numbers=has_numbers)
        for k, output in enumerate(content.outputs)
    ]
    if is_single:
        return panels[0]
    for panel, name in zip(panels, content.outputs.values(), strict=True):
        panel["title"] = {"text": shorten(name, 34), "fontSize": 12, "anchor": "middle"}
    resolve = "shared" if (tops == tops[:, :1]).all() else "independent"
    return {
        "concat": panels,
        "columns": min(PANEL_COLUMNS, 2 if len(panels) == 4 else len(panels)),
        "spacing": 24,
        "resolve": {"scale": {"color": resolve, "fill": resolve}},
    }


def _tops(content: Content) -> Matrix:
    """Return the ends of the scales: (2 kinds, n_outputs); equal for outputs of similar sizes."""
    tops = np.array([
        [np.max(sizes, initial=0.0, where=np.isfinite(sizes)) for sizes in content.sizes(output)]
        for output in content.outputs
    ]).T  # fmt: skip
    largest = tops.max(axis=1, keepdims=True)
    is_similar = ((tops == 0) | (tops * _SIMILAR >= largest)).all()
    ends = np.broadcast_to(largest, tops.shape) if is_similar else tops
    return np.where(ends == 0, 1.0, ends)


def _side(content: Content, tops: Matrix, width: int) -> tuple[int, bool]:
    """Return the side of a cell in pixels, and whether it has room for its number."""
    texts = [
        _spell(size, top)
        for k, output in enumerate(content.outputs)
        for sizes, top in zip(content.sizes(output), tops[:, k], strict=True)
        for size in sizes
    ]
    count, needed = len(content.labels), _MARGIN + _DIGIT * max(map(len, texts))
    if count * needed <= width:
        return int(min(max(needed, width / count), _WIDEST)), True
    return max(_NARROWEST, width // count), False


def _spell(size: float, top: float) -> str:
    """Round a size to two digits; empty if it is not finite."""
    if not np.isfinite(size):
        return ""
    if 0 < size < _TINY * top:
        return "≈ 0"
    text = spell(size, ",.2~r")
    return text if len(text) <= _MAX_DIGITS else spell(size, ".1~e")


def _panel(content: Content, output: int, tops: Vector, side: int, *, has_numbers: bool) -> Spec:
    kinds = (_IMPORTANCE, content.importances), (_INTERACTION, content.pairs)
    layers: list[Spec] = []
    for (kind, statistics), top in zip(kinds, tops, strict=True):
        rows = [_row(content, kind, statistic, output) for statistic in statistics]
        if has_numbers:
            rows = [row | _number(row, kind, top) for row in rows]
        drawings = _drawings(content, kind, rows, top, side)
        layers.append({"data": {"values": rows}, "layer": list(drawings)})
    return {"width": {"step": side}, "height": {"step": side}, "layer": layers}


def _row(content: Content, kind: _Kind, statistic: Statistic, output: int) -> Spec:
    """Return the statistics of a pair, or of a feature, which is first and second at once."""
    places = sorted(content.places[name] for name in statistic.features)
    size, share = np.sqrt(statistic.numerators[output]), statistic.values[output]
    numbers = {kind.field: size, "share": share}
    if statistic.spread is not None:
        numbers |= {"low": statistic.spread.lower[output], "high": statistic.spread.upper[output]}
    if statistic.p_values is not None:
        numbers["p"] = statistic.p_values[output]
    return {
        "first": content.labels[places[0]],
        "second": content.labels[places[-1]],
        "name": JOINT.join(map(clean, statistic.features)),
        **{key: data_number(value) for key, value in numbers.items() if np.isfinite(value)},
    }


def _number(row: Spec, kind: _Kind, top: float) -> Spec:
    """Return the number in a cell, and whether its ground is so dark that white is read best."""
    size = row.get(kind.field, np.nan)
    ground = colour_at(size / top, kind.colours) if np.isfinite(size) else MISSING_COLOUR
    return {"text": _spell(size, top), "dark": is_dark(ground)}


def _drawings(
    content: Content, kind: _Kind, rows: list[Spec], top: float, side: int
) -> Iterator[Spec]:
    """Yield the cells, those of pairs on both sides of the diagonal, with numbers over them."""
    has_broken = any(kind.field not in row for row in rows)
    steps = [data_number(step) for step in np.linspace(0, top, len(kind.colours))]
    colour: Spec = {
        "field": kind.field,
        "type": "quantitative",
        "scale": {"domain": steps, "range": list(kind.colours), "type": "linear"},
        "legend": {
            "title": list(kind.legend),
            "gradientLength": _LEGEND_LENGTH,
            "tickCount": 4,
            "format": share_format(np.array([top])),
        },
    }
    tips = _tooltip(content, kind, rows)
    for place in _PLACES if kind is _INTERACTION else _PLACES[:1]:
        position = _position(content, side, *place)
        drawn: Spec = {
            "mark": _RECT,
            "encoding": {**position, kind.channel: colour, "tooltip": tips},
        }
        if has_broken:
            yield {"mark": {**_RECT, "fill": MISSING_COLOUR}, "encoding": position}
            drawn["transform"] = [{"filter": f"isValid(datum.{kind.field})"}]
        yield drawn
        if "text" in rows[0]:
            number = {"text": {"field": "text"}, "tooltip": tips, "color": _CONTRAST}
            yield {"mark": _NUMBER, "encoding": {**position, **number}}


def _position(content: Content, side: int, x: str, y: str) -> Spec:
    labels = list(content.labels)
    slant = _DIGIT * max(map(len, labels)) > side
    axis = {"title": None, "domain": False, "ticks": False, "labelLimit": 0}
    place = {"type": "nominal", "sort": labels, "scale": {"domain": labels}}
    return {
        "x": {"field": x, **place, "axis": {**axis, "labelAngle": -45 if slant else 0}},
        "y": {"field": y, **place, "axis": axis},
    }


def _tooltip(content: Content, kind: _Kind, rows: list[Spec]) -> list[Spec]:
    number_format = share_format(np.array([row.get(kind.field, np.nan) for row in rows]))
    fields = [("name", kind.row, ""), (kind.field, kind.value, number_format)]
    fields.append(("share", kind.share, ",.3~r"))
    if any("low" in row for row in rows):
        percent = f"{100 * content.confidence:.3g} %"
        fields += [("low", f"share, {percent} from", ",.3~r")]
        fields += [("high", f"share, {percent} to", ",.3~r")]
    if any("p" in row for row in rows):
        fields.append(("p", "p-value", ",.3~r"))
    return tooltip(*fields)
