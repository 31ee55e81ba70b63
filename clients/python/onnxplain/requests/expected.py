"""Expected predictions as columns beside the features of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from onnxplain.tables import arrow_of


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
        For predictions beside a table that is not in this process.
    ValueError
        For another number of rows.
    """
    if isinstance(expected, str):
        return table, (expected,)
    if isinstance(expected, Sequence) and expected and all(isinstance(e, str) for e in expected):
        return table, tuple(expected)
    values = np.asarray(expected, dtype=np.float64)
    rows = arrow_of(table, feature_columns)
    if len(values) != rows.num_rows:
        raise ValueError(
            f"expected has {len(values):,} rows, and the table has {rows.num_rows:,}: give one "
            "prediction for each row, in their order"
        )
    columns = []
    for k, column in enumerate(values.reshape(len(values), -1).T):
        name = _unused(f"expected_{k}", rows.column_names)
        rows = rows.append_column(name, pa.array(column))
        columns.append(name)
    return rows, tuple(columns)


def _unused(name: str, others: Sequence[str]) -> str:
    while name in others:
        name += "_"
    return name
