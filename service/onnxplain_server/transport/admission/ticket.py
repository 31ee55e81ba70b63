"""Ticket of an admitted request: the scheduler's record of its caller, stage and computation."""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum, auto

from onnxplain_server.core.errors import Reason
from onnxplain_server.transport.admission.admission import Caller, CallerKey
from onnxplain_server.transport.admission.request_control import RequestControl


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
    control : RequestControl
        Deadline and cancellation of the request.
    stage : Stage
    reserve_rows : callable (row count) -> None
        Called with each plan of the computation; raises QUOTA_EXCEEDED.
    planned_seconds : float
        See `RunnerHost.planned_seconds`.
    wakeup : Condition
        Notified when the waiting request should look again whether it is next.
    """

    def __init__(self, caller: Caller, lock: threading.RLock) -> None:
        self.caller = caller
        self.control = RequestControl(caller.seconds, caller.is_disconnected, caller.start)
        self.wakeup = threading.Condition(lock)
        self.stage = Stage.READING
        self.reserve_rows: Callable[[float], None] = lambda _row_count: None
        self.planned_seconds = 0.0

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
        self.control.cancel(reason, message)
        self.wakeup.notify()

    def check(self) -> None:
        """Raise if the request has been ended or is late; called while its body is read."""
        self.control.check("while the request was received")
