"""Program: a process that has the network finds a name, at a name server of this program's own.

It has network and files of /etc of its own, so it needs root or name spaces of users. It writes
what it found, and whether UDP reached the name server; null where it has no such name space.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import socket
import struct
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from onnxplain_server.adapters.network_processes.confined_process import confine_to_network

NAME = "store.example.test"
ADDRESS = "10.1.2.3"

_LIBC = ctypes.CDLL(None, use_errno=True)
_NEW_MOUNTS, _NEW_USERS, _NEW_NETWORK = 0x00020000, 0x10000000, 0x40000000
_BIND, _PRIVATE_BELOW = 0x1000, 0x44000
_SET_FLAGS, _UP = 0x8914, 0x1
_IPV4 = 1


def has_own_network() -> bool:
    """Move into a network without others, whose resolver asks 127.0.0.1."""
    own = _NEW_MOUNTS | _NEW_NETWORK
    if _LIBC.unshare(own) != 0 and _LIBC.unshare(own | _NEW_USERS) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        fcntl.ioctl(asked, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP))
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write("nameserver 127.0.0.1\n")
        file.flush()
        Path(file.name).chmod(0o644)
        _LIBC.mount(b"none", b"/", None, _PRIVATE_BELOW, None)
        path = os.fsencode(file.name)
        return bool(_LIBC.mount(path, b"/etc/resolv.conf", None, _BIND, None) == 0)


def answer(question: bytes) -> bytes:
    """Answer each question for an IPv4 address."""
    end = question.index(b"\0", 12) + 5
    is_known = struct.unpack(">H", question[end - 4 : end - 2])[0] == _IPV4
    head = question[:2] + struct.pack(">5H", 0x8180, 1, is_known, 0, 0)
    record = struct.pack(">HHHIH", 0xC00C, 1, 1, 60, 4) + socket.inet_aton(ADDRESS)
    return head + question[12:end] + (record if is_known else b"")


def serve(server: socket.socket) -> None:
    """Answer questions by TCP until the end."""
    while True:
        connection, _ = server.accept()
        with connection, connection.makefile("rb") as questions:
            while length := questions.read(2):
                found = answer(questions.read(struct.unpack(">H", length)[0]))
                connection.sendall(struct.pack(">H", len(found)) + found)


def find(datagrams: socket.socket) -> None:
    """Confine this process; write which protections lack, what it finds, and how it asked."""
    missing = confine_to_network(2**29, 2, [], [])
    answers = socket.getaddrinfo(NAME, 443, type=socket.SOCK_STREAM)
    addresses = sorted({str(address[0]) for *_, address in answers})
    with suppress(BlockingIOError):
        addresses.append(f"asked by UDP: {datagrams.recv(4096)!r}")
    os.write(1, json.dumps([missing, addresses]).encode())


def main() -> None:
    """Serve names for a child that is confined, and asks."""
    if not has_own_network():
        os.write(1, b"null")
        return
    server = socket.create_server(("127.0.0.1", 53))
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("127.0.0.1", 53))
    datagrams.setblocking(False)
    if os.fork() == 0:
        try:
            find(datagrams)
        finally:
            os._exit(0)
    threading.Thread(target=serve, args=(server,), daemon=True).start()
    os.wait()


if __name__ == "__main__":
    main()
