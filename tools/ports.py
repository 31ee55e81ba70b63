"""Free ports for programs that cannot choose one themselves, or must keep it over a restart.

They lie below those that the system gives away by itself, so nobody gets one by chance while its
program is away; and each belongs to one process until that ends, so none is given twice.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress

_FIRST, _END = 20_000, 32_000
_STEP = 37
"""Between the ports at which processes with successive ids begin to look."""

_claimed: set[int] = set()


def free_port() -> int:
    """Return a port of 127.0.0.1 that nothing listens on."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Return so many ports of 127.0.0.1 that nothing listens on.

    Raises
    ------
    OSError
        If there are not so many.
    """
    found: list[int] = []
    size = _END - _FIRST
    for number in range(size):
        port = _FIRST + (_STEP * os.getpid() + number) % size
        if _claim(port):
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"fewer than {count} ports from {_FIRST} to {_END} are free")


def _claim(port: int) -> bool:
    """Take a port, by a name in the kernel that ends with this process."""
    if port in _claimed:
        return False
    claim = socket.socket(socket.AF_UNIX)
    with suppress(OSError):
        claim.bind(f"\0onnxplain-port-{port}")
        socket.create_server(("", port)).close()
        claim.detach()  # open from here to the end of this process
        _claimed.add(port)
        return True
    claim.close()
    return False
