"""Numbers as bars: one for each row, or one for each output in a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.plots.elements.chart import tooltip
from onnxplain_server.plots.elements.labels import clean, data_number, share_format, shorten_inside
from onnxplain_server.plots.elements.style import (
    BAR_STEP,
    GROUPED_BAR_STEP,
    PLAIN_COLOUR,
    PLOT_WIDTH,
    SERIES_COLOURS,
    Spec,
)

_LONGEST_LABEL = 42  # letters
_WIDEST_TITLE = 560  # pixels; some fonts are wider than ours
_LINE_COLOUR = "#202124"


@dataclass(frozen=True, slots=True, eq=False)
class ErrorBars:
    """Lines over bars: how far a number is to be trusted. One that is not finite draws none.

    Attributes
    ----------
    low, high : (n_rows, n_outputs)
    confidence : float
        Level of the interval; 0: a standard error to either side.
    """

    low: Matrix
    high: Matrix
    confidence: float = 0.0

    def take(self, rows: Indices, columns: Indices) -> ErrorBars:
        """Keep these rows and outputs."""
        kept = np.ix_(rows, columns)
        return ErrorBars(self.low[kept], self.high[kept], self.confidence)


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """What one plot shows, from top to bottom.

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
    lines : ErrorBars or None
        Over the bars.
    p_values : (n_labels, n_outputs), or None
        Of tests, for tooltips.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    outputs: tuple[str, ...]
    columns: tuple[int, ...]
    values: Matrix
    found: int
    nonzero: int
    broken: int
    lines: ErrorBars | None = None
    p_values: Matrix | None = None


@dataclass(frozen=True, slots=True)
class BarTitles:
    """What rows, the bars within a row, and numbers are about."""

    row: str
    value: str = "strength"
    series: str = "output"


def label(features: tuple[str, ...], joint: str = ":") -> str:
    """Join names, each cut to its share where they are too long together."""
    whole = [clean(feature) for feature in features]
    room = _LONGEST_LABEL // len(whole)
    fits = len(joint.join(whole)) <= _LONGEST_LABEL
    return joint.join(whole if fits else [shorten_inside(name, room) for name in whole])


def draw(bars: Bars, words: BarTitles, axis_title: str) -> Spec:
    """Draw the bars."""
    several = len(bars.outputs) > 1
    number_format = share_format(bars.values)
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
            "axis": {
                "title": axis_title,
                "titleLimit": _WIDEST_TITLE,
                "tickCount": 5,
                "format": _axis_format(number_format),
            },
            **({} if bars.nonzero else {"scale": {"domain": [0, 1]}}),
        },
        "tooltip": _tooltip(bars, words, number_format),
    }
    return {
        "data": {"values": _rows(bars)},
        "width": PLOT_WIDTH,
        **(_grouped(bars, words, encoding) if several else _labelled(bars, encoding)),
    }


def _tooltip(bars: Bars, words: BarTitles, number_format: str) -> list[Spec]:
    series = [("output", words.series, "")] if len(bars.outputs) > 1 else []
    value = ("value", words.value, number_format)
    tested = [] if bars.p_values is None else [("p", "p-value", ",.3~r")]
    return tooltip(
        ("feature", words.row, ""), *series, value, *_told(bars.lines, number_format), *tested
    )


def _told(lines: ErrorBars | None, number_format: str) -> list[tuple[str, str, str]]:
    """What tooltips say of the lines."""
    if lines is None:
        return []
    if not lines.confidence:
        return [("error", "standard error", number_format)]
    percent = f"{100 * lines.confidence:.3g} %"
    return [("low", f"{percent} from", number_format), ("high", f"{percent} to", number_format)]


def _rows(bars: Bars) -> list[Spec]:
    return [
        {
            "label": bars.labels[row],
            "feature": bars.names[row],
            "output": bars.outputs[column],
            "value": data_number(value),
            **({} if bars.lines is None else _line(value, bars.lines, row, column)),
            **({} if bars.p_values is None else _tested(bars.p_values[row, column])),
        }
        for row, values in enumerate(bars.values)
        for column, value in enumerate(values)
        if np.isfinite(value)
    ]


def _tested(p_value: float) -> Spec:
    return {"p": data_number(p_value)} if np.isfinite(p_value) else {}


def _line(value: float, lines: ErrorBars, row: int, column: int) -> Spec:
    """Give the ends of the line over a bar, and the right end of both."""
    low, high = float(lines.low[row, column]), float(lines.high[row, column])
    if not np.isfinite(high - low):
        return {"end": data_number(max(value, 0.0))}
    ends = {"low": low, "high": high, "end": max(high, value, 0.0)}
    if not lines.confidence:
        ends["error"] = (high - low) / 2
    return {name: data_number(end) for name, end in ends.items()}


def _labelled(bars: Bars, encoding: Spec) -> Spec:
    """One bar a row, with its number at the end."""
    number: Spec = {
        "text": {"field": "value", "type": "quantitative", "format": share_format(bars.values)}
    }
    if bars.lines is not None:
        number["x"] = {"field": "end", "type": "quantitative"}
    return {
        "height": {"step": BAR_STEP},
        "encoding": encoding,
        "layer": [
            {"mark": {"type": "bar", "color": PLAIN_COLOUR, "height": {"band": 0.72}}},
            *_lines(bars),
            {
                "mark": {"type": "text", "align": "left", "dx": 5, "color": "#5f6368"},
                "encoding": number,
            },
        ],
    }


def _grouped(bars: Bars, words: BarTitles, encoding: Spec) -> Spec:
    """One bar for each output, side by side in a row."""
    outputs = list(bars.outputs)
    output: Spec = {"field": "output", "type": "nominal", "sort": outputs}
    scale = {"domain": outputs, "range": list(SERIES_COLOURS[: len(outputs)])}
    colour = {"color": {**output, "scale": scale, "legend": {"title": words.series}}}
    lines = _lines(bars)
    return {
        "height": {"step": _step(bars), "for": "offset"},
        "encoding": {**encoding, "yOffset": output, **({} if lines else colour)},
        **({"layer": [{"mark": "bar", "encoding": colour}, *lines]} if lines else {"mark": "bar"}),
    }


def _lines(bars: Bars) -> list[Spec]:
    """Lay lines over the bars, from error below to error above, with a white border."""
    if bars.lines is None or not np.isfinite(bars.lines.high).any():
        return []
    ends = {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}}
    known = [{"filter": "isValid(datum.low)"}]
    looks = ({"color": "white", "strokeWidth": 4}, {"color": _LINE_COLOUR, "strokeWidth": 1.5})
    return [
        {"transform": known, "mark": {"type": "rule", **look}, "encoding": ends} for look in looks
    ]


def _step(bars: Bars) -> int:
    """Height of a bar: smaller where many would not fit on a screen."""
    return min(GROUPED_BAR_STEP, max(4, 640 // bars.values.size))


def _axis_format(number_format: str) -> str:
    """Give ticks digits enough; how many d3 finds by itself falls short by rounding, as at 0.12."""
    return ",.4~r" if number_format.endswith("r") else ".3~e"
