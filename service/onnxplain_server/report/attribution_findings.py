"""Findings of attributions: mean sizes by feature, and the values of few rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from onnxplain.v1.attributions_pb2 import AttributionsOptions, AttributionsResult
from onnxplain.v1.table_pb2 import Column

from onnxplain_server.core.arrays import Cube
from onnxplain_server.plots.attributions.waterfall import MOST_ROWS
from onnxplain_server.plots.attributions.words import own_value, row_name, value_kind
from onnxplain_server.plots.elements.labels import clean, enumerate_words
from onnxplain_server.plots.elements.number_formats import spell_beside
from onnxplain_server.plots.units.prediction_units import Units
from onnxplain_server.report.finding import (
    Finding,
    Heading,
    if_several,
    joined,
    number,
    truncate,
)

_LIMITS = {
    AttributionsOptions.PATH_DEPENDENT: (
        "A feature that goes along with one that the model reads may have a value though the model "
        "ignores it, and another background gives other values."
    )
}
_ROUNDING = 1e-9
"""Relative difference up to which means are equal."""
_LIMIT = (
    "With correlated features the model is asked about combinations that do not occur, and another "
    "background gives other values."
)


def values_of(result: AttributionsResult) -> Cube:
    """Return the values: (n_rows, n_features, n_outputs); no rows where they are elsewhere."""
    return np.array(result.values).reshape(-1, len(result.features), len(result.output_names))


def has_few_rows(result: AttributionsResult) -> bool:
    """Return whether the rows are told one by one: they are here, and few."""
    return bool(result.values) and result.explained_row_count <= MOST_ROWS


def told_rows(count: int) -> str:
    """Write a number of rows: "1 row", "2,000 rows"."""
    return f"{count:,} row{'s' * (count != 1)}"


def told_mean_rows(result: AttributionsResult, options: AttributionsOptions) -> str:
    """Write which rows mean absolute values are over: "2,000 rows", unless weights differ.

    Rows of weight 0 do not count, and only rows that are named may have it.
    """
    if not options.row_indices or _are_plain_means(result):
        return told_rows(result.explained_row_count)
    return "the rows explained, by their weights"


def _are_plain_means(result: AttributionsResult) -> bool:
    """Return whether each row has the same part in mean absolute values, as far as is known."""
    if not result.values:
        return False
    means = np.abs(values_of(result)).mean(axis=0).ravel()
    return np.allclose(means, result.mean_absolute_values, rtol=_ROUNDING, atol=0, equal_nan=True)


def is_shapley(options: AttributionsOptions) -> bool:
    """Return whether values are Shapley values."""
    return options.value != AttributionsOptions.Value.BANZHAF


def of_attributions(
    result: AttributionsResult, options: AttributionsOptions, units: Units
) -> Iterator[Finding]:
    """Tell the values of few rows, and the mean sizes of more."""
    kind = value_kind(is_shapley=is_shapley(options))
    texts = _Texts(kind, units, _LIMITS.get(options.perturbation, _LIMIT))
    if has_few_rows(result):
        for row in range(result.explained_row_count):
            yield _of_row(result, row, texts)
    elif np.isfinite(result.mean_absolute_values).any():
        yield _sizes(result, options, texts)
    if result.interactions:
        yield _interactions(result, texts)


class _Texts(NamedTuple):
    """Texts of all tables: the kind of value, the units of predictions, and the limit."""

    kind: str
    units: Units
    limit: str


def _sizes(result: AttributionsResult, options: AttributionsOptions, texts: _Texts) -> Finding:
    outputs = list(result.output_names)
    shape = (len(result.features), len(outputs))
    means = np.array(result.mean_absolute_values).reshape(shape)
    errors = np.array(result.mean_absolute_standard_errors).reshape(shape)
    order = np.argsort(-np.nan_to_num(means).sum(axis=1), kind="stable")
    shown, left_out = truncate([int(p) for p in order], len(outputs), "features of smaller values")
    are_drawn = options.HasField("explained_row_count")
    rows = tuple(
        (
            joined(result.features[p].names, " + "),
            *if_several(outputs, output),
            spell_beside(means[p, k], means[:, k]),
            *((spell_beside(errors[p, k], means[:, k]),) if are_drawn else ()),
        )
        for p in shown
        for k, output in enumerate(outputs)
    )
    numbers = [Heading("mean absolute value", True)]
    numbers += [Heading("standard error", True)] * are_drawn
    columns = (Heading("feature"), *if_several(outputs, Heading("output")), *numbers)
    counted = told_mean_rows(result, options)
    note = f"Mean size of the {texts.kind} of {counted} ({texts.units.of_values(outputs)})"
    note += "; standard errors are those of rows that are drawn from many" * are_drawn + "."
    if result.largest_standard_errors:
        note += " Values are estimated, which raises the mean sizes of small ones."
    return Finding(f"{texts.kind}, mean sizes", note, texts.limit, columns, rows, left_out)


def _of_row(result: AttributionsResult, row: int, texts: _Texts) -> Finding:
    outputs, values = list(result.output_names), values_of(result)[row]
    errors = np.array(result.standard_errors)
    errors = errors.reshape(-1, *values.shape) if len(errors) else errors
    order = np.argsort(-np.nan_to_num(np.abs(values)).sum(axis=1), kind="stable")
    shown, left_out = truncate([int(p) for p in order], len(outputs), "features of smaller values")
    own = {column.name: column for column in result.feature_values}
    rows = tuple(
        (
            joined(result.features[p].names, " + "),
            "; ".join(cell_of(own[name], row) for name in result.features[p].names),
            *if_several(outputs, output),
            spell_beside(values[p, k], values[:, k]),
            *((spell_beside(errors[row, p, k], values[:, k]),) if len(errors) else ()),
        )
        for p in shown
        for k, output in enumerate(outputs)
    )
    columns = (
        *(Heading("feature"), Heading("its value")),
        *if_several(outputs, Heading("output")),
        Heading("part in the prediction", True),
        *((Heading("standard error", True),) if len(errors) else ()),
    )
    predictions = np.array(result.predictions).reshape(-1, len(outputs))[row]
    parts = [
        _way(base, prediction) + (f" for {clean(output)}" if len(outputs) > 1 else "")
        for base, prediction, output in zip(result.base_values, predictions, outputs, strict=True)
    ]
    unit = texts.units.of_values(outputs)
    note = f"{texts.kind} ({unit}). The prediction is {enumerate_words(parts)}."
    title = f"{texts.kind} of {row_name(result.row_indices, row, result.explained_row_count)}"
    return Finding(title, note, texts.limit, columns, rows, left_out)


def _interactions(result: AttributionsResult, texts: _Texts) -> Finding:
    """Tell the pairs of the largest mean interaction over the rows explained."""
    outputs, pairs = list(result.output_names), list(combinations(result.features, 2))
    values = np.array(result.interactions).reshape(-1, len(pairs), len(outputs))
    sizes = np.abs(values).mean(axis=0)
    order = np.argsort(-np.nan_to_num(sizes).sum(axis=1), kind="stable")
    shown, left_out = truncate([int(p) for p in order], len(outputs), "weaker pairs")
    rows = tuple(
        (
            joined([joined(feature.names, " + ") for feature in pairs[p]]),
            *if_several(outputs, output),
            spell_beside(sizes[p, k], sizes[:, k]),
            *((spell_beside(values[0, p, k], values[0, :, k]),) if len(values) == 1 else ()),
        )
        for p in shown
        for k, output in enumerate(outputs)
    )
    columns = (Heading("pair"), *if_several(outputs, Heading("output")))
    columns += (Heading("mean absolute interaction", is_number=True),)
    columns += (Heading("interaction", is_number=True),) if len(values) == 1 else ()
    unit = texts.units.of_values(outputs)
    note = (
        f"What two features add together beyond what each adds alone ({unit}); "
        f"mean size over {told_rows(len(values))}, each counted once."
    )
    return Finding("Interactions of pairs", note, texts.limit, columns, rows, left_out)


def _way(base: float, prediction: float) -> str:
    """Write a prediction beside the average: "71.6, 136.4 below the average of 208.1"."""
    scale = np.array([base, prediction])
    return f"{number(prediction, scale)}, {beside_average(base, prediction)}"


def beside_average(base: float, prediction: float) -> str:
    """Write by how much a prediction differs from the average, and the average."""
    scale = np.array([base, prediction])
    text = number(abs(prediction - base), scale)
    side = "above" if prediction > base else "below"
    way = "no different from" if text == "0" else f"{text} {side}"
    return f"{way} the average of {number(base, scale)}"


def cell_of(column: Column, row: int) -> str:
    """Write the value of a column at a row explained."""
    if column.strings:
        return own_value(np.array([*column.strings], dtype=object), row)
    return own_value(np.array(column.numbers), row)
