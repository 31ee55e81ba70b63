"""Sessions of requests with a Dask cluster, in a process of their own beside the server.

The process is started at the first session, and again after it ended.
"""

from __future__ import annotations

import importlib.util
import math
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from onnxplain_server.adapters.cluster.server import task_frames as frames
from onnxplain_server.adapters.cluster.server.task_frames import TaskKind
from onnxplain_server.adapters.network_processes.clocked_lock import held
from onnxplain_server.adapters.network_processes.clocked_socket import ClockedSocket
from onnxplain_server.adapters.network_processes.network_process import (
    WITHOUT_THREADS,
    NetworkProcess,
    ProcessProgram,
)
from onnxplain_server.adapters.network_processes.socket_frames import (
    BrokenError,
    receive,
    unpack_error,
)
from onnxplain_server.core.counts.cluster_counts import ClusterCounts, ClusterState
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.sources import FetchControl

_FAILURE_SECONDS = 5.0
"""For an error that was told already, or the end of the process."""
_STATE_SECONDS = 3.0
"""For the state of the cluster, whose scheduler the process asks for at most a second."""
_ENDED_TWICE = (
    "the process that has the connection to the Dask cluster ended, twice; tell the operator"
)
LIBRARIES = ("dask", "distributed")
"""What the extra `dask` brings."""


class ClusterSessions:
    """Sessions with the cluster of a scheduler.

    Parameters
    ----------
    address : str
        tcp://HOST:PORT or tls://HOST:PORT.
    tls_files : tuple of Path
        Certificate authorities, certificate and key; none without TLS.
    memory_bytes : int
        Address space of the process beyond its start.
    is_confined : bool
        Whether sessions are refused where this kernel cannot confine the process.
    prediction_seconds : float
        See `TaskCluster.prediction_seconds`.

    Raises
    ------
    ValueError
        If a library is missing.
    """

    def __init__(
        self,
        address: str,
        tls_files: tuple[Path, ...],
        memory_bytes: int,
        *,
        is_confined: bool,
        prediction_seconds: float = math.inf,
    ) -> None:
        missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
        if missing:
            names = " and ".join(missing)
            raise ValueError(f"{names} is not installed: install onnxplain-server[dask]")
        files = tuple(str(file.absolute()) for file in tls_files)
        self._program = ProcessProgram(
            "onnxplain_server.adapters.cluster.server.cluster_process",
            (address, str(memory_bytes), *files),
            _environment(os.environ),
            "process that has the connection to the Dask cluster",
            Reason.UNAVAILABLE,
        )
        self.prediction_seconds = prediction_seconds
        self._is_confined = is_confined
        self._lock = threading.Lock()
        self._process: NetworkProcess | None = None
        self._counting = threading.Lock()
        self._counted: NetworkProcess | None = None
        self._ended, self._latest = ClusterCounts(), ClusterCounts()

    def state(self) -> ClusterState:
        """Return what the cluster did since the start, and its workers now.

        What a process did between the last question and its own end is not known.
        """
        with self._counting:
            told = _asked(process := self._process)
            if told is not None:
                if process is not self._counted:
                    self._counted = process
                    self._ended += self._latest
                self._latest = told.counts
            worker_count = None if told is None else told.worker_count
            return ClusterState(self._ended + self._latest, worker_count)

    @contextmanager
    def session(
        self, blocks: bytes | bytearray, model_key: str, control: FetchControl
    ) -> Iterator[socket.socket]:
        """Open a session for a table of packed `SourceBlocks`; see `TaskCluster.session`.

        Yields
        ------
        socket
            For the worker, whose tasks read that table only.

        Raises
        ------
        ExplainError
            UNAVAILABLE, WORKER_DIED where the cluster failed, in place of what the worker tells.
        """
        bound = frames.pack_binding(model_key, blocks)
        for _ in range(2):  # a process that has ended is noticed once
            process = self._running(control)
            ours, their_binding = socket.socketpair()
            binding = ClockedSocket(ours, control.deadline)
            end, their_end = socket.socketpair()
            with end, binding, their_binding, their_end:
                try:
                    process.hand_over(their_binding, their_end)
                    their_binding.close()
                    their_end.close()
                    binding.sendall(bound)
                except OSError:
                    process.close()
                    control.check("while the process that has the connection was to answer")
                    continue
                binding.shutdown(socket.SHUT_WR)
                try:
                    yield end
                except ExplainError as error:
                    if frames.is_withheld(error):
                        raise _failure(binding, control) from None
                    raise
                return
        raise ExplainError(Reason.UNAVAILABLE, _ENDED_TWICE)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._process is not None:
                self._process.close()

    def _running(self, control: FetchControl) -> NetworkProcess:
        """Return the process, started anew where there is none."""
        with held(self._lock, control):
            if self._process is None or not self._process.is_alive:
                if self._process is not None:
                    self._process.close()
                self._process = NetworkProcess(
                    self._program, control, is_confined=self._is_confined
                )
            return self._process


def _asked(process: NetworkProcess | None) -> ClusterState | None:
    """Return what a process tells of the cluster; None where there is none, or it is silent."""
    if process is None or not process.is_alive:
        return None
    try:
        with process.connect(time.monotonic() + _STATE_SECONDS) as end:
            return frames.unpack_state(receive(end, frames.TOLD_STATE).content)
    except (OSError, BrokenError):
        return None


def _failure(binding: ClockedSocket, control: FetchControl) -> ExplainError:
    """Return the error of the cluster, which the process tells before the worker learns of it."""
    binding.deadline = min(time.monotonic() + _FAILURE_SECONDS, control.deadline)
    try:
        frame = receive(binding, {TaskKind.FAILED: frames.FAILURE_LIMIT})
        return unpack_error(frame.content, frames.OF_CLUSTER)
    except BrokenError:
        control.check("while the cluster was to tell how it failed")
        return ExplainError(
            Reason.UNAVAILABLE,
            "the server's process that has the connection to the Dask cluster ended; try again",
        )


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the process: it inherits Dask's settings alone."""
    dask = {name: value for name, value in variables.items() if name.startswith("DASK_")}
    return {"DASK_CONFIG": "/nonexistent", **dask, **WITHOUT_THREADS}
