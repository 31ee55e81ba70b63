"""Workers at hand: spare ones, and warm ones that hold a model's session."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from onnxplain_server.adapters.workers.channel import ClosedError, MalformedError
from onnxplain_server.adapters.workers.order import Order
from onnxplain_server.adapters.workers.spawn import Zygote
from onnxplain_server.adapters.workers.worker import Worker
from onnxplain_server.errors import ExplainError, Reason

LOG = logging.getLogger(__name__)

_POLL_SECONDS = 0.05
_RETRY_SECONDS = 0.5
_WARM_COUNT = 32
"""Processes that wait with a model, however small: each takes three file descriptors."""


class Pool:
    """Keeps workers; safe for threads.

    Parameters
    ----------
    order : Order
    spare_count : int
        Confined workers that have seen no request, kept waiting.
    warm_bytes : int
        Memory of those that wait with a model; the least recently used go first.

    Attributes
    ----------
    missing : tuple of str
        Protections that this kernel does not have.

    Raises
    ------
    OSError
        Where no worker can be started.
    """

    def __init__(self, order: Order, spare_count: int, warm_bytes: int) -> None:
        self._order = order
        self._spare_count = spare_count
        self._warm_bytes = warm_bytes
        self._changed = threading.Condition()
        self._spares: list[Worker] = []
        self._warm: list[Worker] = []
        self._zygote: Zygote | None = None
        self._closed = False
        self.ready = False
        self.missing: tuple[str, ...] = ()
        self._failure: OSError | None = None
        self._keeper = threading.Thread(target=self._keep, name="workers", daemon=True)
        self._keeper.start()
        with self._changed:
            self._changed.wait_for(lambda: self.ready or self._failure is not None)
        if self._failure is not None:
            self.close()
            raise self._failure

    def take(self, subject: str, tick: Callable[[], None]) -> Worker:
        """Take a worker that has the model, or a spare one; `tick` is called while none is there.

        Raises
        ------
        ExplainError
            UNAVAILABLE where none can be started, and what `tick` raises.
        """
        while True:
            with self._changed:
                worker = self._pick(subject)
                if worker is None:
                    self._refuse()
                    self._changed.wait(_POLL_SECONDS)
            if worker is None:
                tick()
            elif worker.alive:
                worker.subject = subject
                return worker
            else:
                self.discard(worker)

    def give_back(self, worker: Worker) -> None:
        """Keep a worker warm; others go where memory is short."""
        worker.measure(self._zygote.private_bytes if self._zygote else 0)
        with self._changed:
            self._warm.append(worker)
            gone = self._over_budget()
        for each in gone:
            self.discard(each)

    def discard(self, worker: Worker) -> int | None:
        """Kill a worker; how it ended, as `Zygote.reap` has it."""
        worker.kill()
        zygote = self._zygote
        status = None if zygote is None else zygote.reap(worker.pid)
        worker.close()
        return status

    def waiting(self) -> tuple[int, list[int]]:
        """Count spare workers; bytes of each warm one."""
        with self._changed:
            return len(self._spares), [worker.own_bytes for worker in self._warm]

    def close(self) -> None:
        """End all workers."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._keeper.join()

    def _pick(self, subject: str) -> Worker | None:
        """The most recently used one with the model, or the oldest spare."""
        for i in reversed(range(len(self._warm))):
            if self._warm[i].subject == subject:
                return self._warm.pop(i)
        if not self._spares:
            return None
        self._changed.notify_all()
        return self._spares.pop(0)

    def _refuse(self) -> None:
        if self._closed or self._failure is not None:
            raise ExplainError(Reason.UNAVAILABLE, "no worker can be started; ask again later")

    def _over_budget(self) -> list[Worker]:
        """Take out those for which there is no memory, the least recently used first."""
        held = sum(worker.own_bytes for worker in self._warm)
        gone: list[Worker] = []
        while held > self._warm_bytes or len(self._warm) > _WARM_COUNT:
            gone.append(self._warm.pop(0))
            held -= gone[-1].own_bytes
        return gone

    def _keep(self) -> None:
        """Start the zygote and spare workers, again and again: its thread must live on."""
        while not self._closed:
            try:
                self._refill()
            except (OSError, ClosedError, MalformedError) as error:
                self._fail(error)
        self._end()

    def _refill(self) -> None:
        if self._zygote is None or not self._zygote.alive:
            self._restart()
        with self._changed:
            while len(self._spares) >= self._spare_count and not self._closed:
                self._changed.wait(_RETRY_SECONDS)
                if not self._is_healthy():
                    return
        if self._closed or self._zygote is None:
            return
        try:
            worker = self._zygote.fork()
        except ConnectionError:
            self._zygote.close()  # it is about to be replaced
            return
        try:
            self.missing = worker.wait_ready()
        except (ClosedError, MalformedError):
            self.discard(worker)
            raise
        with self._changed:
            self._spares.append(worker)
            self._failure, self.ready = None, True
            self._changed.notify_all()

    def _is_healthy(self) -> bool:
        return self._zygote is not None and self._zygote.alive

    def _restart(self) -> None:
        """Start a zygote; the workers of the one before died with it."""
        with self._changed:
            orphans, self._spares = self._spares, []
            before, self._zygote = self._zygote, None
            self.ready = False
        if before is not None:
            LOG.error("the zygote ended; starting another")
            before.close()
        for worker in orphans:
            self.discard(worker)
        self._zygote = Zygote(self._order)

    def _fail(self, error: Exception) -> None:
        LOG.error("no worker could be started: %s", type(error).__name__)
        with self._changed:
            self._failure = error if isinstance(error, OSError) else OSError("a worker failed")
            self.ready = False
            self._changed.notify_all()
            self._changed.wait(_RETRY_SECONDS)

    def _end(self) -> None:
        with self._changed:
            workers = [*self._spares, *self._warm]
            self._spares, self._warm = [], []
        for worker in workers:
            self.discard(worker)
        if self._zygote is not None:
            self._zygote.close()
