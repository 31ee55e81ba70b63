"""Checks that options of several methods share."""

from __future__ import annotations

from collections.abc import Sequence

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import listed


def choose(chosen: Sequence[str], names: Sequence[str], path: str) -> tuple[str, ...]:
    """Return the chosen names, all where none is; refuse unknown and repeated ones.

    Raises
    ------
    ExplainError
        UNKNOWN_FEATURE or INVALID_OPTION.
    """
    unknown = tuple(name for name in chosen if name not in names)
    if unknown:
        raise ExplainError(
            Reason.UNKNOWN_FEATURE,
            f"{listed(unknown)} is no feature of the model; features are {listed(tuple(names))}",
            path,
        )
    twice = tuple(name for i, name in enumerate(chosen) if name in chosen[:i])
    if twice:
        raise ExplainError(Reason.INVALID_OPTION, f"{listed(twice)} is named twice", path)
    return tuple(chosen) or tuple(names)


def within(value: float, low: float, high: float, path: str) -> None:
    """Refuse a number outside [low, high], and NaN."""
    if not low <= value <= high:
        name = path.rpartition(".")[2]
        bounds = f"at least {low:g}" if high == float("inf") else f"in [{low:g}, {high:g}]"
        raise ExplainError(Reason.INVALID_OPTION, f"{name} is {value:g}; it must be {bounds}", path)
