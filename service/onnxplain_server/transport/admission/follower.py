"""Follower of a computation: takes its progress, and parts of its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


def ignore(*_told: object) -> None:
    """Discard what is told."""


class Follower(NamedTuple):
    """Functions that take what a computation tells on its way; quick and thread-safe.

    Attributes
    ----------
    progress : callable (done, planned) -> None
        Called at every step.
    publish : callable (bytes) -> None
        Takes parts of the answer, encoded as events.
    """

    progress: Callable[[float, float], None] = ignore
    publish: Callable[[bytes], None] = ignore


NOBODY = Follower()
