"""Interaction statistics as bars: one plot of shares, one on the scale of the output.

Two plots per order instead of one with two halves, because each is sorted by itself: the
strongest pair by share is seldom the one that moves the output most.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.methods.interactions import Result, Statistic
from onnxplain_server.plots.elements.bars import Bars, BarTitles, ErrorBars, draw
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.ranking import counts, each, finding, strongest


@dataclass(frozen=True, slots=True)
class _Order:
    """Texts for one list of statistics of a result; `share` and `size` are axis titles."""

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
    arguments = [
        (order, result, relative)
        for order in _ORDERS
        if getattr(result, order.name)
        for relative in (True, False)
    ]
    return tuple(starmap(_plot, arguments))


def _plot(order: _Order, result: Result, relative: bool) -> Plot:
    statistics: tuple[Statistic, ...] = getattr(result, order.name)
    values = np.array([_strength(statistic, relative) for statistic in statistics])
    intervals = _intervals(statistics, result.resampling.confidence_level) if relative else None
    names = [statistic.features for statistic in statistics]
    p_values = _p_values(statistics)
    bars = strongest(names, values, result.output_names, errors=intervals, p_values=p_values)
    title = order.title if relative else f"{order.title}, on the output's scale"
    remarks = counts(order.noun, bars, len(result.output_names))
    if order.name != "importance":
        remarks.insert(0, _total(result, bars, relative))
    if intervals is not None:
        percent = f"{100 * intervals.confidence:.3g} %"
        remarks.append(f"Lines: {percent} intervals by resampling the rows")
    if order.caution and relative:
        remarks.append(order.caution)
    return finish(
        order.name if relative else f"{order.name}-size",
        title,
        remarks,
        " ".join(f"{sentence}." for sentence in [f"{title}: {finding(bars)}", *remarks]),
        draw(bars, BarTitles(order.noun), order.share if relative else order.size),
    )


def _strength(statistic: Statistic, relative: bool) -> Vector:
    return statistic.values if relative else np.sqrt(statistic.numerators)


def _intervals(statistics: tuple[Statistic, ...], confidence: float) -> ErrorBars | None:
    """Return confidence intervals, NaN for statistics without; None without resampling."""
    if not any(statistic.spread for statistic in statistics):
        return None
    absent = np.full_like(statistics[0].values, np.nan)
    low = [s.spread.lower if s.spread else absent for s in statistics]
    high = [s.spread.upper if s.spread else absent for s in statistics]
    return ErrorBars(np.array(low), np.array(high), confidence)


def _p_values(statistics: tuple[Statistic, ...]) -> Matrix | None:
    """Return the p-values of tests: (n_statistics, n_outputs); None without tests."""
    p_values = [one.p_values for one in statistics if one.p_values is not None]
    return np.array(p_values) if p_values else None


def _total(result: Result, bars: Bars, relative: bool) -> str:
    total = _strength(result.total, relative)[list(bars.columns)]
    name = "Total H²" if relative else "Typical size of all interactions together"
    return f"{name}: {each(bars.outputs, total, total)}"
