"""Process that has the network: confines itself, then serves what its server hands it.

Its first argument is the descriptor of the control socket; see `network_process`.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from onnxplain_server.adapters.network_processes.network_process import READY
from onnxplain_server.adapters.sandbox.confine import Budget, confine
from onnxplain_server.adapters.sandbox.landlock import Exceptions

if sys.platform != "linux":
    raise ImportError("of Linux alone")

HTTP_PORT: int = 80
HTTPS_PORT: int = 443
DNS_PORT: int = 53

_NO_LIMIT_SECONDS = 2**31
_RESOLVER_FILES = (
    *("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf"),
    *("/etc/ssl", "/etc/pki", "/usr/share/ca-certificates", "/run/systemd/resolve"),
    *("/dev/urandom", "/proc/sys/net", "/proc/self/cgroup", "/sys/fs/cgroup"),
)
_BY_TCP = "use-vc"
"""Option of the resolver: ask by TCP, whose ports Landlock checks; these processes have no UDP."""


def begin() -> socket.socket:
    """Leave signals to the server; return the control socket."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return socket.socket(fileno=int(sys.argv[1]))


def confine_to_network(
    memory_bytes: int, thread_count: int, ports: Iterable[int], files: Iterable[Path]
) -> tuple[str, ...]:
    """Drop all rights but TCP to these ports and DNS, and reading these files and the resolver's.

    Called when all is imported and read that is out of reach later.

    Parameters
    ----------
    memory_bytes : int
        Address space beyond the present one.
    thread_count : int
    ports : iterable of int
    files : iterable of Path
        Files, and folders with all below them.

    Returns
    -------
    tuple of str
        Protections that this kernel lacks.

    Raises
    ------
    RuntimeError
        If a library has started a thread, which would stay free.
    """
    os.environ["RES_OPTIONS"] = _BY_TCP
    with suppress(socket.gaierror):  # it loads the resolver, also where that knows no localhost
        socket.getaddrinfo("localhost", HTTP_PORT)
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise RuntimeError("a library has started a thread, which would not be confined")
    readable = {Path(name) for name in _RESOLVER_FILES} | set(files)
    exceptions = Exceptions(tuple(readable), tuple({*ports, DNS_PORT}))
    return confine(Budget(memory_bytes, _NO_LIMIT_SECONDS), thread_count, exceptions)


def serve(
    control: socket.socket,
    missing: Iterable[str],
    end_count: int,
    answer: Callable[..., None],
) -> None:
    """Tell the server that the process is ready; serve until the server ends. Never returns.

    Parameters
    ----------
    control : socket
    missing : iterable of str
        Protections that the kernel lacks.
    end_count : int
        Sockets that are handed over together, at most.
    answer : callable (*sockets) -> None
        Serves them, on a thread of its own, and closes them.
    """
    control.send(READY + " ".join(missing).encode())
    while True:
        try:
            content, handles, _, _ = socket.recv_fds(control, 1, end_count)
        except OSError:
            break
        if not content:
            break
        ends = [socket.socket(fileno=handle) for handle in handles]
        threading.Thread(target=answer, args=ends, daemon=True).start()
    os._exit(0)  # work in progress has nobody to answer
