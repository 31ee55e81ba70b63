"""Remote calls of a server: sessions of requests with remote models, in a process of their own.

The process is started at the first session, and again after it ended.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from google.protobuf.message import DecodeError
from onnxplain.v1.model_pb2 import RemoteModel

from onnxplain_server.adapters.network_processes.clocked_lock import held
from onnxplain_server.adapters.network_processes.clocked_socket import ClockedSocket
from onnxplain_server.adapters.network_processes.network_process import (
    WITHOUT_THREADS,
    NetworkProcess,
    ProcessProgram,
)
from onnxplain_server.adapters.network_processes.socket_frames import BrokenError
from onnxplain_server.adapters.remote_server import call_frames as frames
from onnxplain_server.adapters.remote_server.call_frames import Binding
from onnxplain_server.adapters.remote_server.remote_list import (
    RemoteEntry,
    display_prefix,
    read_remote_list,
)
from onnxplain_server.core.counts.remote_counts import CallCounts, RemoteUse
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs, SessionHost
from onnxplain_server.core.request import REMOTE_FORM
from onnxplain_server.core.sources import FetchControl

LOG = logging.getLogger(__name__)

_MESSAGE_BYTES = 2**20
_REPORT_SECONDS = 5.0
_LATE_SECONDS = 0.2
"""For the report of a session whose deadline has passed."""
_REPORT_BYTES = 2**12
_FIELD = "model.remote"


class RemoteCalls:
    """`RemoteSessions` of the operator's list.

    Parameters
    ----------
    path : Path
        File of the list.
    memory_bytes : int
        Address space of the process beyond its start.
    is_confined : bool
        Whether sessions are refused where this kernel cannot confine the process.

    Raises
    ------
    ListError
    """

    def __init__(self, path: Path, memory_bytes: int, *, is_confined: bool) -> None:
        self._remotes = read_remote_list(path)
        self._program = ProcessProgram(
            "onnxplain_server.adapters.remote_server.call_process",
            (str(path.absolute()), str(memory_bytes)),
            WITHOUT_THREADS,
            "process that calls remote models",
            Reason.REMOTE_MODEL_UNAVAILABLE,
        )
        self._is_confined = is_confined
        self._lock = threading.Lock()
        self._process: NetworkProcess | None = None
        self._counting = threading.Lock()
        self._counts = {display_prefix(entry): CallCounts() for entry in self._remotes.entries}

    def counts(self) -> Mapping[str, CallCounts]:
        """Return what calls came to since the start, by prefix of the list."""
        with self._counting:
            return dict(self._counts)

    def check(self, model: bytes) -> None:
        """Raise where a remote model may not be asked; see `RemoteSessions.check`."""
        self._find(model)

    @contextmanager
    def session(self, blobs: Blobs, host: SessionHost) -> Iterator[socket.socket | None]:
        """Open a session for a request; see `RemoteSessions.session`."""
        models = [bytes(blob.content) for blob in blobs.values() if blob.form == REMOTE_FORM]
        if not models:
            yield None
            return
        entry = self._find(models[0])
        lease, end = self._begin(Binding(models[0], host.control.deadline), host.control)
        with closing(lease):
            try:
                with closing(end):
                    yield end
            finally:
                self._count(display_prefix(entry), _ended(lease), host)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._process is not None:
                self._process.close()

    def _find(self, model: bytes) -> RemoteEntry:
        if len(model) > _MESSAGE_BYTES:
            fault = f"the remote model's message has more than {_MESSAGE_BYTES:,} bytes"
            raise ExplainError(Reason.INVALID_REQUEST, fault, _FIELD)
        try:
            message = RemoteModel.FromString(model)
        except DecodeError:
            fault = "the message cannot be decoded as RemoteModel"
            raise ExplainError(Reason.INVALID_REQUEST, fault, _FIELD) from None
        return self._remotes.find(message.uri, message.name, message.version)[1]

    def _begin(
        self, binding: Binding, control: FetchControl
    ) -> tuple[ClockedSocket, socket.socket]:
        """Return the lease of a new session, and the socket of its computation."""
        for _ in range(2):  # a process that has ended is noticed once
            process = self._running(control)
            ours, their_lease = socket.socketpair()
            lease = ClockedSocket(ours, control.deadline)
            end, their_end = socket.socketpair()
            with their_lease, their_end:
                try:
                    process.hand_over(their_lease, their_end)
                    frames.send_binding(lease, binding)
                except OSError:
                    lease.close()
                    end.close()
                    process.close()
                    control.check("while the process that calls remote models was to answer")
                else:
                    return lease, end
        raise ExplainError(
            Reason.REMOTE_MODEL_UNAVAILABLE,
            "the process that calls remote models ended, twice; tell the operator",
            _FIELD,
        )

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

    def _count(self, prefix: str, counts: CallCounts, host: SessionHost) -> None:
        with self._counting:
            self._counts[prefix] += counts
        host.count_remote(RemoteUse(prefix, counts))


def _ended(lease: ClockedSocket) -> CallCounts:
    """End a session, and return what its calls came to; nothing if the process has ended."""
    now = time.monotonic()
    lease.deadline = min(now + _REPORT_SECONDS, max(lease.deadline, now + _LATE_SECONDS))
    report = bytearray()
    with suppress(OSError):
        lease.shutdown(socket.SHUT_WR)
        while len(report) <= _REPORT_BYTES and (part := lease.recv(_REPORT_BYTES)):
            report += part
    try:
        return frames.unpack_counts(report)
    except BrokenError:
        LOG.warning("the process that calls remote models did not tell what its calls came to")
        return CallCounts()
