"""Strengths as bars, strongest first: one for each row, or one for each output in a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.arrays import Matrix
from onnxplain_server.plots.chart import tooltip
from onnxplain_server.plots.style import (
    BAR_STEP,
    GROUPED_BAR_STEP,
    PLAIN_COLOUR,
    PLOT_WIDTH,
    SERIES_COLOURS,
    Spec,
)
from onnxplain_server.plots.words import clean, data_number, share_format, shorten_inside

_LONGEST_LABEL = 42  # letters


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """What one plot shows, strongest first.

    Attributes
    ----------
    names, labels, outputs : tuple of str
        Names are whole, labels short enough for an axis.
    columns : tuple of int
        Positions of the outputs in the result.
    values : (n_labels, n_outputs)
    found, nonzero : int
        How many statistics there are, and how many are not 0 throughout.
    broken : int
        How many numbers of those outputs are not finite; they have no bar.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    outputs: tuple[str, ...]
    columns: tuple[int, ...]
    values: Matrix
    found: int
    nonzero: int
    broken: int


def label(features: tuple[str, ...]) -> str:
    """Join names, each cut to its share where they are too long together."""
    whole = [clean(feature) for feature in features]
    room = _LONGEST_LABEL // len(whole)
    fits = len(":".join(whole)) <= _LONGEST_LABEL
    return ":".join(whole if fits else [shorten_inside(name, room) for name in whole])


def draw(bars: Bars, noun: str, axis_title: str) -> Spec:
    """Draw the bars; `noun` is what a row is about, for tooltips."""
    several = len(bars.outputs) > 1
    number_format = share_format(bars.values)
    described = [("feature", noun, ""), ("value", "strength", number_format)]
    if several:
        described.insert(1, ("output", "output", ""))
    encoding: Spec = {
        "y": {
            "field": "label",
            "type": "nominal",
            "sort": list(bars.labels),
            "axis": {"title": None, "domain": False, "ticks": False, "labelLimit": 300},
        },
        "x": {
            "field": "value",
            "type": "quantitative",
            "axis": {"title": axis_title, "tickCount": 5, "format": _axis_format(number_format)},
            **({} if bars.nonzero else {"scale": {"domain": [0, 1]}}),
        },
        "tooltip": tooltip(*described),
    }
    return {
        "data": {"values": _rows(bars)},
        "width": PLOT_WIDTH,
        **(_grouped(bars, encoding) if several else _labelled(encoding, number_format)),
    }


def _rows(bars: Bars) -> list[Spec]:
    return [
        {"label": label, "feature": name, "output": output, "value": data_number(value)}
        for label, name, row in zip(bars.labels, bars.names, bars.values, strict=True)
        for output, value in zip(bars.outputs, row, strict=True)
        if np.isfinite(value)
    ]


def _labelled(encoding: Spec, number_format: str) -> Spec:
    """One bar a row, with its number at the end."""
    number = {"field": "value", "type": "quantitative", "format": number_format}
    return {
        "height": {"step": BAR_STEP},
        "encoding": encoding,
        "layer": [
            {"mark": {"type": "bar", "color": PLAIN_COLOUR, "height": {"band": 0.72}}},
            {
                "mark": {"type": "text", "align": "left", "dx": 5, "color": "#5f6368"},
                "encoding": {"text": number},
            },
        ],
    }


def _grouped(bars: Bars, encoding: Spec) -> Spec:
    """One bar for each output, side by side in a row."""
    outputs = list(bars.outputs)
    output: Spec = {"field": "output", "type": "nominal", "sort": outputs}
    scale = {"domain": outputs, "range": list(SERIES_COLOURS[: len(outputs)])}
    return {
        "height": {"step": _step(bars), "for": "offset"},
        "mark": "bar",
        "encoding": {
            **encoding,
            "yOffset": output,
            "color": {**output, "scale": scale, "legend": {"title": "output"}},
        },
    }


def _step(bars: Bars) -> int:
    """Height of a bar: smaller where many would not fit on a screen."""
    return min(GROUPED_BAR_STEP, max(4, 640 // bars.values.size))


def _axis_format(number_format: str) -> str:
    return ",~r" if number_format.endswith("r") else "~e"
