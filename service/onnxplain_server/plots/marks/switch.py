"""Bar chart of two measures of the same statistics, with a switch between them.

A picture without controls shows the first measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.plots.elements.chart import wrapped
from onnxplain_server.plots.elements.style import AXIS_TITLE, Spec
from onnxplain_server.plots.marks import bars as bar_charts
from onnxplain_server.plots.marks.bars import NO_SPREAD, Bars, BarTitles, ErrorBars

PARAMETER = "measure"
_TITLE_WIDTH = 46  # characters of the title of the axis, below a plot on a phone


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """One measure of the statistics.

    Attributes
    ----------
    name : str
        Value of the switch.
    label : str
        Text beside its button.
    axis_title : str
    bars : Bars
        Those of all measures have the same outputs.
    """

    name: str
    label: str
    axis_title: str
    bars: Bars


def draw(measures: Sequence[Measure], titles: BarTitles) -> Spec:
    """Draw the bars of one measure at a time, each in its own order."""
    merged = _merged([measure.bars for measure in measures])
    body = bar_charts.draw(merged, titles, "")
    rows = [
        {"end": max(row["value"], 0.0), "spread": NO_SPREAD, **row, PARAMETER: measure.name,
         "rank": rank}
        for measure in measures
        for rank, row in _ranked(measure.bars)
    ]  # fmt: skip
    titled = [{"title": _title_lines(m.axis_title), PARAMETER: m.name} for m in measures]
    layers = body.pop("layer", None) or [{"mark": body.pop("mark")}]
    encoding = body.pop("encoding")
    encoding["y"] = {**encoding["y"], "sort": {"field": "rank", "op": "min"}}
    encoding["x"]["axis"] |= {"title": None}
    chosen = {"filter": f"datum.{PARAMETER} == {PARAMETER}"}
    return {
        **body,
        "params": [_parameter(measures)],
        "data": {"values": rows},
        "layer": [
            {"transform": [chosen], "encoding": encoding, "layer": layers},
            {"data": {"values": titled}, "transform": [chosen], **_axis_title()},
        ],
    }


def _title_lines(title: str) -> list[str]:
    """Break the title of an axis before its unit, where it is too long for one line."""
    before, bracket, unit = title.partition(" (")
    parts = [title] if len(title) <= _TITLE_WIDTH or not bracket else [before, f"({unit}"]
    return wrapped(parts, _TITLE_WIDTH)


def measures(specification: Spec) -> list[str]:
    """Return the names of the measures that a specification has a switch for."""
    return [
        name
        for parameter in specification.get("params", ())
        if parameter.get("name") == PARAMETER
        for name in parameter["bind"]["options"]
    ]


def show(specification: Spec, measure: str) -> Spec:
    """Set the switch of a specification."""
    params = [
        parameter | ({"value": measure} if parameter.get("name") == PARAMETER else {})
        for parameter in specification["params"]
    ]
    return specification | {"params": params}


def _merged(charts: Sequence[Bars]) -> Bars:
    """Join the rows of charts with the same outputs, as data for a chart that shows one of them."""
    first = charts[0]
    errors = None
    if any(chart.errors is not None for chart in charts):
        errors = ErrorBars(
            np.vstack([_ends(chart, low=True) for chart in charts]),
            np.vstack([_ends(chart, low=False) for chart in charts]),
            max(chart.errors.confidence for chart in charts if chart.errors is not None),
        )
    return replace(
        first,
        names=tuple(name for chart in charts for name in chart.names),
        labels=tuple(label for chart in charts for label in chart.labels),
        values=np.vstack([chart.values for chart in charts]),
        nonzero=max(chart.nonzero for chart in charts),
        errors=errors,
        p_values=_stacked([chart.p_values for chart in charts]),
    )


def _ends(bars: Bars, *, low: bool) -> Matrix:
    """Return the ends of error bars; NaN without any."""
    if bars.errors is None:
        return np.full_like(bars.values, np.nan)
    return bars.errors.low if low else bars.errors.high


def _stacked(parts: Sequence[Matrix | None]) -> Matrix | None:
    given = [part for part in parts if part is not None]
    return np.vstack(given) if len(given) == len(parts) else None


def _ranked(bars: Bars) -> list[tuple[int, Spec]]:
    """Return the data rows, each with the position of its bar."""
    ranks = {label: rank for rank, label in enumerate(bars.labels)}
    return [(ranks[row["label"]], row) for row in bar_charts.rows(bars)]


def _parameter(measures: Sequence[Measure]) -> Spec:
    return {
        "name": PARAMETER,
        "value": measures[0].name,
        "bind": {
            "input": "radio",
            "options": [measure.name for measure in measures],
            "labels": [measure.label for measure in measures],
            "name": "Show: ",
        },
    }


def _axis_title() -> Spec:
    """Draw the title of the axis, which Vega-Lite cannot switch, as a text below it."""
    place = {"x": {"expr": "width / 2"}, "y": {"expr": "height + 32"}}
    look = {"align": "center", "baseline": "top", "color": AXIS_TITLE[0], "fontSize": AXIS_TITLE[1]}
    return {
        "mark": {"type": "text", **place, **look},
        "encoding": {"text": {"field": "title"}},
    }
