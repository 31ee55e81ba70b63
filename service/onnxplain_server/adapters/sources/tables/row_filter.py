"""Filters as an Arrow expression: by types of columns, and never met by a missing value."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from onnxplain_server.adapters.sources.interfaces import FilterComparison, TableFilter
from onnxplain_server.core.errors import ExplainError, Reason

_OPERATORS: dict[FilterComparison, Callable[[Any, Any], Any]] = {
    FilterComparison.EQUAL: operator.eq,
    FilterComparison.NOT_EQUAL: operator.ne,
    FilterComparison.LESS: operator.lt,
    FilterComparison.LESS_OR_EQUAL: operator.le,
    FilterComparison.GREATER: operator.gt,
    FilterComparison.GREATER_OR_EQUAL: operator.ge,
}


def expression(
    filters: Sequence[TableFilter], types: Mapping[str, pa.DataType]
) -> pc.Expression | None:
    """Return what all filters say, None without filters.

    Parameters
    ----------
    types : mapping of str to DataType
        Type of each filter's column.

    Raises
    ------
    ExplainError
        INVALID_REQUEST if a value cannot be read as its column's type.
    """
    conditions = [_condition(given, types[given.column]) for given in filters]
    return functools.reduce(operator.and_, conditions) if conditions else None


def _condition(given: TableFilter, kind: pa.DataType) -> pc.Expression:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    field = pc.field(given.column)
    compare = _OPERATORS[given.comparison]
    each = [compare(field, _scalar(text, given, plain)) for text in given.values]
    if given.comparison is FilterComparison.NOT_EQUAL:
        condition = functools.reduce(operator.and_, each)
        # Nulls meet nothing by Arrow's rules; NaN, which is missing too, differs from all.
        return condition & ~pc.is_nan(field) if pa.types.is_floating(plain) else condition
    return functools.reduce(operator.or_, each)


def _scalar(text: str, given: TableFilter, kind: pa.DataType) -> pa.Scalar:
    value = _converted(text, kind)
    if value is None or (pa.types.is_floating(kind) and value.as_py() != value.as_py()):
        raise ExplainError(
            Reason.INVALID_REQUEST,
            f"a filter compares column {given.column!r}, which is {kind}, with {text!r}, which "
            "cannot be read as that",
            "table",
        )
    return value


def _converted(text: str, kind: pa.DataType) -> pa.Scalar | None:
    if pa.types.is_large_string(kind) or pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return pa.scalar(text, kind)
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        return None
    try:
        return pa.scalar(text).cast(kind)
    except pa.ArrowException:
        return None
