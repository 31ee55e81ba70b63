"""The runner that computes in processes that can be killed: for servers."""

from __future__ import annotations

import logging
import signal
from dataclasses import dataclass

from google.protobuf.message import DecodeError, Message
from onnxplain.v1.explanation_service_pb2 import DescribeModelResponse, ExplainResponse

from onnxplain_server.adapters.workers.ipc.channel import ClosedError, FrameKind, MalformedError
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings
from onnxplain_server.adapters.workers.pool import RETIRED, WorkerPool
from onnxplain_server.adapters.workers.priority import Priorities, Share
from onnxplain_server.adapters.workers.process_status import exit_cause
from onnxplain_server.adapters.workers.quarantine import Quarantine
from onnxplain_server.adapters.workers.worker_metrics import WorkerCounts
from onnxplain_server.adapters.workers.worker_process import RequestMonitor, Worker
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs, RequestHost

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerTimeouts:
    """How long models are waited for.

    Attributes
    ----------
    load_seconds : float
        Time to load one.
    quarantine_seconds : float
        How long one is refused that crashed its worker twice.
    """

    load_seconds: float
    quarantine_seconds: float


class Isolated:
    """A `Runner` whose computations can be killed, and can do nothing but compute.

    Parameters
    ----------
    settings : WorkerSettings
    spare_count : int
        Workers that wait without a model.
    warm_bytes : int
        Memory of those that wait with one.
    timeouts : WorkerTimeouts

    Raises
    ------
    StartError
        Where no worker can be started.
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
            LOG.warning("this kernel does not protect by: %s", ", ".join(self._pool.missing))

    @property
    def ready(self) -> bool:
        """Whether requests find workers: not while none can be started."""
        return self._pool.ready

    def counts(self) -> WorkerCounts:
        """Return how many workers there are, and what happened to them."""
        census = self._pool.census
        return WorkerCounts(
            self._pool.states(),
            self._death_count,
            self._pool.missing,
            census.start_count,
            {end.value: count for end, count in census.ends().items()},
        )

    def explain(self, request: bytes, blobs: Blobs, host: RequestHost) -> bytes:
        """See `Runner.explain`."""
        return self._answer(FrameKind.EXPLAIN, request, blobs, host, ExplainResponse())

    def describe(self, request: bytes, blobs: Blobs, host: RequestHost) -> bytes:
        """See `Runner.describe`."""
        return self._answer(FrameKind.DESCRIBE, request, blobs, host, DescribeModelResponse())

    def close(self) -> None:
        """End all workers, also those that work."""
        self._pool.close()

    def _answer(
        self, kind: FrameKind, request: bytes, blobs: Blobs, host: RequestHost, form: Message
    ) -> bytes:
        self._quarantine.check(host.model_key)
        while (reply := self._ask(kind, request, blobs, host, form)) is None:
            host.advance(0, 0)
        self._quarantine.answered(host.model_key)
        return reply

    def _ask(
        self, kind: FrameKind, request: bytes, blobs: Blobs, host: RequestHost, form: Message
    ) -> bytes | None:
        """Ask one worker; None where it had ended before, so that another can be asked."""
        worker, share = self._take(host)
        try:
            watch = RequestMonitor(host, self._timeouts.load_seconds, share.look)
            reply = worker.ask(kind, request, blobs, watch)
            form.ParseFromString(reply)
        except ExplainError as error:
            raise self._after_refusal(worker, error) from None
        except ClosedError:
            status = self._pool.examine(worker)
            if status == RETIRED or not worker.has_begun:
                return None
            raise self._after_death(worker, status) from None
        except (MalformedError, DecodeError, ValueError):
            raise self._after_nonsense(worker) from None
        finally:
            self._priorities.end(share, host.caller_key)
        self._pool.give_back(worker)
        return reply

    def _take(self, host: RequestHost) -> tuple[Worker, Share]:
        while True:
            worker = self._pool.take(host.model_key, lambda: host.advance(0, 0))
            try:
                share = self._priorities.begin(worker, host.caller_key)
            except BaseException:
                self._pool.discard(worker)
                raise
            if share is not None:
                return worker, share
            self._pool.discard(worker)

    def _after_refusal(self, worker: Worker, error: ExplainError) -> ExplainError:
        """Keep a worker that refused; one that had to be stopped by force is gone."""
        if error.reason is Reason.LOADING_TOO_LONG:
            self._quarantine.crashed(worker.model_key)
        if worker.is_usable and error.reason is not Reason.OUT_OF_MEMORY:
            self._pool.give_back(worker)
        else:
            self._pool.discard(worker)
        if error.reason is not Reason.INTERNAL:
            return error
        LOG.error("worker %d failed: %s", worker.pid, error.message)
        return ExplainError(Reason.INTERNAL, "the computation failed in an unforeseen way")

    def _after_death(self, worker: Worker, status: int | None) -> ExplainError:
        LOG.error("worker %d ended %s", worker.pid, exit_cause(status))
        self._death_count += 1
        # A kill comes from outside, be it an operator or the kernel short of memory.
        if status is not None and status != -signal.SIGKILL:
            self._quarantine.crashed(worker.model_key)
        return ExplainError(
            Reason.WORKER_DIED,
            f"the process that computed the answer ended {exit_cause(status)}; ask again, once: "
            "a model that does this repeatedly is refused",
        )

    def _after_nonsense(self, worker: Worker) -> ExplainError:
        LOG.error("worker %d sent what is no reply, and was killed", worker.pid)
        self._pool.discard(worker)
        return ExplainError(Reason.INTERNAL, "the computation gave no proper answer")
