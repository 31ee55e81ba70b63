"""The zygote as its parent sees it."""

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
from onnxplain_server.adapters.workers.process_status import (
    exit_cause,
    private_bytes,
    processor_seconds,
)
from onnxplain_server.adapters.workers.worker_process import Worker
from onnxplain_server.adapters.workers.zygote import FORK, REAP, REPLY, UNKNOWN
from onnxplain_server.adapters.workers.zygote_start import StartError, StartWatch

_LOOK_MILLISECONDS = 250
_ANSWER_SECONDS = 60.0
"""Time to fork, or to tell how a worker ended: milliseconds, on a machine that is not busy."""

_KEPT = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME")
"""Where compiled loops lie; all other variables stay with the server."""

_ENVIRONMENT = {
    # Threads of these libraries would not survive the fork.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    # Each further arena reserves 64 MiB of address space.
    "MALLOC_ARENA_MAX": "2",
    # Freed memory of a table is kept for the next one, not fetched from the kernel again.
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
    "MALLOC_TRIM_THRESHOLD_": str(2**27),
}


class Zygote:
    """A running zygote. The thread that makes it must outlive it.

    Parameters
    ----------
    order : WorkerSettings

    Raises
    ------
    OSError, StartError
        Where it cannot be started.
    """

    def __init__(self, order: WorkerSettings) -> None:
        self._order = order
        self._lock = threading.Lock()
        self._children: set[Worker] = set()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ExitStack() as undo:
            undo.callback(self._control.close)
            # The folder is removed as soon as the zygote runs in it: nobody can write there.
            with theirs, tempfile.TemporaryDirectory() as empty:
                self._process = _start(theirs.fileno(), order, empty)
                undo.callback(self.close)
                theirs.close()
                self._wait_prepared()
            undo.pop_all()
        self._control.settimeout(_ANSWER_SECONDS)
        self.private_bytes = private_bytes(self._process.pid)

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def fork(self) -> Worker:
        """Make a worker.

        Raises
        ------
        OSError
            Where the system refuses; ConnectionError where the zygote has ended.
        """
        ours, theirs = socket.socketpair()
        file = arena.create(self._order.arena_bytes)
        try:
            with theirs, self._lock:
                socket.send_fds(self._control, [FORK], [theirs.fileno(), file])
                pid, handles = self._reply(1)
            worker = Worker(pid, handles[0], ours, arena.Arena(file, self._order.arena_bytes))
        except OSError:
            ours.close()
            raise
        finally:
            os.close(file)
        self._children.add(worker)
        return worker

    def reap(self, worker: Worker) -> int | None:
        """How a worker ended: its exit code, the negative signal, or None where nobody knows."""
        if worker not in self._children:
            return None  # an earlier zygote's, whose number may be another's by now
        self._children.discard(worker)
        try:
            with self._lock:
                self._control.send(REAP + REPLY.pack(worker.pid))
                status = self._reply(0)[0]
        except OSError:
            return None
        return None if status == UNKNOWN else status

    def close(self) -> None:
        """End it, and all its workers."""
        self._control.close()
        self._process.kill()
        self._process.wait()

    def _wait_prepared(self) -> None:
        """Wait while it loads and compiles."""
        start = StartWatch(lambda: processor_seconds(self._process.pid))
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        while not poll.poll(_LOOK_MILLISECONDS):
            start.look()
        try:
            self._reply(0)
        except ConnectionError:
            raise StartError(f"their zygote ended {exit_cause(self._process.wait())}") from None

    def _reply(self, handle_count: int) -> tuple[int, list[int]]:
        try:
            content, handles, _, _ = socket.recv_fds(self._control, REPLY.size, 1)
        except TimeoutError:
            # A reply that comes later would be taken for that to another question.
            self._process.kill()
            raise ConnectionError("the zygote does not answer") from None
        if len(content) != REPLY.size:
            raise ConnectionError("the zygote has ended")
        (number,) = REPLY.unpack(content)
        if handle_count and number < 0:
            raise OSError(-number, os.strerror(-number))
        return number, handles


def _start(control: int, order: WorkerSettings, folder: str) -> subprocess.Popen[bytes]:
    module = "onnxplain_server.adapters.workers.zygote"
    path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry)
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return subprocess.Popen(  # noqa: S603 - our own module, by our own interpreter
        [sys.executable, "-P", "-m", module, str(control), order.to_json(), str(os.getpid())],
        env={**_ENVIRONMENT, **kept, "PYTHONPATH": path},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[control],
        # Its signals are not those of the terminal.
        start_new_session=True,
    )
