"""Columns of the contract: conversion from values and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from onnxplain.v1.table_pb2 import Column

Values: TypeAlias = npt.NDArray[Any]
"""(n,): float64 with NaN where missing, or str objects, empty where missing."""


def to_column(name: str, values: Any) -> Column:
    """Write one column.

    Parameters
    ----------
    name : str
    values : sequence, array or series
        Numbers and booleans, or strings; None where missing.

    Raises
    ------
    TypeError
        Where they are neither numbers nor strings.
    """
    array = pa.array(values)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return Column(name=name, strings=array.fill_null("").to_pylist())
    if not _is_numeric(array.type):
        raise TypeError(
            f"values of {name!r} must be numbers or strings, but are of type {array.type}"
        )
    return Column(name=name, numbers=pc.fill_null(pc.cast(array, "double"), np.nan).to_pylist())


def from_column(column: Column) -> Values:
    """Read the values of one column: numbers unless it has strings."""
    if column.strings:
        return np.array(column.strings, dtype=object)
    return np.array(column.numbers, dtype=np.float64)


def stack(tables: Sequence[pa.Table], own: Sequence[str]) -> pa.Table:
    """Concatenate the rows of curves.

    Parameters
    ----------
    tables : sequence of pyarrow.Table
        Each with columns for its features, then those of `own` but the first.
    own : sequence of str
        Columns of every table. The first one, the index of the table, is added here. The
        features stand between it and the others, null where a table lacks them.
    """
    numbered = [
        table.add_column(0, own[0], pa.array([index] * table.num_rows, pa.int64()))
        for index, table in enumerate(tables)
    ]
    stacked = pa.concat_tables(numbered, promote_options="default")
    features = [name for name in stacked.column_names if name not in own]
    return stacked.select([own[0], *features, *own[1:]])


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
    )


def feature_columns(features: Sequence[str], own: Sequence[str]) -> list[str]:
    """Name the columns of features in a table that has columns of its own, none twice."""
    names: list[str] = []
    for feature in features:
        name = feature
        while name in own or name in names:
            name = f"{name} (feature)"
        names.append(name)
    return names
