"""Operations: one is started, followed to its end whatever breaks on the way, and deleted."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from rig import answers
from rig.outcome import Answered, Refused

SECONDS = 300.0
"""Longest time until the end of an operation, and until its answer was read."""

_CALL_SECONDS, _WAIT_SECONDS, _PAUSE_SECONDS = 20.0, 5.0, 0.2
_TWICE = 0.3
"""How many of the starts are repeated, as if the reply had been lost."""

_AGAIN = {
    *("UNAVAILABLE", "OVERLOADED", "WORKER_DIED", "DEADLINE_EXCEEDED"),
    *("BLOB_NOT_FOUND", "INSUFFICIENT_STORAGE", "CANCELLED"),
}
"""Reasons of a call about an operation that say nothing about the operation."""

_Found = TypeVar("_Found")


class _StoppedError(Exception):
    """The run is over."""


@dataclass(frozen=True)
class Look:
    """What a replica shows of an operation; `end` is empty before its end."""

    state: str
    end: str
    attempts: int
    error: Refused | None = None


class OperationCaller(Protocol):
    """Calls about operations on one surface; each may go to another replica, and raises Refused."""

    def start(self, request: ExplainRequest, request_id: str, seconds: float) -> str:
        """Start, and return the name."""

    def look(self, name: str, wait: float, seconds: float) -> Look:
        """Return the state, after the end or after a wait."""

    def read(self, name: str, seconds: float) -> dict[str, Any]:
        """Return the answer."""

    def delete(self, name: str, seconds: float) -> None:
        """Have it forgotten."""


@dataclass
class Followed:
    """An operation that is followed.

    Attributes
    ----------
    is_going : callable () -> bool
        False once the run is over.
    looks : list of str
        What was seen of the operation after its end, and the name that each start returned.
    """

    caller: OperationCaller
    generator: random.Random
    is_going: Callable[[], bool]
    looks: list[str] = field(default_factory=list)

    def run(self, request: ExplainRequest) -> Answered | None:
        """Start it, wait for its end, and read its answer; None where the run ends before.

        Raises
        ------
        Refused
        """
        try:
            return self._run(request)
        except _StoppedError:
            return None

    def _run(self, request: ExplainRequest) -> Answered:
        self._until = time.monotonic() + SECONDS
        request_id = f"{self.generator.getrandbits(64):x}"
        start = lambda: self.caller.start(request, request_id, _CALL_SECONDS)  # noqa: E731
        name = self._again(start)
        if self.generator.random() < _TWICE:
            self.looks += [f"started {each}" for each in (name, self._again(start))]
        found = self._ended(name)
        if found.error is not None:
            self._seen(found, "")
            self._seen(self._look(name), "")
            raise found.error
        for look in (found, self._look(name)):
            document = self._again(lambda: self.caller.read(name, _CALL_SECONDS))
            self._seen(look, answers.digest(document))
        self._again(lambda: self.caller.delete(name, _CALL_SECONDS), {"OPERATION_NOT_FOUND"})
        return Answered(document)

    def _seen(self, look: Look, digest: str) -> None:
        self.looks.append(f"ended {look.state} {look.end} {look.attempts} {digest}")

    def _ended(self, name: str) -> Look:
        while True:
            found = self._look(name)
            if found.end:
                return found
            self._check_going()
            if time.monotonic() > self._until:
                text = f"{found.state} after {SECONDS:g} s"
                raise Refused("OPERATION_NOT_DONE", text, from_server=False)

    def _look(self, name: str) -> Look:
        found: Look = self._again(lambda: self.caller.look(name, _WAIT_SECONDS, _CALL_SECONDS))
        return found

    def _again(self, call: Callable[[], _Found], enough: Collection[str] = ()) -> _Found | Any:
        """Call until it succeeds, or is refused for good."""
        while True:
            try:
                return call()
            except Refused as refused:
                if refused.reason in enough:
                    return None
                is_final = refused.from_server and refused.reason not in _AGAIN
                if is_final or time.monotonic() > self._until:
                    raise
            self._check_going()
            time.sleep(_PAUSE_SECONDS)

    def _check_going(self) -> None:
        if not self.is_going():
            raise _StoppedError
