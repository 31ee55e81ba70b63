"""Sentences on effects: interactions, partial dependence, curves of single rows, FIRM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from onnxplain.v1.explanation_service_pb2 import Explanation
from onnxplain.v1.interactions_pb2 import InteractionStatistic

from onnxplain_server.core.arrays import Array
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.plots.elements.naming import unit_of
from onnxplain_server.plots.elements.number_formats import spell_beside
from onnxplain_server.report.effect_findings import grid_point, row_changes
from onnxplain_server.report.finding import number
from onnxplain_server.report.sentences.words import feature_names, for_output, of_output


def largest(values: Array) -> tuple[int, int] | None:
    """Return row and column of the largest finite value above 0; None without any."""
    finite = np.where(np.isfinite(values), values, 0.0)
    if not finite.size or finite.max() <= 0:
        return None
    row, column = np.unravel_index(int(np.argmax(finite)), finite.shape)
    return int(row), int(column)


def of_interactions(explanation: Explanation) -> Iterator[str]:
    """Name the feature with the largest effects, and the strongest pair."""
    result = explanation.interactions
    outputs = list(result.output_names)
    unit = unit_of(outputs)
    for statistics, subject in (
        (result.importance, "moves predictions most: its effects have"),
        (result.pairwise, "is the strongest interaction of a pair: it has"),
    ):
        sizes = _sizes(statistics)
        place = largest(sizes)
        if place is None:
            continue
        row, column = place
        size = spell_beside(sizes[row, column], sizes[:, column])
        yield (
            f"{feature_names(statistics[row].features)} {subject} a typical size of {size} "
            f"(units of {unit}){for_output(outputs, column)}."
        )
    if len(result.pairwise) and largest(_sizes(result.pairwise)) is None:
        yield "No pair of features interacts."


def _sizes(statistics: Sequence[InteractionStatistic]) -> Array:
    """Return square roots of numerators: (n_statistics, n_outputs)."""
    if not len(statistics):
        return np.empty((0, 0))
    sizes: Array = np.sqrt(np.array([statistic.numerators for statistic in statistics]))
    return sizes


def of_partial_dependence(explanation: Explanation) -> Iterator[str]:
    """Tell from where to where the average prediction goes along the curve that moves most."""
    result = explanation.partial_dependence
    outputs = list(result.output_names)
    curves = [np.array(curve.values).reshape(-1, len(outputs)) for curve in result.curves]
    if not curves or any(not np.isfinite(values).all() for values in curves):
        return
    place = largest(np.array([np.ptp(values, axis=0) for values in curves]))
    if place is None:
        yield "No feature asked about moves the average prediction."
        return
    row, column = place
    curve, values = result.curves[row], curves[row][:, column]
    low, high = (
        f"{number(values[at], values)} at {grid_point(curve, at, with_name=True)}"
        for at in (int(np.argmin(values)), int(np.argmax(values)))
    )
    group = f" in the group {clean(curve.group)}" if curve.group else ""
    yield (
        f"Along {feature_names(curve.features)} the average prediction{of_output(outputs, column)}"
        f"{group} is lowest, {low}, and highest, {high}."
    )


def of_individual(explanation: Explanation) -> Iterator[str]:
    """Tell how far the prediction of a row goes along the feature that moves it most."""
    result = explanation.individual_conditional_expectation
    outputs = list(result.output_names)
    changes = [row_changes(curves, outputs) for curves in result.curves]
    if not changes or any(not np.isfinite(change).all() for change in changes):
        return
    medians = np.array([np.median(change, axis=0) for change in changes])
    place = largest(medians)
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


def of_firm(explanation: Explanation) -> Iterator[str]:
    """Name the feature along which the expected score moves most."""
    result = explanation.firm
    outputs = list(result.output_names)
    if not result.importances:
        return
    values = np.array([importance.values for importance in result.importances])
    place = largest(np.abs(values))
    if place is None:
        return
    row, column = place
    yield (
        f"The expected score{of_output(outputs, column)} moves most along "
        f"{clean(result.importances[row].feature)}: its standard deviation is "
        f"{spell_beside(abs(values[row, column]), values)}."
    )
