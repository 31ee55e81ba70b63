"""The process that workers are forked from: all code loaded; no secret, session or file.

Started by `spawn`; ends with the thread that started it, and its workers with it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import struct
import sys

from onnxplain_server.adapters.workers import worker_loop
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings
from onnxplain_server.adapters.workers.sandbox import preload
from onnxplain_server.adapters.workers.sandbox.resource_limits import die_with_parent

REPLY = struct.Struct("<q")
FORK, REAP = b"fork", b"reap"
UNKNOWN = -(2**31)
"""How a worker ended, where the system does not know any more."""

WORKER_NICENESS = 4
"""Niceness of workers: the server itself, which refuses and answers probes, goes before them."""

_STANDARD_ERROR = 2


def main() -> None:
    """Load everything, then fork and reap on demand until the parent is gone."""
    control, order, parent = socket.socket(fileno=int(sys.argv[1])), sys.argv[2], sys.argv[3]
    die_with_parent(int(parent))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # they are the server's to act upon
    preload.load()
    gc.collect()
    control.send(REPLY.pack(0))
    with contextlib.suppress(OSError):
        while _serve(control, WorkerSettings.from_json(order)):
            pass


def _serve(control: socket.socket, order: WorkerSettings) -> bool:
    request, files, _, _ = socket.recv_fds(control, 64, 2)
    if request.startswith(FORK):
        _fork(control, order, *files)
    elif request.startswith(REAP):
        control.send(REPLY.pack(_reap(*REPLY.unpack(request[len(REAP) :]))))
    return bool(request)


def _fork(control: socket.socket, order: WorkerSettings, end: int, arena: int) -> None:
    """Reply the worker's number and a descriptor of it, or the negative number of the error."""
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        pid = -(error.errno or 1)
    if pid == 0:
        _become_worker(parent, end, arena, order)
    os.close(end)
    os.close(arena)
    if pid < 0:
        control.send(REPLY.pack(pid))
        return
    handle = os.pidfd_open(pid)
    socket.send_fds(control, [REPLY.pack(pid)], [handle])
    os.close(handle)


def _become_worker(parent: int, end: int, arena: int, order: WorkerSettings) -> None:
    """Never returns: Python's ending would wait for threads, and hangs under seccomp."""
    status = 1
    try:
        die_with_parent(parent)
        _close_all_but(end, arena)
        os.nice(WORKER_NICENESS)
        worker_loop.run(socket.socket(fileno=end), arena, order)
        status = 0
    finally:
        os._exit(status)


def _close_all_but(*kept: int) -> None:
    """Keep these, and say nothing on standard error: it could be a client's text."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, _STANDARD_ERROR)
    low = _STANDARD_ERROR + 1
    for file in sorted(kept):
        os.closerange(low, file)
        low = file + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))


def _reap(pid: int) -> int:
    """How a killed or ended worker ended, as `os.waitstatus_to_exitcode` has it."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return UNKNOWN


if __name__ == "__main__":
    main()
