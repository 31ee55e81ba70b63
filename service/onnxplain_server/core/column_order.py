"""The order of a matrix's columns: by the names that the model carries, or by position."""

from __future__ import annotations

import re
from collections.abc import Sequence

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import listed

_NUMBERED = re.compile(r"(\D*)(\d{1,9})")


def ordered(
    carried: Sequence[str], stated: Sequence[str], table: Sequence[str], others: Sequence[str]
) -> tuple[tuple[str, ...], bool]:
    """Choose the columns that a matrix is made of.

    Parameters
    ----------
    carried : sequence of str
        Names of its columns that the model carries; empty where it carries none.
    stated : sequence of str
        Columns that the request names in their order, which may be called otherwise than in the
        model; empty for none.
    table : sequence of str
        Columns of the table, in its order.
    others : sequence of str
        Of these, target and weight.

    Returns
    -------
    names : tuple of str
    by_position : bool
        Whether nothing but the table's order tells which column is which.

    Raises
    ------
    ExplainError
        INVALID_OPTION where the request puts a column elsewhere than the model; MISSING_COLUMN
        where the table lacks columns that the model names.
    """
    if stated:
        _check_stated(carried, stated)
        return tuple(stated), False
    missing = tuple(name for name in carried if name not in table)
    if carried and not missing:
        return tuple(carried), False
    rest = tuple(name for name in table if name not in others)
    is_unnamed = _is_numbered(rest) and not set(rest) & set(carried)
    if missing and not (_is_numbered(carried) or is_unnamed):
        raise _mismatch(missing, tuple(name for name in rest if name not in carried))
    return rest, True


def _is_numbered(names: Sequence[str]) -> bool:
    """Whether names only count, as f0, f1, ... do, and so say nothing of the columns."""
    matches = [_NUMBERED.fullmatch(name) for name in names]
    if not names:
        return False
    parts = [(match[1], int(match[2])) for match in matches if match]
    if len(parts) < len(names):
        return False
    (prefix, first) = parts[0]
    return first in {0, 1} and parts == [(prefix, first + j) for j in range(len(names))]


def _check_stated(carried: Sequence[str], stated: Sequence[str]) -> None:
    """Refuse a column of the model's at another place; other names may be renamed columns."""
    place = {name: j for j, name in enumerate(carried)}
    moved = [(j, name) for j, name in enumerate(stated) if place.get(name, j) != j]
    if moved:
        (j, name) = moved[0]
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"feature_columns has {name!r} in place {j + 1}, but the model names {carried[j]!r} "
            f"there and {name!r} in place {place[name] + 1}; leave feature_columns out to have "
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
