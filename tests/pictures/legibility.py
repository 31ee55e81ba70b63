"""Finds text in an SVG by Vega that overlaps other text, is cut or outside; and empty thirds.

Widths are those of vl-convert's own fonts: Vega places text marks in it, and rectangles that take
their ends from the bounds of these marks.
"""

import functools
import itertools
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import vl_convert

SVG = "{http://www.w3.org/2000/svg}"
ASCENT, DESCENT = 0.72, 0.2
"""Heights above and below the baseline, in font sizes: those of capitals and of letters like g."""
LEAST_LETTERS = 12
"""Pixels."""
TOLERANCE = 1.0
"""Pixels that boxes may share."""

_MOVE = re.compile(r"translate\(([-\d.e]+),([-\d.e]+)\)")
_TURN = re.compile(r"rotate\(([-\d.e]+)\)")
_FONT = ("font-family", "font-size", "font-weight", "font-style")
_SI_NUMBER = re.compile(r"[-−]?\d+(\.\d+)?[yzafpnµmkMGTPEZY]")


@dataclass(frozen=True)
class Line:
    """One line of text: its content, its font, and how to get from it to the picture.

    Attributes
    ----------
    anchor : str
        "start", "middle" or "end".
    to_picture : (2, 3)
        Affine map from the place of the anchor to pixels of the picture.
    """

    content: str
    font: tuple[str, float, str, str]
    anchor: str
    to_picture: np.ndarray


def problems(svg: str, spec: dict[str, Any]) -> list[str]:
    """Name texts that overlap, are cut, outside or small, and an empty third."""
    root = ET.fromstring(svg)  # noqa: S314 - what vl-convert wrote
    lines = [line for line in _lines(root, np.eye(3)) if line.content.strip()]
    boxes = [_box(line) for line in lines]
    size = np.array([float(part) for part in root.get("viewBox", "").split()[2:]])
    source = json.dumps(spec, ensure_ascii=False)
    found = [
        f"{one.content!r} overlaps {other.content!r}"
        for (one, a), (other, b) in itertools.combinations(zip(lines, boxes, strict=True), 2)
        if _overlap(a, b)
    ]
    for line, box in zip(lines, boxes, strict=True):
        if (box < -TOLERANCE).any() or (box > size + TOLERANCE).any():
            found.append(f"{line.content!r} leaves the picture")
        if "…" in line.content and not _is_ours(line.content, source):
            found.append(f"{line.content!r} is cut by Vega")
        if _SI_NUMBER.fullmatch(line.content):
            found.append(f"{line.content!r} is a number with a prefix")
        if line.font[1] < LEAST_LETTERS:
            found.append(f"{line.content!r} has letters of {line.font[1]:g} pixels")
    names = {_plain(line) for part in ("text", "subtitle") for line in spec["title"][part]}
    drawn = [
        box for line, box in zip(lines, boxes, strict=True) if _plain(line.content) not in names
    ]
    right = max([box[:, 0].max() for box in drawn] + list(_frames(root, np.eye(3))), default=0.0)
    if right < 2 / 3 * size[0]:
        found.append(
            f"the right {1 - right / size[0]:.0%} of the picture are empty below the title"
        )
    return found


def _plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def _frames(node: ET.Element, to_picture: np.ndarray) -> Iterator[float]:
    """Give the right ends of plots, which Vega draws on a background each."""
    to_picture = to_picture @ _affine(node.get("transform", ""))
    width = re.match(r"M[-\d.]+,[-\d.]+h([\d.]+)v", node.get("d", ""))
    if node.get("class") == "background" and width:
        yield float(to_picture[0, 2] + float(width[1]))
    for child in node:
        yield from _frames(child, to_picture)


def _is_ours(content: str, source: str) -> bool:
    """Tell whether a text with an ellipsis stands in the specification as it is drawn."""
    words = [word for word in content.split() if "…" in word]
    return all(json.dumps(word, ensure_ascii=False)[1:-1] in source for word in words)


def _lines(node: ET.Element, to_picture: np.ndarray) -> Iterator[Line]:
    """Walk an SVG that Vega drew, with translations and rotations added up."""
    to_picture = to_picture @ _affine(node.get("transform", ""))
    if node.get("opacity") == "0" or node.get("display") == "none":
        return
    if node.tag == f"{SVG}text":
        spans = [child for child in node if child.tag == f"{SVG}tspan"]
        down = 0.0
        for span in spans or [node]:
            down += float(span.get("dy", 0)) if spans else 0.0
            font = tuple(node.get(name, "") for name in _FONT)
            size = float(font[1].removesuffix("px"))
            yield Line(
                "".join(span.itertext()),
                (font[0], size, font[2], font[3]),
                node.get("text-anchor", "start"),
                (to_picture @ _shift(0, down))[:2],
            )
        return
    for child in node:
        yield from _lines(child, to_picture)


def _affine(moves: str) -> np.ndarray:
    found = np.eye(3)
    if move := _MOVE.search(moves):
        found = found @ _shift(float(move[1]), float(move[2]))
    if turn := _TURN.search(moves):
        angle = np.radians(float(turn[1]))
        cos, sin = np.cos(angle), np.sin(angle)
        found = found @ np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    return found


def _shift(x: float, y: float) -> np.ndarray:
    return np.array([[1, 0, x], [0, 1, y], [0, 0, 1]])


def _box(line: Line) -> np.ndarray:
    """Return the corners of a line in the picture, in turn: (4, 2)."""
    width, size = width_of(line.content, line.font), line.font[1]
    left = {"start": 0.0, "middle": -width / 2, "end": -width}[line.anchor]
    top, bottom = -ASCENT * size, DESCENT * size
    corners = np.array([(left, top), (left + width, top), (left + width, bottom), (left, bottom)])
    placed: np.ndarray = np.column_stack([corners, np.ones(4)]) @ line.to_picture.T
    return placed


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Tell whether two rectangles share more than the tolerance, along each of their sides."""
    for corners in (a, b):
        for side in (corners[1] - corners[0], corners[2] - corners[1]):
            if not (length := np.hypot(*side)):
                return False
            first, second = (box @ side / length for box in (a, b))
            if min(first.max(), second.max()) - max(first.min(), second.min()) <= TOLERANCE:
                return False
    return True


@functools.cache
def width_of(content: str, font: tuple[str, float, str, str]) -> float:
    """Return the width of a text in pixels, as vl-convert draws it."""
    return widths([content], font)[0]


def widths(contents: Sequence[str], font: tuple[str, float, str, str]) -> list[float]:
    """Return the widths of texts of one font in pixels."""
    family, size, weight, style = font
    look = {"font": family, "fontSize": size, "fontWeight": weight, "fontStyle": style}
    marks = {name: {"value": value} for name, value in look.items() if value}
    spec = {
        "data": [{"name": "texts", "values": [{"t": content} for content in contents]}],
        "marks": [
            {
                "type": "text",
                "name": "placed",
                "from": {"data": "texts"},
                "encode": {"enter": {"text": {"field": "t"}, "limit": {"value": 0}, **marks}},
            },
            {
                "type": "rect",
                "from": {"data": "placed"},
                "encode": {
                    "enter": {
                        "x": {"value": 0},
                        "width": {"signal": "datum.bounds.x2 - datum.bounds.x1"},
                        "height": {"value": 1},
                        "fill": {"value": "red"},
                    }
                },
            },
        ],
    }
    svg = vl_convert.vega_to_svg(json.dumps(spec))
    paths = re.findall(r'd="M0,0h([\d.]+)v1', svg)
    assert len(paths) == len(contents), svg
    return [float(path) for path in paths]
