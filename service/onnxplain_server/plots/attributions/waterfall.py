"""A row's values as a waterfall from the average prediction to its own."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.methods.attributions import Result
from onnxplain_server.plots.attributions.words import player_at, result_kind, row_name
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import clean, distinguish, shorten
from onnxplain_server.plots.elements.number_formats import (
    data_number,
    drawable,
    scale_format,
    share_format,
    spell,
    spell_among,
)
from onnxplain_server.plots.elements.style import BAR_STEP, PLOT_WIDTH, SERIES_COLOURS, Spec
from onnxplain_server.plots.units.prediction_units import value_unit

MOST_ROWS = 6
"""Rows that are drawn one by one."""
_MOST_BARS = 12
_LABEL_LENGTH = 44
_UP, _DOWN = SERIES_COLOURS[5], SERIES_COLOURS[0]
_RISE, _FALL = "raises the prediction", "lowers the prediction"


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw each row for the output that its values move most: "attributions-row-3".

    Of rows given by their values: "attributions-given-row-0", and "attributions-given-row".
    """
    return tuple(_draw(result, row) for row in range(result.explained_row_count))


def _draw(result: Result, row: int) -> Plot:
    values = drawable(result.values[row])
    output = int(np.argmax(np.nan_to_num(np.abs(values)).sum(axis=0)))
    own = np.nan_to_num(values[:, output])
    base, prediction = result.base_values[output], result.predictions[row, output]
    named = row_name(result.row_indices, row, result.explained_row_count)
    name = shorten(clean(result.output_names[output]))
    kind = result_kind(result)
    title = f"{kind} of {name} for {named}"
    scale = np.array([base, prediction])
    told = [spell(each, scale_format(scale)) for each in scale]
    remarks = [f"Prediction {told[1]}, average of the background {told[0]}"]
    if not len(result.additivity_errors):
        remarks.append("Banzhaf values add up to no known sum: bars start at the average")
    if len(result.output_names) > 1:
        remarks.append(f"Output with the largest values of {len(result.output_names)}")
    if result.are_estimated:
        remarks.append("Lines: ± 1 standard error from the pairs of random orders")
    bars = _bars(result, row, output, own)
    first = bars[0]
    found = f"{title}: {first['label']} has the largest value, {first['text']}"
    description = " ".join(f"{sentence}." for sentence in [found, *remarks])
    body = _body(bars, float(base), float(prediction), value_unit(result.output_names))
    plot = f"attributions-{named.removeprefix('the ').replace(' ', '-').replace(',', '')}"
    return finish(plot, title, remarks, description, body)


def _bars(result: Result, row: int, output: int, own: Vector) -> list[Spec]:
    """Lay bars end to end, the largest on top; the smallest ones are one bar."""
    order = np.argsort(-np.abs(own), kind="stable")
    is_cut = len(order) > _MOST_BARS
    shown = order[: _MOST_BARS - 1] if is_cut else order
    labels = [shorten(player_at(result, p, row), _LABEL_LENGTH) for p in shown]
    values = [float(own[p]) for p in shown]
    errors = result.standard_errors[row, shown, output].tolist() if result.are_estimated else []
    if is_cut:
        labels.append(f"{len(order) - len(shown)} other features")
        values.append(float(own[order[_MOST_BARS - 1 :]].sum()))
    adds_up = len(result.additivity_errors) > 0
    base = float(result.base_values[output])
    bars, others = [], np.array(values)
    for place, (label, value) in enumerate(zip(distinguish(labels), values, strict=True)):
        start = base + (sum(values[place + 1 :]) if adds_up else 0.0)
        end = start + value
        sign = "+" if value > 0 else ""
        spread = (
            {"low": end - errors[place], "high": end + errors[place]} if place < len(errors) else {}
        )
        bars.append({
            "label": label,
            "value": data_number(value),
            "start": data_number(start),
            "end": data_number(end),
            "right": data_number(max(start, end, *spread.values())),
            "text": f"{sign}{spell_among(value, others)}",
            "direction": _RISE if value >= 0 else _FALL,
            **{name: data_number(each) for name, each in spread.items()},
        })  # fmt: skip
    return bars


def _axes(labels: list[str], unit: str) -> tuple[Spec, Spec]:
    """Return the axes of bars and of predictions."""
    axis = {"title": None, "domain": False, "ticks": False, "labelLimit": 0}
    y: Spec = {"field": "label", "type": "nominal", "sort": labels, "axis": axis}
    x: Spec = {
        "field": "start",
        "type": "quantitative",
        "scale": {"zero": False, "nice": True},
        "axis": {"title": f"Prediction ({unit})", "tickCount": 5},
    }
    return y, x


def _body(bars: list[Spec], base: float, prediction: float, unit: str) -> Spec:
    values = np.array([bar["value"] for bar in bars])
    y, x = _axes([bar["label"] for bar in bars], unit)
    colour = {
        "field": "direction",
        "type": "nominal",
        "scale": {"domain": [_RISE, _FALL], "range": [_UP, _DOWN]},
        "legend": {"title": None, "orient": "bottom"},
    }
    shown = tooltip(("label", "feature", ""), ("value", "value", share_format(values)))
    layers: list[Spec] = [
        _line(base, "#9aa0a6", [3, 3]),
        _line(prediction, "#202124", [1, 0]),
        {
            "mark": {"type": "bar", "height": {"band": 0.72}},
            "encoding": {"y": y, "x": x, "x2": {"field": "end"}, "color": colour, "tooltip": shown},
        },
        {
            "mark": {"type": "text", "align": "left", "dx": 5, "color": "#5f6368"},
            "encoding": {
                "y": y,
                "x": {"field": "right", "type": "quantitative"},
                "text": {"field": "text"},
            },
        },
        *([_errors(y)] if "low" in bars[0] else []),
    ]
    step = {"step": BAR_STEP}
    return {"data": {"values": bars}, "width": PLOT_WIDTH, "height": step, "layer": layers}


def _errors(y: Spec) -> Spec:
    """Draw standard errors, where bars have some."""
    return {
        "transform": [{"filter": "isValid(datum.low)"}],
        "mark": {"type": "rule", "color": "#202124", "strokeWidth": 1.5},
        "encoding": {
            "y": y,
            "x": {"field": "low", "type": "quantitative"},
            "x2": {"field": "high"},
        },
    }


def _line(at: float, colour: str, dash: list[int]) -> Spec:
    """Draw a vertical line over all bars."""
    return {
        "data": {"values": [{"at": data_number(at)}]},
        "mark": {"type": "rule", "color": colour, "strokeDash": dash},
        "encoding": {"x": {"field": "at", "type": "quantitative"}},
    }
