"""Zygote process, parent side: starts it, and asks it to fork and reap workers."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

from onnxplain_server.adapters.workers.ipc import arena
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings
from onnxplain_server.adapters.workers.ipc.zygote_protocol import FORK, REAP, REPLY, UNKNOWN
from onnxplain_server.adapters.workers.process_status import (
    exit_cause,
    family_seconds,
    private_bytes,
    processor_seconds,
)
from onnxplain_server.adapters.workers.worker_process import Worker
from onnxplain_server.adapters.workers.zygote_start import StartError, StartMonitor
from onnxplain_server.core.systems.processors import processor_variables

if sys.platform != "linux":
    raise ImportError("of Linux alone")

_POLL_MILLISECONDS = 250
_ANSWER_SECONDS = 60.0
"""Time limit for a fork or a reap; milliseconds suffice on an idle machine."""

_INHERITED = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME")
"""Location of compiled kernels; beside it, workers inherit the variables of the processor alone."""

_ENVIRONMENT = {
    # Threads of these libraries would not survive a fork.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    # Each further arena reserves 64 MiB of address space.
    "MALLOC_ARENA_MAX": "2",
    # Freed memory of a table is reused for the next one, without another request to the kernel.
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
    "MALLOC_TRIM_THRESHOLD_": str(2**27),
}


class Zygote:
    """Running zygote. The thread that creates it must outlive it.

    Parameters
    ----------
    settings : WorkerSettings

    Raises
    ------
    OSError, StartError
        When it cannot be started.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._children: set[Worker] = set()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ExitStack() as undo:
            undo.callback(self._control.close)
            # Its working directory is removed once it runs, so that nobody can write there.
            with theirs, tempfile.TemporaryDirectory() as empty:
                self._process = _start(theirs.fileno(), settings, empty)
                undo.callback(self.close)
                theirs.close()
                self._wait_ready()
            undo.pop_all()
        self._control.settimeout(_ANSWER_SECONDS)
        self.private_bytes = private_bytes(self._process.pid)

    @property
    def alive(self) -> bool:
        """True until the process ends."""
        return self._process.poll() is None

    @property
    def processor_seconds(self) -> float:
        """Processor time so far, with workers that were reaped."""
        return family_seconds(self._process.pid)

    def fork(self) -> Worker:
        """Fork a worker.

        Raises
        ------
        OSError
            If the system refuses; ConnectionError if the zygote has ended.
        """
        with ExitStack() as failed, ExitStack() as sent:
            ours, theirs = socket.socketpair()
            failed.callback(ours.close)
            sent.callback(theirs.close)
            file = arena.create(self._settings.arena_bytes)
            sent.callback(os.close, file)
            with self._lock:
                socket.send_fds(self._control, [FORK], [theirs.fileno(), file])
                pid, handles = self._receive(1)
            failed.callback(os.close, handles[0])
            memory = arena.Arena(file, self._settings.arena_bytes)
            failed.pop_all()
        worker = Worker(pid, handles[0], ours, memory)
        self._children.add(worker)
        return worker

    def reap(self, worker: Worker) -> int | None:
        """Return a worker's exit code or negative signal number; None if unknown."""
        if worker not in self._children:
            return None  # forked by an earlier zygote; its pid may have been reused
        self._children.discard(worker)
        try:
            with self._lock:
                self._control.send(REAP + REPLY.pack(worker.pid))
                status = self._receive(0)[0]
        except OSError:
            return None
        return None if status == UNKNOWN else status

    def close(self) -> None:
        """Kill it, and all its workers."""
        self._control.close()
        self._process.kill()
        self._process.wait()

    def _wait_ready(self) -> None:
        """Wait until it has preloaded; StartError when it hangs or ends."""
        monitor = StartMonitor(lambda: processor_seconds(self._process.pid))
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        while not poll.poll(_POLL_MILLISECONDS):
            monitor.check()
        try:
            self._receive(0)
        except ConnectionError:
            raise StartError(f"their zygote ended {exit_cause(self._process.wait())}") from None

    def _receive(self, handle_count: int) -> tuple[int, list[int]]:
        try:
            content, handles, _, _ = socket.recv_fds(self._control, REPLY.size, 1)
        except TimeoutError:
            # A late reply would be taken for the reply to the next request.
            self._process.kill()
            raise ConnectionError("the zygote does not answer") from None
        if len(content) != REPLY.size:
            raise ConnectionError("the zygote has ended")
        (number,) = REPLY.unpack(content)
        if handle_count and number < 0:
            raise OSError(-number, os.strerror(-number))
        return number, handles


def _start(control: int, settings: WorkerSettings, folder: str) -> subprocess.Popen[bytes]:
    module = "onnxplain_server.adapters.workers.zygote"
    path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry)
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return subprocess.Popen(  # noqa: S603 - our own module, by our own interpreter
        [sys.executable, "-P", "-m", module, str(control), settings.to_json(), str(os.getpid())],
        env={**_ENVIRONMENT, **processor_variables(), **inherited, "PYTHONPATH": path},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[control],
        # A session of its own, so that signals of the terminal do not reach it.
        start_new_session=True,
    )
