"""Client of a worker pool: asks one of its workers, and turns their ends into errors."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable

from onnxplain_server.adapters.workers.ipc.channel import ClosedError, MalformedError, UnableError
from onnxplain_server.adapters.workers.pool import RETIRED, WorkerPool
from onnxplain_server.adapters.workers.priority import Priorities, RequestPriority
from onnxplain_server.adapters.workers.process_status import exit_cause
from onnxplain_server.adapters.workers.request_monitor import RequestMonitor
from onnxplain_server.adapters.workers.worker_metrics import WorkerCounts
from onnxplain_server.adapters.workers.worker_process import Answer, Worker, WorkerRequest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import RequestHost

if sys.platform != "linux":
    raise ImportError("of Linux alone")

LOG = logging.getLogger(__name__)


class WorkerClient:
    """Asks the workers of one pool, each for one request at a time; safe for threads.

    Parameters
    ----------
    pool : WorkerPool
    load_seconds : float
        Time limit for loading a model.
    record_crash : callable (key) -> None
        Called for a request that crashed its worker, or loaded a model for too long.

    Attributes
    ----------
    death_count : int
        Workers that ended during a request.
    """

    def __init__(
        self,
        pool: WorkerPool,
        load_seconds: float,
        record_crash: Callable[[str], None] = lambda _key: None,
    ) -> None:
        self.death_count = 0
        self._pool = pool
        self._load_seconds = load_seconds
        self._record_crash = record_crash
        self._priorities = Priorities()

    def counts(self) -> WorkerCounts:
        """Return the current workers by state, and the counts of starts and ends."""
        census = self._pool.census
        return WorkerCounts(
            self._pool.states(),
            self.death_count,
            self._pool.missing,
            census.start_count,
            {end.value: count for end, count in census.ends().items()},
            self._pool.processor_seconds(),
        )

    def ask(self, exchange: WorkerRequest[Answer], key: str, host: RequestHost) -> Answer:
        """Ask a worker; and another one, if it had already ended.

        Parameters
        ----------
        exchange : WorkerRequest
        key : str
            Only requests with the same key share a worker.
        host : RequestHost

        Raises
        ------
        ExplainError
            For every failure.
        UnableError
            If workers of this kind lack a library.
        """
        while True:
            worker, priority = self._acquire(key, host)
            try:
                monitor = RequestMonitor(host, self._load_seconds, priority.update)
                try:
                    answer = worker.ask(exchange, monitor)
                finally:
                    # Now: once a worker that ended is reaped, nothing tells its time.
                    host.count_processor(priority.used_seconds())
            except ClosedError:
                self._check_death(worker)
                host.advance(0, 0)
                continue
            except BaseException as error:  # noqa: BLE001 - no worker stays behind as busy
                raise self._after_failure(worker, error) from None
            finally:
                self._priorities.end(priority, host.caller_key)
            self._pool.release(worker)
            return answer

    def _acquire(self, key: str, host: RequestHost) -> tuple[Worker, RequestPriority]:
        while True:
            worker = self._pool.acquire(key, lambda: host.advance(0, 0))
            try:
                priority = self._priorities.begin(worker, host.caller_key)
            except BaseException:
                self._pool.discard(worker)
                raise
            if priority is not None:
                return worker, priority
            self._pool.discard(worker)

    def _after_failure(self, worker: Worker, error: BaseException) -> BaseException:
        """Release a worker that refused the request, and discard others."""
        if isinstance(error, ExplainError):
            return self._after_refusal(worker, error)
        if isinstance(error, UnableError):
            self._pool.release(worker)
            return error
        self._pool.discard(worker)
        if not isinstance(error, MalformedError):
            return error
        LOG.error("worker %d sent a malformed reply, and was killed", worker.pid)
        return ExplainError(Reason.INTERNAL, "the computation returned a malformed answer")

    def _after_refusal(self, worker: Worker, error: ExplainError) -> ExplainError:
        """Release a worker that refused the request; discard one that had to be killed."""
        if error.reason is Reason.LOADING_TOO_LONG:
            self._record_crash(worker.model_key)
        if worker.is_usable and error.reason is not Reason.OUT_OF_MEMORY:
            self._pool.release(worker)
        else:
            self._pool.discard(worker)
        if error.reason is not Reason.INTERNAL:
            return error
        LOG.error("worker %d failed: %s", worker.pid, error.message)
        return ExplainError(Reason.INTERNAL, "the computation failed unexpectedly")

    def _check_death(self, worker: Worker) -> None:
        """Raise WORKER_DIED unless the worker had ended before the request."""
        status = self._pool.reap(worker)
        if status == RETIRED or not worker.has_begun:
            return
        LOG.error("worker %d ended %s", worker.pid, exit_cause(status))
        self.death_count += 1
        # SIGKILL comes from outside: from an operator, or from the OOM killer.
        if status is not None and status != -signal.SIGKILL:
            self._record_crash(worker.model_key)
        raise ExplainError(
            Reason.WORKER_DIED,
            f"the process that computed the answer ended {exit_cause(status)}; retry once: "
            "a model that does this repeatedly is refused",
        )
