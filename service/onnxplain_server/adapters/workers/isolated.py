"""Isolated runner: answers each request in a sandboxed worker process; for servers."""

from __future__ import annotations

import logging
import signal
from dataclasses import dataclass

from google.protobuf.message import DecodeError, Message
from onnxplain.v1.explanation_service_pb2 import DescribeModelResponse, ExplainResponse

from onnxplain_server.adapters.workers.ipc.channel import ClosedError, FrameKind, MalformedError
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings
from onnxplain_server.adapters.workers.pool import RETIRED, WorkerPool
from onnxplain_server.adapters.workers.priority import Priorities, RequestPriority
from onnxplain_server.adapters.workers.process_status import exit_cause
from onnxplain_server.adapters.workers.quarantine import Quarantine
from onnxplain_server.adapters.workers.request_monitor import RequestMonitor
from onnxplain_server.adapters.workers.worker_metrics import WorkerCounts
from onnxplain_server.adapters.workers.worker_process import Worker
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs, RequestHost

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerTimeouts:
    """Time limits around models.

    Attributes
    ----------
    load_seconds : float
        Time limit for loading a model.
    quarantine_seconds : float
        Time for which a model is refused after it crashed two workers.
    """

    load_seconds: float
    quarantine_seconds: float


class Isolated:
    """`Runner` on a pool of sandboxed workers.

    Parameters
    ----------
    settings : WorkerSettings
    spare_count : int
        Idle workers without a model.
    warm_bytes : int
        Memory limit for idle workers with a model.
    timeouts : WorkerTimeouts

    Raises
    ------
    StartError
        When no worker can be started.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        spare_count: int,
        warm_bytes: int,
        timeouts: WorkerTimeouts,
    ) -> None:
        self._timeouts = timeouts
        self._death_count = 0
        self._quarantine = Quarantine(timeouts.quarantine_seconds)
        self._priorities = Priorities()
        self._pool = WorkerPool(settings, spare_count, warm_bytes)
        if self._pool.missing:
            LOG.warning("this kernel lacks sandbox protections: %s", ", ".join(self._pool.missing))

    @property
    def ready(self) -> bool:
        """True while workers can be started."""
        return self._pool.ready

    def counts(self) -> WorkerCounts:
        """Return the current workers by state, and the counts of starts and ends."""
        census = self._pool.census
        return WorkerCounts(
            self._pool.states(),
            self._death_count,
            self._pool.missing,
            census.start_count,
            {end.value: count for end, count in census.ends().items()},
        )

    def explain(self, request: bytes, blobs: Blobs, host: RequestHost) -> bytes:
        """Answer a serialised ExplainRequest in a worker; see `Runner.explain`."""
        return self._answer(FrameKind.EXPLAIN, request, blobs, host, ExplainResponse())

    def describe(self, request: bytes, blobs: Blobs, host: RequestHost) -> bytes:
        """Answer a serialised DescribeModelRequest in a worker; see `Runner.describe`."""
        return self._answer(FrameKind.DESCRIBE, request, blobs, host, DescribeModelResponse())

    def close(self) -> None:
        """Kill all workers, busy ones included."""
        self._pool.close()

    def _answer(
        self, kind: FrameKind, request: bytes, blobs: Blobs, host: RequestHost, form: Message
    ) -> bytes:
        self._quarantine.check(host.model_key)
        while (reply := self._ask(kind, request, blobs, host, form)) is None:
            host.advance(0, 0)
        self._quarantine.release(host.model_key)
        return reply

    def _ask(
        self, kind: FrameKind, request: bytes, blobs: Blobs, host: RequestHost, form: Message
    ) -> bytes | None:
        """Ask one worker; None if it had already ended, so that the request can be retried."""
        worker, priority = self._acquire(host)
        try:
            monitor = RequestMonitor(host, self._timeouts.load_seconds, priority.update)
            reply = worker.ask(kind, request, blobs, monitor)
            form.ParseFromString(reply)
        except ExplainError as error:
            raise self._after_refusal(worker, error) from None
        except ClosedError:
            status = self._pool.reap(worker)
            if status == RETIRED or not worker.has_begun:
                return None
            raise self._after_death(worker, status) from None
        except (MalformedError, DecodeError, ValueError):
            raise self._after_malformed_reply(worker) from None
        finally:
            self._priorities.end(priority, host.caller_key)
        self._pool.release(worker)
        return reply

    def _acquire(self, host: RequestHost) -> tuple[Worker, RequestPriority]:
        while True:
            worker = self._pool.acquire(host.model_key, lambda: host.advance(0, 0))
            try:
                priority = self._priorities.begin(worker, host.caller_key)
            except BaseException:
                self._pool.discard(worker)
                raise
            if priority is not None:
                return worker, priority
            self._pool.discard(worker)

    def _after_refusal(self, worker: Worker, error: ExplainError) -> ExplainError:
        """Release a worker that refused the request; discard one that had to be killed."""
        if error.reason is Reason.LOADING_TOO_LONG:
            self._quarantine.record_crash(worker.model_key)
        if worker.is_usable and error.reason is not Reason.OUT_OF_MEMORY:
            self._pool.release(worker)
        else:
            self._pool.discard(worker)
        if error.reason is not Reason.INTERNAL:
            return error
        LOG.error("worker %d failed: %s", worker.pid, error.message)
        return ExplainError(Reason.INTERNAL, "the computation failed unexpectedly")

    def _after_death(self, worker: Worker, status: int | None) -> ExplainError:
        LOG.error("worker %d ended %s", worker.pid, exit_cause(status))
        self._death_count += 1
        # SIGKILL comes from outside: from an operator, or from the OOM killer.
        if status is not None and status != -signal.SIGKILL:
            self._quarantine.record_crash(worker.model_key)
        return ExplainError(
            Reason.WORKER_DIED,
            f"the process that computed the answer ended {exit_cause(status)}; retry once: "
            "a model that does this repeatedly is refused",
        )

    def _after_malformed_reply(self, worker: Worker) -> ExplainError:
        LOG.error("worker %d sent a malformed reply, and was killed", worker.pid)
        self._pool.discard(worker)
        return ExplainError(Reason.INTERNAL, "the computation returned a malformed answer")
