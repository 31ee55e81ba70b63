"""Process that has the Dask client: confines itself to the network, then serves sessions.

The server hands it two sockets for a session, and one to be told the state of the cluster.

Started by `cluster_sessions`; ends with its server. Arguments: descriptor of the control socket,
address of the scheduler, memory in bytes, files of TLS.
"""

from __future__ import annotations

import importlib
import math
import socket
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from distributed import Client

from onnxplain_server.adapters.cluster.cluster_counter import ClusterCounter
from onnxplain_server.adapters.cluster.dask_client import connect
from onnxplain_server.adapters.cluster.dask_task import own_release
from onnxplain_server.adapters.cluster.dask_workers import DaskWorkers
from onnxplain_server.adapters.cluster.server import task_frames as frames
from onnxplain_server.adapters.cluster.server.task_frames import (
    TaskKind,
)
from onnxplain_server.adapters.cluster.server.task_session import serve_session
from onnxplain_server.adapters.network_processes import confined_process
from onnxplain_server.adapters.network_processes.socket_frames import BrokenError, send
from onnxplain_server.core.counts.cluster_counts import ClusterState
from onnxplain_server.core.errors import ExplainError, Reason

_THREAD_COUNT = 256
_ENDED = frozenset({"closing", "closed"})
"""States of a client that is of no use any more."""
_LIBRARIES = (
    *("encodings.idna", "distributed.comm.tcp", "distributed.protocol", "cloudpickle"),
    *("msgpack", "tornado.iostream", "tornado.platform.asyncio", "tornado.tcpclient"),
)
"""Modules that are imported where they are used."""


class ClusterConnection:
    """Connection to the cluster, made at the first session, and again once it is closed.

    Parameters
    ----------
    address : str
    tls_files : sequence of Path
    """

    def __init__(self, address: str, tls_files: tuple[Path, ...]) -> None:
        self._address = address
        self._tls_files = tls_files
        self._lock = threading.Lock()
        self._counter = ClusterCounter()
        self._workers: DaskWorkers | None = None
        self._failure = (-math.inf, ExplainError(Reason.UNAVAILABLE, ""))

    def __call__(self) -> DaskWorkers:
        """Return the workers of the cluster; UNAVAILABLE, at once for all that waited together."""
        begun = time.monotonic()
        with self._lock:
            if self._workers is None or self._workers.client.status in _ENDED:
                self._workers = DaskWorkers(self._connected(begun), counter=self._counter)
            return self._workers

    def state(self) -> ClusterState:
        """Return what the cluster did, and its workers; nothing is connected for that."""
        workers = self._workers
        if workers is None or workers.client.status in _ENDED:
            return ClusterState(self._counter.counts)
        worker_count = workers.worker_count()  # which may find that some are lost
        return ClusterState(self._counter.counts, worker_count)

    def _connected(self, begun: float) -> Client:
        failed, error = self._failure
        if failed > begun:  # while this session waited for its turn
            raise ExplainError(error.reason, error.message)
        try:
            return connect(self._address, self._tls_files)
        except ExplainError as failure:
            self._failure = time.monotonic(), failure
            raise


def main() -> None:
    """Serve until the server closes the control socket."""
    control = confined_process.begin()
    address, memory_bytes, *names = sys.argv[2:]
    files = tuple(Path(name) for name in names)
    load_libraries()
    own_release()
    missing = confined_process.confine_to_network(
        int(memory_bytes),
        _THREAD_COUNT,
        {int(address.rpartition(":")[2])},
        {file.parent for file in files},
    )
    connection = ClusterConnection(address, files)
    confined_process.serve(control, missing, 2, partial(answer, connection))


def answer(connection: ClusterConnection, *ends: socket.socket) -> None:
    """Serve a session by two sockets, or tell the state of the cluster by one."""
    if len(ends) > 1:
        serve_session(connection, *ends)
        return
    with ends[0], suppress(BrokenError):
        content = frames.pack_state(connection.state())
        send(ends[0], TaskKind.STATE, 0, content)


def load_libraries() -> None:
    """Import what is imported on use elsewhere."""
    for name in _LIBRARIES:
        importlib.import_module(name)


if __name__ == "__main__":
    main()
