"""Ticket of an admitted request: the scheduler's record of its caller, stage and computation."""

from __future__ import annotations

import threading
from enum import Enum, auto

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.admission import Caller, CallerKey
from onnxplain_server.transport.admission.request_context import RequestContext


class Stage(Enum):
    """Stage of an admitted request.

    READING its body, WAITING for a slot, RUNNING, PARKED (without a slot while another
    request computes the same), DONE with computing, or SHED under overload.
    """

    READING = auto()
    WAITING = auto()
    RUNNING = auto()
    PARKED = auto()
    DONE = auto()
    SHED = auto()


class Ticket:
    """Admission of one request, held from before its body is read until its reply is made.

    Parameters
    ----------
    caller : Caller
        Sender of the request.
    lock : RLock
        The scheduler's lock: hold it to end the request or to change its stage.

    Attributes
    ----------
    stage : Stage
    call : RequestContext or None
        The computation, once it waits for a slot.
    wakeup : Condition
        Notified when the waiting request should look again whether it is next.
    """

    def __init__(self, caller: Caller, lock: threading.RLock) -> None:
        self.caller = caller
        self.wakeup = threading.Condition(lock)
        self.stage = Stage.READING
        self.call: RequestContext | None = None
        self._error: ExplainError | None = None

    @property
    def caller_key(self) -> CallerKey:
        """Key by which the queue is fair; see `Caller.key`."""
        return self.caller.key

    @property
    def is_sheddable(self) -> bool:
        """Return whether no work is lost when the request is shed."""
        return self.stage in {Stage.READING, Stage.WAITING}

    def end(self, reason: Reason, message: str) -> None:
        """Make the request end at its next step."""
        self._error = ExplainError(reason, message)
        if self.call is not None:
            self.call.cancel(reason, message)
        self.wakeup.notify()

    def check(self) -> None:
        """Raise if the request has been ended; called repeatedly while its body is read."""
        if self._error is not None:
            raise self._error
