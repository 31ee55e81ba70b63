"""Cells of a matrix: two colour scales, numbers where they fit, and a panel for each output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.plots.elements.chart import tooltip
from onnxplain_server.plots.elements.labels import shorten
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
_DIGIT, _MARGIN = 6.9, 10  # pixels
_NARROWEST, _WIDEST = 14, 96  # pixels of a cell
_RECT: Spec = {"type": "rect", "stroke": "white"}
_NUMBER: Spec = {"type": "text", "style": "cell-number"}
"""Numbers in cells, which a page leaves out where it narrows the cells; see report/drawing.js."""
_CONTRAST = {"condition": {"test": "datum.dark", "value": "white"}, "value": "black"}
_MAX_DIGITS = 7
_LEGEND_LENGTH = 90  # pixels
_SIMILAR = 20  # times: outputs share a scale unless their largest sizes differ by more


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """Cell of a pair, on both sides of the diagonal, or of a feature, on it.

    Attributes
    ----------
    features : tuple of str
        One or two.
    name : str
        For tooltips.
    sizes : (n_outputs,)
        None below 0; NaN where one is not known.
    details : dict of str to (n_outputs,)
        Further numbers for tooltips, by their fields.
    """

    features: tuple[str, ...]
    name: str
    sizes: Vector
    details: dict[str, Vector] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CellWords:
    """Words for cells of one kind.

    Attributes
    ----------
    legend : tuple of str
        Lines of the legend's title.
    row, value : str
        Titles of name and size in tooltips.
    details : tuple of (field, title, d3 format)
        Those of further numbers.
    """

    legend: tuple[str, ...]
    row: str
    value: str
    details: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """Content of a matrix.

    Attributes
    ----------
    labels : tuple of str
        Of the features, in the order of rows and columns.
    places : dict of str to int
        Positions of the features in that order.
    diagonal, pairs : tuple of Cell
    outputs : dict of int to str
        Names of the outputs shown, by their positions in the cells.
    words : two CellWords
        Of the diagonal, and of pairs.
    """

    labels: tuple[str, ...]
    places: dict[str, int]
    diagonal: tuple[Cell, ...]
    pairs: tuple[Cell, ...]
    outputs: dict[int, str]
    words: tuple[CellWords, CellWords]

    def sizes(self, output: int) -> tuple[Vector, Vector]:
        """Return the sizes on the diagonal and of pairs."""
        first, second = (
            np.array([cell.sizes[output] for cell in cells])
            for cells in (self.diagonal, self.pairs)
        )
        return first, second

    def broken(self) -> tuple[int, int]:
        """Count the sizes shown that are not finite, and all that are shown."""
        sizes = np.concatenate([part for output in self.outputs for part in self.sizes(output)])
        return int((~np.isfinite(sizes)).sum()), sizes.size


@dataclass(frozen=True, slots=True)
class _Kind:
    """Kind of cells.

    Each kind has a field of its own: Vega-Lite from 6.5 on makes one legend of a field's colours.
    """

    channel: str
    field: str
    colours: tuple[str, ...]
    places: tuple[tuple[str, str], ...]


_DIAGONAL = _Kind("color", "effects", _GREENS, (("first", "second"),))
_PAIRS = _Kind("fill", "size", _PURPLES, (("first", "second"), ("second", "first")))


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
    kinds = (_DIAGONAL, content.diagonal), (_PAIRS, content.pairs)
    layers: list[Spec] = []
    for (kind, cells), words, top in zip(kinds, content.words, tops, strict=True):
        rows = [_row(content, kind, cell, output) for cell in cells]
        if has_numbers:
            rows = [row | _number(row, kind, top) for row in rows]
        drawings = _drawings(content, kind, words, rows, top, side)
        layers.append({"data": {"values": rows}, "layer": list(drawings)})
    return {"width": {"step": side}, "height": {"step": side}, "layer": layers}


def _row(content: Content, kind: _Kind, cell: Cell, output: int) -> Spec:
    """Return the numbers of a pair, or of a feature, which is first and second at once."""
    places = sorted(content.places[name] for name in cell.features)
    numbers = {kind.field: cell.sizes[output]}
    numbers |= {name: own[output] for name, own in cell.details.items()}
    return {
        "first": content.labels[places[0]],
        "second": content.labels[places[-1]],
        "name": cell.name,
        **{key: data_number(value) for key, value in numbers.items() if np.isfinite(value)},
    }


def _number(row: Spec, kind: _Kind, top: float) -> Spec:
    """Return the number in a cell, and whether its ground is so dark that white is read best."""
    size = row.get(kind.field, np.nan)
    ground = colour_at(size / top, kind.colours) if np.isfinite(size) else MISSING_COLOUR
    return {"text": _spell(size, top), "dark": is_dark(ground)}


def _drawings(  # noqa: PLR0917 - a kind of cells shows all of these
    content: Content, kind: _Kind, words: CellWords, rows: list[Spec], top: float, side: int
) -> Iterator[Spec]:
    """Yield the cells, those of pairs on both sides of the diagonal, with numbers over them."""
    has_broken = any(kind.field not in row for row in rows)
    steps = [data_number(step) for step in np.linspace(0, top, len(kind.colours))]
    colour: Spec = {
        "field": kind.field,
        "type": "quantitative",
        "scale": {"domain": steps, "range": list(kind.colours), "type": "linear"},
        "legend": {
            "title": list(words.legend),
            "gradientLength": _LEGEND_LENGTH,
            "tickCount": 4,
            "format": share_format(np.array([top])),
        },
    }
    tips = _tooltip(kind, words, rows)
    for place in kind.places:
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


def _tooltip(kind: _Kind, words: CellWords, rows: list[Spec]) -> list[Spec]:
    number_format = share_format(np.array([row.get(kind.field, np.nan) for row in rows]))
    shown = [("name", words.row, ""), (kind.field, words.value, number_format)]
    shown += [detail for detail in words.details if any(detail[0] in row for row in rows)]
    return tooltip(*shown)
