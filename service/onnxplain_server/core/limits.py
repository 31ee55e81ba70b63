"""Limits of an option: its range, its default, and how many entries it takes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from onnxplain_server.core.errors import ExplainError, Reason

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(Generic[T]):
    """Limits of a field of the contract, as its option `(limits)` has them.

    Attributes
    ----------
    default : T
        Enum values by name; None where it depends on model or table.
    min, max : float
        Of a number, or of each number of a list.
    exclusive_min, exclusive_max : bool
        Whether the bound itself is not allowed.
    zero_is_off : bool
        Whether 0 is allowed too.
    min_items, max_items : int
        Entries of a list, or letters of a text, that is not empty.
    """

    default: T
    min: float = float("-inf")
    max: float = float("inf")
    exclusive_min: bool = False
    exclusive_max: bool = False
    zero_is_off: bool = False
    min_items: int = 0
    max_items: int = sys.maxsize

    def allow(self, value: float) -> bool:
        """Tell whether a number is in the range; NaN never is."""
        if value == 0 and self.zero_is_off:
            return True
        if (value == self.min and self.exclusive_min) or (value == self.max and self.exclusive_max):
            return False
        return self.min <= value <= self.max

    def __str__(self) -> str:
        """Put the range in words: "in [2, 64]", "at least 0"."""
        if self.max == float("inf"):
            return f"at least {self.min:g}"
        left, right = "(" if self.exclusive_min else "[", ")" if self.exclusive_max else "]"
        zero = "0, or " if self.zero_is_off else ""
        return f"{zero}in {left}{self.min:g}, {self.max:g}{right}"


def within(value: float, limits: Limits[Any], path: str) -> None:
    """Refuse a number outside its limits, and NaN."""
    if not limits.allow(value):
        name = path.rpartition(".")[2]
        raise ExplainError(Reason.INVALID_OPTION, f"{name} is {value:g}; it must be {limits}", path)
