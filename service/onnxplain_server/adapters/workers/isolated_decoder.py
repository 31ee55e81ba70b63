"""Isolated decoder: decodes each body in a sandboxed process that never sees a model run."""

from __future__ import annotations

from functools import partial

from onnxplain_server.adapters.workers.ipc import arena_reply, arena_request
from onnxplain_server.adapters.workers.ipc.channel import FrameKind
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings
from onnxplain_server.adapters.workers.pool import WorkerPool
from onnxplain_server.adapters.workers.worker_client import WorkerClient
from onnxplain_server.adapters.workers.worker_metrics import WorkerCounts
from onnxplain_server.adapters.workers.worker_process import WorkerRequest
from onnxplain_server.core.interfaces import RequestHost
from onnxplain_server.core.request import Body, RequestParts

_KEY = "decoder"
"""All callers share decoders: they run nothing that a caller sent."""

_WARM_BYTES = 64 * 2**20
"""Memory of idle decoders that have decoded something."""


class IsolatedDecoder:
    """`Decoder` on a pool of sandboxed processes; starts in the background.

    Parameters
    ----------
    settings : WorkerSettings
        Of kind DECODE.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self._pool = WorkerPool(settings, spare_count=1, warm_bytes=_WARM_BYTES)
        self._client = WorkerClient(self._pool, load_seconds=0)

    def wait_ready(self) -> None:
        """Wait until a body can be decoded; StartError if no process can be started."""
        self._pool.wait_ready()

    @property
    def ready(self) -> bool:
        """True while processes can be started."""
        return self._pool.ready

    def counts(self) -> WorkerCounts:
        """Return the current processes by state, and the counts of starts and ends."""
        return self._client.counts()

    def decode(self, body: Body, host: RequestHost) -> RequestParts:
        """Decode a body; see `Decoder.decode`."""
        pack = partial(arena_request.pack_body, body=body)
        exchange = WorkerRequest(FrameKind.DECODE, pack, arena_reply.unpack_parts)
        return self._client.ask(exchange, _KEY, host)

    def close(self) -> None:
        """Kill all processes, busy ones included."""
        self._pool.close()
