"""Flags of `describe` for a table: which rows to return, and which columns are features."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from onnxplain.v1.table_pb2 import Columns

from onnxplain_server.cli.failure import UsageFault
from onnxplain_server.cli.requests.request import input_columns, split, targets
from onnxplain_server.cli.rows.row_numbers import row_numbers
from onnxplain_server.core import contract_limits

_ROW_COUNT = contract_limits.DescribeTableRequest.row_count

Rows = Annotated[
    list[str] | None,
    typer.Option(metavar="ROW,...", help="Rows of TABLE to show, from 0.  [default: the first]"),
]
RowCount = Annotated[
    int | None,
    typer.Option(
        min=int(_ROW_COUNT.min),
        max=int(_ROW_COUNT.max),
        help=f"Rows of TABLE to show: the first, or with --near the nearest.  "
        f"[default: {_ROW_COUNT.default:g}]",
    ),
]
Near = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Show the rows nearest to one with this value, by Gower's distance; repeatable.",
    ),
]
FeatureColumns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME,...", help="Input columns of a model that takes one matrix, in its order."
    ),
]
InputColumns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="INPUT=NAME,...",
        help="Columns that an input of a model of several inputs takes; repeatable.  "
        "[default: by names and numbers of columns, where only one way is possible]",
    ),
]
TargetColumn = Annotated[
    str | None,
    typer.Option(metavar="NAME,...", help="Columns that are no features of a model without names."),
]
WeightColumn = Annotated[str | None, typer.Option(metavar="NAME", help="Another such column.")]
ExpectedPredictionColumns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME,...",
        help="Columns with what the library predicts, one for each output; they are no features.",
    ),
]


def table_fields(flags: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a DescribeTableRequest that were given.

    Parameters
    ----------
    flags : mapping of parameter to value
        Of the command; None is an absent flag.

    Raises
    ------
    UsageFault
        Where a row is no number, or a value has no name.
    """
    fields = {
        "row_indices": row_numbers(flags["rows"]),
        "row_count": flags["row_count"],
        "near": _near(flags["near"] or []),
        "feature_columns": split(flags["feature_columns"] or []),
        "input_columns": input_columns(flags["input_columns"] or []),
        **targets(flags["target_column"]),
        "weight_column": flags["weight_column"],
    }
    return {name: value for name, value in fields.items() if value not in (None, [], "")}


def _near(texts: list[str]) -> Columns | None:
    """Return a row: of numbers, and of text where a value is none."""
    row = Columns()
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise UsageFault(f"{text!r} is no NAME=VALUE", "--near")
        column, number = row.columns.add(name=name), _number(value)
        if number is None:
            column.strings.append(value)
        else:
            column.numbers.append(number)
    return row if texts else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
