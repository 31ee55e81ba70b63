"""Heartbeat of a claimed operation: reports life and progress, and ends work that is lost."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from onnxplain_server.core.errors import Reason
from onnxplain_server.core.operation_store import (
    Claim,
    OperationStore,
    OperationStoreError,
    Renewal,
)
from onnxplain_server.transport.admission.request_control import RequestControl

LOG = logging.getLogger(__name__)

_BEATS_PER_LEASE = 5


class Heartbeat:
    """Renews one claim on a thread of its own.

    Parameters
    ----------
    store : OperationStore
    claim : Claim
    control : RequestControl
        Ends the computation once the claim is lost, or the caller cancels the operation.

    Attributes
    ----------
    answer : Renewal
        Latest answer of the store; OK while it is silent.
    """

    def __init__(self, store: OperationStore, claim: Claim, control: RequestControl) -> None:
        self.answer = Renewal.OK
        self._store = store
        self._claim = claim
        self._control = control
        self._progress = (0.0, 0.0)
        self._stop = threading.Event()

    def advance(self, done: float, planned: float) -> None:
        """Record progress for the next beat."""
        self._progress = done, planned

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Renew the claim meanwhile."""
        thread = threading.Thread(target=self._run, name="onnxplain-heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _run(self) -> None:
        seconds = self._store.limits.lease_seconds / _BEATS_PER_LEASE
        is_over = False
        while self.answer is Renewal.OK and not is_over:
            # The last beat tells how far the work came.
            is_over = self._stop.wait(seconds)
            try:
                self.answer = self._store.renew(self._claim, *self._progress)
            except OperationStoreError as error:
                # The work goes on: a claim that was lost meanwhile changes nothing.
                LOG.warning("operation %s is not renewed: %s", self._claim.operation.id, error)
        if self.answer is Renewal.CANCEL:
            self._control.cancel(Reason.CANCELLED, "the caller cancelled the operation")
        elif self.answer is Renewal.LOST:
            self._control.cancel(Reason.CANCELLED, "the operation was deleted or taken over")
