"""Estimators bound to features: which one, and whether it can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.firm.bins import Bins, cut
from onnxplain_server.methods.firm.language import ColumnValues, Expression, evaluate, form_of
from onnxplain_server.methods.firm.measures import (
    Binned,
    BoundEstimator,
    ClosedForm,
    Slope,
    Smooth,
    TwoValued,
)
from onnxplain_server.methods.firm.options import Estimator, Options
from onnxplain_server.methods.firm.spline import FEWEST_VALUES, Spline
from onnxplain_server.methods.firm.weighted_scores import Moments


@dataclass(frozen=True, slots=True, eq=False)
class BoundFeature:
    """A feature with its estimator.

    Attributes
    ----------
    expression : Expression
    bins : Bins
        Of the feature, whatever the estimator.
    measure : BoundEstimator
    """

    expression: Expression
    bins: Bins
    measure: BoundEstimator


def bind(
    expression: Expression,
    columns: ColumnValues,
    weights: Vector,
    options: Options,
    moments: Moments | None,
) -> BoundFeature:
    """Compute a feature and choose its estimator.

    Raises
    ------
    ExplainError
        INVALID_OPTION where the estimator that is asked for cannot be.
    """
    values = evaluate(expression, columns)
    bins = cut(values, weights, options.bin_count)
    return BoundFeature(expression, bins, _measure(expression, values, bins, options, moments))


def _measure(
    expression: Expression, values: Array, bins: Bins, options: Options, moments: Moments | None
) -> BoundEstimator:
    match options.estimator:
        case Estimator.GAUSSIAN | Estimator.TAYLOR:
            return _closed(expression, options.estimator, moments)
        case Estimator.SLOPE:
            return Slope(_numbers(expression, values, Estimator.SLOPE))
        case Estimator.TWO_VALUED if bins.count > 2 or (bins.count == 2 and not bins.is_two_valued):
            raise _refused(
                expression,
                "TWO_VALUED needs a feature of two values, none missing; compare it, as in x > 0",
            )
        case _:
            return _conditional(expression, values, bins, options)


def _conditional(
    expression: Expression, values: Array, bins: Bins, options: Options
) -> BoundEstimator:
    """Estimate conditional expectations: exactly where there are two values."""
    if bins.is_two_valued:
        return TwoValued(bins)
    if options.estimator is Estimator.SMOOTH:
        numbers = _numbers(expression, values, Estimator.SMOOTH)
        if bins.count >= FEWEST_VALUES or len(np.unique(numbers)) >= FEWEST_VALUES:
            return Smooth(Spline(numbers), options.keep_bias)
    return Binned(bins, options.keep_bias)


def _closed(expression: Expression, estimator: Estimator, moments: Moments | None) -> ClosedForm:
    form = form_of(expression)
    if form is None:
        raise _refused(
            expression,
            f"{estimator.value} needs columns of numbers, sums of them, or thresholds of these",
        )
    if moments is None:
        raise ValueError("closed forms need moments")
    return ClosedForm(form, moments, estimator)


def _numbers(expression: Expression, values: Array, estimator: Estimator) -> Vector:
    if values.dtype == object or np.isnan(values).any():
        held = "text" if values.dtype == object else "missing values"
        raise _refused(
            expression, f"{estimator.value} needs numbers, but there is {held}; ask for BINNED"
        )
    return values


def _refused(expression: Expression, why: str) -> ExplainError:
    return ExplainError(Reason.INVALID_OPTION, f"{expression.text!r}: {why}", expression.path)
