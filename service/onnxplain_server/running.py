"""A server from its start to its end: signals, and the graceful drain."""

from __future__ import annotations

import gc
import logging
import os
import time
from collections.abc import Callable

from onnxplain_server import server_process
from onnxplain_server.config.settings import Settings
from onnxplain_server.core.interfaces import Began
from onnxplain_server.serve import Server

LOG = logging.getLogger(__name__)


def run(settings: Settings, make_server: Callable[[], Server], began: Began) -> None:
    """Serve until SIGTERM or SIGINT, then drain; on the main thread. Errors as of `Server`.

    `began` is told the ports of REST and gRPC once they listen; its errors end the server.
    """
    # The request log has every disconnect already.
    logging.getLogger("waitress").setLevel(logging.WARNING)
    wait_signal = server_process.prepare()
    server = make_server()
    gc.freeze()  # otherwise each full collection stops all requests for 100 ms
    LOG.info("metrics on %s:%d, REST on %s:%d, gRPC on %s:%d", *_addresses(settings, server))
    try:
        began(server.rest_port, server.grpc_port)
    except BaseException:
        server.drain(0)
        raise
    wait_signal()
    LOG.info("stopping; running work has %g s", settings.grace_seconds)
    start = time.monotonic()
    ended = server.drain(settings.grace_seconds)
    LOG.info("stopped after %.1f s", time.monotonic() - start)
    if not ended:
        _leave_behind()


def _leave_behind() -> None:
    """End at once: Python would wait for the threads of that work, possibly for ever."""
    LOG.warning("work that could not be stopped was left behind")
    logging.shutdown()
    os._exit(0)


def _addresses(settings: Settings, server: Server) -> tuple[str | int, ...]:
    return (
        *(settings.host, server.metrics_port),
        *(settings.rest_host or settings.host, server.rest_port),
        *(settings.host, server.grpc_port),
    )
