"""Interaction statistics as bars: as shares, and on the scale of the output.

Two plots an order instead of one with two halves, because each has an order of its own: the
strongest pair by share is seldom the one that moves the output most.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap

import numpy as np

from onnxplain_server.arrays import Array, Vector
from onnxplain_server.methods.interactions import Result, Statistic
from onnxplain_server.plots.bars import Bars, draw, label
from onnxplain_server.plots.chart import Plot, finish
from onnxplain_server.plots.style import MOST_SERIES
from onnxplain_server.plots.words import (
    clean,
    distinguish,
    enumerate_words,
    shorten,
    spell_beside,
)

MOST_BARS = 15
"""Rows of one plot."""

_MOST_NAMED_OUTPUTS = 4  # in a sentence


@dataclass(frozen=True, slots=True)
class _Order:
    """One list of statistics of a result, in words; `share` and `size` are axis titles."""

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
        "Share of prediction variance that the other features leave unexplained",
        "Typical size of the feature's effects (√numerator, in units of the output)",
    ),
)


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
        draw(bars, order.noun, order.share if relative else order.size),
    )


def _strongest(
    statistics: tuple[Statistic, ...], output_names: tuple[str, ...], relative: bool
) -> Bars:
    """Choose rows and outputs by their sums; rows of zeros only if there is nothing else."""
    every = np.array([_presented(statistic, relative) for statistic in statistics])
    finite = np.where(np.isfinite(every), every, 0.0)
    sums = finite.sum(axis=1)
    live = ~(every == 0).all(axis=1)
    order = np.argsort(-sums, kind="stable")
    rows = (order[live[order]] if live.any() else order)[:MOST_BARS]
    columns = np.sort(np.argsort(-finite.sum(axis=0), kind="stable")[:MOST_SERIES])
    return Bars(
        names=tuple(":".join(map(clean, statistics[row].features)) for row in rows),
        labels=distinguish(label(statistics[row].features) for row in rows),
        outputs=tuple(distinguish(output_names)[column] for column in columns),
        columns=tuple(columns.tolist()),
        values=every[np.ix_(rows, columns)],
        found=len(statistics),
        nonzero=int(live.sum()),
        broken=int((~np.isfinite(every[:, columns])).sum()),
    )


def _presented(statistic: Statistic, relative: bool) -> Vector:
    return statistic.values if relative else np.sqrt(statistic.numerators)


def _finding(bars: Bars) -> str:
    """Say what is strongest, by how much, and what follows."""
    if bars.nonzero == 0:
        return "none found"
    numbers = [_each(bars.outputs, row, bars.values) for row in bars.values[:3]]
    first, *others = bars.labels[:3]
    if len(bars.outputs) == 1:
        others = [f"{name} at {at}" for name, at in zip(others, numbers[1:], strict=True)]
    finding = f"{first} is strongest at {numbers[0]}"
    return f"{finding}, then {enumerate_words(others)}" if others else finding


def _total(result: Result, bars: Bars, relative: bool) -> str:
    total = _presented(result.total, relative)[list(bars.columns)]
    name = "Total H²" if relative else "Typical size of all interactions together"
    return f"{name}: {_each(bars.outputs, total, total)}"


def _each(outputs: tuple[str, ...], values: Vector, beside: Array) -> str:
    """Write one number, or one for each output with the output's name."""
    numbers = [spell_beside(value, beside) for value in values]
    if len(numbers) == 1:
        return numbers[0]
    pairs = zip(outputs, numbers, strict=True)
    told = [f"{number} for {shorten(output, 24)}" for output, number in pairs]
    if len(told) <= _MOST_NAMED_OUTPUTS:
        return enumerate_words(told)
    finite = np.where(np.isfinite(values), values, 0.0)
    if len(set(numbers)) == 1:
        return f"{numbers[0]} for each output shown"
    return f"{told[int(np.argmax(finite))]}, down to {told[int(np.argmin(finite))]}"


def _counts(order: _Order, bars: Bars, output_count: int) -> list[str]:
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
    if bars.broken:
        every = bars.found * len(bars.outputs)
        remarks.append(f"Not shown, because not finite: {bars.broken} of {every} values")
    return remarks
