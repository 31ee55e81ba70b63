"""Handle of a process that has the network: the server starts it, hands it sockets and ends it."""

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
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from onnxplain_server.adapters.network_processes.clocked_socket import ClockedSocket
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.sources import FetchControl

if sys.platform != "linux":
    raise ImportError("of Linux alone")

LOG = logging.getLogger(__name__)

READY = b"ready "
"""Begins the message of a process that is confined; the protections that it lacks follow."""

WITHOUT_THREADS: Mapping[str, str] = {
    # Threads that start with a library, before the process is confined, would not be confined.
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "4",
    # Buffers of Arrow have some MiB: pages that were mapped anew for each cost half of the time.
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
    "MALLOC_TRIM_THRESHOLD_": str(2**27),
}
"""Variables of all these processes."""

_TICK_MILLISECONDS = 50
_START_SECONDS = 120.0
_HAND_OVER_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class ProcessProgram:
    """ProcessProgram of a process that has the network.

    Attributes
    ----------
    module : str
    arguments : tuple of str
        After the descriptor of the control socket.
    environment : mapping of str to str
        All variables that it gets, besides PYTHONPATH.
    name : str
        For the log and for messages, like "process that fetches".
    failure : Reason
        Of requests that need it, while it cannot be started.
    """

    module: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    name: str
    failure: Reason


class NetworkProcess:
    """Running process.

    Parameters
    ----------
    program : ProcessProgram
    control : FetchControl
        Ends the waiting for its start.
    is_confined : bool
        Whether it is refused where this kernel lacks a protection.

    Raises
    ------
    ExplainError
        `ProcessProgram.failure`; those of `FetchControl.check`.
    """

    def __init__(
        self, program: ProcessProgram, control: FetchControl, *, is_confined: bool
    ) -> None:
        self._program = program
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # It holds the sockets of some hundred requests that the process has not taken yet.
        self._control.settimeout(_HAND_OVER_SECONDS)
        with theirs, tempfile.TemporaryDirectory() as empty:
            self._process = _start(theirs.fileno(), program, empty)
            theirs.close()
            try:
                self._check_protections(self._wait_ready(control), is_confined=is_confined)
            except BaseException:
                self.close()
                raise

    @property
    def is_alive(self) -> bool:
        """True until the process ends."""
        return self._process.poll() is None

    def connect(self, deadline: float) -> ClockedSocket:
        """Return a socket whose other end the process has, until a monotonic time."""
        end, theirs = socket.socketpair()
        ours = ClockedSocket(end, deadline)
        with theirs:
            try:
                self.hand_over(theirs)
            except BaseException:
                ours.close()
                raise
        return ours

    def hand_over(self, *ends: socket.socket) -> None:
        """Send the process sockets, which belong together; OSError if it has ended or is stuck."""
        with self._lock:
            socket.send_fds(self._control, [b"F"], [end.fileno() for end in ends])

    def close(self) -> None:
        """Kill it."""
        with suppress(OSError):
            self._control.close()
        self._process.kill()
        self._process.wait()

    def _wait_ready(self, control: FetchControl) -> tuple[str, ...]:
        end = time.monotonic() + _START_SECONDS
        while not is_readable(self._control):
            control.check(f"while the {self._program.name} started")
            if time.monotonic() > end:
                raise self._not_started()
        content = self._control.recv(256)
        if not content.startswith(READY):
            raise self._not_started()
        return tuple(content[len(READY) :].decode("ascii", "replace").split())

    def _check_protections(self, missing: tuple[str, ...], *, is_confined: bool) -> None:
        if not missing:
            return
        LOG.warning("the %s lacks protections: %s", self._program.name, ", ".join(missing))
        if is_confined:
            raise ExplainError(
                self._program.failure,
                f"this server cannot confine the {self._program.name}, and its setting isolation "
                "is require; tell the operator",
            )

    def _not_started(self) -> ExplainError:
        LOG.error("the %s did not start; its messages stand above", self._program.name)
        message = f"the {self._program.name} cannot be started; tell the operator"
        return ExplainError(self._program.failure, message)


def _start(control: int, program: ProcessProgram, folder: str) -> subprocess.Popen[bytes]:
    search = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry)
    return subprocess.Popen(  # noqa: S603 - our own module, by our own interpreter
        [sys.executable, "-P", "-m", program.module, str(control), *program.arguments],
        env={**program.environment, "PYTHONPATH": search},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[control],
        start_new_session=True,
    )


def is_readable(end: socket.socket) -> bool:
    """Wait for content, for a moment; return whether there is some."""
    return _is_ready(end, select.POLLIN)


def send_in_steps(end: socket.socket, content: bytes, check: Callable[[], None]) -> None:
    """Send content to a process that may take none for long; `check` is called while it waits."""
    rest = memoryview(content)
    while rest:
        while not _is_ready(end, select.POLLOUT):
            check()
        with suppress(BlockingIOError):
            rest = rest[end.send(rest, socket.MSG_DONTWAIT) :]


def _is_ready(end: socket.socket, event: int) -> bool:
    poll = select.poll()
    poll.register(end, event)
    return bool(poll.poll(_TICK_MILLISECONDS))
