"""Why the trees engine does not apply to a model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer of the engine to a model that it cannot explain.

    Attributes
    ----------
    reason : str
        A clause in words, to follow "because".
    """

    reason: str


class RefusedError(Exception):
    """Carries a reason up to where it becomes a `Refusal`; never leaves `read`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
