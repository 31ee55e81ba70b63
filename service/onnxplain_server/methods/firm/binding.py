"""Binding of estimators to features: choose one per feature, reject impossible choices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.columns import widen
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.language import ColumnValues, Expression, evaluate_stored, form_of
from onnxplain_server.methods.firm.bins import Bins, cut
from onnxplain_server.methods.firm.measures import (
    Binned,
    BoundEstimator,
    ClosedForm,
    Slope,
    Smooth,
    TwoValued,
)
from onnxplain_server.methods.firm.options import MAX_COMBINATIONS, Estimator, Options
from onnxplain_server.methods.firm.spline import MIN_VALUES, Spline
from onnxplain_server.methods.firm.weighted_scores import Moments


@dataclass(frozen=True, slots=True, eq=False)
class BoundFeature:
    """Feature with its values binned and its estimator chosen.

    Attributes
    ----------
    expression : Expression
    bins : Bins
        Bins of the feature, used by the curve for every estimator.
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
    """Evaluate a feature and choose its estimator.

    Raises
    ------
    ExplainError
        INVALID_OPTION if the requested estimator does not apply.
    """
    values = evaluate_stored(expression, columns)
    is_group = expression.text in options.named_groups
    bins = cut(values, weights, MAX_COMBINATIONS if is_group else options.bin_count)
    return BoundFeature(expression, bins, _measure(expression, values, bins, options, moments))


def bind_bins(expression: Expression, bins: Bins, options: Options) -> BoundFeature:
    """Choose the estimator of a feature of which only the bins are known: exact for two values.

    Raises
    ------
    ExplainError
        INVALID_OPTION if TWO_VALUED is requested and does not apply.
    """
    if options.estimator is Estimator.TWO_VALUED:
        _check_two_valued(expression, bins)
    measure = TwoValued(bins) if bins.is_two_valued else Binned(bins, options.keep_bias)
    return BoundFeature(expression, bins, measure)


def _check_two_valued(expression: Expression, bins: Bins) -> None:
    if bins.count > 2 or (bins.count == 2 and not bins.is_two_valued):
        raise _invalid(
            expression,
            "TWO_VALUED needs a feature of two values, none missing; compare it, as in x > 0",
        )


def _measure(
    expression: Expression, values: Array, bins: Bins, options: Options, moments: Moments | None
) -> BoundEstimator:
    match options.estimator:
        case Estimator.GAUSSIAN | Estimator.TAYLOR:
            return _closed_form(expression, options.estimator, moments)
        case Estimator.SLOPE:
            return Slope(_numbers(expression, values, Estimator.SLOPE))
        case Estimator.TWO_VALUED:
            _check_two_valued(expression, bins)
            return _conditional(expression, values, bins, options)
        case Estimator.BINNED | Estimator.SMOOTH | None:
            return _conditional(expression, values, bins, options)


def _conditional(
    expression: Expression, values: Array, bins: Bins, options: Options
) -> BoundEstimator:
    """Choose an estimator of the conditional expectation: exact for two values."""
    if bins.is_two_valued:
        return TwoValued(bins)
    if options.estimator is Estimator.SMOOTH:
        numbers = _numbers(expression, values, Estimator.SMOOTH)
        if bins.count >= MIN_VALUES or len(np.unique(numbers)) >= MIN_VALUES:
            return Smooth(Spline(numbers), options.keep_bias)
    return Binned(bins, options.keep_bias)


def _closed_form(
    expression: Expression, estimator: Estimator, moments: Moments | None
) -> ClosedForm:
    form = form_of(expression)
    if form is None:
        raise _invalid(
            expression,
            f"{estimator.value} needs columns of numbers, sums of them, or thresholds of these",
        )
    if moments is None:
        raise ValueError("closed forms need moments")
    return ClosedForm(form, moments, estimator)


def _numbers(expression: Expression, values: Array, estimator: Estimator) -> Vector:
    if values.dtype == object or np.isnan(values).any():
        content = "text" if values.dtype == object else "missing values"
        raise _invalid(
            expression,
            f"{estimator.value} needs numbers, but the feature has {content}; use BINNED",
        )
    return widen(values)


def _invalid(expression: Expression, reason: str) -> ExplainError:
    return ExplainError(Reason.INVALID_OPTION, f"{expression.text!r}: {reason}", expression.path)
