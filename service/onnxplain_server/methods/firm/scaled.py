"""Scores in units in which their squares, and products with columns, stay within float64."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Vector, unit_of_squares
from onnxplain_server.methods.firm.result import (
    FirmImportance,
    ImportanceSpread,
    Result,
    ScatterSample,
)
from onnxplain_server.methods.firm.weighted_scores import Moments
from onnxplain_server.methods.resampling import ReplicatedStatistic


def scaled_moments(moments: Moments, score_units: Vector) -> Moments:
    """Divide columns by units of their own, and scores by the given ones: (n_outputs,)."""
    units = unit_of_squares(moments.rows)
    if (units == 1).all() and (score_units == 1).all():
        return moments
    with np.errstate(over="ignore", under="ignore"):
        gradient = moments.gradient / score_units * units[:, None]
    return replace(moments, rows=moments.rows / units, gradient=gradient, units=units)


def in_units(result: Result, units: Vector) -> Result:
    """Multiply all scores of a result by units: (n_outputs,)."""
    if (units == 1).all():
        return result
    of_importance = np.ones_like(units) if result.is_standardized else units
    return replace(
        result,
        importances=tuple(_importance(i, units, of_importance) for i in result.importances),
        means=result.means * units,
        deviations=result.deviations * units,
        scatter=ScatterSample(result.scatter.values, result.scatter.scores * units),
    )


def scaled_statistics(
    statistics: Iterable[ReplicatedStatistic], units: Vector
) -> Iterator[ReplicatedStatistic]:
    """Yield statistics in units of the outputs, (n_outputs,), or in their squares."""
    for each in statistics:
        own = units**2 if each.kind == "FIRM_IMPORTANCE_SQUARE" else units
        yield replace(each, values=each.values * own, replicates=each.replicates * own)


def _importance(importance: FirmImportance, units: Vector, own: Vector) -> FirmImportance:
    spread, curve = importance.spread, importance.curve
    scaled = spread and ImportanceSpread(
        spread.standard_errors * own, spread.lower * own, spread.upper * own
    )
    return replace(
        importance,
        values=importance.values * own,
        spread=scaled,
        curve=replace(curve, expected=curve.expected * units),
    )
