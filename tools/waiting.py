"""Waiting for what comes sooner or later: an event bounds a test, never its time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_SECONDS = 300.0
"""A bound that only something endless exceeds, on a busy machine too."""

_Found = TypeVar("_Found")


def until(
    holds: Callable[[], _Found], seconds: float = PATIENCE_SECONDS, pause: float = 0.01
) -> _Found:
    """Look until something holds, and return it.

    Raises
    ------
    AssertionError
        If it does not hold within the time.
    """
    end = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError(f"it did not come to hold within {seconds:g} s")
        time.sleep(pause)
    return found
