"""A request's ticket among those that the server holds."""

from __future__ import annotations

import threading
from enum import Enum, auto

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.admission import Caller, CallerKey
from onnxplain_server.transport.admission.request_context import RequestContext


class Stage(Enum):
    """How far a request has come."""

    READING = auto()
    WAITING = auto()
    RUNNING = auto()
    ASIDE = auto()
    DONE = auto()
    ENDED = auto()


class Ticket:
    """Held by a request from before its body is read until its reply is made.

    Parameters
    ----------
    caller : Caller
        Whose request it is.
    lock : RLock
        That of all tickets: held by whoever ends this one, or changes its stage.

    Attributes
    ----------
    stage : Stage
    call : RequestContext or None
        The computation, once it has been admitted.
    woken : Condition
        Tells who waits with this ticket to look again.
    """

    def __init__(self, caller: Caller, lock: threading.RLock) -> None:
        self.caller = caller
        self.woken = threading.Condition(lock)
        self.stage = Stage.READING
        self.call: RequestContext | None = None
        self._end: ExplainError | None = None

    @property
    def caller_key(self) -> CallerKey:
        """See `Caller.caller_key`."""
        return self.caller.caller_key

    @property
    def yields(self) -> bool:
        """Whether it can be ended without loss of work."""
        return self.stage in {Stage.READING, Stage.WAITING}

    def end(self, reason: Reason, message: str) -> None:
        """Make the request end at its next step."""
        self._end = ExplainError(reason, message)
        if self.call is not None:
            self.call.cancel(reason, message)
        self.woken.notify()

    def check(self) -> None:
        """Raise where the request has to end; to be asked while its body is read."""
        if self._end is not None:
            raise self._end
