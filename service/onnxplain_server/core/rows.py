"""The feature columns of a table, bound to what a model takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.core.column_order import ordered
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input
from onnxplain_server.core.table import Table, listed

_DTYPES: dict[str, npt.DTypeLike] = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "int64": np.int64,
    "int32": np.int32,
    "int16": np.int16,
    "int8": np.int8,
    "uint64": np.uint64,
    "uint32": np.uint32,
    "uint16": np.uint16,
    "uint8": np.uint8,
    "bool": np.bool_,
    "string": np.object_,
}
_EXACT = 2.0**53


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Feature columns as the table gave them, and the types in which the model takes them.

    Attributes
    ----------
    names : tuple of str
    columns : tuple of (n_rows,) arrays
        float64, or str objects: not yet in the model's type, so that grids and
        quantiles are computed on what the user sees.
    dtypes : tuple of numpy dtypes
        In which the model takes each.
    matrix : str
        Name of the one input that takes all features; empty where each feature
        is an input of its own.
    by_position : bool
        Whether nothing but the table's order says which column is which.
    """

    names: tuple[str, ...]
    columns: tuple[Array, ...]
    dtypes: tuple[np.dtype[np.generic], ...]
    matrix: str
    by_position: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0])

    def index(self, name: str, path: str = "") -> int:
        """Return the position of a feature, or raise UNKNOWN_FEATURE."""
        if name not in self.names:
            raise ExplainError(
                Reason.UNKNOWN_FEATURE,
                f"{name!r} is no feature of the model; features are {listed(self.names)}",
                path,
            )
        return self.names.index(name)

    def take(self, rows: Indices) -> Features:
        """Keep these rows, in this order."""
        return replace(self, columns=tuple(column[rows] for column in self.columns))

    def is_whole(self, feature: int) -> bool:
        """Whether the model takes nothing but whole numbers for a feature."""
        return self.dtypes[feature].kind in "iub"

    def cast(self, feature: int, values: Array, path: str = "table") -> Array:
        """Bring values of a feature, as users see them, into the type the model takes.

        Raises
        ------
        ExplainError
            WRONG_TYPE where that would change them. `path` is the field of the
            request that holds them.
        """
        return _cast(values, self.dtypes[feature], self.names[feature], path)


def bind(
    inputs: Sequence[Input], table: Table, feature_columns: Sequence[str], others: Sequence[str]
) -> Features:
    """Find the columns that a model takes in a table.

    Parameters
    ----------
    feature_columns : sequence of str
        For a model that takes one matrix: its columns; empty means those that the model names,
        and all but `others` where it names none.
    others : sequence of str
        Target and weight columns, which are no features unless named as such.

    Raises
    ------
    ExplainError
        MISSING_COLUMN, WRONG_TYPE, INVALID_TABLE or INVALID_OPTION.
    """
    matrix = inputs[0].name if _takes_matrix(inputs, table) else ""
    if matrix:
        held = (*table.columns, *table.unreadable)
        names, by_position = ordered(inputs[0].columns, feature_columns, held, others)
        _check_width(inputs[0], names, named=bool(feature_columns))
        types = [inputs[0].type] * len(names)
    else:
        names = tuple(i.name for i in inputs)
        types = [i.type for i in inputs]
        _check_subset(names, feature_columns)
        by_position = False
    dtypes = tuple(np.dtype(_DTYPES[t]) for t in types)
    columns = tuple(table.column(name, "feature_columns") for name in names)
    features = Features(names, columns, dtypes, matrix, by_position)
    for j, column in enumerate(columns):
        _check_filled(names[j], column)
        features.cast(j, column)
    return features


def feeds(features: Features, columns: Sequence[Array]) -> Mapping[str, Array]:
    """Arrange cast columns, (n,) each, as the model takes them: input name to (n, width)."""
    if features.matrix:
        return {features.matrix: np.stack(columns, axis=1)}
    return {name: column[:, None] for name, column in zip(features.names, columns, strict=True)}


def _takes_matrix(inputs: Sequence[Input], table: Table) -> bool:
    """One input is a matrix, unless it is one column that the table has by its name."""
    return len(inputs) == 1 and not (inputs[0].width == 1 and inputs[0].name in table.columns)


def _check_width(taken: Input, names: tuple[str, ...], *, named: bool) -> None:
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"feature_columns names {listed(tuple(twice))} twice",
            "feature_columns",
        )
    if taken.width is not None and len(names) != taken.width:
        given = "feature_columns names" if named else "the table, without target and weight, has"
        raise ExplainError(
            Reason.MISSING_COLUMN if len(names) < taken.width else Reason.INVALID_OPTION,
            f"the model takes {taken.width} columns, but {given} {len(names)} ({listed(names)}); "
            "name the model's columns, in its order, in feature_columns",
            "feature_columns",
        )


def _check_subset(names: tuple[str, ...], feature_columns: Sequence[str]) -> None:
    unknown = tuple(name for name in feature_columns if name not in names)
    left_out = tuple(name for name in names if feature_columns and name not in feature_columns)
    if unknown or left_out:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the model takes its columns by name, {listed(names)}, so feature_columns cannot "
            "change them; leave it out",
            "feature_columns",
        )


def _check_filled(name: str, column: Array) -> None:
    empty = column == "" if column.dtype == object else np.isnan(column)
    if np.all(empty):
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"column {name!r} has no value in any of its {len(column)} rows; fill it, or leave it "
            "out of feature_columns",
            "table",
        )


def _cast(values: Array, dtype: np.dtype[np.generic], name: str, path: str) -> Array:
    if (values.dtype == object) != (dtype == np.dtype(object)):
        held, taken = (
            ("text", f"{dtype} numbers") if values.dtype == object else ("numbers", "text")
        )
        raise ExplainError(
            Reason.WRONG_TYPE,
            f"column {name!r} holds {held}, but the model takes {taken} there",
            path,
        )
    if dtype == np.dtype(object):
        return values
    if dtype.kind != "f":
        return _whole(values, dtype, name, path)
    if dtype.itemsize < values.dtype.itemsize:
        _check_range(values, dtype, name, path)
    return values.astype(dtype)


def _check_range(values: Array, dtype: np.dtype[np.generic], name: str, path: str) -> None:
    with np.errstate(over="ignore"):
        lost = np.isfinite(values) & ~np.isfinite(values.astype(dtype))
    if lost.any():
        raise ExplainError(
            Reason.WRONG_TYPE,
            f"column {name!r} holds {values[lost][0]:g}, too large for the {dtype} numbers that "
            "the model takes",
            path,
        )


def _whole(values: Array, dtype: np.dtype[np.generic], name: str, path: str) -> Array:
    """Cast to an integer type or bool, refusing what would change."""
    low, high = (0.0, 1.0) if dtype.kind == "b" else _limits(dtype)
    wrong = ~((values >= low) & (values <= high) & (values == np.floor(values)))
    if wrong.any():
        value = values[wrong][0]
        held = "a missing value" if np.isnan(value) else f"{value:g}"
        raise ExplainError(
            Reason.WRONG_TYPE,
            f"column {name!r} holds {held}, but the model takes {dtype} there",
            path,
        )
    return values.astype(dtype)


def _limits(dtype: np.dtype[np.generic]) -> tuple[float, float]:
    info = np.iinfo(dtype)  # type: ignore[type-var]  # known to be an integer type here
    return max(float(info.min), -_EXACT), min(float(info.max), _EXACT)
