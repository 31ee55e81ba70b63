"""Listeners behind the ways that carry bytes: none of them may hear anything."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from escapes.ways import Targets

_MPTCP, _UDP_LITE, _FASTOPEN_QUEUE = 262, 136, 16
_VSOCK, _VSOCK_ANY = 40, 0xFFFFFFFF
_ALL_PACKETS = 0x0300  # ETH_P_ALL in the order of the network


@dataclass
class Listeners:
    """Listeners on this machine.

    Attributes
    ----------
    targets : Targets
        Where they wait.
    sockets : dict of str to socket
        By what they hear.
    """

    targets: Targets
    sockets: dict[str, socket.socket] = field(default_factory=dict)

    def heard(self, mark: bytes) -> set[str]:
        """Return those that have heard a connection, or bytes; of packets, only with the mark."""
        return {name for name, each in self.sockets.items() if _hears(name, each, mark)}


def _hears(name: str, listener: socket.socket, mark: bytes) -> bool:
    if name == "packets":
        return any(mark in packet for packet in _received(listener))
    if listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        with suppress(BlockingIOError):
            listener.accept()[0].close()
            return True
        return False
    return any(True for _ in _received(listener))


def _received(listener: socket.socket) -> Iterator[bytes]:
    with suppress(BlockingIOError):
        while True:
            yield listener.recv(65536)


@contextmanager
def listening(folder: Path, pid: int) -> Iterator[Listeners]:
    """Listen on free ports, on names in a folder that all users reach, and on this machine's lo."""
    with ExitStack() as stack:
        keep: Callable[[socket.socket], socket.socket] = stack.enter_context
        sockets: dict[str, socket.socket] = {}
        port = _internet(socket.AF_INET, "127.0.0.1", sockets, keep)
        port6 = _internet(socket.AF_INET6, "::1", sockets, keep)
        mptcp = _mptcp(sockets, keep)
        path, name = str(folder / "unix"), f"\0onnxplain-{os.getpid()}-{folder.name}"
        _unix((path, name), sockets, keep)
        vsock = _vsock(sockets, keep)
        with suppress(PermissionError):
            packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            sockets["packets"] = keep(packets)
            packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**22)
            packets.bind(("lo", _ALL_PACKETS >> 8))
        file = folder / "own" / "file"
        for each in sockets.values():
            each.setblocking(False)
        yield Listeners(Targets(port, port6, mptcp, path, name, vsock, pid, str(file)), sockets)


def _internet(
    family: int,
    host: str,
    sockets: dict[str, socket.socket],
    keep: Callable[[socket.socket], socket.socket],
) -> int:
    """Listen by TCP, with fast open, UDP and UDP-Lite on one port; return it, 1 without IPv6."""
    try:
        server = socket.create_server((host, 0), family=family)
    except OSError:
        return 1
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, _FASTOPEN_QUEUE)
    port = int(server.getsockname()[1])
    sockets[f"TCP {host}"] = keep(server)
    for name, protocol in {"UDP": 0, "UDP-Lite": _UDP_LITE}.items():
        with suppress(OSError):  # this kernel lacks it
            made = keep(socket.socket(family, socket.SOCK_DGRAM, protocol))
            made.bind((host, port))
            sockets[f"{name} {host}"] = made
    return port


def _mptcp(
    sockets: dict[str, socket.socket], keep: Callable[[socket.socket], socket.socket]
) -> int:
    """Listen by MPTCP, on IPv4 and IPv6; return the port, 1 where this kernel has none."""
    port = 0
    with suppress(OSError):
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            made = keep(socket.socket(family, socket.SOCK_STREAM, _MPTCP))
            made.bind((host, port))
            made.listen()
            port = int(made.getsockname()[1])
            sockets[f"MPTCP {host}"] = made
    return port or 1


def _unix(
    addresses: tuple[str, str],
    sockets: dict[str, socket.socket],
    keep: Callable[[socket.socket], socket.socket],
) -> None:
    kinds = {"": socket.SOCK_STREAM, "-dgram": socket.SOCK_DGRAM, "-seq": socket.SOCK_SEQPACKET}
    for address in addresses:
        for end, kind in kinds.items():
            made = keep(socket.socket(socket.AF_UNIX, kind))
            made.bind(address + end)
            if kind != socket.SOCK_DGRAM:
                made.listen()
            if not address.startswith("\0"):
                Path(address + end).chmod(0o777)
            sockets[f"unix {'name' if address.startswith(chr(0)) else 'path'}{end}"] = made


def _vsock(
    sockets: dict[str, socket.socket], keep: Callable[[socket.socket], socket.socket]
) -> int:
    """Listen for virtual machines; return the port, 1 where this kernel has none."""
    with suppress(OSError):
        made = keep(socket.socket(_VSOCK, socket.SOCK_STREAM))
        made.bind((_VSOCK_ANY, _VSOCK_ANY))
        made.listen()
        sockets["vsock"] = made
        return int(made.getsockname()[1])
    return 1
