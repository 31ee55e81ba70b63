"""A line for each of few rows, from the average through its values added up to its prediction."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.methods.attributions import Result
from onnxplain_server.plots.attributions.words import (
    estimate_remark,
    player_at,
    result_kind,
    row_name,
)
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import (
    clean,
    distinguish,
    enumerate_words,
    shorten,
)
from onnxplain_server.plots.elements.number_formats import (
    data_number,
    drawable,
    scale_format,
    share_format,
    spell,
)
from onnxplain_server.plots.elements.style import BAR_STEP, PLOT_WIDTH, SERIES_COLOURS, Spec
from onnxplain_server.plots.marks.bars import labels_of
from onnxplain_server.plots.units.prediction_units import value_unit

_MOST_STEPS = 12
_FEWEST_ROWS = 2


@dataclass(frozen=True, slots=True, eq=False)
class _LineSteps:
    """Steps of all lines, from the bottom.

    Attributes
    ----------
    players : list of lists of int
        Those that a step adds.
    labels : list of str
    values : (n_rows, n_steps)
    """

    players: list[list[int]]
    labels: list[str]
    values: Matrix


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw one plot, "attributions-decision", of two or more rows whose values add up.

    For the output of the largest values, as all lines share an axis.
    """
    values = drawable(result.values)
    output = int(np.argmax(np.nan_to_num(np.abs(values)).sum(axis=(0, 1))))
    ends = drawable(result.predictions[:, output]) + drawable(result.base_values[output])
    rows = np.flatnonzero(np.isfinite(values[:, :, output]).all(axis=1) & np.isfinite(ends))
    if len(rows) < _FEWEST_ROWS or not len(result.additivity_errors):
        return ()
    return (_draw(result, rows, output),)


def _draw(result: Result, rows: Indices, output: int) -> Plot:
    steps = _steps(result, result.values[rows, :, output])
    base = float(result.base_values[output])
    ends = np.array([base, *result.predictions[rows, output]])
    told = [spell(end, scale_format(ends)) for end in ends]
    names = [row_name(result.row_indices, int(row), result.explained_row_count) for row in rows]
    output_name = shorten(clean(result.output_names[output]))
    title = f"{result_kind(result)} of {output_name}, added up for {len(rows)} rows"
    reached = enumerate_words([f"{n} at {text}" for n, text in zip(names, told[1:], strict=True)])
    remarks = [
        f"From the average of the background, {told[0]}, upwards to the predictions: {reached}",
        "Features by the mean size of their values in these rows, the largest on top",
    ]
    if len(rows) < result.explained_row_count:
        left_out = f"{result.explained_row_count - len(rows)} of {result.explained_row_count} rows"
        remarks.append(f"Not shown, as not finite: {left_out}")
    if len(result.output_names) > 1:
        remarks.append(f"Output with the largest values of {len(result.output_names)}")
    errors = result.standard_errors
    remarks += estimate_remark(errors[rows, :, output] if result.are_estimated else errors)
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    points = [
        point
        for place, (row, name) in enumerate(zip(rows, names, strict=True))
        for point in _line(result, steps, place, int(row), name, base)
    ]
    body = _body(points, steps.labels, names, base, value_unit(result.output_names))
    return finish("attributions-decision", title, remarks, description, body)


def _steps(result: Result, values: Matrix) -> _LineSteps:
    """Order players by the mean size of their values, (n_rows, n_players); small ones are one."""
    order = np.argsort(-np.abs(values).mean(axis=0), kind="stable").tolist()
    is_cut = len(order) > _MOST_STEPS
    single = order[: _MOST_STEPS - 1] if is_cut else order
    players = [[p] for p in single]
    labels = [*labels_of([result.features[p] for p in single], " + ")]
    if is_cut:
        players.append(order[len(single) :])
        labels.append(f"{len(players[-1])} other features")
    players.reverse()
    labels.reverse()
    sums = np.stack([values[:, own].sum(axis=1) for own in players], axis=1)
    return _LineSteps(players, [*distinguish(labels)], sums)


def _line(  # noqa: PLR0917 - a line shows all of these
    result: Result, steps: _LineSteps, place: int, row: int, name: str, base: float
) -> Iterator[Spec]:
    """Yield the points of a row's line: the average, and what each step leads to."""
    yield {"row": name, "step": 0, "sum": data_number(base), "added": "average"}
    values = steps.values[place]
    sums = base + np.cumsum(values)
    for step, (own, label) in enumerate(zip(steps.players, steps.labels, strict=True)):
        yield {
            "row": name,
            "step": step + 1,
            "sum": data_number(float(sums[step])),
            "added": player_at(result, own[0], row) if len(own) == 1 else label,
            "value": data_number(float(values[step])),
        }


def _body(points: list[Spec], labels: list[str], names: list[str], base: float, unit: str) -> Spec:
    x, y = _axes(labels, unit)
    colour = {
        "field": "row",
        "type": "nominal",
        "scale": {"domain": names, "range": list(SERIES_COLOURS[: len(names)])},
        "legend": {"title": None},
    }
    places = {"x": x, "y": y, "color": colour}
    order = {"order": {"field": "step", "type": "quantitative"}}
    shown = {"tooltip": _tooltip(points)}
    return {
        "data": {"values": points},
        "width": PLOT_WIDTH,
        "height": BAR_STEP * len(labels),
        "layer": [
            _between(len(labels), y),
            _average(base, x),
            {"mark": {"type": "line", "strokeWidth": 2}, "encoding": {**places, **order}},
            {"mark": {"type": "circle", "size": 30, "opacity": 1}, "encoding": {**places, **shown}},
        ],
    }


def _axes(labels: list[str], unit: str) -> tuple[Spec, Spec]:
    """Return the axes of predictions and of steps, which are named between their ends."""
    x: Spec = {
        "field": "sum",
        "type": "quantitative",
        "scale": {"zero": False, "nice": True},
        "axis": {"title": f"Prediction ({unit})", "tickCount": 5},
    }
    axis: Spec = {"title": None, "domain": False, "ticks": False, "grid": False, "labelLimit": 0}
    axis |= {"values": [step + 0.5 for step in range(len(labels))]}
    axis |= {"labelExpr": f"{json.dumps(labels)}[floor(datum.value)]"}
    scale = {"domain": [0, len(labels)], "nice": False}
    return x, {"field": "step", "type": "quantitative", "scale": scale, "axis": axis}


def _tooltip(points: list[Spec]) -> list[Spec]:
    sums = np.array([point["sum"] for point in points])
    values = np.array([point.get("value", 0.0) for point in points])
    return tooltip(
        ("row", "row", ""),
        ("added", "added", ""),
        ("value", "part in the prediction", share_format(values)),
        ("sum", "prediction so far", scale_format(sums)),
    )


def _between(count: int, y: Spec) -> Spec:
    """Draw lines between the steps."""
    rows = [{"step": step} for step in range(count + 1)]
    mark = {"type": "rule", "color": "#e8eaed", "tooltip": None, "aria": False}
    return {"data": {"values": rows}, "mark": mark, "encoding": {"y": y}}


def _average(base: float, x: Spec) -> Spec:
    """Draw a line at the average."""
    mark = {"type": "rule", "color": "#9aa0a6", "strokeDash": [3, 3]}
    return {"data": {"values": [{"sum": data_number(base)}]}, "mark": mark, "encoding": {"x": x}}
