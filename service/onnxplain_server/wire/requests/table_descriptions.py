"""Reader of requests about a table, and writer of what it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1 import table_description_pb2 as description_pb2
from onnxplain.v1 import table_pb2

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.rows.describe_table import RowChoice
from onnxplain_server.wire.answers.warning_messages import write_warnings
from onnxplain_server.wire.question import input_columns, target_columns
from onnxplain_server.wire.table import from_column, to_columns

if TYPE_CHECKING:
    from onnxplain_server.explain.rows.column_summary import ColumnCounts
    from onnxplain_server.explain.rows.describe_table import TableSummary
    from onnxplain_server.explain.rows.matching import FeatureMatch


def read(message: service_pb2.DescribeTableRequest) -> tuple[Question, RowChoice]:
    """Read a request, except for its model and table: what is matched, and the rows to return."""
    question = Question(
        methods=(),
        feature_columns=tuple(message.feature_columns),
        input_columns=input_columns(message),
        target_column=message.target_column,
        target_columns=target_columns(message),
        weight_column=message.weight_column,
    )
    near = _row(message.near.columns) if message.HasField("near") else None
    row_count = message.row_count if message.HasField("row_count") else None
    return question, RowChoice(row_count, tuple(message.row_indices), near)


def _row(columns: Sequence[table_pb2.Column]) -> Mapping[str, Array]:
    row = {column.name: from_column(column) for column in columns}
    if len(row) < len(columns) or any(column.numbers and column.strings for column in columns):
        raise ExplainError(
            Reason.INVALID_OPTION,
            "near must name each column once, with a number or a text",
            "near",
        )
    return row


def write(table: TableSummary, matching: FeatureMatch | None) -> service_pb2.DescribeTableResponse:
    """Write what a table holds as message."""
    stored = table.values.stored
    distances = () if table.distances is None else table.distances
    description = description_pb2.TableDescription(
        row_count=table.row_count,
        columns=map(_column, table.columns),
        rows=description_pb2.TableRows(
            row_indices=table.rows,
            columns=to_columns(tuple(stored), tuple(stored.values())),
            distances=distances,
        ),
    )
    if matching is None:
        return service_pb2.DescribeTableResponse(table=description)
    description.matching.CopyFrom(
        description_pb2.FeatureMatching(
            feature_columns=matching.feature_columns,
            rule=matching.rule or "RULE_UNSPECIFIED",
            refusal=matching.refusal,
            missing_columns=matching.missing_columns,
            target_column=matching.target_column,
        )
    )
    warnings = write_warnings(matching.notes)
    return service_pb2.DescribeTableResponse(table=description, warnings=warnings)


def _column(column: ColumnCounts) -> description_pb2.ColumnDescription:
    return description_pb2.ColumnDescription(
        name=column.name,
        type=column.type,
        other_type=column.other_type,
        missing_count=column.missing_count,
        distinct_count=column.distinct_count,
        minimum=column.minimum,
        maximum=column.maximum,
        mean=column.mean,
        frequent_values=[
            description_pb2.ValueCount(value=counted.value, row_count=counted.row_count)
            for counted in column.frequent_values
        ],
    )
