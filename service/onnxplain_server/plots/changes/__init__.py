"""Plots of what has changed: two dots for each statistic, ranks, two lines for each curve.

Dots and curves have the interval of their difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from onnxplain_server.methods.changes.found import Changes, StatisticDifference
from onnxplain_server.plots.changes.changed_curves import curve_plots
from onnxplain_server.plots.changes.slopes import slope_plots
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import clean, identifiers, shorten
from onnxplain_server.plots.elements.style import (
    BAR_STEP,
    PLAIN_COLOUR,
    PLOT_WIDTH,
    UNCHANGED_COLOUR,
    Spec,
)
from onnxplain_server.plots.marks.bars import labels_of

_MOST = 15


class _DrawnKind(NamedTuple):
    """Kind of statistics: title of its axis, and whether it stands before curves."""

    measure: str
    is_importance: bool = False


_KINDS = {
    "PERMUTATION_IMPORTANCE": _DrawnKind("increase of the loss by shuffling", is_importance=True),
    "IMPORTANCE": _DrawnKind("importance, share", is_importance=True),
    "FIRM_IMPORTANCE": _DrawnKind("importance by FIRM", is_importance=True),
    "FIRM_IMPORTANCE_SQUARE": _DrawnKind("squared importance by FIRM", is_importance=True),
    "MEAN_ABSOLUTE_ATTRIBUTION": _DrawnKind("mean absolute attribution", is_importance=True),
    "PAIRWISE_INTERACTION": _DrawnKind("H² of pairs"),
    "OVERALL_INTERACTION": _DrawnKind("H² of each feature"),
    "THREEWAY_INTERACTION": _DrawnKind("H² of triples"),
    "TOTAL_INTERACTION": _DrawnKind("H² of all interactions"),
    "AVERAGE_LOSS": _DrawnKind("average loss"),
}
"""Kinds drawn, in their order: mean squares go along with shares."""
_LINE = {"type": "rule", "strokeWidth": 5, "opacity": 0.35}
_RING = {"type": "point", "size": 70, "color": "#202124", "filled": False}
_DOT = {"type": "point", "size": 60, "filled": True, "opacity": 1}
_TOOLTIP = tooltip(
    ("label", "statistic", ""),
    ("reference", "before", ".4g"),
    ("value", "after", ".4g"),
    ("difference", "change", "+.3g"),
    ("verdict", "verdict", ""),
)


def plots(changes: Changes, name_of: Callable[[str], str] = str) -> tuple[Plot, ...]:
    """Draw importances, by kind and output, then ranks, then curves, then other numbers.

    Names are like "change-importance-price".

    Parameters
    ----------
    name_of : callable (str) -> str
        Gives an output its name in titles.
    """
    groups: dict[tuple[int, str, str], list[StatisticDifference]] = {}
    for each in changes.differences:
        subject = each.subject
        if subject.kind in _KINDS and np.isfinite([each.reference_value, each.value]).all():
            key = subject.explanation_index, subject.kind, subject.output_name
            groups.setdefault(key, []).append(each)
    kinds = list(_KINDS)
    drawn: dict[bool, list[Plot]] = {True: [], False: []}
    for (_, kind, output), own in sorted(groups.items(), key=lambda one: kinds.index(one[0][1])):
        plot = _plot(f"change-{kind}-{output}".lower(), own, name_of)
        drawn[_KINDS[kind].is_importance].append(plot)
    drawn[True] += slope_plots(changes.rankings, name_of)
    drawn[True] += curve_plots(changes, name_of)
    ordered = [*drawn[True], *drawn[False]]
    names = identifiers(plot.name for plot in ordered)
    return tuple(replace(plot, name=name) for plot, name in zip(ordered, names, strict=True))


def _plot(
    name: str, differences: Sequence[StatisticDifference], name_of: Callable[[str], str]
) -> Plot:
    largest = sorted(differences, key=lambda each: -abs(each.difference))[:_MOST]
    labels = _labels(largest)
    rows = [dict(_row(label, each)) for label, each in zip(labels, largest, strict=True)]
    subject = differences[0].subject
    measure = _KINDS[subject.kind].measure
    title = f"Change of {measure} for {shorten(clean(name_of(subject.output_name)))}"
    remarks = list(_remarks(largest, len(differences)))
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    return finish(name, title, remarks, description, _body(rows, labels, measure))


def _labels(differences: Sequence[StatisticDifference]) -> tuple[str, ...]:
    parts = [
        (*each.subject.features, *filter(None, [each.subject.group])) or ("all",)
        for each in differences
    ]
    return labels_of(parts)


def _row(label: str, each: StatisticDifference) -> Iterator[tuple[str, object]]:
    """Yield the fields of a statistic; its interval stands around the reference's value."""
    yield "label", label
    yield "reference", each.reference_value
    yield "value", each.value
    yield "verdict", "changed" if each.test.verdict == "CHANGED" else "not shown"
    yield "difference", each.difference
    if np.isfinite([each.lower, each.upper]).all():
        yield "low", each.reference_value + each.lower
        yield "high", each.reference_value + each.upper


def _remarks(differences: Sequence[StatisticDifference], count: int) -> Iterator[str]:
    changed = sum(each.test.verdict == "CHANGED" for each in differences)
    yield f"{changed} of {len(differences)} changed by more than chance"
    yield "Ring: before; dot: after, blue where it has changed"
    yield "Line: interval of the change, from the ring"
    if count > len(differences):
        yield f"The {len(differences)} largest changes of {count}"


def _body(rows: list[dict[str, object]], labels: Sequence[str], measure: str) -> Spec:
    x: Spec = {"type": "quantitative", "title": measure, "scale": {"zero": False, "padding": 10}}
    axis = {"ticks": False, "domain": False}
    y: Spec = {"field": "label", "type": "nominal", "sort": list(labels)}
    y |= {"title": None, "axis": axis}
    colour: Spec = {
        "condition": {"test": "datum.verdict == 'changed'", "value": PLAIN_COLOUR},
        "value": UNCHANGED_COLOUR,
    }
    line = {"x": {"field": "low", **x}, "x2": {"field": "high"}, "y": y, "color": colour}
    ring = {"x": {"field": "reference", **x}, "y": y, "tooltip": _TOOLTIP}
    dot = {"x": {"field": "value", **x}, "y": y, "color": colour, "tooltip": _TOOLTIP}
    return {
        "data": {"values": rows},
        "width": PLOT_WIDTH,
        "height": {"step": BAR_STEP},
        "layer": [
            {"data": {"values": [row for row in rows if "low" in row]}, "mark": _LINE}
            | {"encoding": line},
            {"mark": _RING, "encoding": ring},
            {"mark": _DOT, "encoding": dot},
        ],
    }
