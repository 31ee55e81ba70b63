"""Program of workers that compute: what their zygote preloads, and how they answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial

from onnxplain_server.adapters.remote_server.handed_models import HandedModels
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.workers.ipc import arena_reply, arena_request
from onnxplain_server.adapters.workers.ipc.arena import Arena
from onnxplain_server.adapters.workers.ipc.channel import FrameKind
from onnxplain_server.adapters.workers.ipc.zygote_arguments import LEARNING_LIBRARY, WorkerSettings
from onnxplain_server.adapters.workers.remote_host import RemoteHost
from onnxplain_server.adapters.workers.sandbox import preload
from onnxplain_server.adapters.workers.worker_loop import Answerer
from onnxplain_server.core.request import Reply

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
    return {
        FrameKind.EXPLAIN: partial(_answer, handed, runner.explain),
        FrameKind.PLAN: partial(_answer, handed, runner.plan),
        FrameKind.DESCRIBE: partial(_answer, handed, runner.describe),
        FrameKind.DESCRIBE_TABLE: partial(_answer, handed, runner.describe_table),
        FrameKind.PREDICT: partial(_answer, handed, runner.predict),
    }


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
