"""Program of workers that compute: what their zygote preloads, and how they answer."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import ExitStack

from onnxplain_server.adapters.cluster.server.socket_workers import SocketWorkers
from onnxplain_server.adapters.programs import preload
from onnxplain_server.adapters.programs.sent_blocks import refuse_blocks, sent_blocks
from onnxplain_server.adapters.remote_server.handed_models import HandedModels
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.workers.ipc import arena_reply, arena_request
from onnxplain_server.adapters.workers.ipc.arena import Arena
from onnxplain_server.adapters.workers.ipc.channel import FrameKind
from onnxplain_server.adapters.workers.ipc.zygote_arguments import LEARNING_LIBRARY, WorkerSettings
from onnxplain_server.adapters.workers.remote_host import RemoteHost
from onnxplain_server.adapters.workers.worker_loop import Answerer
from onnxplain_server.core.interfaces import Call, on_cluster
from onnxplain_server.core.request import BLOCKS_FORM, Reply, ServiceMethod

_MODEL_COUNT = 2
"""A worker serves one model, on both scales."""


def load() -> None:
    """Preload all libraries but scikit-learn; a request that needs it is refused as UNABLE."""
    sys.modules[LEARNING_LIBRARY] = None  # type: ignore[assignment] # import then fails
    preload.load()


def answerers(settings: WorkerSettings) -> Mapping[FrameKind, Answerer]:
    """Return the functions that answer, by the kind of the request's frame."""
    handed = HandedModels()
    runner = InProcess(
        settings.thread_count,
        _MODEL_COUNT,
        settings.limits,
        loading=RemoteHost.loading,
        reply_bytes=settings.reply_bytes,
        remotes=handed.open,
        surrogate_seconds=settings.surrogate_seconds,
    )
    computer = _Computer(runner, handed, settings)
    return {FrameKind.CALL: computer.answer}


class _Computer:
    """Answers calls; a table that would need more memory is read in blocks."""

    def __init__(self, runner: InProcess, handed: HandedModels, settings: WorkerSettings) -> None:
        self._runner = runner
        self._handed = handed
        self._memory_bytes = settings.memory_bytes
        self._has_cluster = settings.has_cluster

    def answer(self, arena: Arena, payload: bytes, host: RemoteHost) -> bytes:
        call = arena_request.unpack(arena, payload)
        with self._handed.receiving(call.blobs, host):
            return arena_reply.pack_reply(arena, self._answer(call, host))

    def _answer(self, call: Call, host: RemoteHost) -> Reply:
        if call.method is ServiceMethod.EXPLAIN:
            return self._explain(call, host)
        if call.method is ServiceMethod.PLAN:
            refuse_blocks(call.blobs)
        return self._runner.answer(call, host)

    def _explain(self, call: Call, host: RemoteHost) -> Reply:
        with ExitStack() as stack:
            workers = None
            computed = on_cluster(call.blobs) if self._has_cluster else None
            if computed:
                workers = SocketWorkers(stack.enter_context(host.receive_socket()))
            # One queue is open at a time: of passes over a table, or of predictions.
            in_blocks = workers if computed and computed.form == BLOCKS_FORM else None
            table = sent_blocks(call.request, call.blobs, host, self._memory_bytes, in_blocks)
            return self._runner.answer(call, host, table, None if in_blocks else workers)
