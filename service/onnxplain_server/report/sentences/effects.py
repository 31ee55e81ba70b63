"""Sentences on effects: interactions, partial dependence, curves of single rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from onnxplain.v1.explanation_service_pb2 import Conclusion, Explanation
from onnxplain.v1.interactions_pb2 import InteractionStatistic
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceCurve

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.plots.claims.leaders import leaders
from onnxplain_server.plots.claims.pair_coverage import pair_coverage
from onnxplain_server.plots.claims.support import TOLD_OUTSIDE
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.plots.elements.number_formats import is_flat, spell_beside
from onnxplain_server.plots.units.prediction_units import Units
from onnxplain_server.report.accumulated_findings import accumulated_ranges
from onnxplain_server.report.effect_findings import (
    curve_extremes,
    grid_point,
    outside_text,
)
from onnxplain_server.report.finding import number
from onnxplain_server.report.individual_findings import row_changes
from onnxplain_server.report.sentences.stable import has_unstable_slope, told_apart
from onnxplain_server.report.sentences.words import feature_names, few_of, for_output, of_output


def largest(values: Array) -> tuple[int, int] | None:
    """Return row and column of the largest finite value above 0; None without any."""
    finite = np.where(np.isfinite(values), values, 0.0)
    if not finite.size or finite.max() <= 0:
        return None
    row, column = np.unravel_index(int(np.argmax(finite)), finite.shape)
    return int(row), int(column)


_OF_LINK = "the link alone makes it, the model's logistic or softmax, before which effects add up"


# Long: a sentence for each thing that may be said of pairs.
def of_interactions(
    explanation: Explanation, units: Units, *, is_linear: bool = False
) -> Iterator[str]:
    """Name the feature with the largest effects, and the strongest pair of those looked at.

    Parameters
    ----------
    is_linear : bool
        Whether the outputs are a link of a linear function, which has no interactions before it.
    """
    result = explanation.interactions
    outputs = list(result.output_names)
    moving = _leading(
        explanation,
        result.importance,
        outputs,
        _Claim(
            "moves predictions most: its effects have", "move predictions most", Conclusion.RANK
        ),
        units,
    )
    if moving:
        yield moving
    if not len(result.pairwise):
        return
    coverage = pair_coverage(result.overall, result.pairwise)
    among = coverage.among
    strongest = _leading(
        explanation,
        result.pairwise,
        outputs,
        _Claim(
            f"is the strongest interaction of {among or 'a pair'}: it has",
            f"are the strongest interactions of {among or 'pairs'}",
            Conclusion.STRONGEST_PAIR,
        ),
        units,
    )
    if strongest:
        yield f"{strongest[:-1]}; {_OF_LINK}." if is_linear else strongest
    elif not np.isfinite(_sizes(result.pairwise)).all():
        return
    elif largest(_sizes(result.pairwise)) is None:
        yield f"None of {among}, interacts." if among else "No pair of features interacts."
    else:
        yield f"No interaction of {among or 'a pair'} is above 0 beyond its error."


class _Claim(NamedTuple):
    """Words for the only leader, and for several; and what replicates conclude of it."""

    of_one: str
    of_several: str
    kind: int


def _leading(
    explanation: Explanation,
    statistics: Sequence[InteractionStatistic],
    outputs: Sequence[str],
    claim: _Claim,
    units: Units,
) -> str:
    """Return a sentence on the statistics of the largest size; empty without any above 0."""
    sizes = _sizes(statistics)
    place = largest(sizes)
    if place is None:
        return ""
    column = place[1]
    rows = leaders(sizes[:, column], _size_errors(statistics, column))
    if not rows:
        return ""
    of_each = [statistic.features for statistic in statistics]
    own = outputs[column], of_each, sizes[:, column]
    rows = told_apart(explanation, claim.kind, *own, rows)
    names = [feature_names(statistics[row].features) for row in rows]
    told = units.size_factor * sizes[:, column]
    texts = [spell_beside(told[row], told) for row in rows]
    unit = f"{units.of_sizes(outputs, in_brackets=True)}{for_output(outputs, column)}"
    if len(rows) == 1:
        return f"{names[0]} {claim.of_one} a typical size of {texts[0]} {unit}."
    sizes_text = texts[0] if texts[0] == texts[-1] else f"{texts[-1]} to {texts[0]}"
    return (
        f"{few_of(names)} {claim.of_several}, and cannot be told apart: "
        f"a typical size of {sizes_text} {unit}."
    )


def _sizes(statistics: Sequence[InteractionStatistic]) -> Array:
    """Return square roots of numerators: (n_statistics, n_outputs)."""
    if not len(statistics):
        return np.empty((0, 0))
    sizes: Array = np.sqrt(np.array([statistic.numerators for statistic in statistics]))
    return sizes


def _size_errors(statistics: Sequence[InteractionStatistic], column: int) -> Vector | None:
    """Return standard errors of sizes from those of shares: (n_statistics,); None without."""
    if not any(statistic.standard_errors for statistic in statistics):
        return None
    errors = []
    for one in statistics:
        error = one.standard_errors[column] if one.standard_errors else 0.0
        numerator, denominator = one.numerators[column], one.denominators[column]
        errors.append(error * denominator / (2 * np.sqrt(numerator)) if numerator > 0 else 0.0)
    return np.array(errors)


def moving_most(explanation: Explanation) -> str:
    """Return the feature with the largest effects, by interactions; empty without any."""
    statistics = explanation.interactions.importance
    place = largest(_sizes(statistics))
    return "" if place is None else statistics[place[0]].features[0]


def of_partial_dependence(explanation: Explanation, most_important: str = "") -> Iterator[str]:
    """Tell from where to where the average prediction goes along a curve.

    Parameters
    ----------
    most_important : str
        Feature that another sentence calls most important, whose curve is told of where there is
        one; otherwise, it is the curve with the widest range.
    """
    result = explanation.partial_dependence
    outputs = list(result.output_names)
    curves = [np.array(curve.values).reshape(-1, len(outputs)) for curve in result.curves]
    if not curves or any(not np.isfinite(values).all() for values in curves):
        return
    ranges = _ranges(curves)
    if not np.isfinite(ranges).all():
        return
    if largest(ranges) is None:
        yield "No feature asked about moves the average prediction."
        return
    own = [list(curve.features) == [most_important] for curve in result.curves]
    is_told = any(own) and largest(ranges[own]) is not None
    told = np.where(np.array(own)[:, None], ranges, 0) if is_told else ranges
    row, column = largest(told) or (0, 0)
    curve, values = result.curves[row], curves[row][:, column]
    low, high = (
        f"{number(values[at], values)} at {grid_point(curve, at, with_name=True)}"
        for at in curve_extremes(curve, values)
    )
    group = f" in the group {clean(curve.group)}" if curve.group else ""
    is_widest = not is_told and len(curves) > 1 and len(leaders(ranges[:, column])) == 1
    widest = ", whose curve has the widest range," if is_widest else ""
    yield (
        f"Along {feature_names(curve.features)}{widest} the average prediction"
        f"{of_output(outputs, column)}{group} is lowest, {low}, and highest, {high}."
    )
    if curve.outside_share > TOLD_OUTSIDE:
        yield _outside(curve, group)


def doubts_of_partial_dependence(explanation: Explanation, message: str) -> list[str]:
    """Return the sentences on support that the message of CURVES_EXTRAPOLATE says as well."""
    return [
        _outside(curve, "")
        for curve in explanation.partial_dependence.curves
        if not curve.group
        and len(curve.features) == 1
        and f"{curve.features[0]!r} {outside_text(curve)}," in message
    ]


def _ranges(curves: Sequence[Array]) -> Array:
    """Highest less lowest value of each curve: (n_curves, n_outputs)."""
    with np.errstate(over="ignore"):
        ranges = [[0.0 if is_flat(one) else np.ptp(one) for one in curve.T] for curve in curves]
    return np.array(ranges)


def _outside(curve: PartialDependenceCurve, group: str) -> str:
    beside = f", mostly with {clean(curve.outside_partner)}" if curve.outside_partner else ""
    return (
        f"Of the rows moved along {feature_names(curve.features)}{group}, "
        f"{outside_text(curve)} combine values that the table lacks{beside}."
    )


# Long: a sentence for each kind of curve.
def of_accumulated(explanation: Explanation) -> Iterator[str]:
    """Tell how far the accumulated effect goes along the feature with the widest range.

    Of pairs alone it is that beyond the effects of each.
    """
    result = explanation.accumulated_local_effects
    outputs = list(result.output_names)
    asked = [one for one in result.curves if len(one.features) == 1] or list(result.curves)
    if not asked or any(not np.isfinite(curve.values).all() for curve in asked):
        return
    ends, ranges = accumulated_ranges(asked, len(outputs))
    place = largest(ranges)
    if place is None:
        names = dict.fromkeys(feature_names(curve.features) for curve in asked)
        yield f"The accumulated effect does not change along {few_of([*names], 'or')}."
        return
    row, column = place
    curve, (low, high) = asked[row], ends[row, column]
    size = number(ranges[row, column], ranges[:, column])
    first, last = (grid_point(curve, at, with_name=True) for at in sorted((low, high)))
    group = f" in the group {clean(curve.group)}" if curve.group else ""
    verb = "rises" if low < high else "falls"
    if len(curve.features) > 1:
        low_at, high_at = (grid_point(curve, at, with_name=True) for at in (low, high))
        yield (
            f"What {feature_names(curve.features)} do together to {clean(outputs[column])}{group}, "
            f"beyond the effects of each, is {size} more at {high_at} than at {low_at}, over rows "
            "as they occur."
        )
        return
    if has_unstable_slope(explanation, outputs[column], curve.features, curve.group):
        yield (
            f"Along {feature_names(curve.features)} the accumulated effect on "
            f"{clean(outputs[column])}{group} differs by {size} between {first} and {last}, over "
            "rows as they occur; other rows might show it fall where it rises on the whole, or "
            "rise where it falls."
        )
        return
    yield (
        f"Along {feature_names(curve.features)} the accumulated effect on "
        f"{clean(outputs[column])}{group} {verb} by {size} from {first} to {last}, over rows as "
        "they occur."
    )


def of_individual(explanation: Explanation) -> Iterator[str]:
    """Tell how far the prediction of a row goes along the feature that moves it most."""
    result = explanation.individual_conditional_expectation
    outputs = list(result.output_names)
    changes = [row_changes(curves, outputs) for curves in result.curves]
    with np.errstate(over="ignore"):
        medians = np.array([np.median(change, axis=0) for change in changes])
    place = largest(medians) if medians.size and np.isfinite(medians).all() else None
    if place is None:
        return
    row, column = place
    name = feature_names(result.curves[row].features or [result.curves[row].feature])
    typical = spell_beside(medians[row, column], changes[row])
    most = spell_beside(changes[row][:, column].max(), changes[row])
    yield (
        f"As {name} moves and the rest of a row stays, its prediction{of_output(outputs, column)} "
        f"changes by {typical} (median over {len(changes[row]):,} rows), at most by {most}."
    )
