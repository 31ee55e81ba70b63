"""Findings on effects: tables of interactions and curves, the strongest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from onnxplain.v1.accumulated_local_effects_pb2 import AccumulatedLocalEffect
from onnxplain.v1.interactions_pb2 import InteractionsResult, InteractionStatistic
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceCurve, PartialDependenceResult

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.number_texts import share_text
from onnxplain_server.methods.groups import free_label
from onnxplain_server.plots.claims.pair_coverage import pair_coverage
from onnxplain_server.plots.claims.support import extremes
from onnxplain_server.plots.elements.labels import clean, distinguish, with_value
from onnxplain_server.plots.elements.number_formats import (
    not_finite,
    scale_format,
    spell,
    spell_apart,
    spell_beside,
)
from onnxplain_server.plots.units.prediction_units import Units
from onnxplain_server.report.finding import (
    Finding,
    Heading,
    if_several,
    joined,
    number,
    truncate,
)

_STATISTICS = (
    (
        "total",
        "All interactions",
        "H²: variability of the predictions that is interaction, 0 where effects add up",
        "averages run over combinations of values that may not occur",
    ),
    (
        "overall",
        "Interactions of one feature",
        "H²_j: variability that is interaction with the others",
        "these do not add up to the total, since a pair counts for both of its features",
    ),
    (
        "pairwise",
        "Pairs",
        "H²_jk: part of the joint effect that is interaction",
        "compare pairs by size; the share of a weak pair is a ratio of two small numbers",
    ),
    (
        "threeway",
        "Triples",
        "H²_jkl: part of the joint effect beyond that of the pairs",
        "compare triples by size; the share of a weak one is a ratio of two small numbers",
    ),
    (
        "importance",
        "Importance",
        "variability that all others together leave unexplained",
        "features that stand in for each other look unimportant; above 1 with correlated ones",
    ),
)


class _TableTexts(NamedTuple):
    """Texts of a table of statistics; `interval` is empty without confidence intervals."""

    heading: str
    note: str
    limit: str
    interval: str


def of_interactions(result: InteractionsResult, units: Units) -> Iterator[Finding]:
    """Write one table for each order."""
    outputs = distinguish(result.output_names)
    for name, heading, note, limit in _STATISTICS:
        value = getattr(result, name)
        statistics = [value] if name == "total" else list(value)
        among = pair_coverage(result.overall, statistics).among if name == "pairwise" else ""
        reading = f"{note}; of {among}" if among else note
        texts = _TableTexts(heading, reading, limit, _interval_title(result.confidence_level))
        yield _statistics(statistics, outputs, texts, units)


def of_partial_dependence(result: PartialDependenceResult) -> Iterator[Finding]:
    """Write the lowest and highest point of each curve."""
    outputs = distinguish(result.output_names)
    grouped = any(curve.group for curve in result.curves)
    is_supported = any(curve.HasField("outside_share") for curve in result.curves)
    columns = (
        Heading("features"),
        *([Heading("group")] if grouped else []),
        *if_several(outputs, Heading("output")),
        Heading("lowest", is_number=True),
        Heading("at"),
        Heading("highest", is_number=True),
        Heading("at"),
        *([Heading("outside the data", is_number=True)] if is_supported else []),
    )
    shown, left_out = truncate(result.curves, len(outputs), "further curves")
    yield Finding(
        "Average predictions",
        "lowest and highest average prediction along each curve, and where; points with few rows "
        "are left out",
        "with correlated features, curves lead through combinations that do not occur",
        columns,
        tuple(
            (*row, *([outside_text(curve)] if is_supported else []))
            for curve in shown
            for row in _curve(curve, outputs, grouped)
        ),
        left_out,
    )


def _statistics(
    statistics: Sequence[InteractionStatistic],
    outputs: Sequence[str],
    texts: _TableTexts,
    units: Units,
) -> Finding:
    ranked, left_out = truncate(
        sorted(statistics, key=lambda s: -sum(s.numerators)), len(outputs), "weaker ones"
    )
    shares: Matrix = np.array([s.values for s in ranked])
    sizes: Matrix = units.size_factor * np.sqrt(np.array([s.numerators for s in ranked]))
    is_tested = any(s.p_values for s in ranked)
    rows = [
        (
            *([joined(statistic.features)] if statistic.features else []),
            *if_several(outputs, output),
            spell_beside(shares[place, column], shares),
            *([_interval(statistic, column, shares)] if texts.interval else []),
            *([_p_value(statistic.p_values[column])] if is_tested else []),
            spell_beside(sizes[place, column], sizes[:, column]),
        )
        for place, statistic in enumerate(ranked)
        for column, output in enumerate(outputs)
    ]
    columns = (
        *([Heading("features")] if ranked and ranked[0].features else []),
        *if_several(outputs, Heading("output")),
        Heading("share", is_number=True),
        *([Heading(texts.interval, is_number=True)] if texts.interval else []),
        *([Heading("p-value", is_number=True)] if is_tested else []),
        Heading(f"size ({units.of_sizes(outputs)})", is_number=True),
    )
    reading = f"share = {texts.note}; size = standard deviation (√numerator)"
    if is_tested:
        reading += "; p-value: whether the term explains the target, on rows not trained on"
    return Finding(texts.heading, reading, texts.limit, columns, tuple(rows), left_out)


def _interval_title(confidence_level: float) -> str:
    return f"{100 * confidence_level:g} % interval" if confidence_level else ""


def _interval(statistic: InteractionStatistic, column: int, others: Matrix) -> str:
    """Write the ends of an interval."""
    if not statistic.lower:
        return ""
    low, high = statistic.lower[column], statistic.upper[column]
    return f"{spell_beside(low, others)} to {spell_beside(high, others)}"


def _p_value(value: float) -> str:
    return spell(value, ",.3~r") if np.isfinite(value) else "no number"


def _curve(
    curve: PartialDependenceCurve, outputs: Sequence[str], grouped: bool
) -> Iterator[tuple[str, ...]]:
    values = np.array(curve.values).reshape(-1, len(outputs))
    for column, output in enumerate(outputs):
        low, high = curve_extremes(curve, values[:, column])
        yield (
            joined(curve.features),
            *([clean(curve.group) if curve.group else ""] if grouped else []),
            *if_several(outputs, output),
            number(values[low, column], values[:, column]),
            grid_point(curve, low),
            number(values[high, column], values[:, column]),
            grid_point(curve, high),
        )


def outside_text(curve: PartialDependenceCurve) -> str:
    """Write the share of the rows, moved along a curve, that the table has no such values for."""
    return share_text(curve.outside_share) if curve.HasField("outside_share") else ""


def curve_extremes(
    curve: PartialDependenceCurve | AccumulatedLocalEffect, values: Vector
) -> tuple[int, int]:
    """Return the places of the lowest and highest value, where rows are.

    Parameters
    ----------
    values : (n_points,)
        Of one output. Both places are the first NaN, if there is one, and infinite values count
        wherever they are.
    """
    if not np.isfinite(values).all():
        return int(np.argmin(values)), int(np.argmax(values))
    return extremes(values, np.array(curve.row_weights) if curve.row_weights else None)


def grid_point(
    curve: PartialDependenceCurve | AccumulatedLocalEffect, index: int, *, with_name: bool = False
) -> str:
    """Write a point of a grid; several features with their names, as numbers have commas."""
    texts = []
    for column in curve.grid:
        if column.strings:
            text = _grid_text(column.strings[index], column.strings)
        else:
            text = _grid_number(column.numbers[index], np.array(column.numbers))
        is_named = with_name or len(curve.grid) > 1
        texts.append(with_value(clean(column.name), text) if is_named else text)
    return (" and " if with_name else "; ").join(texts)


def _grid_text(text: str, grid: Sequence[str]) -> str:
    """Write a text of a grid, or what stands for a missing one."""
    return clean(text) if text else free_label("missing", "no value", set(grid))


def _grid_number(value: float, grid: Vector) -> str:
    """Write a number of a grid, no two of them alike."""
    if not np.isfinite(value):
        return "missing" if np.isnan(value) else not_finite(value)
    others = np.unique(grid[np.isfinite(grid)])
    return spell_apart(value, others, scale_format(others))
