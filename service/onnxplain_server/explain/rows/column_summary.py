"""Summary of a column: counts of rows, least and largest value, mean, frequent values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.rows import is_missing

FREQUENT_COUNT = 20
"""Values of a column that are counted one by one."""


@dataclass(frozen=True, slots=True)
class ValueCount:
    """Value as text, and the rows with it."""

    value: str
    row_count: int


@dataclass(frozen=True, slots=True)
class ColumnCounts:
    """Summary of a column; see `ColumnDescription` in the contract.

    Attributes
    ----------
    type : str
        "NUMBER", "TEXT" or "OTHER".
    other_type : str
        Name of the type of other values, which are not read; empty for others.
    missing_count, distinct_count : int
    minimum, maximum, mean : float or None
        None for text, and without values.
    frequent_values : tuple of ValueCount
    """

    name: str
    type: str
    other_type: str = ""
    missing_count: int = 0
    distinct_count: int = 0
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None
    frequent_values: tuple[ValueCount, ...] = ()


def summarize(name: str, values: Array) -> ColumnCounts:
    """Summarize a column of numbers or text: (n_rows,)."""
    missing = is_missing(values)
    present = values[~missing]
    counts = _counts(present)
    common = {
        "missing_count": int(np.count_nonzero(missing)),
        "distinct_count": counts.num_rows,
    }
    if values.dtype == object:
        return ColumnCounts(name, "TEXT", **common, frequent_values=_frequent(counts))
    if not len(present):
        return ColumnCounts(name, "NUMBER", **common)
    frequent = _frequent(counts) if counts.num_rows <= FREQUENT_COUNT else ()
    return ColumnCounts(
        name,
        "NUMBER",
        **common,
        minimum=float(present.min()),
        maximum=float(present.max()),
        mean=_mean(present),
        frequent_values=frequent,
    )


def _mean(values: Array) -> float:
    """Return the mean; of numbers whose sum overflows too."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(values.mean(dtype=np.float64))
        if not np.isfinite(mean) and np.isfinite(values).all():
            mean = float((values.astype(np.float64) / len(values)).sum())
    return mean


def _counts(values: Array) -> pa.Table:
    """Count the different values: columns "value" and "count"."""
    if values.dtype == object:
        array = pa.array(values, type=pa.large_string())
    else:
        array = pa.array(_unsigned_zeros(values))
    counted = pc.value_counts(array)
    return pa.table({"value": counted.field(0), "count": counted.field(1)})


def _unsigned_zeros(values: Array) -> Vector:
    """Return numbers without -0, which Arrow counts apart from 0."""
    return values.astype(np.float64, copy=False) + 0.0


def _frequent(counts: pa.Table) -> tuple[ValueCount, ...]:
    """Return the most frequent values; equally frequent ones ascend."""
    keys = [("count", "descending"), ("value", "ascending")]
    rows = pc.select_k_unstable(counts, FREQUENT_COUNT, keys)
    first = counts.take(rows)
    values, row_counts = first.column("value"), first.column("count")
    return tuple(
        ValueCount(_text(value.as_py()), count.as_py())
        for value, count in zip(values, row_counts, strict=True)
    )


def _text(value: float | str) -> str:
    """Write a value; a number in the shortest form that reads back as it."""
    return value if isinstance(value, str) else repr(value).removesuffix(".0")
