"""The sentence for a first look: which features lead, and how predictions go along each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnxplain.v1.explanation_service_pb2 import Explanation
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceCurve

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.plots.claims.directions import direction_of
from onnxplain_server.plots.claims.support import supported
from onnxplain_server.plots.elements.labels import clean, quoted
from onnxplain_server.plots.elements.number_formats import is_flat
from onnxplain_server.report.effect_findings import curve_extremes, grid_point
from onnxplain_server.report.sentences.effects import largest
from onnxplain_server.report.sentences.stable import has_unstable_slope, stable_ranks
from onnxplain_server.report.sentences.words import of_output

_MOST = 3
_WORDS: Mapping[int, str] = {1: "rises", -1: "falls"}


def by_shuffling(explanation: Explanation) -> list[str]:
    """Return the features of largest permutation importance, beyond two standard errors of 0."""
    importances = explanation.permutation_importance.importances
    values = np.array([importance.values for importance in importances])
    errors = np.nan_to_num(np.array([importance.standard_errors for importance in importances]))
    return _ranked([importance.features for importance in importances], values, 2 * errors)


def by_size(explanation: Explanation) -> list[str]:
    """Return the features of largest effects, by interactions."""
    statistics = explanation.interactions.importance
    sizes = np.array([statistic.numerators for statistic in statistics])
    features = [statistic.features for statistic in statistics]
    leading, place = _ranked(features, sizes, np.zeros(sizes.shape)), largest(sizes)
    outputs = explanation.interactions.output_names
    return stable_ranks(explanation, outputs[place[1]], leading) if place else []


def _ranked(features: Sequence[Sequence[str]], values: Matrix, floors: Matrix) -> list[str]:
    """Return the first features above floors, by the output with the largest value.

    Nothing is returned where features act together.
    """
    place = largest(values)
    if place is None or any(len(names) != 1 for names in features):
        return []
    own, floor = values[:, place[1]], floors[:, place[1]]
    told = [at for at in np.argsort(-own, kind="stable") if own[at] > max(floor[at], 0.0)][:_MOST]
    return [features[at][0] for at in told]


def of_features(
    features: Sequence[str], measure: str, explanation: Explanation | None, *, has_texts: bool
) -> str:
    """Return the sentence on features, the most important first; empty without any to tell of.

    Parameters
    ----------
    measure : str
        By what they are ranked.
    explanation : Explanation or None
        Of partial dependence, which has curves over some of them.
    has_texts : bool
        Whether features of texts can have no curve.
    """
    explanation = explanation or Explanation()
    result = explanation.partial_dependence
    outputs = list(result.output_names)
    curves = {c.features[0]: c for c in result.curves if len(c.features) == 1 and not c.group}
    ways = [_way(explanation, curves[name], outputs) if name in curves else "" for name in features]
    names = [quoted(clean(name), ", ", "(") for name in features]
    told = [name + (f" ({way})" if way else "") for name, way in zip(names, ways, strict=True)]
    start, listed = f"Leading features by {measure}", ", ".join(told)
    if not any(ways):
        return f"{start}: {listed}." if has_texts else ""
    is_one, of_one = len(outputs) == 1, of_output(outputs, 0)
    means = f"the average prediction{of_one}" if is_one else "average predictions"
    each = "each that has a curve" if has_texts and not all(ways) else "each"
    return f"{start}, and {means} along {each}: {listed}."


def _way(explanation: Explanation, curve: PartialDependenceCurve, outputs: Sequence[str]) -> str:
    """Tell how predictions go along a curve, of several outputs that which moves most."""
    values = np.array(curve.values).reshape(-1, len(outputs))
    if not np.isfinite(values).all():
        return ""
    with np.errstate(over="ignore"):
        column = int(np.argmax(np.ptp(values, axis=0)))
    name = f"{clean(outputs[column])} " if len(outputs) > 1 else ""
    if is_flat(values[:, column]):
        return "stays the same" if len(outputs) == 1 else "stay the same"
    if has_unstable_slope(explanation, outputs[column], curve.features):
        return f"{name}without a clear direction"
    (grid,) = curve.grid
    both_ways = ""
    if not grid.strings:
        numbers = np.array(grid.numbers)
        weights: Vector | None = np.array(curve.row_weights) if curve.row_weights else None
        if direction := int(direction_of(numbers, values[:, [column]], weights)[0]):
            return f"{name}{_WORDS[direction]}"
        if np.count_nonzero(np.isfinite(numbers) & supported(weights)) > 2:
            both_ways = "up and down, "
    low, high = (grid_point(curve, at) for at in curve_extremes(curve, values[:, column]))
    return f"{name}{both_ways}highest at {high}, lowest at {low}"
