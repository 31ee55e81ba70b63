"""Interaction statistics as bars: sizes on the scale of the output, with a switch to shares.

Each measure is sorted by itself: the strongest pair by share is seldom the one that moves the
output most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.methods.interactions import Result, Statistic
from onnxplain_server.plots.claims.pair_coverage import pair_coverage
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.labels import distinguish
from onnxplain_server.plots.marks.bars import Bars, BarTitles, ErrorBars
from onnxplain_server.plots.marks.ranking import (
    counts,
    each,
    finding,
    strongest,
    strongest_outputs,
)
from onnxplain_server.plots.marks.switch import Measure, draw
from onnxplain_server.plots.units.naming import spoken
from onnxplain_server.plots.units.prediction_units import units_of


@dataclass(frozen=True, slots=True)
class _Order:
    """Texts for one list of statistics of a result; `share` and `size` name the two measures."""

    name: str
    title: str
    noun: str
    share: str
    size: str
    is_ratio_of_small: bool = False


_ORDERS = (
    _Order(
        "pairwise",
        "Interactions of pairs",
        "pair",
        "share of the pair's joint effect that is interaction",
        "Standard deviation of the interaction",
        is_ratio_of_small=True,
    ),
    _Order(
        "overall",
        "Interactions of each feature with all others",
        "feature",
        "share of prediction variance from interactions of the feature",
        "Standard deviation of its interactions",
    ),
    _Order(
        "threeway",
        "Interactions of triples",
        "triple",
        "share of the triple's joint effect that is interaction of all three",
        "Standard deviation of the interaction",
        is_ratio_of_small=True,
    ),
    _Order(
        "importance",
        "Feature importance from partial dependence",
        "feature",
        "share of prediction variance that the other features leave unexplained",
        "Standard deviation of its effects",
    ),
)
_SIZE, _SHARE = "size", "share"


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw every order that the result has: sizes, with a switch to shares."""
    return tuple(_plot(order, result) for order in _ORDERS if getattr(result, order.name))


def _plot(order: _Order, result: Result) -> Plot:
    sizes, shares = (_bars(order, result, relative=relative) for relative in (False, True))
    title = f"{order.title} for {spoken(sizes.outputs, len(result.output_names))}"
    unit = units_of(result.output_names).of_sizes(result.output_names)
    measures = [
        Measure(_SIZE, f"size, in {unit}", f"{order.size} ({unit})", sizes),
        Measure(_SHARE, "share (H²)", f"H²: {order.share}", shares),
    ]
    among = pair_coverage(result.overall, result.pairwise).among if order.noun == "pair" else ""
    of_these = f"of {among}, " if among else ""
    remarks = [f"By size, {of_these}{finding(sizes)}"] if sizes.nonzero else []
    if order.name != "importance":
        remarks.append(_total(result, sizes))
    if among and not sizes.nonzero:
        remarks.append(f"None of {among}, interacts")
    remarks += counts(order.noun, sizes, len(result.output_names))
    if shares.errors is not None:
        percent = f"{100 * shares.errors.confidence:.3g} %"
        remarks.append(f"Lines: {percent} intervals by resampling the rows")
    if order.is_ratio_of_small:
        remarks.append(
            f"Compare {order.noun}s by size: shares of weak ones are ratios of two small numbers"
        )
    return finish(
        order.name,
        title,
        remarks,
        " ".join(f"{sentence}." for sentence in [title, *remarks]),
        draw(measures, BarTitles(order.noun)),
    )


def _bars(order: _Order, result: Result, *, relative: bool) -> Bars:
    """Return the strongest statistics by one measure, of the outputs with the largest sizes."""
    statistics: tuple[Statistic, ...] = getattr(result, order.name)
    columns = strongest_outputs(np.array([np.sqrt(s.numerators) for s in statistics]))
    factor = None if relative else units_of(result.output_names).size_factor
    values = np.array([_strength(s, factor) for s in statistics])[:, columns]
    intervals = _intervals(statistics, result.resampling.confidence_level, factor)
    p_values = _p_values(statistics)
    bars = strongest(
        [statistic.features for statistic in statistics],
        values,
        tuple(distinguish(result.output_names)[column] for column in columns),
        errors=intervals and intervals.take(np.arange(len(statistics)), columns),
        p_values=None if p_values is None else p_values[:, columns],
    )
    return replace(bars, columns=tuple(columns.tolist()))


def _strength(statistic: Statistic, factor: float | None) -> Vector:
    """Return the share, or the size times the factor of its unit."""
    return statistic.values if factor is None else factor * np.sqrt(statistic.numerators)


def _intervals(
    statistics: tuple[Statistic, ...], confidence: float, factor: float | None
) -> ErrorBars | None:
    """Return confidence intervals, NaN for statistics without; None without resampling."""
    spreads = [s.spread if factor is None else s.numerator_spread for s in statistics]
    if not any(spreads):
        return None
    absent = np.full_like(statistics[0].values, np.nan)
    low = np.array([one.lower if one else absent for one in spreads])
    high = np.array([one.upper if one else absent for one in spreads])
    if factor is None:
        return ErrorBars(low, high, confidence)
    # Those of mean squares, which are never negative.
    low, high = (factor * np.sqrt(np.maximum(end, 0)) for end in (low, high))
    return ErrorBars(low, high, confidence)


def _p_values(statistics: tuple[Statistic, ...]) -> Matrix | None:
    """Return the p-values of tests: (n_statistics, n_outputs); None without tests."""
    p_values = [one.p_values for one in statistics if one.p_values is not None]
    return np.array(p_values) if p_values else None


def _total(result: Result, bars: Bars) -> str:
    """Return a remark on all interactions together, by both measures."""
    columns = list(bars.columns)
    factor = units_of(result.output_names).size_factor
    size, share = _strength(result.total, factor)[columns], result.total.values[columns]
    return (
        f"All interactions together: size {each(bars.outputs, size, size)}; "
        f"H² {each(bars.outputs, share, share)}"
    )
