"""How a call ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Refused(Exception):  # noqa: N818 - the outcome of a call, and no fault of the rig
    """A call that ended without an answer.

    Attributes
    ----------
    reason : str
        A reason of the service, or the name of what happened on the way.
    message : str
    from_server : bool
        Whether the words are the server's.
    retry_seconds : float or None
        When it says that the same may succeed.
    """

    reason: str
    message: str
    from_server: bool
    retry_seconds: float | None = None


@dataclass(frozen=True)
class Answered:
    """An answer as canonical JSON, and how often it was asked for."""

    document: dict[str, Any]
    attempts: int = 0
