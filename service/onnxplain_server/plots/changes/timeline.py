"""Plots over time: importances of the leading features, and losses, in the answers of a watch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

import numpy as np

from onnxplain_server.methods.changes.matching import KeptStatistics
from onnxplain_server.methods.resampling import ReplicatedStatistic, t_quantile
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import clean, identifiers, shorten
from onnxplain_server.plots.elements.style import (
    PLOT_HEIGHT,
    PLOT_WIDTH,
    SERIES_COLOURS,
    Spec,
)
from onnxplain_server.plots.marks.bars import labels_of

_MOST_LINES, _MOST_PLOTS = 5, 4
_MOST_TICKS = 5
_FORMATS = "%Y-%m-%d", "%m-%d %H:%M", "%H:%M:%S"
_LEVEL = 0.95
_KINDS = {
    "PERMUTATION_IMPORTANCE": ("Permutation importances", "increase of the loss by shuffling"),
    "IMPORTANCE": ("Importances", "importance, share"),
    "FIRM_IMPORTANCE": ("Importances by FIRM", "importance"),
    "FIRM_IMPORTANCE_SQUARE": ("Squared importances by FIRM", "squared importance"),
    "MEAN_ABSOLUTE_ATTRIBUTION": ("Mean absolute attributions", "mean absolute attribution"),
    "AVERAGE_LOSS": ("Average losses", "average loss"),
}
"""Kinds drawn, in their order: names in titles, and titles of axes."""
_NEVER_NEGATIVE = {"IMPORTANCE", "MEAN_ABSOLUTE_ATTRIBUTION"}
"""Kinds whose intervals end at 0."""
_TOOLTIP = tooltip(
    ("time", "time", ""),
    ("series", "of", ""),
    ("value", "value", ".4g"),
    ("low", "from", ".4g"),
    ("high", "to", ".4g"),
)

Subject = tuple[tuple[str, ...], str]
"""Features and group."""


class TimedStatistics(NamedTuple):
    """Statistics of an answer, by explanation, and its time in UTC."""

    at: datetime
    explanations: Sequence[KeptStatistics]


class _TimedPoint(NamedTuple):
    at: datetime
    subject: Subject
    value: float
    reach: float


def timelines(
    runs: Sequence[TimedStatistics], name_of: Callable[[str], str] = str
) -> tuple[Plot, ...]:
    """Draw what the last run has, over all runs, the oldest first; nothing for a single run.

    Names are like "timeline-importance-price". Of many features, those that lead the last run are
    drawn.

    Parameters
    ----------
    name_of : callable (str) -> str
        Gives an output its name in titles.
    """
    if len(runs) < 2:
        return ()
    last = runs[-1].explanations
    subjects = [
        (kind, output)
        for kind in _KINDS
        for own in last
        if any(each.kind == kind for each in own.statistics)
        for output in own.output_names
    ]
    drawn = [_plot(runs, *subject, name_of) for subject in dict.fromkeys(subjects)][:_MOST_PLOTS]
    names = identifiers(plot.name for plot in drawn)
    return tuple(replace(plot, name=name) for plot, name in zip(drawn, names, strict=True))


def _plot(
    runs: Sequence[TimedStatistics], kind: str, output: str, name_of: Callable[[str], str]
) -> Plot:
    points = [point for run in runs for point in _points(run, kind, output)]
    sizes = {each.subject: abs(each.value) for each in points if each.at == runs[-1].at}
    leading = sorted(sizes, key=lambda subject: -sizes[subject])[:_MOST_LINES]
    labels = labels_of(
        [(*features, *filter(None, [group])) or ("all",) for features, group in leading]
    )
    label_of = dict(zip(leading, labels, strict=True))
    least = 0.0 if kind in _NEVER_NEGATIVE else -np.inf
    rows = [
        _row(each, label_of[each.subject], least) for each in points if each.subject in label_of
    ]
    what, measure = _KINDS[kind]
    title = f"{what} over time for {shorten(clean(name_of(output)))}"
    remarks = [f"{len(runs):,} runs; lines up and down: 95 % intervals, each run by itself"]
    if len(sizes) > len(leading):
        remarks.append(f"The {len(leading)} largest of {len(sizes)} at the last run")
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    name = f"timeline-{kind}-{output}".lower()
    x = _time_axis([run.at for run in runs])
    scale = {"zero": True} if kind in _NEVER_NEGATIVE else {"zero": False, "padding": 10}
    y = {"type": "quantitative", "title": measure, "scale": scale}
    return finish(name, title, remarks, description, _body(rows, labels, x, y))


def _points(run: TimedStatistics, kind: str, output: str) -> Iterator[_TimedPoint]:
    for own in run.explanations:
        if output not in own.output_names:
            continue
        k = own.output_names.index(output)
        for each in own.statistics:
            if each.kind == kind and np.isfinite(each.values[0, k]):
                subject = each.features, each.group
                yield _TimedPoint(run.at, subject, float(each.values[0, k]), _reach(each, k))


def _reach(statistic: ReplicatedStatistic, output: int) -> float:
    """Return half the width of the interval; NaN where replicates do not tell it."""
    drawn = statistic.replicates[:, 0, output]
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < 2:
        return float("nan")
    return t_quantile(_LEVEL, statistic.unit_count, len(drawn)) * float(drawn.std(ddof=1))


def _row(point: _TimedPoint, label: str, least: float) -> dict[str, object]:
    row: dict[str, object] = {
        "at": f"{point.at:%Y-%m-%dT%H:%M:%S}Z",
        "time": f"{point.at:%Y-%m-%d %H:%M} UTC",
        "series": label,
        "value": point.value,
    }
    if np.isfinite(point.reach):
        low = max(point.value - point.reach, least)
        row |= {"low": low, "high": point.value + point.reach}
    return row


def _time_axis(times: Sequence[datetime]) -> Spec:
    """Return the axis of times, with ticks at some of them, in the first format that tells them."""
    ticks = times[:: -(-len(times) // _MOST_TICKS)]
    telling = (each for each in _FORMATS if len({f"{t:{each}}" for t in ticks}) == len(ticks))
    axis = {
        "values": [int(tick.timestamp()) * 1000 for tick in ticks],  # seconds, as rows have them
        "format": next(telling, _FORMATS[-1]),
        "grid": False,
        "labelOverlap": "greedy",
    }
    scale = {"type": "utc", "padding": 12}
    return {"field": "at", "type": "temporal", "title": "time, UTC", "scale": scale, "axis": axis}


def _body(rows: list[dict[str, object]], labels: Sequence[str], x: Spec, y: Spec) -> Spec:
    scale = {"domain": list(labels), "range": list(SERIES_COLOURS[: len(labels)])}
    legend = {"title": None, "symbolOpacity": 1} if len(labels) > 1 else None
    colour = {"field": "series", "type": "nominal", "scale": scale, "legend": legend}
    value = {"x": x, "y": {"field": "value", **y}, "color": colour}
    interval = {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}, "color": colour}
    known = [row for row in rows if "low" in row]
    return {
        "data": {"values": rows},
        "width": PLOT_WIDTH,
        "height": PLOT_HEIGHT,
        "layer": [
            {"data": {"values": known}, "mark": {"type": "rule", "opacity": 0.5}}
            | {"encoding": interval},
            {"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": value},
            {"mark": {"type": "point", "filled": True, "size": 40, "opacity": 1}}
            | {"encoding": {**value, "tooltip": _TOOLTIP}},
        ],
    }
