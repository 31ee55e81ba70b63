"""Sentences on attributions: the reasons of a row, or the features with the largest values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from onnxplain.v1.attributions_pb2 import AttributionsResult
from onnxplain.v1.explanation_service_pb2 import Explanation

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.plots.attributions.words import row_name, value_kind
from onnxplain_server.plots.elements.labels import clean, enumerate_words, with_value
from onnxplain_server.plots.elements.number_formats import spell_among, spell_beside
from onnxplain_server.plots.units.prediction_units import Units
from onnxplain_server.report.attribution_findings import (
    beside_average,
    cell_of,
    has_few_rows,
    is_shapley,
    told_mean_rows,
    values_of,
)
from onnxplain_server.report.finding import joined, number
from onnxplain_server.report.sentences.words import few_of, for_output, of_output

_MOST_REASONS = 3
_WEAK = 0.1
"""Share of the largest value below which one is no reason."""
_ERRORS = 2.0
"""Standard errors below which an estimated value is no reason."""


def of_attributions(
    explanation: Explanation, units: Units, most_harmful: Sequence[str] = ()
) -> Iterator[str]:
    """Tell the reasons of few rows, or the feature with the largest mean size.

    Parameters
    ----------
    most_harmful : sequence of str
        Names of features whose shuffling worsens predictions most by another sentence.
    """
    result = explanation.attributions
    values = values_of(result)
    if not np.isfinite(values).all():
        return
    adds_up = is_shapley(explanation.options.attributions)
    if has_few_rows(result):
        for row in range(result.explained_row_count):
            column = int(np.argmax(np.abs(values[row]).sum(axis=0)))
            yield _of_row(result, row, column, values[row, :, column], adds_up=adds_up)
        return
    counted = told_mean_rows(result, explanation.options.attributions)
    kind = value_kind(is_shapley=adds_up)
    yield from _of_sizes(result, kind, counted, units)
    if most_harmful:
        yield from _beside_shuffling(result, kind, most_harmful)


def _of_row(
    result: AttributionsResult, row: int, column: int, values: Vector, *, adds_up: bool
) -> str:
    outputs = list(result.output_names)
    base = result.base_values[column]
    prediction = result.predictions[row * len(outputs) + column]
    scale = np.array([base, prediction])
    name = row_name(result.row_indices, row, result.explained_row_count)
    start = (
        f"{name.capitalize()} has a prediction{of_output(outputs, column)} of "
        f"{number(prediction, scale)}, {beside_average(base, prediction)}"
    )
    errors = np.array(result.standard_errors).reshape(-1, *values_of(result).shape[1:])
    own = errors[row, :, column] if len(errors) else np.zeros(len(values))
    reasons = _reasons(result, row, values, own)
    if not reasons:
        beyond = " beyond its error" * bool(values.any())
        return f"{start}; no feature has a part in it{beyond}."
    if not adds_up:
        return f"{start}; the largest Banzhaf values are those of {enumerate_words(reasons)}."
    return f"{start}, mostly by {enumerate_words(reasons)}."


def _reasons(result: AttributionsResult, row: int, values: Vector, errors: Vector) -> list[str]:
    """Write the largest values of a row beyond their errors: "rooms = 7.1 (+3)"."""
    order = np.argsort(-np.abs(values), kind="stable")[:_MOST_REASONS]
    least = np.maximum(_WEAK * np.abs(values).max(), _ERRORS * errors)
    own = {column.name: column for column in result.feature_values}
    return [
        " and ".join(
            with_value(clean(name), cell_of(own[name], row)) for name in result.features[p].names
        )
        + f" ({'+' if values[p] > 0 else ''}{spell_among(values[p], values)})"
        for p in order
        if abs(values[p]) > least[p]
    ]


def _of_sizes(result: AttributionsResult, kind: str, counted: str, units: Units) -> Iterator[str]:
    outputs = list(result.output_names)
    means = _means(result)
    if not len(means):
        return
    player, column = map(int, np.unravel_index(int(np.argmax(means)), means.shape))
    name = joined(result.features[player].names, " + ")
    size = spell_beside(means[player, column], means[:, column])
    estimated = "estimated " * bool(result.largest_standard_errors)
    yield (
        f"{name} has the largest {estimated}{kind}: a mean absolute value of {size} "
        f"({units.of_values(outputs)}){for_output(outputs, column)} over {counted}."
    )


def _beside_shuffling(
    result: AttributionsResult, kind: str, most_harmful: Sequence[str]
) -> Iterator[str]:
    """Tell what mean sizes and shuffling answer differently, and which feature each names first."""
    means = _means(result)
    if not len(means):
        return
    first = joined(result.features[int(np.argmax(means.max(axis=1)))].names, " + ")
    found = f"{first} has the largest, and shuffling {few_of(most_harmful, 'or')} worsens them most"
    if [*most_harmful] == [first]:
        found = f"both name {first} first"
    yield (
        f"{kind} tell how far a feature moves predictions, right or wrong, and shuffling how much "
        f"worse these get without it: {found}."
    )


def _means(result: AttributionsResult) -> Matrix:
    """Return mean absolute values, (n_features, n_outputs); none where they tell nothing."""
    means = np.array(result.mean_absolute_values).reshape(-1, len(result.output_names))
    return means if np.isfinite(means).all() and means.any() else means[:0]
