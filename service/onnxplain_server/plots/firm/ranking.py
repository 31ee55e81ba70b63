"""Plots of FIRM: the ranking with intervals, curves of the expected score, and squares of pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.methods.firm import Result
from onnxplain_server.plots.elements.bars import Bars, BarTitles, ErrorBars, draw, labels_of
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.labels import clean, distinguish
from onnxplain_server.plots.elements.naming import spoken, unit_of
from onnxplain_server.plots.elements.number_formats import drawable
from onnxplain_server.plots.elements.ranking import MOST_BARS, counts, finding
from onnxplain_server.plots.elements.style import MOST_SERIES
from onnxplain_server.plots.firm import curves, squares

_TITLE = "Feature importance ranking measure"


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw the ranking, the curves, and a square for each list of pairs."""
    return tuple(_plots(result))


def _plots(result: Result) -> Iterator[Plot]:
    yield _ranking(result)
    yield from curves.plots(result)
    yield from squares.plots(result)


def _ranking(result: Result) -> Plot:
    values = drawable(np.array([importance.values for importance in result.importances]))
    bars = _bars(result, values)
    remarks = _remarks(result, bars)
    title = f"{_TITLE} for {spoken(bars.outputs, len(result.output_names))}"
    sentences = [f"{title}: {finding(bars, by_magnitude=True)}", _axis_title(result), *remarks]
    description = " ".join(f"{sentence}." for sentence in sentences)
    body = draw(bars, BarTitles("feature", "importance"), _axis_title(result))
    return finish("firm", title, remarks, description, body)


def _bars(result: Result, values: Matrix) -> Bars:
    """Choose features and outputs by the absolute values of their importances."""
    sizes = np.abs(np.where(np.isfinite(values), values, 0.0))
    is_nonzero = ~(values == 0).all(axis=1)
    order = np.argsort(-sizes.sum(axis=1), kind="stable")
    rows = (order[is_nonzero[order]] if is_nonzero.any() else order)[:MOST_BARS]
    columns = np.sort(np.argsort(-sizes.sum(axis=0), kind="stable")[:MOST_SERIES])
    features = [(result.importances[row].feature,) for row in rows]
    return Bars(
        names=tuple(clean(name) for (name,) in features),
        labels=labels_of(features),
        outputs=tuple(distinguish(result.output_names)[column] for column in columns),
        columns=tuple(columns.tolist()),
        values=values[np.ix_(rows, columns)],
        total=len(values),
        nonzero=int(is_nonzero.sum()),
        broken=int((~np.isfinite(values[:, columns])).sum()),
        errors=_errors(result, rows, columns),
    )


def _errors(result: Result, rows: Indices, columns: Indices) -> ErrorBars:
    """Return the intervals; NaN without them, which still keeps numbers out of negative bars."""
    shape = (len(rows), len(columns))
    if not result.confidence_level:
        return ErrorBars(np.full(shape, np.nan), np.full(shape, np.nan))
    spreads = [result.importances[row].spread for row in rows]
    low = np.array([spread.lower if spread else np.nan for spread in spreads])
    high = np.array([spread.upper if spread else np.nan for spread in spreads])
    low, high = drawable(low[:, columns]), drawable(high[:, columns])
    return ErrorBars(low, high, result.confidence_level)


def _axis_title(result: Result) -> str:
    unit = "standard deviations of the score" if result.is_standardized else _unit(result)
    return f"Standard deviation of the expected score ({unit})"


def _unit(result: Result) -> str:
    return f"units of {unit_of(result.output_names)}"


def _remarks(result: Result, bars: Bars) -> list[str]:
    estimators = dict.fromkeys(importance.estimator.value for importance in result.importances)
    remarks = [f"Estimated by {', '.join(e.lower().replace('_', '-') for e in estimators)}"]
    if (bars.values[np.isfinite(bars.values)] < 0).any():
        remarks.append("Below 0: the score falls as the feature rises, or where it holds")
    if result.confidence_level:
        percent = f"{100 * result.confidence_level:.3g} %"
        remarks.append(f"Lines: {percent} intervals, from resampling rows")
    else:
        remarks.append("Without intervals; ask for them by repeat_count")
    return remarks + counts("feature", bars, len(result.output_names))
