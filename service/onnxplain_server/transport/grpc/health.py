"""Health checks over gRPC whose watchers cannot block the server's event loop.

`grpc_health` sends to watchers while it holds its lock, and a send ends only when gRPC's single
event loop has handled it. The same loop calls back when a watcher leaves, and the callback takes
the lock: a watcher that left while a status was sent stopped the server for good. Here a thread of
its own takes the lock.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from grpc_health.v1 import health


class HealthServicer(health.HealthServicer):  # type: ignore[misc] # grpc_health has no types
    """Serves `grpc.health.v1.Health`."""

    def __init__(self) -> None:
        super().__init__()
        self._closer = ThreadPoolExecutor(1, "onnxplain-health")

    def close(self) -> None:
        """End the thread."""
        self._closer.shutdown(wait=False)

    def _on_close_callback(
        self, send_response_callback: Callable[..., None], service: str
    ) -> Callable[[], None]:
        remove = super()._on_close_callback(send_response_callback, service)

        def callback() -> None:
            with suppress(RuntimeError):  # closed: nothing is sent any more
                self._closer.submit(remove)

        return callback
