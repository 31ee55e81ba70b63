"""Tables for a terminal: predictions of rows, also beside expected ones; what a table holds."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from onnxplain.v1.explanation_service_pb2 import (
    CheckModelResponse,
    DescribeTableResponse,
    PredictResponse,
    Warning,  # noqa: A004 - the contract's name
)
from onnxplain.v1.prediction_comparison_pb2 import DifferingRow, PredictionComparison
from onnxplain.v1.table_description_pb2 import ColumnDescription, FeatureMatching, TableRows
from onnxplain.v1.table_pb2 import Column
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from onnxplain_server.cli.output.tables import rendered
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.plots.elements.labels import clean

_FREQUENT_COUNT = 3
"""Frequent values of a column that are shown."""


def of_predictions(answer: PredictResponse, *, to_terminal: bool) -> str:
    """Format predictions, one row per line."""
    table = _table(["row", *answer.output_names])
    for row, values in zip(answer.row_indices, _by_row(answer), strict=True):
        table.add_row(str(row), *map(_number, values))
    return rendered([*_warnings(answer.warnings), table], to_terminal=to_terminal)


def csv_of_predictions(answer: PredictResponse) -> str:
    """Write predictions as CSV: the row, and a column for each output."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["row", *answer.output_names])
    for row, values in zip(answer.row_indices, _by_row(answer), strict=True):
        writer.writerow([row, *map(repr, values)])
    return file.getvalue()


def of_table(answer: DescribeTableResponse, *, to_terminal: bool) -> str:
    """Format what a table holds: its columns, its rows, and how a model would take it."""
    description = answer.table
    columns = Table(box=box.SIMPLE_HEAD)
    columns.add_column("column")
    for title in ("missing", "different", "minimum", "mean", "maximum"):
        columns.add_column(title, justify="right")
    columns.add_column("most frequent")
    for column in description.columns:
        columns.add_row(*_column(column))
    parts: list[RenderableType] = [
        Text(f"{description.row_count:,.0f} rows, {len(description.columns):,} columns"),
        columns,
    ]
    if description.rows.row_indices:
        parts.append(_rows(description.rows))
    if description.HasField("matching"):
        parts += _matching(description.matching)
    return rendered([*parts, *_warnings(answer.warnings)], to_terminal=to_terminal)


def of_check(answer: CheckModelResponse, *, to_terminal: bool) -> str:
    """Format a comparison: the verdict, likely causes, differences by output, the worst rows."""
    compared = answer.comparison
    parts: list[RenderableType] = [_verdict(compared)]
    parts += [Text(clean(cause.message)) for cause in compared.likely_causes]
    if not compared.agrees and not compared.likely_causes:
        parts.append(Text("No cause was found."))
    parts.append(_compared_outputs(compared))
    if compared.differing_rows:
        parts.append(_differing_rows(compared))
    own = InputWarning.PREDICTIONS_DIFFER.name  # the verdict tells it
    others = [warning for warning in answer.warnings if warning.code != own]
    parts += _warnings(others)
    return rendered(parts, to_terminal=to_terminal)


def _verdict(compared: PredictionComparison) -> Text:
    count, differing = compared.row_count, compared.differing_row_count
    if compared.agrees:
        return Text("The only row agrees." if count == 1 else f"All {count:,} rows agree.", "green")
    rows = "The only row" if count == 1 else f"{differing:,} of {count:,} rows"
    differ = "differs" if differing == 1 else "differ"
    return Text(f"{rows} {differ} by more than rounding.", "red")


def _compared_outputs(compared: PredictionComparison) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for title in ("output", "expected"):
        table.add_column(title)
    for title in ("largest difference", "median", "rounding", "rows that differ"):
        table.add_column(title, justify="right")
    for each in compared.outputs:
        sizes = (each.largest_difference, each.median_difference, each.rounding)
        names = (each.output_name, each.expected_column)
        table.add_row(*map(clean, names), *map(_size, sizes), f"{each.differing_row_count:,}")
    return table


def _differing_rows(compared: PredictionComparison) -> Table:
    names = [each.output_name for each in compared.outputs]
    pairs = [title for name in names for title in (f"predicted {name}", f"expected {name}")]
    table = _table(["row", *pairs])
    for row in compared.differing_rows:
        table.add_row(str(row.row_index), *_cells(row))
    return table


def _cells(row: DifferingRow) -> list[str]:
    pairs = zip(row.predicted, row.expected, strict=True)
    return [_number(value) for pair in pairs for value in pair]


def _size(value: float) -> str:
    return f"{value:.2g}"


def _column(column: ColumnDescription) -> Iterator[RenderableType]:
    yield Text(clean(column.name))
    if column.other_type:
        yield from [Text(f"{clean(column.other_type)}: not read"), *[Text()] * 5]
        return
    yield Text(f"{column.missing_count:,.0f}")
    yield Text(f"{column.distinct_count:,.0f}")
    for name in ("minimum", "mean", "maximum"):
        yield Text(_number(getattr(column, name)) if column.HasField(name) else "")
    counted = [f"{clean(v.value)} ({v.row_count:,.0f})" for v in column.frequent_values]
    yield Text(", ".join(counted[:_FREQUENT_COUNT]))


def _rows(rows: TableRows) -> Table:
    has_distances = bool(rows.distances)
    names = [clean(column.name) for column in rows.columns]
    table = _table(["row", *(["distance"] if has_distances else []), *names])
    for position, row in enumerate(rows.row_indices):
        distance = [f"{rows.distances[position]:.4f}"] if has_distances else []
        table.add_row(str(row), *distance, *(_value(each, position) for each in rows.columns))
    return table


def _value(column: Column, position: int) -> Text:
    if column.strings:
        return Text(clean(column.strings[position]))
    return Text(_number(column.numbers[position]))


def _matching(matching: FeatureMatching) -> Iterator[Text]:
    if matching.refusal:
        yield Text(f"The model cannot be fed: {clean(matching.refusal)}", "yellow")
    else:
        rule = FeatureMatching.Rule.Name(matching.rule).lower().replace("_", " ")
        features = ", ".join(map(clean, matching.feature_columns))
        yield Text(f"Features, {rule}: {features}")
    if matching.target_column:
        yield Text(f"Target: {clean(matching.target_column)}")


def _warnings(warnings: Iterable[Warning]) -> list[Text]:
    told = ((clean(warning.message), warning.code) for warning in warnings)
    return [Text(f"Warning: {message} ({code})", "yellow") for message, code in told]


def _table(titles: Iterable[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for title in titles:
        table.add_column(Text(clean(title)), justify="right")
    return table


def _by_row(answer: PredictResponse) -> Iterator[Sequence[float]]:
    count = len(answer.output_names)
    for start in range(0, len(answer.values), count):
        yield answer.values[start : start + count]


def _number(value: float) -> str:
    return f"{value:.6g}"
