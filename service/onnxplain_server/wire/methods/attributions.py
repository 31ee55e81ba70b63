"""Attributions on the wire: rows and values of features as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.wire.message_fields import Values, WireExceptions
from onnxplain_server.wire.table import from_columns, to_columns

if TYPE_CHECKING:
    from onnxplain.v1 import attributions_pb2

    from onnxplain_server.methods import attributions


_ROW_CHOICES = ("row_indices", "explained_rows", "explained_row_count")


def _read(message: attributions_pb2.AttributionsOptions, path: str) -> Values:
    chosen = [field.name for field, _ in message.ListFields() if field.name in _ROW_CHOICES]
    if len(chosen) > 1:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{chosen[0]} and {chosen[1]} both choose the rows explained; leave one out",
            f"{path}.{chosen[1]}",
        )
    if not message.HasField("explained_rows"):
        return {"explained_rows": None}
    where = f"{path}.explained_rows.columns"
    return {"explained_rows": from_columns(message.explained_rows.columns, where)}


def _write(options: attributions.Options) -> Values:
    given = options.explained_rows
    columns = to_columns(given.names, [*given.columns.values()]) if given else []
    return {
        "explained_rows": {"columns": columns} if given else None,
        "explained_row_count": options.explained_row_count if options.are_rows_drawn else None,
    }


def _result(result: attributions.Result) -> Values:
    return {"feature_values": to_columns(result.names, result.feature_values)}


_OF_ROWS = (
    *("row_indices", "predictions", "values", "standard_errors"),
    *("interactions", "feature_values"),
)


def _without_rows(_result: attributions.Result) -> Values:
    return dict.fromkeys(_OF_ROWS, ())


EXCEPTIONS = WireExceptions(
    read={"AttributionsOptions": _read},
    write={"AttributionsOptions": _write},
    results={"AttributionsResult": _result},
    without_rows={"AttributionsResult": _without_rows},
)
