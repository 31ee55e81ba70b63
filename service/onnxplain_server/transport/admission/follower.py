"""Follower of a computation: takes its progress, parts of its answer, and the table of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple


def ignore(*_told: object) -> None:
    """Discard what is told."""


def no_table(_parts: Iterable[bytes]) -> None:
    """Refuse a table that the request does not ask for."""
    raise ValueError("the request asks for no table")


class Follower(NamedTuple):
    """Functions that take what a computation tells on its way; thread-safe.

    Attributes
    ----------
    progress : callable (done, planned) -> None
        Called at every step; quick.
    publish : callable (bytes) -> None
        Takes parts of the answer, encoded as events.
    write_table : callable (iterable of bytes) -> None
        See `TableHost.write_table`.
    """

    progress: Callable[[float, float], None] = ignore
    publish: Callable[[bytes], None] = ignore
    write_table: Callable[[Iterable[bytes]], None] = no_table


NOBODY = Follower()
