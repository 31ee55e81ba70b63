"""Refusal: the reason why the trees engine does not apply to a model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """Result for a model that the trees engine cannot read.

    Attributes
    ----------
    reason : str
        A clause that follows "because".
    """

    reason: str


class RefusedError(Exception):
    """Carries a reason to where it becomes a `Refusal`; never leaves `read_ensemble`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
