"""Small functions that kernels call: those of their own file, and single processor instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

INLINED: list[Callable[..., Any]] = []
"""Functions that are compiled into the kernels of their file, of all modules imported."""


def popcount(word: Any) -> int:
    """Return the number of set bits of a uint64: one instruction in compiled code."""
    return int(word).bit_count()


def lowest(word: Any) -> int:
    """Return the position of the lowest set bit of a uint64, which must not be 0; likewise."""
    return (int(word) & -int(word)).bit_length() - 1
