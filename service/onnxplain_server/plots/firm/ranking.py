"""Plots of FIRM: the ranking with intervals, curves of the expected score, and squares of pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.methods.firm import Estimator, Result
from onnxplain_server.methods.firm.result import FirmImportance
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.labels import clean, distinguish, is_comparison, with_value
from onnxplain_server.plots.elements.number_formats import drawable
from onnxplain_server.plots.elements.style import MOST_SERIES
from onnxplain_server.plots.firm import curves, squares
from onnxplain_server.plots.marks.bars import Bars, BarTitles, ErrorBars, draw, labels_of
from onnxplain_server.plots.marks.ranking import MOST_BARS, counts, finding
from onnxplain_server.plots.units.naming import spoken
from onnxplain_server.plots.units.prediction_units import value_unit

_TITLE = "Feature importance ranking measure"
_SIGNED = frozenset({Estimator.GAUSSIAN, Estimator.TWO_VALUED, Estimator.SLOPE})
"""Estimators whose importances have a sign."""
_SIGNS_READ = "▲ the score rises with the feature, or where it holds; ▼ it falls"
_UNSIGNED_READ = "; without a sign: rises and falls are not told apart"


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw the ranking, the curves, and a square for each list of pairs."""
    return tuple(_plots(result))


def _plots(result: Result) -> Iterator[Plot]:
    yield _ranking(result)
    yield from curves.plots(result)
    yield from squares.plots(result)


def _ranking(result: Result) -> Plot:
    bars = _bars(result, drawable(np.array([one.values for one in result.importances])))
    remarks = _remarks(result, bars)
    title = f"{_TITLE} for {spoken(bars.outputs, len(result.output_names))}"
    sentences = [f"{title}: {finding(bars)}", _axis_title(result), *remarks]
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
    features = [(_label(result.importances[row]),) for row in rows]
    directions = _directions(result, values)[np.ix_(rows, columns)]
    return Bars(
        names=tuple(clean(name) for (name,) in features),
        labels=labels_of(features),
        outputs=tuple(distinguish(result.output_names)[column] for column in columns),
        columns=tuple(columns.tolist()),
        values=np.abs(values[np.ix_(rows, columns)]),
        total=len(values),
        nonzero=int(is_nonzero.sum()),
        broken=int((~np.isfinite(values[:, columns])).sum()),
        errors=_errors(result, rows, columns, directions),
        directions=directions if directions.any() else None,
    )


def _directions(result: Result, values: Matrix) -> Matrix:
    """Return the signs of importances that have one; 0 for those that are sizes: as `values`."""
    signed = np.array([one.estimator in _SIGNED for one in result.importances])
    return np.where(signed[:, None] & np.isfinite(values), np.sign(values), 0.0)


def _label(importance: FirmImportance) -> str:
    """Name a feature; of two values, the one towards which a rise is told: "housing = yes".

    A comparison holds or does not: "age > 30", or "not (age > 30)".
    """
    levels, expected = importance.curve.levels, importance.curve.expected
    if importance.estimator is not Estimator.TWO_VALUED or len(levels) != 2:
        return importance.feature
    rise = (expected[1] - expected[0]) * importance.values
    place = 0 if np.nansum(rise) < 0 else 1
    level = levels[place]
    name, text = importance.feature, clean(level) if isinstance(level, str) else f"{level:g}"
    if is_comparison(name) and [*levels] == [0, 1]:
        return name if place else f"not ({name})"
    return with_value(name, text)


def _errors(
    result: Result, rows: Indices, columns: Indices, directions: Matrix
) -> ErrorBars | None:
    """Return the intervals, those of falling scores turned to their size; None without any."""
    if not result.confidence_level:
        return None
    spreads = [result.importances[row].spread for row in rows]
    low = np.array([spread.lower if spread else np.nan for spread in spreads])
    high = np.array([spread.upper if spread else np.nan for spread in spreads])
    low, high = drawable(low[:, columns]), drawable(high[:, columns])
    falls = directions < 0
    low, high = np.where(falls, -high, low), np.where(falls, -low, high)
    return ErrorBars(low, high, result.confidence_level)


def _axis_title(result: Result) -> str:
    unit = "standard deviations of the score" if result.is_standardized else _unit(result)
    return f"Standard deviation of the expected score ({unit})"


def _unit(result: Result) -> str:
    return value_unit(result.output_names)


def _remarks(result: Result, bars: Bars) -> list[str]:
    estimators = dict.fromkeys(importance.estimator.value for importance in result.importances)
    remarks = [f"Estimated by {', '.join(e.lower().replace('_', '-') for e in estimators)}"]
    if bars.directions is not None:
        remarks.append(_SIGNS_READ + ("" if bars.directions.all() else _UNSIGNED_READ))
    if result.confidence_level:
        percent = f"{100 * result.confidence_level:.3g} %"
        remarks.append(f"Lines: {percent} intervals, from resampling rows")
    else:
        remarks.append("Without intervals; ask for them by repeat_count")
    return remarks + counts("feature", bars, len(result.output_names))
