"""Checks of the columns that a request or a table offers to a model's inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from onnxplain_server.core.binding.column_order import likely_target
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input
from onnxplain_server.core.table import Table, listed


def check_target_named(matrix: Input, names: tuple[str, ...], table: Table) -> None:
    """Refuse a table with one column too many, likely its target."""
    if matrix.width is None or len(names) != matrix.width + 1:
        return
    found = likely_target(table, names, takes_text=matrix.type == "string")
    raise ExplainError(
        Reason.INVALID_OPTION,
        f"the model takes {matrix.width} columns, and the table has one more: if {found!r} holds "
        "the true values, name it in target_column; otherwise name the model's columns, in its "
        f"order, in feature_columns. The table has {listed(names)}",
        "target_column",
    )


def check_width(matrix: Input, names: tuple[str, ...], *, named: bool) -> None:
    """Refuse another number of columns than the matrix has; `named` if the request names them."""
    check_distinct(names)
    if matrix.width is not None and len(names) != matrix.width:
        source = "feature_columns names" if named else "the table, without target and weight, has"
        raise ExplainError(
            Reason.MISSING_COLUMN if len(names) < matrix.width else Reason.INVALID_OPTION,
            f"the model takes {matrix.width} columns, but {source} {len(names)} ({listed(names)}); "
            "name the model's columns, in its order, in feature_columns",
            "feature_columns",
        )


def check_distinct(names: Sequence[str]) -> None:
    """Refuse a column that is named twice."""
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"feature_columns names {listed(tuple(repeated))} twice",
            "feature_columns",
        )


def check_subset(names: tuple[str, ...], feature_columns: Sequence[str]) -> None:
    """Refuse other columns than those that inputs are named like."""
    unknown = tuple(name for name in feature_columns if name not in names)
    missing = tuple(name for name in names if feature_columns and name not in feature_columns)
    if unknown or missing:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the model takes its columns by name, {listed(names)}, so feature_columns cannot "
            "change them; leave it out",
            "feature_columns",
        )
