"""Program of workers that compute: what their zygote preloads, and how they answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial

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
from onnxplain_server.core.interfaces import Blobs, on_cluster
from onnxplain_server.core.request import BLOCKS_FORM, Reply, ReplyFormat

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
    )
    explainer = _Explainer(runner, settings)
    return {
        FrameKind.EXPLAIN: partial(_answer, handed, explainer.explain),
        FrameKind.PLAN: partial(_answer, handed, explainer.plan),
        FrameKind.DESCRIBE: partial(_answer, handed, runner.describe),
        FrameKind.DESCRIBE_TABLE: partial(_answer, handed, runner.describe_table),
        FrameKind.PREDICT: partial(_answer, handed, runner.predict),
        FrameKind.CHECK: partial(_answer, handed, runner.check),
    }


class _Explainer:
    """Explains; a table that would need more memory is read in blocks."""

    def __init__(self, runner: InProcess, settings: WorkerSettings) -> None:
        self._runner = runner
        self._memory_bytes = settings.memory_bytes
        self._has_cluster = settings.has_cluster

    def explain(
        self, request: bytes, blobs: Blobs, host: RemoteHost, reply_format: ReplyFormat
    ) -> Reply:
        with ExitStack() as stack:
            workers = None
            computed = on_cluster(blobs) if self._has_cluster else None
            if computed:
                workers = SocketWorkers(stack.enter_context(host.receive_socket()))
            # One queue is open at a time: of passes over a table, or of predictions.
            in_blocks = workers if computed and computed.form == BLOCKS_FORM else None
            table = sent_blocks(request, blobs, host, self._memory_bytes, in_blocks)
            predicting = None if in_blocks else workers
            return self._runner.explain_large(
                request, blobs, table, host, reply_format, workers=predicting
            )

    def plan(
        self, request: bytes, blobs: Blobs, host: RemoteHost, reply_format: ReplyFormat
    ) -> Reply:
        refuse_blocks(blobs)
        return self._runner.plan(request, blobs, host, reply_format)


def _answer(
    handed: HandedModels,
    compute: Callable[..., Reply],
    arena: Arena,
    payload: bytes,
    host: RemoteHost,
) -> bytes:
    request, blobs, reply_format = arena_request.unpack(arena, payload)
    with handed.receiving(blobs, host):
        return arena_reply.pack_reply(arena, compute(request, blobs, host, reply_format))
