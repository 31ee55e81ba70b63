"""Program that reads a table from its input, and writes it as a serialised Columns."""

from __future__ import annotations

import sys

from onnxplain.v1.table_pb2 import Column, Columns

from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.sources import TableNeeds
from onnxplain_server.core.table import Table
from onnxplain_server.wire.requests.needed_columns import NeededColumns
from onnxplain_server.wire.table import read_file

_LEAST_ROWS = 2


def to_columns(table: Table) -> Columns:
    """Return a table as columns of a message; those that are neither numbers nor text are left out.

    Raises
    ------
    ValueError
        For fewer than 2 rows, and where no column is left.
    """
    if table.n_rows < _LEAST_ROWS or not table.columns:
        raise ValueError(
            f"it has {table.n_rows} rows of {len(table.columns)} readable columns; an explanation "
            f"needs at least {_LEAST_ROWS} rows"
        )
    columns = Columns()
    for name in table.columns:
        values = table.column(name, "table")
        is_text = values.dtype.kind in "OU"
        columns.columns.append(
            Column(name=name, strings=values.tolist())
            if is_text
            else Column(name=name, numbers=values.tolist())
        )
    return columns


def main() -> None:
    """Read the format, and a packed `TableNeeds`, from the arguments."""
    form, needs = sys.argv[1:]
    try:
        table = read_file(form, sys.stdin.buffer.read())
        names = (*table.columns, *table.unreadable)
        texts = NeededColumns(TableNeeds.unpack(needs)).texts(names)
        columns = to_columns(table.with_texts(texts))
    except (ExplainError, ValueError) as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(columns.SerializeToString())


if __name__ == "__main__":
    main()
