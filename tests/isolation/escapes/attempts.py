"""Program: become one kind of the server's confined processes, try all ways, report.

Arguments: kind, user (0: stay who it is), targets and the listed port as JSON, folder of the lists.
Standard output gets the report.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import json
import os
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from onnxplain_server.adapters.network_processes import confined_process
from onnxplain_server.adapters.sandbox.confine import Budget, confine
from onnxplain_server.adapters.workers import worker_loop
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings
from onnxplain_server.core.model_limits import ModelLimits

from escapes.ways import Targets, Way, carrying, others

_MEMORY_BYTES = 2**29
_PR_SET_DUMPABLE = 4
_NEW_USERS = 0x10000000
_REFUSED = {errno.EPERM, errno.EACCES}

Report = Callable[[Sequence[str]], None]


def outcome(way: Way) -> str:
    """Return "refused", "passed", or the name of another error, which is the kernel's answer."""
    try:
        way()
    except OSError as error:
        return (
            "refused" if error.errno in _REFUSED else errno.errorcode.get(error.errno or 0, "late")
        )
    return "passed"


def _capabilities(status: int) -> dict[str, int]:
    """Return the sets of this process, from its status, which it opened before."""
    os.lseek(status, 0, os.SEEK_SET)
    lines = os.read(status, 65536).decode().splitlines()
    return {
        name: int(bits, 16)
        for name, _, bits in (line.partition(":") for line in lines)
        if name.startswith("Cap")
    }


def reporting(targets: Targets, listed: int) -> Report:
    """Prepare what can be had before the confinement; return what tries all, and ends."""
    status = os.open("/proc/self/status", os.O_RDONLY)
    connected = socket.socket()
    ways = carrying(targets) | others(targets, connected.fileno())

    def report(missing: Sequence[str]) -> None:
        content = {
            "missing": [*missing],
            "capabilities": _capabilities(status),
            "outcomes": {name: outcome(way) for name, way in ways.items()},
            "listed": outcome(lambda: _reach(listed)),
        }
        os.write(1, json.dumps(content).encode())
        os._exit(0)

    return report


def _reach(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        connection.sendall(b"listed")


def become(user: int) -> None:
    """Be another user, as if started by it: it may be traced, and read its own state."""
    if user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def _worker(report: Report) -> None:
    """Run the loop of a worker, up to the program that answers."""
    bytes_ = 2**20
    arena = os.memfd_create("arena")
    os.ftruncate(arena, bytes_)
    settings = WorkerSettings(2, bytes_, Budget(_MEMORY_BYTES, 60), ModelLimits())
    missing: list[str] = []

    def noting(*arguments: Any) -> tuple[str, ...]:
        missing.extend(confine(*arguments))
        return tuple(missing)

    class Program:
        @staticmethod
        def load() -> None:
            pass

        @staticmethod
        def answerers(_: WorkerSettings) -> Any:
            report(missing)

    vars(worker_loop)["confine"] = noting
    worker_loop.run(socket.socketpair()[0], arena, settings, Program)


PROGRAMS = {
    "fetch": "onnxplain_server.adapters.sources.fetch_process",
    "call": "onnxplain_server.adapters.remote_server.call_process",
    "cluster": "onnxplain_server.adapters.cluster.server.cluster_process",
}


def load(kind: str) -> None:
    """Import what a program would itself: another user may not find it."""
    if kind in PROGRAMS:
        program = importlib.import_module(PROGRAMS[kind])
        for name in program._LIBRARIES:
            importlib.import_module(name)
    for name in ("encodings.idna", "email.policy"):
        importlib.import_module(name)


def _networked(kind: str, listed: int, folder: Path, report: Report) -> None:
    """Run a program of a process that has the network, up to its serving."""
    vars(confined_process)["serve"] = lambda _control, missing, *_: report(missing)
    arguments = {
        "fetch": [str(folder / "sources.toml"), str(_MEMORY_BYTES)],
        "call": [str(folder / "remotes.toml"), str(_MEMORY_BYTES)],
        "cluster": [f"tcp://127.0.0.1:{listed}", str(_MEMORY_BYTES)],
    }
    control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)[0]
    sys.argv = [kind, str(control.detach()), *arguments[kind]]
    sys.modules[PROGRAMS[kind]].main()


def main() -> None:
    """Do as the arguments say."""
    kind, user, given, folder = sys.argv[1:]
    content = json.loads(given)
    listed = content.pop("listed")
    load(kind)
    become(int(user))
    report = reporting(Targets(**content), listed)
    if kind == "worker":
        _worker(report)
    else:
        _networked(kind, listed, Path(folder), report)


if __name__ == "__main__":
    main()
