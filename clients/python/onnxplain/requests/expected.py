"""Expected predictions as columns beside the features of a table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onnxplain.tables import arrow_of
from onnxplain.transport.uploads import TableRef
from onnxplain.uris import TableUris, is_uri
from onnxplain.v1.table_pb2 import Table


def with_expected(
    table: Any, expected: Any, feature_columns: Sequence[str] = ()
) -> tuple[Any, tuple[str, ...]]:
    """Return a table that has the expected predictions, and their columns.

    Parameters
    ----------
    table : as for `to_table`
    expected : str, sequence of str, or (n_rows,) or (n_rows, n_outputs) of numbers
        Columns of the table, which is then returned as it is; or the predictions.
    feature_columns : sequence of str
        Names for the columns of a 2-D array.

    Raises
    ------
    TypeError
        For predictions beside a file, an address or an uploaded table; for labels in their place.
    ValueError
        For another number of rows.
    """
    if isinstance(expected, str):
        return table, (expected,)
    if isinstance(expected, Sequence) and expected and all(isinstance(e, str) for e in expected):
        if _are_labels(expected, table, feature_columns):
            raise _no_numbers(expected[0])
        return table, tuple(expected)
    values = _numbers(expected)
    if (called := _file_of(table)) is not None:
        raise TypeError(
            f"expected has predictions, and the table is {called}, beside whose rows they cannot "
            "be put here: give the rows as a frame, or have the predictions in columns of the "
            "table, and name these"
        )
    return _beside(arrow_of(table, feature_columns), values)


def _beside(rows: pa.Table, values: npt.NDArray[np.float64]) -> tuple[pa.Table, tuple[str, ...]]:
    if len(values) != rows.num_rows:
        raise ValueError(
            f"expected has {len(values):,} row{'s' * (len(values) != 1)}, and the table has "
            f"{rows.num_rows:,}: give one prediction for each row, in their order"
        )
    columns = []
    for k, column in enumerate(values.reshape(len(values), -1).T):
        name = _unused(f"expected_{k}", rows.column_names)
        rows = rows.append_column(name, pa.array(column))
        columns.append(name)
    return rows, tuple(columns)


def _are_labels(texts: Sequence[str], table: Any, feature_columns: Sequence[str]) -> bool:
    """Tell whether texts are no names: some stand there twice, and not all are columns."""
    if len(set(texts)) == len(texts) or _file_of(table) is not None:
        return False
    return not set(texts) <= {*arrow_of(table, feature_columns).column_names}


def _numbers(expected: Any) -> npt.NDArray[np.float64]:
    """Return the predictions as numbers; TypeError for texts."""
    given = np.atleast_1d(np.asarray(expected))
    text = next((each for each in given.flat if isinstance(each, str)), None)
    if text is not None:
        raise _no_numbers(text)
    return given.astype(np.float64)


def _no_numbers(text: str) -> TypeError:
    return TypeError(
        f"expected has texts, as {str(text)!r}: give numbers, of a classifier the probabilities of "
        "its classes in place of labels; or a list of columns of the table, each once"
    )


def _file_of(table: Any) -> str | None:
    """Tell what a table is that has no rows in this process; None for one that has."""
    if isinstance(table, TableUris) or (isinstance(table, str) and is_uri(table)):
        return "at an address"
    if isinstance(table, TableRef | Table):
        return "uploaded, or a message"
    if isinstance(table, str | os.PathLike | bytes | bytearray | memoryview):
        return "a file"
    return None


def _unused(name: str, others: Sequence[str]) -> str:
    while name in others:
        name += "_"
    return name
