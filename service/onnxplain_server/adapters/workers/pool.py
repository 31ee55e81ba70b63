"""Pool of workers: spare ones without a model, warm ones with a loaded model, busy ones."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence

from onnxplain_server.adapters.workers.census import EndReason, WorkerCensus
from onnxplain_server.adapters.workers.ipc.channel import ClosedError, MalformedError
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings
from onnxplain_server.adapters.workers.process_status import (
    exit_cause,
    private_bytes,
    processor_seconds,
)
from onnxplain_server.adapters.workers.worker_process import Worker
from onnxplain_server.adapters.workers.zygote_process import Zygote
from onnxplain_server.adapters.workers.zygote_start import StartError
from onnxplain_server.core.errors import ExplainError, Reason

if sys.platform != "linux":
    raise ImportError("of Linux alone")

LOG = logging.getLogger(__name__)

_POLL_SECONDS = 0.05
_RETRY_SECONDS = 0.5
RETIRED = 0
"""Exit code of a worker that reached its share of work, and ended between two requests."""

_WARM_COUNT = 32
"""Limit of warm workers, however small: each takes three file descriptors."""


class WorkerPool:
    """Worker pool with LRU eviction of warm workers; safe for threads. Starts in the background.

    Parameters
    ----------
    settings : WorkerSettings
    spare_count : int
        Spare workers to keep ready, sandboxed and without a request so far.
    warm_bytes : int
        Memory limit of warm workers; LRU eviction.

    Attributes
    ----------
    ready : bool
        Whether the last start of a worker succeeded.
    missing : tuple of str
        Sandbox protections that this kernel lacks.
    census : WorkerCensus
        Counts of starts and ends.
    """

    def __init__(self, settings: WorkerSettings, spare_count: int, warm_bytes: int) -> None:
        self._settings = settings
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
        self.ready: bool = False
        self.missing: tuple[str, ...] = ()
        self._failure = ""
        self._seconds = 0.0
        # Of earlier zygotes and their workers, as read last.
        self._earlier_seconds = 0.0
        self._supervisor = threading.Thread(target=self._supervise, name="workers", daemon=True)
        self._supervisor.start()

    def wait_ready(self) -> None:
        """Wait until a worker can be used.

        Raises
        ------
        StartError
            When none can be started; the pool is then closed.
        """
        with self._changed:
            self._changed.wait_for(lambda: self.ready or self._failure)
        if not self.ready:
            self.close()
            raise StartError(self._failure)

    def acquire(self, model_key: str, tick: Callable[[], None]) -> Worker:
        """Take a warm worker of the model, or a spare one; call `tick` while there is none.

        Raises
        ------
        ExplainError
            UNAVAILABLE when none can be started; whatever `tick` raises.
        """
        while True:
            with self._changed:
                worker = self._pick(model_key)
                if worker is None:
                    self._raise_if_failed()
                    self._changed.wait(_POLL_SECONDS)
            if worker is None:
                tick()
            elif not worker.alive:
                self.reap(worker)
            elif worker.wake():
                worker.model_key = model_key
                with self._changed:
                    self._busy.add(worker)
                return worker
            else:
                LOG.error("worker %d did not rest between two requests; killed", worker.pid)
                self.discard(worker)

    def release(self, worker: Worker) -> None:
        """Return a worker as warm; evict others beyond the memory limit."""
        zygote = self._zygote
        worker.rest(0 if zygote is None else zygote.private_bytes)
        with self._changed:
            self._busy.discard(worker)
            self._warm.append(worker)
            evicted = self._evict()
        for victim in evicted:
            self.discard(victim, EndReason.EVICTED)

    def discard(self, worker: Worker, reason: EndReason = EndReason.STOPPED) -> None:
        """Kill a worker without waiting for its end."""
        worker.kill()
        worker.close()
        with self._changed:
            self._busy.discard(worker)
            self._killed.append(worker)
            self._changed.notify_all()
        self.census.ended(reason)

    def reap(self, worker: Worker) -> int | None:
        """Reap a worker that closed its socket; return its exit status as `Zygote.reap` does."""
        worker.kill()
        zygote = self._zygote
        status = None if zygote is None else zygote.reap(worker)
        with self._changed:
            self._busy.discard(worker)
        worker.close()
        self.census.ended(_end_reason(status))
        return status

    def states(self) -> Mapping[str, Sequence[int]]:
        """Return the memory of each worker by state: its own bytes, without those shared by all."""
        zygote = self._zygote
        shared_bytes = 0 if zygote is None else zygote.private_bytes
        with self._changed:
            warm = [worker.own_bytes for worker in self._warm]
            pids = {"spare": [w.pid for w in self._spares], "busy": [w.pid for w in self._busy]}
        own_bytes = {
            state: [max(0, private_bytes(pid) - shared_bytes) for pid in state_pids]
            for state, state_pids in pids.items()
        }
        return {**own_bytes, "warm": warm}

    def processor_seconds(self) -> float:
        """Return the processor time of all workers so far, and of the zygotes that forked them."""
        with self._changed:
            if self._zygote is not None:
                pids = [worker.pid for worker in (*self._spares, *self._warm, *self._busy)]
                seconds = self._zygote.processor_seconds + sum(map(processor_seconds, pids))
                # What ends while it is read would be missing: a counter never falls.
                self._seconds = max(self._seconds, self._earlier_seconds + seconds)
            return self._seconds

    def close(self) -> None:
        """Kill all workers, and stop the supervisor."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._supervisor.join()

    def _pick(self, model_key: str) -> Worker | None:
        """Pick the most recently used warm worker of the model, else the oldest spare one."""
        for i in reversed(range(len(self._warm))):
            if self._warm[i].model_key == model_key:
                return self._warm.pop(i)
        if not self._spares:
            return None
        self._changed.notify_all()
        return self._spares.pop(0)

    def _raise_if_failed(self) -> None:
        if self._closed or self._failure:
            raise ExplainError(Reason.UNAVAILABLE, "no worker can be started; try again later")

    def _evict(self) -> list[Worker]:
        """Remove warm workers beyond the limits, least recently used first."""
        total_bytes = sum(worker.own_bytes for worker in self._warm)
        evicted: list[Worker] = []
        while total_bytes > self._warm_bytes or len(self._warm) > _WARM_COUNT:
            evicted.append(self._warm.pop(0))
            total_bytes -= evicted[-1].own_bytes
        return evicted

    def _supervise(self) -> None:
        """Supervise zygote and spare workers, on a thread that must live as long as they do."""
        failed = False
        while not self._closed:
            try:
                self._supervise_once()
                failed = False
            except Exception as error:  # noqa: BLE001 - without this thread all workers die
                if failed:
                    self._record_failure(str(error) or type(error).__name__)
                failed = True  # a single failure may be chance: a kill from outside
        self._shut_down()

    def _supervise_once(self) -> None:
        """Restart the zygote, reap killed workers or add a spare one; else wait for a change."""
        zygote = self._zygote
        if zygote is None or not zygote.alive:
            self._restart()
            return
        with self._changed:
            killed, self._killed = self._killed, []
            has_spares = len(self._spares) >= self._spare_count
            if has_spares and not killed and not self._closed:
                self._changed.wait(_RETRY_SECONDS)
        for worker in killed:
            zygote.reap(worker)
        if not has_spares:
            self._add_spare(zygote)

    def _add_spare(self, zygote: Zygote) -> None:
        try:
            worker = zygote.fork()
        except ConnectionError:
            zygote.close()  # it is replaced next
            return
        self.census.started()
        try:
            self.missing = worker.wait_ready()
        except (ClosedError, MalformedError):
            raise StartError(
                f"a worker ended {exit_cause(self.reap(worker))} at its start"
            ) from None
        with self._changed:
            self._spares.append(worker)
            self._failure, self.ready = "", True
            self._changed.notify_all()

    def _restart(self) -> None:
        """Start a zygote; the workers of the previous one died with it."""
        with self._changed:
            orphans, self._spares, self._killed = self._spares, [], []
            previous, self._zygote = self._zygote, None
            self._earlier_seconds = self._seconds
            self.ready = False
        if previous is not None:
            LOG.error("the zygote ended; starting another")
            previous.close()
        for worker in orphans:
            worker.kill()
            worker.close()
            self.census.ended(EndReason.KILLED)
        self._zygote = Zygote(self._settings)

    def _record_failure(self, reason: str) -> None:
        with self._changed:
            if reason != self._failure:
                LOG.error("no worker could be started: %s", reason)
            self._failure, self.ready = reason, False
            self._changed.notify_all()
            self._changed.wait(_RETRY_SECONDS)

    def _shut_down(self) -> None:
        """Kill idle workers; busy ones die with the zygote."""
        with self._changed:
            workers = [*self._spares, *self._warm]
            self._spares, self._warm = [], []
            zygote, self._zygote = self._zygote, None
        for worker in workers:
            worker.kill()
            worker.close()
        if zygote is not None:
            zygote.close()


def _end_reason(status: int | None) -> EndReason:
    if status == RETIRED:
        return EndReason.RETIRED
    return EndReason.KILLED if status in {None, -signal.SIGKILL} else EndReason.CRASHED
