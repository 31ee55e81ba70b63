"""Ticket of an admitted request: the scheduler's record of its caller, stage and computation."""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum, auto

from onnxplain_server.core.errors import Reason
from onnxplain_server.transport.admission.admission import Caller, CallerKey
from onnxplain_server.transport.admission.request_control import RequestControl
from onnxplain_server.transport.admission.work_estimates import WorkKey


class Stage(Enum):
    """Stage of an admitted request.

    ARRIVED, READING its body, WAITING for a slot, RUNNING, PARKED (without a slot while
    another request computes the same), DONE with computing, or SHED under overload.
    """

    ARRIVED = auto()
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
    work : WorkKey or None
        What is known of its work: little until it is received. None for operations, which
        wait elsewhere.
    byte_count : int
        Memory of its message.
    run_seconds : float
        Time in a slot so far.
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
        self.stage = Stage.ARRIVED
        self.work: WorkKey | None = WorkKey(caller.key, "")
        self.byte_count = 0
        self.run_seconds = 0.0
        self.reserve_rows: Callable[[float], None] = lambda _row_count: None
        self.planned_seconds = 0.0

    @property
    def caller_key(self) -> CallerKey:
        """Key by which the queue is fair; see `Caller.key`."""
        return self.caller.key

    @property
    def is_sheddable(self) -> bool:
        """Return whether no work is lost when the request is shed."""
        return self.stage in {Stage.ARRIVED, Stage.READING, Stage.WAITING}

    def end(self, reason: Reason, message: str, retry_seconds: float | None = None) -> None:
        """Make the request end at its next step."""
        self.control.cancel(reason, message, retry_seconds)
        self.wakeup.notify()

    def check(self) -> None:
        """Raise if the request has been ended or is late; called while its body is read."""
        self.control.check("while the request was received")
