"""The zygote as its parent sees it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from onnxplain_server.adapters.workers import arena
from onnxplain_server.adapters.workers.order import Order
from onnxplain_server.adapters.workers.worker import Worker, private_bytes
from onnxplain_server.adapters.workers.zygote import FORK, REAP, REPLY, UNKNOWN

_START_SECONDS = 180.0
"""Where no compiled loops are kept from an earlier start, compiling takes most of this."""

_FORK_SECONDS = 5.0
_KEPT = ("NUMBA_CACHE_DIR",)
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
    order : Order

    Raises
    ------
    OSError
        Where it cannot be started.
    """

    def __init__(self, order: Order) -> None:
        self._order = order
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, tempfile.TemporaryDirectory() as empty:
            # The folder is removed as soon as the zygote runs in it: nobody can write there.
            self._process = _start(theirs.fileno(), order, empty)
            theirs.close()
            self._control.settimeout(_START_SECONDS)
            try:
                self._reply(0)
            except OSError:
                self.close()
                raise
        self._control.settimeout(_FORK_SECONDS)
        self.private_bytes = private_bytes(self._process.pid)

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def fork(self) -> Worker:
        """Make a worker, or raise OSError."""
        ours, theirs = socket.socketpair()
        file = arena.create(self._order.arena_bytes)
        try:
            with theirs, self._lock:
                socket.send_fds(self._control, [FORK], [theirs.fileno(), file])
                pid, handles = self._reply(1)
            return Worker(pid, handles[0], ours, arena.Arena(file, self._order.arena_bytes))
        except OSError:
            ours.close()
            raise
        finally:
            os.close(file)

    def reap(self, pid: int) -> int | None:
        """How a worker ended: its exit code, the negative signal, or None where nobody knows."""
        try:
            with self._lock:
                self._control.send(REAP + REPLY.pack(pid))
                status = self._reply(0)[0]
        except OSError:
            return None
        return None if status == UNKNOWN else status

    def close(self) -> None:
        """End it, and all its workers."""
        self._control.close()
        self._process.kill()
        self._process.wait()

    def _reply(self, handle_count: int) -> tuple[int, list[int]]:
        content, handles, _, _ = socket.recv_fds(self._control, REPLY.size, 1)
        if len(content) != REPLY.size:
            raise ConnectionError("the zygote has ended")
        (number,) = REPLY.unpack(content)
        if handle_count and number < 0:
            raise OSError(-number, os.strerror(-number))
        return number, handles


def _start(control: int, order: Order, folder: str) -> subprocess.Popen[bytes]:
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
