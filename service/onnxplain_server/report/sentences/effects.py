"""Sentences on interactions: the feature with the largest effects, and the strongest pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from onnxplain.v1.explanation_service_pb2 import Conclusion, Explanation
from onnxplain.v1.interactions_pb2 import InteractionStatistic

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.plots.claims.leaders import leaders
from onnxplain_server.plots.claims.pair_coverage import pair_coverage
from onnxplain_server.plots.elements.number_formats import spell_beside
from onnxplain_server.plots.units.prediction_units import Units
from onnxplain_server.report.sentences.stable import told_apart
from onnxplain_server.report.sentences.words import feature_names, few_of, for_output


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
            "moves predictions most, right or wrong: by",
            "move predictions most, right or wrong",
            Conclusion.RANK,
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
        return f"{names[0]} {claim.of_one} a standard deviation of {texts[0]} {unit}."
    sizes_text = f"standard deviations of {texts[-1]} to {texts[0]}"
    if texts[0] == texts[-1]:
        sizes_text = f"a standard deviation of {texts[0]}"
    return f"{few_of(names)} {claim.of_several}, and cannot be told apart: {sizes_text} {unit}."


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
