"""Columns in memory: float32 stays float32, and readers get the same numbers as float64."""

from __future__ import annotations

import numpy as np
from onnxplain_server.core.columns import Columns, NamedColumns
from onnxplain_server.core.model import Input
from onnxplain_server.core.rows import Features, bind
from onnxplain_server.core.table import Table

SINGLE = np.array([0.1, np.nan, -3.5], dtype=np.float32)
TEXT = np.array(["a", "", "b"], dtype=object)


def test_a_column_of_float32_is_read_as_float64_of_the_same_values() -> None:
    columns = Columns([SINGLE, TEXT])

    assert columns[0].dtype == np.float64
    assert columns[0].tolist()[::2] == [float(np.float32(0.1)), -3.5]
    assert np.isnan(columns[0][1])
    assert columns[1] is TEXT
    assert [column.dtype for column in columns[:1]] == [np.float64]
    assert [column.dtype for column in columns] == [np.float64, object]


def test_rows_that_are_taken_stay_float32_in_memory() -> None:
    rows = np.array([2, 0])
    table = Table(NamedColumns({"x": SINGLE, "t": TEXT}), 3).take(rows)
    features = Features(("x",), Columns([SINGLE]), (np.dtype(np.float32),), "m").take(rows)

    assert table.stored["x"].dtype == features.stored[0].dtype == np.float32
    assert table.column("x").tolist() == features.columns[0].tolist() == [-3.5, np.float32(0.1)]
    assert table.column("x").dtype == features.columns[0].dtype == np.float64


def test_a_model_of_float32_takes_a_column_of_float32_without_a_copy() -> None:
    table = Table(NamedColumns({"x": SINGLE}), 3)

    (cast,) = bind([Input("m", "float", 1)], table, (), ()).cast_columns()

    assert np.shares_memory(cast, SINGLE)


def test_cast_columns_are_writable_even_if_the_table_is_not() -> None:
    column = SINGLE.copy()
    column.flags.writeable = False

    (cast,) = bind(
        [Input("m", "float", 1)], Table(NamedColumns({"x": column}), 3), (), ()
    ).cast_columns()

    assert cast.flags.carray
    assert cast.dtype == np.float32
