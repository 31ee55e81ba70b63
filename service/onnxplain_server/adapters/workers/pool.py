"""Workers at hand: spare ones, and warm ones that hold a model's session."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Mapping, Sequence

from onnxplain_server.adapters.workers.census import EndReason, WorkerCensus
from onnxplain_server.adapters.workers.ipc.channel import ClosedError, MalformedError
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings
from onnxplain_server.adapters.workers.process_status import exit_cause, private_bytes
from onnxplain_server.adapters.workers.worker_process import Worker
from onnxplain_server.adapters.workers.zygote_process import Zygote
from onnxplain_server.adapters.workers.zygote_start import StartError
from onnxplain_server.core.errors import ExplainError, Reason

LOG = logging.getLogger(__name__)

_POLL_SECONDS = 0.05
_RETRY_SECONDS = 0.5
RETIRED = 0
"""Exit code of a worker that has worked long enough, and ended between two requests."""

_WARM_COUNT = 32
"""Processes that wait with a model, however small: each takes three file descriptors."""


class WorkerPool:
    """Keeps workers; safe for threads.

    Parameters
    ----------
    order : WorkerSettings
    spare_count : int
        Confined workers that have seen no request, kept waiting.
    warm_bytes : int
        Memory of those that wait with a model; the least recently used go first.

    Attributes
    ----------
    ready : bool
        Whether workers can be started, as far as is known.
    missing : tuple of str
        Protections that this kernel does not have.
    census : WorkerCensus
        How many were started, and how they ended.

    Raises
    ------
    StartError
        Where no worker can be started.
    """

    def __init__(self, order: WorkerSettings, spare_count: int, warm_bytes: int) -> None:
        self._order = order
        self._spare_count = spare_count
        self._warm_bytes = warm_bytes
        self._changed = threading.Condition()
        self._spares: list[Worker] = []
        self._warm: list[Worker] = []
        self._busy: set[Worker] = set()
        self._killed: list[Worker] = []
        self._zygote: Zygote | None = None
        self._closed = False
        self.census = WorkerCensus()
        self.ready = False
        self.missing: tuple[str, ...] = ()
        self._failure = ""
        self._keeper = threading.Thread(target=self._keep, name="workers", daemon=True)
        self._keeper.start()
        with self._changed:
            self._changed.wait_for(lambda: self.ready or self._failure)
        if not self.ready:
            self.close()
            raise StartError(self._failure)

    def take(self, model_key: str, tick: Callable[[], None]) -> Worker:
        """Take a worker that has the model, or a spare one; `tick` is called while none is there.

        Raises
        ------
        ExplainError
            UNAVAILABLE where none can be started, and what `tick` raises.
        """
        while True:
            with self._changed:
                worker = self._pick(model_key)
                if worker is None:
                    self._refuse()
                    self._changed.wait(_POLL_SECONDS)
            if worker is None:
                tick()
            elif worker.alive:
                worker.model_key = model_key
                with self._changed:
                    self._busy.add(worker)
                return worker
            else:
                self.examine(worker)

    def give_back(self, worker: Worker) -> None:
        """Keep a worker warm; others go where memory is short."""
        zygote = self._zygote
        worker.measure(0 if zygote is None else zygote.private_bytes)
        with self._changed:
            self._busy.discard(worker)
            self._warm.append(worker)
            gone = self._over_budget()
        for each in gone:
            self.discard(each, EndReason.EVICTED)

    def discard(self, worker: Worker, reason: EndReason = EndReason.STOPPED) -> None:
        """Kill a worker, without waiting for its end."""
        worker.kill()
        worker.close()
        with self._changed:
            self._busy.discard(worker)
            self._killed.append(worker)
            self._changed.notify_all()
        self.census.ended(reason)

    def examine(self, worker: Worker) -> int | None:
        """Tell how a worker ended that has closed its socket, as `Zygote.reap` has it."""
        worker.kill()
        zygote = self._zygote
        status = None if zygote is None else zygote.reap(worker)
        with self._changed:
            self._busy.discard(worker)
        worker.close()
        self.census.ended(_end(status))
        return status

    def states(self) -> Mapping[str, Sequence[int]]:
        """Return the bytes of each worker beside what all share: spare, warm and busy ones."""
        zygote = self._zygote
        common = 0 if zygote is None else zygote.private_bytes
        with self._changed:
            warm = [worker.own_bytes for worker in self._warm]
            spare, busy = [each.pid for each in self._spares], [each.pid for each in self._busy]
        held = {"spare": spare, "busy": busy}
        own = {k: [max(0, private_bytes(pid) - common) for pid in pids] for k, pids in held.items()}
        return {**own, "warm": warm}

    def close(self) -> None:
        """End all workers."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._keeper.join()

    def _pick(self, model_key: str) -> Worker | None:
        """The most recently used one with the model, or the oldest spare."""
        for i in reversed(range(len(self._warm))):
            if self._warm[i].model_key == model_key:
                return self._warm.pop(i)
        if not self._spares:
            return None
        self._changed.notify_all()
        return self._spares.pop(0)

    def _refuse(self) -> None:
        if self._closed or self._failure:
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
        failed = False
        while not self._closed:
            try:
                self._attend()
                failed = False
            except Exception as error:  # noqa: BLE001 - without this thread all workers die
                if failed:
                    self._fail(str(error) or type(error).__name__)
                failed = True  # once, it may be chance: a kill from outside
        self._end()

    def _attend(self) -> None:
        """Do what is to be done next, or wait until there is something."""
        zygote = self._zygote
        if zygote is None or not zygote.alive:
            self._restart()
            return
        with self._changed:
            killed, self._killed = self._killed, []
            enough = len(self._spares) >= self._spare_count
            if enough and not killed and not self._closed:
                self._changed.wait(_RETRY_SECONDS)
        for worker in killed:
            zygote.reap(worker)
        if not enough:
            self._add_spare(zygote)

    def _add_spare(self, zygote: Zygote) -> None:
        try:
            worker = zygote.fork()
        except ConnectionError:
            zygote.close()  # it is about to be replaced
            return
        self.census.started()
        try:
            self.missing = worker.wait_ready()
        except (ClosedError, MalformedError):
            raise StartError(
                f"a worker ended {exit_cause(self.examine(worker))} at its start"
            ) from None
        with self._changed:
            self._spares.append(worker)
            self._failure, self.ready = "", True
            self._changed.notify_all()

    def _restart(self) -> None:
        """Start a zygote; the workers of the one before died with it."""
        with self._changed:
            orphans, self._spares, self._killed = self._spares, [], []
            before, self._zygote = self._zygote, None
            self.ready = False
        if before is not None:
            LOG.error("the zygote ended; starting another")
            before.close()
        for worker in orphans:
            worker.kill()
            worker.close()
            self.census.ended(EndReason.KILLED)
        self._zygote = Zygote(self._order)

    def _fail(self, why: str) -> None:
        with self._changed:
            if why != self._failure:
                LOG.error("no worker could be started: %s", why)
            self._failure, self.ready = why, False
            self._changed.notify_all()
            self._changed.wait(_RETRY_SECONDS)

    def _end(self) -> None:
        """End those that wait; those that work die with the zygote."""
        with self._changed:
            workers = [*self._spares, *self._warm]
            self._spares, self._warm = [], []
            zygote, self._zygote = self._zygote, None
        for worker in workers:
            worker.kill()
            worker.close()
        if zygote is not None:
            zygote.close()


def _end(status: int | None) -> EndReason:
    if status == RETIRED:
        return EndReason.RETIRED
    return EndReason.KILLED if status in {None, -signal.SIGKILL} else EndReason.CRASHED
