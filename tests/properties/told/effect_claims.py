"""Claims of sentences on effects: interactions, curves, FIRM, feature vectors."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from onnxplain.v1.explanation_service_pb2 import Conclusion, Explanation
from onnxplain_server.core.arrays import Array
from onnxplain_server.plots.elements.labels import clean
from told.trends import has_rows, is_along
from told.written import (
    Match,
    claim,
    for_output,
    is_written,
    joined,
    leaders,
    named,
    number,
    rounding,
    with_value,
)


def statistics(found: Match, explanation: Explanation) -> bool:
    """Check which feature moves predictions most, or which pair interacts most, by sizes."""
    result = explanation.interactions
    own = result.importance if found["kind"].startswith("move") else result.pairwise
    told = clean(result.output_names[0]) if len(result.output_names) == 1 else "the output"
    if not len(own) or not _is_unit(found, told):
        return False
    factor = 100 if found["points"] else 1
    numerators = factor**2 * np.array([one.numerators for one in own])
    if found["kind"].startswith(("is the", "are the")) and not _among(found["kind"], explanation):
        return False
    for k in for_output(found, result.output_names):
        shares = np.array([one.standard_errors[k] if one.standard_errors else 0.0 for one in own])
        denominators = factor**2 * np.array([one.denominators[k] for one in own])
        sizes = np.sqrt(numerators[:, k])
        with np.errstate(all="ignore"):
            errors = np.nan_to_num(shares * denominators / (2 * sizes), posinf=0.0)
        names = [joined(one.features) for one in own]
        largest = np.nanmax(np.sqrt(numerators)) == np.nanmax(sizes)
        if largest and claim(
            found["names"], (found["a"], found["b"] or found["a"]), names, sizes, errors
        ):
            return True
    return False


def _is_unit(found: Match, told: str) -> bool:
    return bool(found["points"]) or found["unit"] == told or "…" in (found["unit"] or "")


def _among(kind: str, explanation: Explanation) -> bool:
    """Tell whether pairs are counted where some that may interact were not looked at."""
    result = explanation.interactions
    active = [s.features[0] for s in result.overall if any(n != 0 for n in s.numerators)]
    seen = {frozenset(s.features) for s in result.pairwise}
    pairs = {frozenset((a, b)) for a in active for b in active if a != b}
    counted = re.search(r"the (?:([\d,]+) pairs|pair) looked at, of ([\d,]+) in all", kind)
    if not counted:
        return pairs <= seen
    count = math.comb(len(result.overall), 2)
    return not pairs <= seen and (counted[1] or "1", counted[2]) == (f"{len(seen):,}", f"{count:,}")


def no_pair(found: Match, explanation: Explanation) -> bool:
    """Check that no pair looked at interacts, or none beyond its error."""
    pairs = explanation.interactions.pairwise
    numerators = np.array([one.numerators for one in pairs])
    if not numerators.size or not _among(found[0], explanation):
        return False
    if "above 0" in found[0]:
        return any(one.standard_errors for one in pairs)
    return bool((numerators == 0).all())


def curve(found: Match, explanation: Explanation) -> bool:
    """Check that both ends are values of the curve at the points named, and its way between them.

    A curve over numbers that rises or falls is told as such, unless replicates do not agree.
    """
    result = explanation.partial_dependence
    count = len(result.output_names)
    for curve in result.curves:
        values = np.array(curve.values).reshape(-1, count)
        group = clean(curve.group) if curve.group else None
        if joined(curve.features) != found["names"] or group != found["group"]:
            continue
        for k in for_output(found, result.output_names):
            if (found["way"] or None) == _way(explanation, curve, k) and _are_ends(
                found, curve, values[:, k]
            ):
                return True
    return False


def _are_ends(found: Match, curve: Any, own: Array) -> bool:
    """Tell whether a curve has these values at these points, the first one the lower or higher."""
    first, last = (number(found[n]) for n in ("first", "last"))
    near = [
        [at for at in range(len(own)) if abs(own[at] - v) <= rounding(own)] for v in (first, last)
    ]
    is_order = first > last if (found["way"] or "").startswith("falls") else first < last
    return is_order and all(
        any(is_point(curve, at, found[n]) for at in places)
        for places, n in zip(near, ("there", "then"), strict=True)
    )


def _way(explanation: Explanation, curve: Any, k: int) -> str | None:
    """Return how a curve goes, as a sentence has it; None where it neither rises nor falls."""
    own = np.array(curve.values).reshape(-1, len(explanation.partial_dependence.output_names))[:, k]
    told, numbers = has_rows(curve, len(own)), np.array(curve.grid[0].numbers)
    ends = np.argmin(np.where(told, own, np.inf)), np.argmax(np.where(told, own, -np.inf))
    is_shaky = any(
        one.kind == Conclusion.SLOPE and not one.is_stable and one.features == curve.features
        for one in explanation.conclusions
    )
    if not numbers.size or is_shaky or not np.isfinite(numbers[[*ends]]).all():
        return None
    for sign, verb in ((1, "rises"), (-1, "falls")):
        if is_along(curve, sign * own, told):
            is_throughout = is_along(curve, sign * own, told, most=1e-6)
            return verb if is_throughout else f"{verb} on the whole,"
    return None


def outside(found: Match, explanation: Explanation) -> bool:
    """Check that so many rows of the curve are outside the data: its points by the rows near."""
    for curve in explanation.partial_dependence.curves:
        group = clean(curve.group) if curve.group else None
        if joined(curve.features) != found["names"] or group != found["group"]:
            continue
        weights, shares = np.array(curve.row_weights), np.array(curve.outside_shares)
        known = weights.size and 0 < weights.sum() < np.inf
        share = float(np.average(shares, weights=weights)) if known else curve.outside_share
        partner = clean(curve.outside_partner) if curve.outside_partner else None
        is_near = abs(float(found["share"].split()[-1][:-1]) / 100 - share) <= 0.0051
        if is_near and share > 0.2 and partner == found["partner"]:
            return partner is None or partner not in curve.features
    return False


def is_point(curve: Any, at: int, text: str) -> bool:
    """Tell whether a text names a point of a grid."""
    parts = []
    for column in curve.grid:
        if column.strings:
            parts.append((column.name, clean(column.strings[at]) if column.strings[at] else None))
        else:
            parts.append((column.name, column.numbers[at]))
    rest = text
    for index, (name, value) in enumerate(parts):
        head = f"{' and ' if index else ''}{with_value(name)}"
        if not rest.startswith(head):
            return False
        rest = rest[len(head) :]
        if isinstance(value, float) and math.isfinite(value):
            written = re.match(r"−?[\d,]*\.?\d+(?:e[+−−]?\d+)?", rest)
            unit = rounding(np.array([v for v in curve.grid[index].numbers if math.isfinite(v)]))
            if not written or abs(number(written[0]) - value) > unit:
                return False
            rest = rest[written.end() :]
        elif isinstance(value, str):
            if not rest.startswith(value):
                return False
            rest = rest[len(value) :]
        else:
            rest = re.sub(r"^(missing|no value|minus infinite|infinite)[^ ]*", "", rest)
    return not rest


def flat_curves(found: Match, explanation: Explanation) -> bool:
    result = explanation.partial_dependence
    values = [np.array(c.values).reshape(-1, len(result.output_names)) for c in result.curves]
    return bool(values) and all((np.ptp(v, axis=0) <= 2e-6 * np.abs(v).max()).all() for v in values)


def accumulated(found: Match, explanation: Explanation) -> bool:
    """Check that the effect goes as far as told between the points that are named."""
    result = explanation.accumulated_local_effects
    for curve in result.curves:
        values = np.array(curve.values).reshape(-1, len(result.output_names))
        group = clean(curve.group) if curve.group else None
        if joined(curve.features) != found["names"] or group != found["group"]:
            continue
        ends = [
            [at for at in range(len(values)) if is_point(curve, at, found[name])]
            for name in ("there", "then")
        ]
        for k in for_output(found, result.output_names):
            sign = -1 if "verb" in found.groupdict() and found["verb"] == "falls" else 1
            is_curve = len(curve.features) == 1
            pairs = [(i, j) for i in ends[0] for j in ends[1] if i < j or not is_curve]
            rises = [sign * (values[j, k] - values[i, k]) for i, j in pairs]
            if any(rise > 0 and is_written(found["a"], rise) for rise in rises):
                return True
    return False


def flat_accumulated(found: Match, explanation: Explanation) -> bool:
    curves = explanation.accumulated_local_effects.curves
    return bool(curves) and all(np.ptp(curve.values) <= 0 for curve in curves)


def rows_of_curves(found: Match, explanation: Explanation) -> bool:
    result = explanation.individual_conditional_expectation
    count = len(result.output_names)
    for curves in result.curves:
        if joined(curves.features or [curves.feature]) != found["names"]:
            continue
        changes = np.ptp(
            np.array(curves.values).reshape(len(curves.row_indices), -1, count), axis=1
        )
        if f"{len(changes):,}" == found["rows"] and any(
            is_written(found["a"], float(np.median(changes[:, k])), changes)
            and is_written(found["b"], changes[:, k].max(), changes)
            for k in for_output(found, result.output_names)
        ):
            return True
    return False


def firm(found: Match, explanation: Explanation) -> bool:
    result = explanation.firm
    if not result.importances:
        return False
    names = [clean(one.feature) for one in result.importances]
    for k in for_output(found, result.output_names):
        values = np.abs([one.values[k] for one in result.importances])
        errors = np.nan_to_num([
            one.standard_errors[k] if one.standard_errors else 0.0 for one in result.importances
        ])  # fmt: skip
        if "names" not in found.groupdict():
            if not leaders(values, errors):
                return True
        elif claim(found["names"], (found["a"], found["b"] or found["a"]), names, values, errors):
            return True
    return False


def vectors(found: Match, explanation: Explanation) -> bool:
    """Check which features have the longest vectors."""
    result = explanation.feature_vectors
    if not len(result.norms):
        return False
    errors = np.array(result.norm_standard_errors or np.zeros(len(result.norms)))
    leading = leaders(np.array(result.norms), errors)
    return named([clean(result.features[k]) for k in leading], found["names"], "and")


def stand_in(found: Match, explanation: Explanation) -> bool:
    pairs = explanation.feature_vectors.interchangeable
    return bool(pairs) and found[0] == (
        f"{clean(pairs[0].first)} and {clean(pairs[0].second)} could stand in for each other "
        f"(adjusted similarity {pairs[0].adjusted_similarity:.2f})."
    )
