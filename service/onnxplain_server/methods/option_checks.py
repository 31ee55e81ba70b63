"""Option checks shared by several methods: feature names, and numeric ranges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.limits import Limits, within
from onnxplain_server.core.table import listed

GROUP_SIGN = " + "
"""What joins the names of a group's features."""


def choose(requested: Sequence[str], names: Sequence[str], path: str) -> tuple[str, ...]:
    """Return the requested names, or all if none is requested; reject unknown and repeated ones.

    Raises
    ------
    ExplainError
        UNKNOWN_FEATURE or INVALID_OPTION.
    """
    unknown = tuple(name for name in requested if name not in names)
    if unknown:
        raise ExplainError(
            Reason.UNKNOWN_FEATURE,
            f"{listed(unknown)} is no feature of the model; features are {listed(tuple(names))}",
            path,
        )
    repeated = tuple(name for i, name in enumerate(requested) if name in requested[:i])
    if repeated:
        raise ExplainError(Reason.INVALID_OPTION, f"{listed(repeated)} is named twice", path)
    return tuple(requested) or tuple(names)


def check_groups(
    groups: Sequence[Sequence[str]], names: Sequence[str], path: str
) -> tuple[tuple[str, ...], ...]:
    """Return groups of features that count as one, in table order of their first features.

    Parameters
    ----------
    groups : sequence of sequences of str
    names : sequence of str
        All features, in table order, which features of a group get.
    path : str

    Raises
    ------
    ExplainError
        UNKNOWN_FEATURE; INVALID_OPTION for a group of one, and for a feature in two.
    """
    for i, group in enumerate(groups):
        choose(group or ("",), names, f"{path}[{i}].names")
        if len(group) < 2:
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"one feature, {group[0]!r}; a group has at least two, and all others count singly",
                f"{path}[{i}].names",
            )
    choose([name for group in groups for name in group], names, path)
    members = sorted(sorted(map(names.index, group)) for group in groups)
    return tuple(tuple(names[j] for j in group) for group in members)


def players(
    features: Sequence[str], groups: Sequence[tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Return the features of each feature by itself and of each group, by its name.

    A group stands where its first feature does.

    Parameters
    ----------
    features : sequence of str
    groups : sequence of tuples of str
        As of `check_groups` and `check_grouping`.
    """
    group_of = {name: group for group in groups for name in group}
    members = dict.fromkeys(group_of.get(name, (name,)) for name in features)
    return {GROUP_SIGN.join(each): each for each in members}


def singles(features: Sequence[str], groups: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the features that are in no group."""
    return tuple(name for name, members in players(features, groups).items() if len(members) == 1)


def check_grouping(
    features: Sequence[str], groups: Sequence[tuple[str, ...]], names: Sequence[str], path: str
) -> None:
    """Refuse groups of features that are not considered, or whose names are not their own.

    Parameters
    ----------
    features : sequence of str
        Those considered.
    names : sequence of str
        All.

    Raises
    ------
    ExplainError
        INVALID_OPTION.
    """
    considered = set(features)
    left_out = tuple(name for group in groups for name in group if name not in considered)
    if left_out:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"groups have {listed(left_out)}, which features leaves out; name all features of a "
            "group in features, or none",
            path,
        )
    named = players(features, groups)
    count = len(groups) + len(features) - sum(map(len, groups))
    joined = {name for name, members in named.items() if len(members) > 1}
    if len(named) < count or not joined.isdisjoint(names):
        raise ExplainError(
            Reason.INVALID_OPTION,
            "the name of a group, its features joined by ' + ', is that of another feature or "
            "group; rename a column",
            path,
        )


def check_limits(message: type, options: Any, path: str) -> None:
    """Refuse numbers outside the limits that the contract gives them.

    Parameters
    ----------
    message : type
        Class of `contract_limits`, whose attributes are the fields of the message.
    options : dataclass
        Fields have the names of the message's, also where they are grouped in dataclasses.
    path : str
        Of the message.

    Raises
    ------
    ExplainError
        INVALID_OPTION.
    """
    for name, value in _numbers(options):
        limits = getattr(message, name, None)
        if isinstance(limits, Limits):
            within(value, limits, f"{path}.{name}")


def check_row_indices(rows: Sequence[int], row_count: int, limits: Limits[Any], path: str) -> None:
    """Refuse rows that the table does not have, too many, and any that stands twice."""
    most = limits.max_items or 0
    wrong = [row for row in rows if not 0 <= row < row_count]
    twice = [row for row, count in Counter(rows).items() if count > 1]
    if wrong or twice or len(rows) > most:
        fault = f"{len(rows):,} are given"
        if wrong or twice:
            fault = f"one is {wrong[0]}" if wrong else f"{twice[0]} stands twice"
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{path.rpartition('.')[2]} must be at most {most:,}, none twice, each in "
            f"[0, {row_count - 1}]; {fault}",
            path,
        )


def _numbers(options: Any) -> Iterator[tuple[str, float]]:
    for field in fields(options):
        value = getattr(options, field.name)
        if isinstance(value, int | float):
            yield field.name, value
        elif is_dataclass(value):
            yield from _numbers(value)
