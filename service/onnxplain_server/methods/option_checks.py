"""Option checks shared by several methods: feature names, and numeric ranges."""

from __future__ import annotations

from collections.abc import Sequence

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import listed


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


def within(value: float, low: float, high: float, path: str) -> None:
    """Refuse a number outside [low, high], and NaN."""
    if not low <= value <= high:
        name = path.rpartition(".")[2]
        bounds = f"at least {low:g}" if high == float("inf") else f"in [{low:g}, {high:g}]"
        raise ExplainError(Reason.INVALID_OPTION, f"{name} is {value:g}; it must be {bounds}", path)
