"""Column order of a matrix input: by the names that the model carries, else by position."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input
from onnxplain_server.core.table import Table, listed

_TARGET_NAMES = {"target", "label", "y", "class", "outcome", "response"}
_IN_ORDER = "so columns were taken in their order"
_NUMBERED = re.compile(r"(\D*)(\d{1,9})")


ONLY_COUNT = f"The names of the model or of the table only count, {_IN_ORDER}"
_NO_COUNT = f"The model tells neither which column is which nor how many it takes, {_IN_ORDER}"


class ColumnOrder(NamedTuple):
    """Columns of a matrix input.

    Attributes
    ----------
    names : tuple of str
    by_position : bool
        Whether only the order of the table assigns columns.
    reason : str
        Why, and how they were taken, where the model carries names; empty where it carries none.
    """

    names: tuple[str, ...]
    by_position: bool
    reason: str = ""


def column_order(
    matrix: Input,
    requested: Sequence[str],
    table: Sequence[str],
    non_features: Sequence[str],
) -> ColumnOrder:
    """Choose the columns of a matrix input.

    Parameters
    ----------
    matrix : Input
    requested : sequence of str
        Columns that the request names, in order; their names may differ from the model's. May be
        empty.
    table : sequence of str
        Columns of the table, in its order.
    non_features : sequence of str
        Target and weight columns of the table.

    Raises
    ------
    ExplainError
        INVALID_OPTION if the request orders columns otherwise than the model; MISSING_COLUMN if
        the table lacks columns that the model names.
    """
    if requested:
        _check_requested(matrix.columns, requested)
        return ColumnOrder(tuple(requested), by_position=False)
    if matrix.doubted:
        return _doubted_order(matrix, candidates(table, non_features, matrix.width))
    return _matched(matrix, table, non_features)


def candidates(
    table: Sequence[str], non_features: Sequence[str], count: int | None
) -> tuple[str, ...]:
    """Return the columns that may be features; one without a name is taken for an index.

    Parameters
    ----------
    table, non_features : sequence of str
        As in `column_order`.
    count : int or None
        Of the columns that the model takes; None: any.

    Raises
    ------
    ExplainError
        INVALID_TABLE if the model takes that one, too.
    """
    named = tuple(name for name in table if name and name not in non_features)
    if "" in table and count == len(named) + 1:
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"the model takes {count} columns, and the table, without target and weight, has "
            f"{len(named)} with a name ({listed(named)}) and one without, as an index has it; if "
            "the model takes that one, give it a name",
            "table",
        )
    return named


def _matched(matrix: Input, table: Sequence[str], non_features: Sequence[str]) -> ColumnOrder:
    """Match the carried names with the table's columns, or take the table's order."""
    carried = matrix.columns
    missing = tuple(name for name in carried if name not in table)
    if carried and not missing:
        return ColumnOrder(carried, by_position=False)
    rest = candidates(table, non_features, matrix.width)
    is_unnamed = is_numbered(rest) and not set(rest) & set(carried)
    if missing and not (is_numbered(carried) or is_unnamed):
        raise _mismatch(missing, tuple(name for name in rest if name not in carried))
    untold = _NO_COUNT if matrix.width is None else ""
    untold = f"{matrix.doubt}, {_IN_ORDER}" if matrix.doubt else untold
    return ColumnOrder(rest, by_position=True, reason=ONLY_COUNT if carried else untold)


def _doubted_order(matrix: Input, rest: tuple[str, ...]) -> ColumnOrder:
    """Take the table's order unless the names that tell a column disagree, or leave one only.

    Parameters
    ----------
    matrix : Input
        With names that are doubted.
    rest : tuple of str
        Columns of the table that may be features.
    """
    carried = matrix.doubted
    place_of = {name: carried.index(name) for name in carried if name and carried.count(name) == 1}
    places = [place_of[name] for name in rest if name in place_of]
    in_order = ColumnOrder(rest, by_position=True, reason=f"{matrix.doubt}, {_IN_ORDER}")
    if matrix.width not in {None, len(carried)}:
        if places == sorted(places):
            return in_order
        raise _doubted(matrix)
    if all(rest[place : place + 1] == (name,) for name, place in place_of.items() if name in rest):
        is_known = len(places) == len(place_of) or is_numbered(rest) or is_numbered([*place_of])
        if is_known:
            return in_order
    others = [name for name in rest if name not in place_of]
    if len(places) == len(carried) - 1 and len(others) == 1:
        names = {place_of[name]: name for name in rest if name in place_of}
        order = tuple(names.get(place, others[0]) for place in range(len(carried)))
        reason = f"{matrix.doubt}, so {others[0]!r} was taken there, as no other column is left"
        return ColumnOrder(order, by_position=True, reason=reason)
    raise _doubted(matrix)


def _doubted(matrix: Input) -> ExplainError:
    return ExplainError(
        Reason.INVALID_OPTION,
        f"{matrix.doubt}: {listed(matrix.doubted)}. So they do not tell which column of the table "
        "is which; name the columns in the model's order in feature_columns, or mend the names",
        "feature_columns",
    )


def is_numbered(names: Sequence[str]) -> bool:
    """Return whether names only count, like f0, f1, ..., and so do not identify columns."""
    matches = [_NUMBERED.fullmatch(name) for name in names]
    if not names:
        return False
    parts = [(match[1], int(match[2])) for match in matches if match]
    if len(parts) < len(names):
        return False
    (prefix, first) = parts[0]
    return first in {0, 1} and parts == [(prefix, first + j) for j in range(len(names))]


def _check_requested(carried: Sequence[str], requested: Sequence[str]) -> None:
    """Refuse a model column at another position; unknown names may be renamed columns."""
    position = {name: j for j, name in enumerate(carried)}
    moved = [(j, name) for j, name in enumerate(requested) if position.get(name, j) != j]
    if moved:
        (j, name) = moved[0]
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"feature_columns has {name!r} in place {j + 1}, but the model names {carried[j]!r} "
            f"there and {name!r} in place {position[name] + 1}; leave feature_columns out to have "
            "the columns matched by name",
            "feature_columns",
        )


def _mismatch(missing: tuple[str, ...], unknown: tuple[str, ...]) -> ExplainError:
    instead = f", but {listed(unknown)}, which the model does not name" if unknown else ""
    return ExplainError(
        Reason.MISSING_COLUMN,
        f"the model names its columns, and the table has no {listed(missing)}{instead}; rename "
        "the table's columns, or name all columns in the model's order in feature_columns",
        "feature_columns",
    )


def likely_target(table: Table, columns: Sequence[str], *, takes_text: bool) -> str:
    """Guess which of some columns, one more than a model takes, holds the true values.

    The only one of text where the model takes numbers, else the only one with a usual name, else
    the last one.
    """
    texts = [n for n in columns if n in table.columns and table.stored[n].dtype == object]
    usual = [name for name in columns if name.lower() in _TARGET_NAMES]
    for found in ([] if takes_text else texts, usual):
        if len(found) == 1:
            return found[0]
    return columns[-1]
