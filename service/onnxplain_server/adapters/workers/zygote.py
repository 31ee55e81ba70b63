"""Zygote: a fork server with all code preloaded, and no secret, session or open file.

Started by `zygote_process`; dies with the thread that started it, and its workers with it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import socket
import sys

from onnxplain_server.adapters.sandbox.confine import die_with_parent
from onnxplain_server.adapters.workers import worker_loop
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerKind, WorkerSettings
from onnxplain_server.adapters.workers.ipc.zygote_protocol import (
    FORK,
    REAP,
    REPLY,
    UNKNOWN,
    WORKER_NICENESS,
)
from onnxplain_server.adapters.workers.worker_loop import Program
from onnxplain_server.core.systems.memory import release_freed

if sys.platform != "linux":
    raise ImportError("of Linux alone")

_PROGRAMS = {
    WorkerKind.COMPUTE: "onnxplain_server.adapters.programs.compute_worker",
    WorkerKind.LEARN: "onnxplain_server.adapters.programs.learn_worker",
    WorkerKind.DECODE: "onnxplain_server.adapters.programs.decode_worker",
    WorkerKind.TASK: "onnxplain_server.adapters.programs.task_worker",
}
"""Imported by name: a zygote of decoders imports nothing that computes."""

_STANDARD_ERROR = 2


def main() -> None:
    """Preload, then fork and reap on request until the parent is gone."""
    control, settings, parent = socket.socket(fileno=int(sys.argv[1])), sys.argv[2], sys.argv[3]
    die_with_parent(int(parent))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the server handles them
    gc.disable()  # nothing that is loaded becomes garbage
    worker_settings = WorkerSettings.from_json(settings)
    program = importlib.import_module(_PROGRAMS[worker_settings.kind])
    program.load()
    _settle()
    control.send(REPLY.pack(0))
    with contextlib.suppress(OSError):
        while _serve(control, worker_settings, program):
            pass


def _settle() -> None:
    """Return the memory that loading has used and freed; what is left is shared with workers."""
    gc.collect()
    gc.enable()
    release_freed()


def _serve(control: socket.socket, settings: WorkerSettings, program: Program) -> bool:
    request, files, _, _ = socket.recv_fds(control, 64, 2)
    if request.startswith(FORK):
        _fork(control, settings, program, *files)
    elif request.startswith(REAP):
        control.send(REPLY.pack(_reap(*REPLY.unpack(request[len(REAP) :]))))
    return bool(request)


def _fork(
    control: socket.socket, settings: WorkerSettings, program: Program, end: int, arena: int
) -> None:
    """Fork a worker; send its pid with a pidfd, or the negative errno."""
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        pid = -(error.errno or 1)
    if pid == 0:
        _become_worker(parent, end, arena, settings, program)
    os.close(end)
    os.close(arena)
    if pid < 0:
        control.send(REPLY.pack(pid))
        return
    handle = os.pidfd_open(pid)
    socket.send_fds(control, [REPLY.pack(pid)], [handle])
    os.close(handle)


def _become_worker(
    parent: int, end: int, arena: int, settings: WorkerSettings, program: Program
) -> None:
    """Run the worker; never returns, because Python's shutdown would hang under seccomp."""
    status = 1
    try:
        die_with_parent(parent)
        _close_all_but(end, arena)
        os.nice(WORKER_NICENESS)
        # Closed by the exit alone: a parent that sees it closed kills what has not ended yet.
        connection = socket.socket(fileno=end)
        worker_loop.run(connection, arena, settings, program)
        status = 0
    finally:
        os._exit(status)


def _close_all_but(*files: int) -> None:
    """Close all other descriptors; standard error goes to /dev/null, it could be client text."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, _STANDARD_ERROR)
    low = _STANDARD_ERROR + 1
    for file in sorted(files):
        os.closerange(low, file)
        low = file + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))


def _reap(pid: int) -> int:
    """Wait for a worker that ended; return its status as `os.waitstatus_to_exitcode` does."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return UNKNOWN


if __name__ == "__main__":
    main()
