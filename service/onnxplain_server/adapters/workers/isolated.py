"""Isolated runner: answers each request in a sandboxed worker process; for servers."""

from __future__ import annotations

import logging
import socket
import threading
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial

from cachetools import LRUCache

from onnxplain_server.adapters.workers.ipc import arena_reply, arena_request
from onnxplain_server.adapters.workers.ipc.channel import FrameKind, UnableError
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerKind, WorkerSettings
from onnxplain_server.adapters.workers.pool import WorkerPool
from onnxplain_server.adapters.workers.quarantine import Quarantine
from onnxplain_server.adapters.workers.worker_client import WorkerClient
from onnxplain_server.adapters.workers.worker_metrics import WorkerCounts
from onnxplain_server.adapters.workers.worker_process import WorkerRequest
from onnxplain_server.core.interfaces import Blobs, Call, RunnerHost, on_cluster
from onnxplain_server.core.remote.sessions import NO_REMOTE_SESSIONS, RemoteSessions
from onnxplain_server.core.request import (
    BLOCKS_FORM,
    CLUSTER_FORM,
    Reply,
    RequestFile,
    ServiceMethod,
)
from onnxplain_server.core.sources import BlockSources, FileRanges, SourceBlocks, TaskCluster
from onnxplain_server.wire.protobuf_split import method_names

LOG = logging.getLogger(__name__)

_KNOWN_COUNT = 10_000
"""Models with methods that are known to need scikit-learn."""
_TO_PREDICT = RequestFile(CLUSTER_FORM, SourceBlocks(b"", (), ()).pack())


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

    A second pool, whose workers have scikit-learn, is started when a request first needs it. Which
    request does, a worker finds out; others of the model by the same methods go there at once.

    Parameters
    ----------
    settings : WorkerSettings
        Of kind COMPUTE.
    spare_count : int
        Idle workers without a model.
    warm_bytes : int
        Memory limit for idle workers with a model; a quarter is for those with scikit-learn.
    timeouts : WorkerTimeouts
    remote_sessions : RemoteSessions
        Let workers ask remote models; by default, none.
    block_sources : BlockSources or None
        Reads tables in blocks for workers.
    cluster : ClusterSessions or None
        Computes what is exact in blocks for workers, and predicts for long requests.

    Raises
    ------
    StartError
        When no worker can be started.
    """

    def __init__(  # noqa: PLR0917 - its parts
        self,
        settings: WorkerSettings,
        spare_count: int,
        warm_bytes: int,
        timeouts: WorkerTimeouts,
        remote_sessions: RemoteSessions = NO_REMOTE_SESSIONS,
        block_sources: BlockSources | None = None,
        cluster: TaskCluster | None = None,
    ) -> None:
        self._cluster = cluster
        self._block_sources = block_sources
        self._remote_sessions = remote_sessions
        self._settings = settings
        self._timeouts = timeouts
        self._learning_bytes = warm_bytes // 4
        self._quarantine = Quarantine(timeouts.quarantine_seconds)
        self._pool = WorkerPool(settings, spare_count, warm_bytes - self._learning_bytes)
        self._client = self._client_of(self._pool)
        self._learning: tuple[WorkerPool, WorkerClient] | None = None
        self._learned: LRUCache[tuple[str, ...], bool] = LRUCache(_KNOWN_COUNT)
        self._lock = threading.Lock()
        self._pool.wait_ready()
        if self._pool.missing:
            LOG.warning("this kernel lacks sandbox protections: %s", ", ".join(self._pool.missing))

    @property
    def ready(self) -> bool:
        """True while workers can be started."""
        return self._pool.ready

    def counts(self) -> WorkerCounts:
        """Return the current workers by state, and the counts of starts and ends."""
        counts = self._client.counts()
        return counts if self._learning is None else counts + self._learning[1].counts()

    def answer(self, call: Call, host: RunnerHost) -> Reply:
        """Answer a request in a worker; see `Runner.answer`."""
        explains = call.method is ServiceMethod.EXPLAIN
        if explains and self._cluster and host.planned_seconds >= self._cluster.prediction_seconds:
            call = replace(call, blobs={**call.blobs, CLUSTER_FORM: _TO_PREDICT})
        pack = partial(arena_request.pack, call=call)
        limit = self._settings.reply_bytes
        unpack = partial(arena_reply.unpack_reply, reply_format=call.reply_format, byte_limit=limit)
        session = partial(self._session, call, host)
        self._quarantine.check(host.model_key)
        with self._reading(call.blobs, host) as read_range:
            request = WorkerRequest(
                FrameKind.CALL, pack, unpack, session, read_range, call.reply_format
            )
            key = host.model_key, *method_names(call.request)
            reply = self._ask_either(request, host, key)
        self._quarantine.release(host.model_key)
        return reply

    def close(self) -> None:
        """Kill all workers, busy ones included."""
        self._pool.close()
        if self._learning is not None:
            self._learning[0].close()

    def _client_of(self, pool: WorkerPool) -> WorkerClient:
        return WorkerClient(pool, self._timeouts.load_seconds, self._quarantine.record_crash)

    def _learning_client(self) -> WorkerClient:
        """Return the client of workers with scikit-learn; start their pool in the background."""
        with self._lock:
            if self._learning is None:
                settings = replace(self._settings, kind=WorkerKind.LEARN)
                pool = WorkerPool(settings, 1, self._learning_bytes)
                self._learning = pool, self._client_of(pool)
            return self._learning[1]

    def _ask_either(
        self, request: WorkerRequest[Reply], host: RunnerHost, key: tuple[str, ...]
    ) -> Reply:
        """Ask a worker, and one with scikit-learn where it lacks that, or lacked it before.

        Parameters
        ----------
        key : tuple of str
            Of the model, and the methods that it is explained by.
        """
        with self._lock:
            is_known = key in self._learned
        if not is_known:
            with suppress(UnableError):
                return self._client.ask(request, host.model_key, host)
        reply = self._learning_client().ask(request, host.model_key, host)
        with self._lock:
            self._learned[key] = True
        return reply

    def _session(
        self, call: Call, host: RunnerHost
    ) -> AbstractContextManager[socket.socket | None]:
        """Open what a worker gets a socket for: a remote model, or a cluster."""
        explains = call.method is ServiceMethod.EXPLAIN
        if explains and self._cluster and (blob := on_cluster(call.blobs)):
            return self._cluster.session(blob.content, host.model_key, host.control)
        return self._remote_sessions.session(call.blobs, host)

    def _reading(self, blobs: Blobs, host: RunnerHost) -> AbstractContextManager[FileRanges | None]:
        """Let a worker read the table of a request in blocks, where it has such a one."""
        for blob in blobs.values():
            if blob.form == BLOCKS_FORM and self._block_sources is not None:
                return self._block_sources.reading(blob.content, host.control)
        return nullcontext()
