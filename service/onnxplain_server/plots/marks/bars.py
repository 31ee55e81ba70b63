"""Bar charts with error bars: a bar per row, or a group of bars per row, one for each output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.plots.claims.signs import SIGNS, sign, sign_layers
from onnxplain_server.plots.elements.chart import tooltip
from onnxplain_server.plots.elements.labels import distinguish, quoted, short_names
from onnxplain_server.plots.elements.number_formats import (
    data_number,
    drawable,
    share_format,
    spell_among,
)
from onnxplain_server.plots.elements.style import (
    BAR_STEP,
    GROUPED_BAR_STEP,
    PLAIN_COLOUR,
    PLOT_WIDTH,
    SERIES_COLOURS,
    Spec,
)

JOINT = " × "
LABEL_LENGTH = 42
"""Characters of a label on an axis."""
NO_SPREAD = "–"
"""Text where a bar has no error bar."""
_LINE_HEIGHT = 15  # pixels of a label
_MAX_ENTRIES = 4  # of a group of features, in a label
_LONG_NUMBER = 1e9  # is written with ten digits
_TITLE_WIDTH = 560  # pixels; some fonts are wider than ours
_ERROR_COLOUR = "#202124"
_BORDER_WIDTH = 4  # pixels


@dataclass(frozen=True, slots=True, eq=False)
class ErrorBars:
    """Error bars: intervals, or standard errors; none is drawn where they are not finite.

    Attributes
    ----------
    low, high : (n_rows, n_outputs)
    confidence : float
        Level of the interval; 0: one standard error to either side.
    """

    low: Matrix
    high: Matrix
    confidence: float = 0.0

    def take(self, rows: Indices, columns: Indices) -> ErrorBars:
        """Keep these rows and outputs, without ends that no scale can hold."""
        selection = np.ix_(rows, columns)
        low, high = drawable(self.low[selection]), drawable(self.high[selection])
        return ErrorBars(low, high, self.confidence)


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Data of a bar chart, from top to bottom.

    Attributes
    ----------
    names, labels, outputs : tuple of str
        Labels are names cut to fit an axis.
    columns : tuple of int
        Positions of the outputs in the result.
    values : (n_labels, n_outputs)
    total, nonzero : int
        Number of statistics, and of those that are not 0 for all outputs.
    broken : int
        Number of values of these outputs that are not finite; they have no bar.
    errors : ErrorBars or None
    p_values : (n_labels, n_outputs), or None
        P-values of tests, for tooltips.
    directions : (n_labels, n_outputs), or None
        1 where the prediction rises with the feature, -1 where it falls, 0 where neither is known.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    outputs: tuple[str, ...]
    columns: tuple[int, ...]
    values: Matrix
    total: int
    nonzero: int
    broken: int
    errors: ErrorBars | None = None
    p_values: Matrix | None = None
    directions: Matrix | None = None


@dataclass(frozen=True, slots=True)
class BarTitles:
    """Titles of rows, values and the bars within a row, for tooltips and legend."""

    row: str
    value: str = "strength"
    series: str = "output"


def labels_of(rows: Sequence[tuple[str, ...]], joint: str = JOINT) -> tuple[str, ...]:
    """Join the feature names of each row, shortened where they are too long; of many, the first."""
    short = short_names((name for features in rows for name in features), LABEL_LENGTH)
    joined = []
    for features in rows:
        names = [quoted(short[name], joint) for name in features]
        if len(names) > _MAX_ENTRIES:
            names = [*names[: _MAX_ENTRIES - 1], f"{len(names) - _MAX_ENTRIES + 1} more"]
        joined.append(joint.join(names))
    return distinguish(joined)


def in_lines(text: str, joint: str = JOINT) -> str:
    """Break a long label behind each sign that joins names."""
    is_long = len(text) > LABEL_LENGTH
    return text.replace(joint, f"{joint.rstrip()}\n") if is_long else text


def _tick_count(values: Matrix) -> int:
    """Return the ticks of an axis, as many as the digits of its numbers leave room for."""
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    return 2 if largest >= _LONG_NUMBER else 5


def draw(bars: Bars, titles: BarTitles, axis_title: str) -> Spec:
    """Draw a bar chart: labelled bars for one output, grouped bars for several."""
    is_grouped = len(bars.outputs) > 1
    number_format = share_format(bars.values)
    encoding: Spec = {
        "y": {
            "field": "label",
            "type": "nominal",
            "sort": list(bars.labels),
            "axis": {"title": None, "domain": False, "ticks": False, **_line_axis(bars)},
        },
        "x": {
            "field": "value",
            "type": "quantitative",
            "axis": {
                "title": axis_title,
                "titleLimit": _TITLE_WIDTH,
                "tickCount": _tick_count(bars.values),
                "format": _axis_format(number_format),
            },
            **({} if bars.nonzero else {"scale": {"domain": [0, 1]}}),
        },
        "tooltip": _tooltip(bars, titles, number_format),
    }
    return {
        "data": {"values": rows(bars)},
        "width": PLOT_WIDTH,
        **(_grouped(bars, titles, encoding) if is_grouped else _labelled(bars, encoding)),
    }


def _tooltip(bars: Bars, titles: BarTitles, number_format: str) -> list[Spec]:
    series = [("output", titles.series, "")] if len(bars.outputs) > 1 else []
    value = ("value", titles.value, number_format)
    p_value = [] if bars.p_values is None else [("p", "p-value", ",.3~r")]
    errors = _error_fields(bars.errors)
    direction = [] if bars.directions is None else [("direction", "prediction", "")]
    return tooltip(("feature", titles.row, ""), *series, value, *errors, *p_value, *direction)


def _error_fields(errors: ErrorBars | None) -> list[tuple[str, str, str]]:
    """Return the tooltip field of error bars."""
    if errors is None:
        return []
    percent = f"{100 * errors.confidence:.3g} % interval"
    return [("spread", percent if errors.confidence else "standard error", "")]


def rows(bars: Bars) -> list[Spec]:
    """Return the data rows: one for each bar whose value is finite."""
    return [
        {
            "label": bars.labels[row],
            "feature": bars.names[row],
            "output": bars.outputs[column],
            "value": data_number(value),
            "text": _number(bars, row, column),
            **({} if bars.directions is None else sign(_direction(bars, row, column))),
            **({} if bars.errors is None else _error(value, bars.errors, row, column)),
            **({} if bars.p_values is None else _p_value(bars.p_values[row, column])),
        }
        for row, values in enumerate(bars.values)
        for column, value in enumerate(values)
        if np.isfinite(value)
    ]


def _number(bars: Bars, row: int, column: int) -> str:
    """Write the number beside a bar, after the sign of its direction."""
    number = spell_among(bars.values[row, column], bars.values)
    return f"{SIGNS[_direction(bars, row, column)]} {number}".strip()


def _direction(bars: Bars, row: int, column: int) -> int:
    return 0 if bars.directions is None else int(bars.directions[row, column])


def _p_value(p_value: float) -> Spec:
    return {"p": data_number(p_value)} if np.isfinite(p_value) else {}


def _error(value: float, errors: ErrorBars, row: int, column: int) -> Spec:
    """Return the ends of an error bar, and the right end of bar and error bar together."""
    low, high = float(errors.low[row, column]), float(errors.high[row, column])
    if not np.isfinite(high - low):
        return {"end": data_number(max(value, 0.0)), "spread": NO_SPREAD}
    others = np.array([low, high, value])
    spread = [low, high] if errors.confidence else [(high - low) / 2]
    ends = {"low": low, "high": high, "end": max(high, value, 0.0)}
    return {
        **{name: data_number(end) for name, end in ends.items()},
        "spread": " to ".join(spell_among(end, others) for end in spread),
    }


def _labelled(bars: Bars, encoding: Spec) -> Spec:
    """Draw one bar per row, with its number at the end."""
    number: Spec = {"text": {"field": "text"}}
    if bars.errors is not None:
        number["x"] = {"field": "end", "type": "quantitative"}
    return {
        "height": {"step": max(BAR_STEP, _label_height(bars))},
        "encoding": encoding,
        "layer": [
            {"mark": {"type": "bar", "color": PLAIN_COLOUR, "height": {"band": 0.72}}},
            *_error_layers(bars),
            {
                "mark": {"type": "text", "align": "left", "dx": 5, "color": "#5f6368"},
                "encoding": number,
            },
        ],
    }


def _grouped(bars: Bars, titles: BarTitles, encoding: Spec) -> Spec:
    """Draw one bar per output, grouped by row."""
    outputs = list(bars.outputs)
    output: Spec = {"field": "output", "type": "nominal", "sort": outputs}
    scale = {"domain": outputs, "range": list(SERIES_COLOURS[: len(outputs)])}
    colour = {"color": {**output, "scale": scale, "legend": {"title": titles.series}}}
    place = {"x": {"field": "end", "type": "quantitative"}} if bars.errors is not None else {}
    over = [*_error_layers(bars), *sign_layers(bars.directions, place)]
    return {
        "height": {"step": _step(bars), "for": "offset"},
        "encoding": {**encoding, "yOffset": output, **({} if over else colour)},
        **({"layer": [{"mark": "bar", "encoding": colour}, *over]} if over else {"mark": "bar"}),
    }


def _error_layers(bars: Bars) -> list[Spec]:
    """Draw error bars, with a white border where it is not wider than long; none if not finite."""
    if bars.errors is None or not np.isfinite(bars.errors.high).any():
        return []
    ends = {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}}
    values = [bars.values, bars.errors.low, bars.errors.high, np.zeros((1, 1))]
    finite = np.concatenate([part[np.isfinite(part)] for part in values])
    shortest = data_number(float(np.ptp(finite)) * _BORDER_WIDTH / PLOT_WIDTH)
    is_valid = "isValid(datum.low)"
    is_long = f"{is_valid} && datum.high - datum.low > {shortest}"
    border = {"color": "white", "strokeWidth": _BORDER_WIDTH}
    line = {"color": _ERROR_COLOUR, "strokeWidth": 1.5}
    return [
        {"transform": [{"filter": shown}], "mark": {"type": "rule", **style}, "encoding": ends}
        for style, shown in ((border, is_long), (line, is_valid))
    ]


def _step(bars: Bars) -> int:
    """Return the height of a bar: smaller if there are too many for a screen."""
    height = min(GROUPED_BAR_STEP, max(4, 640 // bars.values.size))
    return max(height, -(-_label_height(bars) // len(bars.outputs)))


def _label_height(bars: Bars) -> int:
    """Return the pixels that the label with the most lines takes."""
    return _LINE_HEIGHT * (1 + max(label.count("\n") for label in bars.labels))


def _line_axis(bars: Bars) -> Spec:
    """Break labels into their lines, around the middle; they are short enough for the whole."""
    offset = (_LINE_HEIGHT - _label_height(bars)) // 2
    lines = {"labelExpr": r"split(datum.label, '\n')", "labelOffset": offset}
    return {"labelLimit": 0, **(lines if offset else {})}


def _axis_format(number_format: str) -> str:
    """Return a format with enough digits for ticks; d3's own choice rounds some, such as 0.12."""
    return ",.4~r" if number_format.endswith("r") else ".3~e"
