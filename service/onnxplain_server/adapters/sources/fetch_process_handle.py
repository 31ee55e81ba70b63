"""Handle of a running fetching process: the server starts it, connects to it and ends it."""

from __future__ import annotations

import logging
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from onnxplain_server.adapters.sources import fetch_protocol as protocol
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.sources import FetchControl

LOG = logging.getLogger(__name__)

_MODULE = "onnxplain_server.adapters.sources.fetch_process"
_READY = b"ready "
_TICK_MILLISECONDS = 50
_START_SECONDS = 120.0


class FetchProcess:
    """Running process.

    Attributes
    ----------
    missing : tuple of str
        Protections that the kernel lacks.
    """

    def __init__(self, path: Path, memory_bytes: int, control: FetchControl) -> None:
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, tempfile.TemporaryDirectory() as empty:
            self._process = _start(theirs.fileno(), path.absolute(), memory_bytes, empty)
            theirs.close()
            try:
                self.missing = self._wait_ready(control)
            except BaseException:
                self.close()
                raise

    @property
    def is_alive(self) -> bool:
        """True until the process ends."""
        return self._process.poll() is None

    def connect(self) -> socket.socket:
        """Return a socket for one fetch."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                with self._lock:
                    socket.send_fds(self._control, [b"F"], [theirs.fileno()])
            except BaseException:
                ours.close()
                raise
        return ours

    def close(self) -> None:
        """Kill it."""
        with suppress(OSError):
            self._control.close()
        self._process.kill()
        self._process.wait()

    def _wait_ready(self, control: FetchControl) -> tuple[str, ...]:
        end = time.monotonic() + _START_SECONDS
        while not is_readable(self._control):
            control.check("while the fetching process started")
            if time.monotonic() > end:
                raise _not_started()
        content = self._control.recv(256)
        if not content.startswith(_READY):
            raise _not_started()
        return tuple(content[len(_READY) :].decode("ascii", "replace").split())


def _not_started() -> ExplainError:
    LOG.error("the fetching process did not start; its messages stand above")
    message = "the process that fetches cannot be started; tell the operator"
    return ExplainError(Reason.SOURCE_UNAVAILABLE, message)


def _start(control: int, path: Path, memory_bytes: int, folder: str) -> subprocess.Popen[bytes]:
    search = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry)
    arguments = [str(control), str(path), str(memory_bytes)]
    return subprocess.Popen(  # noqa: S603 - our own module, by our own interpreter
        [sys.executable, "-P", "-m", _MODULE, *arguments],
        env={**protocol.environment(os.environ), "PYTHONPATH": search},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[control],
        start_new_session=True,
    )


def is_readable(end: socket.socket) -> bool:
    """Wait for content, for a moment; return whether there is some."""
    poll = select.poll()
    poll.register(end, select.POLLIN)
    return bool(poll.poll(_TICK_MILLISECONDS))
