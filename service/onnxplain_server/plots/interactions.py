"""Interaction statistics as bars: as shares, and on the scale of the output.

Two plots an order instead of one with two halves, because each has an order of its own: the
strongest pair by share is seldom the one that moves the output most.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap

import numpy as np

from onnxplain_server.arrays import Array, Matrix, Vector
from onnxplain_server.methods.interactions import Result, Statistic
from onnxplain_server.plots.chart import Plot, finish, tooltip
from onnxplain_server.plots.style import (
    BAR_STEP,
    GROUPED_BAR_STEP,
    MOST_SERIES,
    PLAIN_COLOUR,
    PLOT_WIDTH,
    SERIES_COLOURS,
    Spec,
)
from onnxplain_server.plots.words import (
    data_number,
    distinguish,
    enumerate_words,
    share_format,
    shorten,
    spell_beside,
)

MOST_BARS = 15
"""Rows of one plot."""


@dataclass(frozen=True, slots=True)
class _Order:
    """One list of statistics of a result, in words."""

    name: str
    title: str
    noun: str
    share: str
    size: str
    caution: str = ""


_UNSTABLE = (
    "Unstable where the features matter little together: compare the plot on the output's scale"
)
_ORDERS = (
    _Order(
        "overall",
        "Overall interactions",
        "feature",
        "H²: share of prediction variance from interactions of the feature",
        "Typical size of the feature's interactions (√numerator, in units of the output)",
    ),
    _Order(
        "pairwise",
        "Pairwise interactions",
        "pair",
        "H²: share of the pair's joint effect that is interaction",
        "Typical size of the interaction (√numerator, in units of the output)",
        _UNSTABLE,
    ),
    _Order(
        "threeway",
        "Three-way interactions",
        "triple",
        "H²: share of the triple's joint effect that is three-way interaction",
        "Typical size of the interaction (√numerator, in units of the output)",
        _UNSTABLE,
    ),
    _Order(
        "importance",
        "Feature importance from partial dependence",
        "feature",
        "Share of prediction variance that is lost without the feature",
        "Typical size of the feature's effects (√numerator, in units of the output)",
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class _Bars:
    """What one plot shows, strongest first.

    Attributes
    ----------
    labels, outputs : tuple of str
    columns : tuple of int
        Positions of the outputs in the result.
    values : (n_labels, n_outputs)
    found, nonzero : int
        How many statistics there are, and how many are not 0 throughout.
    """

    labels: tuple[str, ...]
    outputs: tuple[str, ...]
    columns: tuple[int, ...]
    values: Matrix
    found: int
    nonzero: int


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw every order that the result has, each as "overall" and "overall-size"."""
    wanted = [
        (order, result, relative)
        for order in _ORDERS
        if getattr(result, order.name)
        for relative in (True, False)
    ]
    return tuple(starmap(_plot, wanted))


def _plot(order: _Order, result: Result, relative: bool) -> Plot:
    statistics: tuple[Statistic, ...] = getattr(result, order.name)
    bars = _strongest(statistics, result.output_names, relative)
    title = order.title if relative else f"{order.title}, on the output's scale"
    finding = _finding(bars)
    remarks = _counts(order, bars, len(result.output_names))
    if order.name != "importance":
        remarks.insert(0, _total(result, bars, relative))
    if order.caution and relative:
        remarks.append(order.caution)
    return finish(
        order.name if relative else f"{order.name}-size",
        title,
        remarks,
        " ".join(f"{sentence}." for sentence in [f"{title}: {finding}", *remarks]),
        _draw(order, bars, order.share if relative else order.size),
    )


def _strongest(
    statistics: tuple[Statistic, ...], output_names: tuple[str, ...], relative: bool
) -> _Bars:
    """Choose rows and outputs by their sums; rows of zeros only if there is nothing else."""
    every = np.array([_presented(statistic, relative) for statistic in statistics])
    finite = np.where(np.isfinite(every), every, 0.0)
    sums = finite.sum(axis=1)
    live = ~(every == 0).all(axis=1)
    order = np.argsort(-sums, kind="stable")
    rows = (order[live[order]] if live.any() else order)[:MOST_BARS]
    columns = np.sort(np.argsort(-finite.sum(axis=0), kind="stable")[:MOST_SERIES])
    return _Bars(
        labels=distinguish(":".join(statistics[row].features) for row in rows),
        outputs=tuple(distinguish(output_names)[column] for column in columns),
        columns=tuple(columns.tolist()),
        values=every[np.ix_(rows, columns)],
        found=len(statistics),
        nonzero=int(live.sum()),
    )


def _presented(statistic: Statistic, relative: bool) -> Vector:
    return statistic.values if relative else np.sqrt(statistic.numerators)


def _draw(order: _Order, bars: _Bars, axis_title: str) -> Spec:
    several = len(bars.outputs) > 1
    number_format = share_format(bars.values)
    described = [("feature", order.noun, ""), ("value", "strength", number_format)]
    if several:
        described.insert(1, ("output", "output", ""))
    encoding: Spec = {
        "y": {
            "field": "feature",
            "type": "nominal",
            "sort": list(bars.labels),
            "axis": {"title": None, "domain": False, "ticks": False, "labelLimit": 240},
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
        **(_grouped(bars.outputs, encoding) if several else _labelled(encoding, number_format)),
    }


def _rows(bars: _Bars) -> list[Spec]:
    return [
        {"feature": label, "output": output, "value": data_number(value)}
        for label, row in zip(bars.labels, bars.values, strict=True)
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


def _grouped(outputs: tuple[str, ...], encoding: Spec) -> Spec:
    """One bar for each output, side by side in a row."""
    output: Spec = {"field": "output", "type": "nominal", "sort": list(outputs)}
    scale = {"domain": list(outputs), "range": list(SERIES_COLOURS[: len(outputs)])}
    return {
        "height": {"step": GROUPED_BAR_STEP, "for": "offset"},
        "mark": "bar",
        "encoding": {
            **encoding,
            "yOffset": output,
            "color": {**output, "scale": scale, "legend": {"title": "output"}},
        },
    }


def _axis_format(number_format: str) -> str:
    return ",~r" if number_format.endswith("r") else "~e"


def _finding(bars: _Bars) -> str:
    """Say what is strongest, by how much, and what follows."""
    if bars.nonzero == 0:
        return "none found"
    numbers = [_each(bars.outputs, row, bars.values) for row in bars.values[:3]]
    first, *others = (shorten(label) for label in bars.labels[:3])
    if len(bars.outputs) == 1:
        others = [f"{name} at {at}" for name, at in zip(others, numbers[1:], strict=True)]
    finding = f"{first} is strongest at {numbers[0]}"
    return f"{finding}, then {enumerate_words(others)}" if others else finding


def _total(result: Result, bars: _Bars, relative: bool) -> str:
    total = _presented(result.total, relative)[list(bars.columns)]
    name = "Total H²" if relative else "Typical size of all interactions together"
    return f"{name}: {_each(bars.outputs, total, total)}"


def _each(outputs: tuple[str, ...], values: Vector, beside: Array) -> str:
    """Write one number, or one for each output with the output's name."""
    numbers = [spell_beside(value, beside) for value in values]
    if len(numbers) == 1:
        return numbers[0]
    return enumerate_words(
        [
            f"{number} for {shorten(output, 24)}"
            for output, number in zip(outputs, numbers, strict=True)
        ]
    )


def _counts(order: _Order, bars: _Bars, output_count: int) -> list[str]:
    """Say what of the result is not in the picture."""
    remarks = [] if bars.nonzero else [f"Every {order.noun} is at 0"]
    if bars.nonzero > len(bars.labels):
        remarks.append(f"{len(bars.labels)} strongest of {bars.found} {order.noun}s")
    elif bars.nonzero not in (0, bars.found):
        remarks.append(f"{bars.nonzero} of {bars.found} {order.noun}s; the others are at 0")
    elif bars.nonzero == 0 and bars.found > len(bars.labels):
        remarks.append(f"First {len(bars.labels)} of {bars.found} {order.noun}s")
    if output_count > len(bars.outputs):
        remarks.append(f"{len(bars.outputs)} strongest of {output_count} outputs")
    missing = int((~np.isfinite(bars.values)).sum())
    if missing:
        remarks.append(f"Not shown, because not finite: {missing} of {bars.values.size} values")
    return remarks
