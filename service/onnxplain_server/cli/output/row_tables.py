"""Tables for a terminal: predictions of rows, and what a table holds."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from onnxplain.v1.explanation_service_pb2 import DescribeTableResponse, PredictResponse
from onnxplain.v1.table_description_pb2 import ColumnDescription, FeatureMatching, TableRows
from onnxplain.v1.table_pb2 import Column
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from onnxplain_server.cli.output.tables import rendered
from onnxplain_server.plots.elements.labels import clean

_FREQUENT_COUNT = 3
"""Frequent values of a column that are shown."""


def of_predictions(answer: PredictResponse, *, to_terminal: bool) -> str:
    """Format predictions, one row per line."""
    table = _table(["row", *answer.output_names])
    for row, values in zip(answer.row_indices, _by_row(answer), strict=True):
        table.add_row(str(row), *map(_number, values))
    return rendered([*_warnings(answer), table], to_terminal=to_terminal)


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
    return rendered([*parts, *_warnings(answer)], to_terminal=to_terminal)


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


def _warnings(answer: DescribeTableResponse | PredictResponse) -> list[Text]:
    warnings = ((clean(warning.message), warning.code) for warning in answer.warnings)
    return [Text(f"Warning: {message} ({code})", "yellow") for message, code in warnings]


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
