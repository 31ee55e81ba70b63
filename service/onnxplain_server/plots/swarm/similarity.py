"""Similarity plot of swarm: a line per class, and a pair of half discs for every two classes."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.methods.swarm import Result
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import distinguish, shorten_apart
from onnxplain_server.plots.elements.number_formats import data_number
from onnxplain_server.plots.elements.style import MOST_SERIES, SERIES_COLOURS, Spec
from onnxplain_server.plots.units.naming import class_phrase

_TITLE = "Which classes are taken for each other"
_SHARES = "Shares of rows, over all weights and features, weights near 0 counting most"
_ROW, _COLUMN, _RADIUS = 70, 74, 31
_NARROWEST = 400  # pixels
_FAINT, _LINK = "#e8eaed", "#9aa0a6"


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw the similarity of classes; none for two classes, which leave nothing to compare."""
    if len(result.class_names) < 3 or not result.similarity.size:
        return ()
    return (_plot(result, _most_confused(result)),)


def _most_confused(result: Result) -> Indices:
    """Return the classes with the largest similarities to others, in their order."""
    others = np.nan_to_num(result.similarity * (1 - np.eye(len(result.similarity))))
    total = others.sum(axis=0) + others.sum(axis=1)
    classes: Indices = np.sort(np.argsort(-total, kind="stable")[:MOST_SERIES])
    return classes


def _plot(result: Result, chosen: Indices) -> Plot:
    full_names = distinguish(result.class_names[k] for k in chosen)
    names = list(shorten_apart(full_names, 42))
    pairs = list(combinations(range(len(chosen)), 2))
    rows = [
        _segment(result, chosen, names, pair, column, k)
        for column, pair in enumerate(pairs)
        for k in (0, 1)
    ]
    drawn = [row for row in rows if row["value"] is not None]
    largest = max((row["value"] for row in drawn), default=0.0)
    remarks = [_reading(largest), _SHARES, *_left_out(result, chosen)]
    description = " ".join(f"{s}." for s in [f"{_TITLE}: {_finding(result)}", *remarks])
    body = _body(names, len(pairs), drawn, _links(names, pairs), largest)
    return finish("swarm-similarity", _TITLE, [_finding(result), *remarks], description, body)


def _reading(largest: float) -> str:
    return (
        "Half discs lie on the line of the class whose rows are moved, and point to the class "
        f"that they are taken for; the largest stands for {largest:.2g}"
    )


def _left_out(result: Result, chosen: Indices) -> list[str]:
    if len(chosen) == len(result.class_names):
        return []
    return [f"{len(chosen)} of {len(result.class_names)} classes, those confused most"]


def _finding(result: Result) -> str:
    others = np.where(np.eye(len(result.similarity)) > 0, np.nan, result.similarity)
    if not np.nan_to_num(others).any():
        return "No class is taken for another"
    source, target = np.unravel_index(np.nanargmax(others), others.shape)
    first, second = (class_phrase(result.class_names[k]) for k in (source, target))
    return (
        f"{first[0].upper() + first[1:]} is taken for {second} most: {others[source, target]:.2g}"
    )


def _segment(  # noqa: PLR0917 - position, direction and value of a half disc
    result: Result,
    chosen: Indices,
    names: list[str],
    pair: tuple[int, int],
    column: int,
    direction: int,
) -> Spec:
    source, target = pair if direction == 0 else pair[::-1]
    value = float(result.similarity[chosen[source], chosen[target]])
    return {
        "pair": column,
        "class": names[source],
        "target": names[target],
        "value": data_number(value) if math.isfinite(value) else None,
        "down": direction == 0,
    }


def _links(names: list[str], pairs: list[tuple[int, int]]) -> list[Spec]:
    return [
        {"pair": column, "class": names[first], "end": names[second]}
        for column, (first, second) in enumerate(pairs)
    ]


def _body(
    names: list[str], pair_count: int, rows: list[Spec], links: list[Spec], largest: float
) -> Spec:
    x: Spec = {
        "field": "pair",
        "type": "quantitative",
        "scale": {"domain": [-0.5, pair_count - 0.5], "nice": False},
        "axis": None,
        "stack": None,  # arcs of one line would be put one after the other
    }
    y: Spec = {
        "field": "class",
        "type": "nominal",
        "sort": names,
        "axis": {"title": None, "grid": True, "gridColor": _FAINT, "gridWidth": 6,
                 "domain": False, "ticks": False, "labelLimit": 0},
        "scale": {"type": "point", "padding": 0.5, "domain": names},
    }  # fmt: skip
    return {
        "width": max(_NARROWEST, _COLUMN * pair_count),
        "height": _ROW * len(names),
        "layer": [
            {
                "data": {"values": links},
                "mark": {"type": "rule", "color": _LINK, "strokeWidth": 1.5},
                "encoding": {"x": x, "y": y, "y2": {"field": "end"}},
            },
            *(_arcs(names, rows, x, y, largest, down=down) for down in (True, False)),
            {
                "data": {"values": rows},
                "mark": {"type": "circle", "color": _LINK, "size": 20, "opacity": 1},
                "encoding": {"x": x, "y": y},
            },
        ],
    }


def _arcs(
    names: list[str], rows: list[Spec], x: Spec, y: Spec, largest: float, *, down: bool
) -> Spec:
    """Draw half discs that point down, or up; angles are clockwise from the top."""
    start = math.pi / 2 if down else 3 * math.pi / 2
    colours = {"domain": names, "range": list(SERIES_COLOURS[: len(names)])}
    radius = {
        "field": "value",
        "type": "quantitative",
        "scale": {"type": "linear", "domain": [0, largest or 1], "range": [0, _RADIUS]},
    }
    return {
        "data": {"values": [row for row in rows if row["down"] == down]},
        "mark": {"type": "arc", "theta": start, "theta2": start + math.pi, "opacity": 0.85},
        "encoding": {
            "x": x,
            "y": y,
            "radius": radius,
            "color": {"field": "class", "type": "nominal", "scale": colours, "legend": None},
            "tooltip": tooltip(("class", "class", ""), ("target", "taken for", ""),
                               ("value", "similarity", ".3~r")),
        },
    }  # fmt: skip
