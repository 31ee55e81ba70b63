"""Feature columns of a table, bound to a model's inputs. Values stay as sent until `cast`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.core.binding.column_checks import (
    check_distinct,
    check_subset,
    check_target_named,
    check_width,
)
from onnxplain_server.core.binding.column_order import ONLY_COUNT, candidates, column_order
from onnxplain_server.core.binding.input_columns import (
    columns_of_inputs,
    has_matrices,
    in_input_order,
    spans,
)
from onnxplain_server.core.castable import Places, check_castable
from onnxplain_server.core.columns import Columns
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


InputColumns: TypeAlias = Sequence[tuple[str, tuple[str, ...]]]
"""Name of an input and its columns, for each input."""

INPUT_TYPES = tuple(_DTYPES)
"""Element types of inputs, as ONNX names them."""


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Feature columns with the table's values, and the types of the model's inputs.

    Attributes
    ----------
    names : tuple of str
    columns : sequence of (n_rows,) arrays
        float64, or str objects: not in the model's type, so that grids and quantiles are
        computed on the values that the user sees; `Columns` where some are float32 in memory.
    dtypes : tuple of numpy dtypes
        The model's type of each feature.
    matrix : str
        Name of the one input that takes all features; empty if each feature is
        an input of its own.
    by_position : bool
        Whether only the order of the table assigns the columns.
    order_reason : str
        Why, where the model carries names; empty where it carries none.
    spans : tuple of (str, int)
        Name of each input, and how many of the features it takes, one input after the other;
        empty where `matrix` or the names of features tell.
    """

    names: tuple[str, ...]
    columns: Sequence[Array]
    dtypes: tuple[np.dtype[np.generic], ...]
    matrix: str
    by_position: bool = False
    spans: tuple[tuple[str, int], ...] = ()
    order_reason: str = ""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.stored[0])

    @property
    def stored(self) -> tuple[Array, ...]:
        """The columns as they are in memory, also as float32."""
        return self.columns.stored if isinstance(self.columns, Columns) else tuple(self.columns)

    @property
    def inputs(self) -> tuple[tuple[str, int], ...]:
        """Name of each input, and how many of the features it takes, one after the other."""
        if self.matrix:
            return ((self.matrix, len(self.names)),)
        return self.spans or tuple((name, 1) for name in self.names)

    def index(self, name: str, path: str = "") -> int:
        """Return the position of a feature, or raise UNKNOWN_FEATURE."""
        try:
            return self.names.index(name)
        except ValueError:
            raise ExplainError(
                Reason.UNKNOWN_FEATURE,
                f"{name!r} is no feature of the model; features are {listed(self.names)}",
                path,
            ) from None

    def take(self, rows: Indices) -> Features:
        """Keep these rows, in this order; columns are shared where these are all rows."""
        if len(rows) == self.n_rows and np.array_equal(rows, np.arange(self.n_rows)):
            return self
        return replace(self, columns=Columns([column[rows] for column in self.stored]))

    def is_whole(self, feature: int) -> bool:
        """Return whether the model takes only whole numbers for a feature."""
        return self.dtypes[feature].kind in "iub"

    def cast(self, feature: int, values: Array, path: str = "table") -> Array:
        """Cast values of a feature, as users see them, to the model's type.

        Raises
        ------
        ExplainError
            WRONG_TYPE if that would change them. `path` is the field of the request
            with the values.
        """
        self.check(feature, values, path)
        return values.astype(self.dtypes[feature], copy=values.dtype != object)

    def cast_columns(self) -> tuple[Array, ...]:
        """Cast all columns to the model's types, writable; a stored column may be shared.

        Raises
        ------
        ExplainError
            See `cast`.
        """
        return tuple(map(self._cast_column, range(len(self.names))))

    def _cast_column(self, feature: int) -> Array:
        stored = self.stored[feature]
        if stored.dtype == self.dtypes[feature]:
            return np.require(stored, requirements=("C", "W"))
        return self.cast(feature, self.columns[feature])

    def check_columns(self, as_sent: Places | None = None) -> None:
        """Check that `cast_columns` would not change values; errors are those of `cast`."""
        for feature, stored in enumerate(self.stored):
            if stored.dtype != self.dtypes[feature]:
                self.check(feature, self.columns[feature], as_sent=as_sent)

    def check(
        self, feature: int, values: Array, path: str = "table", as_sent: Places | None = None
    ) -> None:
        """Check that `cast` would not change values; errors are those of `cast`."""
        check_castable(values, self.dtypes[feature], self.names[feature], path, as_sent)


# Long: most of it documents the parameters.
def bind(
    inputs: Sequence[Input],
    table: Table,
    feature_columns: Sequence[str],
    non_features: Sequence[str],
    *,
    is_part: bool = False,
    input_columns: InputColumns = (),
) -> Features:
    """Find the columns of a model's inputs in a table, and check that they can be cast.

    Parameters
    ----------
    feature_columns : sequence of str
        Columns of a matrix; empty: those that the model names, or else all but `non_features`.
    non_features : sequence of str
        Target and weight columns, empty where there is none; features only if `feature_columns`
        names them.
    is_part : bool
        Whether the rows are some of a table, in which a column may have no value.
    input_columns : sequence of (str, tuple of str)
        Columns by input, in place of `feature_columns`.

    Raises
    ------
    ExplainError
        MISSING_COLUMN, WRONG_TYPE, INVALID_TABLE or INVALID_OPTION.
    """
    if input_columns:
        feature_columns = in_input_order(inputs, input_columns)
    is_matrix = _takes_matrix(inputs, table) and not (input_columns and inputs[0].width == 1)
    matrix = inputs[0].name if is_matrix else ""
    by_input, reason = bool(input_columns) or has_matrices(inputs), ""
    if matrix:
        asked = (feature_columns, table.present, non_features)
        names, by_position, reason = column_order(inputs[0], *asked)
        if not feature_columns and not any(non_features[:1]):
            check_target_named(inputs[0], names, table)
        check_width(inputs[0], names, named=bool(feature_columns))
        types = [inputs[0].type] * len(names)
    elif input_columns:
        check_distinct(feature_columns)
        names, by_position = tuple(feature_columns), False
        types = [each.type for each in inputs for _ in range(each.width or 1)]
    elif by_input:
        names, by_position = columns_of_inputs(inputs, table, feature_columns, non_features)
        types = [each.type for each in inputs for _ in range(each.width or 1)]
    else:
        names, by_position = tuple(i.name for i in inputs), False
        types = [i.type for i in inputs]
        check_subset(names, feature_columns)
    columns = Columns([table.stored_column(name, "feature_columns") for name in names])
    if not is_part:
        _check_none_empty(names, columns)
    dtypes = tuple(np.dtype(_DTYPES[t]) for t in types)
    input_spans = spans(inputs) if by_input and not matrix else ()
    if table.named_in_order:
        by_position, reason = True, ONLY_COUNT
    features = Features(names, columns, dtypes, matrix, by_position, input_spans, reason)
    features.check_columns(table.as_sent)
    return features


def _check_none_empty(names: Sequence[str], columns: Columns) -> None:
    for name, column in zip(names, columns.stored, strict=True):
        _check_not_empty(name, column)


def bind_without_model(
    table: Table, feature_columns: Sequence[str], non_features: Sequence[str]
) -> Features:
    """Take the columns of a table as features, in their own types.

    Parameters
    ----------
    feature_columns : sequence of str
        Empty: all columns but `non_features`.

    Raises
    ------
    ExplainError
        MISSING_COLUMN, WRONG_TYPE, INVALID_TABLE or INVALID_OPTION.
    """
    names = tuple(feature_columns) or candidates(table.present, non_features, None)
    check_distinct(names)
    if not names:
        raise ExplainError(
            Reason.INVALID_TABLE, "the table has no column besides target and weight", "table"
        )
    columns = Columns([table.stored_column(name, "feature_columns") for name in names])
    for name, column in zip(names, columns.stored, strict=True):
        _check_not_empty(name, column)
    return Features(names, columns, tuple(column.dtype for column in columns), "")


def dtype_of(input_type: str) -> np.dtype[np.generic]:
    """Return the dtype of rows of an input, by its element type; objects for strings."""
    return np.dtype(_DTYPES[input_type])


def feeds(features: Features, columns: Sequence[Array]) -> Mapping[str, Array]:
    """Arrange cast columns, (n,) each, as a model's feeds: input name to (n, width)."""
    following = iter(columns)
    return {
        name: np.stack(tuple(islice(following, count)), axis=1) for name, count in features.inputs
    }


def _takes_matrix(inputs: Sequence[Input], table: Table) -> bool:
    """Return whether the only input is a matrix, not a column that the table has by its name."""
    return len(inputs) == 1 and not (inputs[0].width == 1 and inputs[0].name in table.columns)


def _check_not_empty(name: str, column: Array) -> None:
    if is_missing(column[:1]).all() and is_missing(column).all():
        raise no_value(name, len(column))


def no_value(name: str, row_count: int) -> ExplainError:
    """Return the error for a column that has no value in any of its rows."""
    return ExplainError(
        Reason.INVALID_TABLE,
        f"column {name!r} has no value in any of its {row_count} rows; fill it, or leave it "
        "out of feature_columns",
        "table",
    )


def is_missing(values: Array) -> Array:
    """Return which values are missing: (n,)."""
    missing: Array = values == "" if values.dtype == object else np.isnan(values)
    return missing
