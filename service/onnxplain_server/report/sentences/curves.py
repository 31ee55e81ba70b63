"""Sentences on curves: partial dependence, accumulated effects, curves of single rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from onnxplain.v1.explanation_service_pb2 import Explanation
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceCurve

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.plots.claims.directions import ends_of_trend
from onnxplain_server.plots.claims.leaders import leaders
from onnxplain_server.plots.claims.support import TOLD_OUTSIDE
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.plots.elements.number_formats import is_flat, spell_beside
from onnxplain_server.report.accumulated_findings import accumulated_ranges
from onnxplain_server.report.effect_findings import (
    curve_extremes,
    grid_point,
    outside_text,
)
from onnxplain_server.report.finding import number
from onnxplain_server.report.individual_findings import row_changes
from onnxplain_server.report.sentences.effects import largest
from onnxplain_server.report.sentences.stable import has_unstable_slope
from onnxplain_server.report.sentences.words import feature_names, few_of, of_output


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
    group = f" in the group {clean(curve.group)}" if curve.group else ""
    is_widest = not is_told and len(curves) > 1 and len(leaders(ranges[:, column])) == 1
    widest = ", whose curve has the widest range," if is_widest else ""
    yield (
        f"Along {feature_names(curve.features)}{widest} the average prediction"
        f"{of_output(outputs, column)}{group} {_way(explanation, curve, values, outputs[column])}."
    )
    if curve.outside_share > TOLD_OUTSIDE:
        yield _outside(curve, group)


def _way(
    explanation: Explanation, curve: PartialDependenceCurve, values: Vector, output: str
) -> str:
    """Tell from where to where a curve rises or falls, or where it is lowest and highest."""
    trend = None
    is_stable = not has_unstable_slope(explanation, output, curve.features, curve.group)
    if len(curve.grid) == 1 and not curve.grid[0].strings and is_stable:
        weights = np.array(curve.row_weights) if curve.row_weights else None
        trend = ends_of_trend(np.array(curve.grid[0].numbers), values, weights)
    way, *places = trend or ("", *curve_extremes(curve, values))
    first, last = (
        f"{number(values[at], values)} at {grid_point(curve, at, with_name=True)}" for at in places
    )
    return f"{way} from {first} to {last}" if way else f"is lowest, {first}, and highest, {last}"


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
