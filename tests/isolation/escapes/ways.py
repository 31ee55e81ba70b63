"""Ways out of a confined process, by name. Each raises OSError where it is refused."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import platform
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from escapes.system_calls import CALLS

MARK = f"a byte that got out of {os.environ.get('ESCAPE_NAME')}".encode()
"""What is sent; each run has a name of its own."""

Way: TypeAlias = Callable[[], object]
Address: TypeAlias = str | tuple[str, int] | tuple[int, int]

LIBC = ctypes.CDLL(None, use_errno=True)
_X86 = platform.machine() == "x86_64"
_PACKET, _VSOCK, _ALG = 17, 40, 38
_SECONDS = 0.5
_MPTCP, _SCTP, _SMC, _UDP_LITE, _DCCP = 262, 132, 256, 136, 33
_FASTOPEN = 0x20000000
_FASTOPEN_CONNECT, _FASTOPEN_KEY, _ULP, _REPAIR = 30, 33, 31, 19

INTERNET = {
    "TCP": (socket.SOCK_STREAM, 0),
    "TCP by its number": (socket.SOCK_STREAM, socket.IPPROTO_TCP),
    "TCP, flags of its type": (socket.SOCK_STREAM | socket.SOCK_CLOEXEC, 0),
    "MPTCP": (socket.SOCK_STREAM, _MPTCP),
    "MPTCP, flags of its type": (socket.SOCK_STREAM | socket.SOCK_CLOEXEC, _MPTCP),
    "SCTP": (socket.SOCK_STREAM, _SCTP),
    "SMC": (socket.SOCK_STREAM, _SMC),
    "UDP": (socket.SOCK_DGRAM, 0),
    "UDP by its number": (socket.SOCK_DGRAM, socket.IPPROTO_UDP),
    "UDP-Lite": (socket.SOCK_DGRAM, _UDP_LITE),
    "ping": (socket.SOCK_DGRAM, socket.IPPROTO_ICMP),
    "ping of IPv6": (socket.SOCK_DGRAM, socket.IPPROTO_ICMPV6),
    "SCTP in packets": (socket.SOCK_SEQPACKET, _SCTP),
    "raw ICMP": (socket.SOCK_RAW, socket.IPPROTO_ICMP),
    "raw ICMP of IPv6": (socket.SOCK_RAW, socket.IPPROTO_ICMPV6),
    "raw TCP": (socket.SOCK_RAW, socket.IPPROTO_TCP),
    "raw UDP": (socket.SOCK_RAW, socket.IPPROTO_UDP),
    "raw IP": (socket.SOCK_RAW, socket.IPPROTO_RAW),
    "DCCP": (6, _DCCP),
}
"""Type and protocol of sockets of IPv4 and IPv6."""

OTHER_FAMILIES = {
    "AF_AX25": (3, socket.SOCK_DGRAM, 0),
    "AF_KEY": (15, socket.SOCK_RAW, 2),
    "AF_PACKET": (_PACKET, socket.SOCK_RAW, 0x0300),
    "AF_PACKET without heads": (_PACKET, socket.SOCK_DGRAM, 0x0300),
    "AF_RDS": (21, socket.SOCK_SEQPACKET, 0),
    "AF_PPPOX": (24, socket.SOCK_STREAM, 0),
    "AF_CAN": (29, socket.SOCK_RAW, 1),
    "AF_TIPC": (30, socket.SOCK_SEQPACKET, 0),
    "AF_BLUETOOTH": (31, socket.SOCK_RAW, 1),
    "AF_ALG": (_ALG, socket.SOCK_SEQPACKET, 0),
    "AF_NFC": (39, socket.SOCK_SEQPACKET, 0),
    "AF_VSOCK in packets": (_VSOCK, socket.SOCK_SEQPACKET, 0),
    "AF_VSOCK, datagrams": (_VSOCK, socket.SOCK_DGRAM, 0),
    "AF_KCM": (41, socket.SOCK_DGRAM, 0),
    "AF_QIPCRTR": (42, socket.SOCK_DGRAM, 0),
    "AF_SMC": (43, socket.SOCK_STREAM, 0),
    "AF_XDP": (44, socket.SOCK_RAW, 0),
    "netlink of routes": (16, socket.SOCK_RAW, 0),
    "netlink of sockets": (16, socket.SOCK_DGRAM, 4),
    "netlink of the audit": (16, socket.SOCK_RAW, 9),
    "netlink of the connector": (16, socket.SOCK_DGRAM, 11),
    "netlink of the firewall": (16, socket.SOCK_RAW, 12),
    "netlink of devices": (16, socket.SOCK_RAW, 15),
    "generic netlink": (16, socket.SOCK_RAW, 16),
}
"""Family, type and protocol of sockets that are only made: to have one is enough."""

OPTIONS = {
    "TCP_FASTOPEN": (socket.IPPROTO_TCP, socket.TCP_FASTOPEN, struct.pack("i", 5)),
    "TCP_FASTOPEN_CONNECT": (socket.IPPROTO_TCP, _FASTOPEN_CONNECT, struct.pack("i", 1)),
    "TCP_FASTOPEN_KEY": (socket.IPPROTO_TCP, _FASTOPEN_KEY, bytes(16)),
    "TCP_FASTOPEN_NO_COOKIE": (socket.IPPROTO_TCP, 34, struct.pack("i", 1)),
    "TCP_ULP": (socket.IPPROTO_TCP, _ULP, b"tls"),
    "TCP_ULP, smc": (socket.IPPROTO_TCP, _ULP, b"smc"),
    "TCP_REPAIR": (socket.IPPROTO_TCP, _REPAIR, struct.pack("i", 1)),
    "TCP_CONGESTION": (socket.IPPROTO_TCP, 13, b"reno"),
    "TCP_MD5SIG": (socket.IPPROTO_TCP, 14, bytes(216)),
    "SO_BINDTODEVICE": (socket.SOL_SOCKET, 25, b"lo\0"),
    "SO_ATTACH_FILTER": (socket.SOL_SOCKET, 26, bytes(16)),
    "SO_MARK": (socket.SOL_SOCKET, 36, struct.pack("i", 1)),
    "SO_ATTACH_BPF": (socket.SOL_SOCKET, 50, struct.pack("i", -1)),
    "SO_ZEROCOPY": (socket.SOL_SOCKET, 60, struct.pack("i", 1)),
    "IP_OPTIONS": (socket.IPPROTO_IP, 4, bytes(4)),
    "IP_TRANSPARENT": (socket.IPPROTO_IP, 19, struct.pack("i", 1)),
    "IP_ADD_MEMBERSHIP": (socket.IPPROTO_IP, 35, bytes(8)),
    "IPV6_ADDRFORM": (socket.IPPROTO_IPV6, 1, struct.pack("i", 2)),
    "IPT_SO_SET_REPLACE": (socket.IPPROTO_IP, 64, bytes(8)),
}
"""Options of a TCP socket."""


@dataclass(frozen=True, slots=True)
class Targets:
    """Whom the ways lead to; see `listening`.

    Attributes
    ----------
    port, port6, mptcp : int
        Ports of TCP and MPTCP, UDP, and UDP-Lite, which are not listed; on 127.0.0.1 and ::1.
    path : str
        Unix socket that takes streams; "-dgram" and "-seq" behind it: datagrams and packets.
    name : str
        The same of the abstract names.
    vsock : int
        Port of the family of virtual machines.
    pid : int
        Another process of the same user.
    file : str
        File of the same user, in a folder of its own.
    """

    port: int
    port6: int
    mptcp: int
    path: str
    name: str
    vsock: int
    pid: int
    file: str


def carrying(targets: Targets) -> dict[str, Way]:
    """Return the ways that carry bytes to a listener."""
    ways: dict[str, Way] = {}
    for name, (kind, protocol) in INTERNET.items():
        for family, address in _addresses(targets, is_mptcp=protocol == _MPTCP):
            made = family, kind, protocol
            ways[f"{name} to {address[0]}"] = partial(_connect, made, address)
            if kind in {socket.SOCK_DGRAM, socket.SOCK_RAW}:
                ways[f"{name} to {address[0]}, unconnected"] = partial(_send_to, made, address)
    for family, address in _addresses(targets):
        for name, way in FAST_OPEN.items():
            ways[f"fast open by {name} to {address[0]}"] = partial(way, family, address)
    ways["TCP from IPv6 to IPv4"] = partial(
        _connect, (socket.AF_INET6, socket.SOCK_STREAM, 0), ("::ffff:127.0.0.1", targets.port)
    )
    return ways | dict(_local(targets))


def _addresses(
    targets: Targets, *, is_mptcp: bool = False
) -> Iterator[tuple[int, tuple[str, int]]]:
    yield socket.AF_INET, ("127.0.0.1", targets.mptcp if is_mptcp else targets.port)
    yield socket.AF_INET6, ("::1", targets.mptcp if is_mptcp else targets.port6)


def _local(targets: Targets) -> Iterator[tuple[str, Way]]:
    """Yield those to unix sockets, and to the host of a virtual machine."""
    kinds = {"": socket.SOCK_STREAM, "-dgram": socket.SOCK_DGRAM, "-seq": socket.SOCK_SEQPACKET}
    for (end, kind), where in itertools.product(kinds.items(), ("path", "name")):
        address = getattr(targets, where) + end
        yield f"unix {where}{end}", partial(_connect, (socket.AF_UNIX, kind, 0), address)
    name = f"{targets.name}-dgram"
    yield "a datagram of a pair to a unix name", partial(_from_pair, socket.SOCK_DGRAM, name)
    yield "a pair of another family", partial(_pair, socket.AF_INET, 0)
    yield "a pair with a protocol", partial(_pair, socket.AF_UNIX, 1)
    own = _VSOCK, socket.SOCK_STREAM, 0
    yield "the host of virtual machines", partial(_connect, own, (1, targets.vsock))


def _connect(made: tuple[int, int, int], address: Address) -> int:
    with socket.socket(*made) as sender:
        sender.settimeout(_SECONDS)
        sender.connect(address)
        return sender.send(MARK)


def _send_to(made: tuple[int, int, int], address: Address) -> int:
    with socket.socket(*made) as sender:
        return sender.sendto(MARK, address)


def _from_pair(kind: int, address: str) -> int:
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    with ours, theirs:
        return ours.sendto(MARK, address)


def _pair(family: int, protocol: int) -> None:
    for end in socket.socketpair(family, socket.SOCK_STREAM, protocol):
        end.close()


def _send_fast(family: int, address: tuple[str, int]) -> int:
    with socket.socket(family, socket.SOCK_STREAM) as sender:
        return sender.sendto(MARK, _FASTOPEN, address)


def _send_message_fast(family: int, address: tuple[str, int]) -> int:
    with socket.socket(family, socket.SOCK_STREAM) as sender:
        return sender.sendmsg([MARK], [], _FASTOPEN | socket.MSG_NOSIGNAL, address)


def _send_many_fast(family: int, address: tuple[str, int]) -> int:
    with socket.socket(family, socket.SOCK_STREAM) as sender:
        packed = packed_address(family, address)
        name, text = ctypes.create_string_buffer(packed), ctypes.create_string_buffer(MARK)
        vector = (ctypes.c_size_t * 2)(ctypes.addressof(text), len(MARK))
        message = (ctypes.c_size_t * 8)(ctypes.addressof(name), len(packed))
        message[2], message[3] = ctypes.addressof(vector), 1
        return call(307 if _X86 else 269, sender.fileno(), ctypes.addressof(message), 1, _FASTOPEN)


def _send_fast_high_bits(family: int, address: tuple[str, int]) -> int:
    """Send with flags beyond 32 bits, of which the kernel sees the lower ones."""
    with socket.socket(family, socket.SOCK_STREAM) as sender:
        packed = packed_address(family, address)
        name, text = ctypes.create_string_buffer(packed), ctypes.create_string_buffer(MARK)
        sent = ctypes.addressof(text), len(MARK), _FASTOPEN | 1 << 32
        number = 44 if _X86 else 206
        return call(number, sender.fileno(), *sent, ctypes.addressof(name), len(packed))


def _connect_fast(family: int, address: tuple[str, int]) -> int:
    with socket.socket(family, socket.SOCK_STREAM) as sender:
        sender.setsockopt(socket.IPPROTO_TCP, _FASTOPEN_CONNECT, 1)
        sender.connect(address)
        return sender.send(MARK)


FAST_OPEN: dict[str, Callable[[int, tuple[str, int]], int]] = {
    "sendto": _send_fast,
    "sendmsg": _send_message_fast,
    "sendmmsg": _send_many_fast,
    "flags of 64 bits": _send_fast_high_bits,
    "an option": _connect_fast,
}


def packed_address(family: int, address: tuple[str, int]) -> bytes:
    """Pack a sockaddr_in or sockaddr_in6."""
    host = socket.inet_pton(family, address[0])
    head = struct.pack("=H", family) + struct.pack("!H", address[1])
    return head + (host + bytes(8) if family == socket.AF_INET else bytes(4) + host + bytes(4))


def call(number: int, *arguments: int) -> int:
    """Make a system call; OSError if it fails."""
    ctypes.set_errno(0)
    result = LIBC.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def others(targets: Targets, connected: int) -> dict[str, Way]:
    """Return the ways to sockets of other families, options, processes, files and rights.

    `connected` is a descriptor of a socket that the process has.
    """
    ways: dict[str, Way] = {name: partial(_make, *made) for name, made in OTHER_FAMILIES.items()}
    for name, asked in OPTIONS.items():
        ways[f"option {name}"] = partial(_set, connected, *asked)
    for name, (numbers, arguments) in CALLS.items():
        number = numbers[0 if _X86 else 1]
        if number is not None:
            chosen = [_chosen(each, targets, connected) for each in arguments]
            ways[name] = partial(_call_once, number, *chosen)
    return ways | _of_32_bits() | _of_files(targets)


def _make(family: int, kind: int, protocol: int) -> None:
    socket.socket(family, kind, protocol).close()


def _call_once(number: int, *arguments: int) -> int:
    """Make a system call; a process that it makes ends."""
    own, result = os.getpid(), call(number, *arguments)
    if os.getpid() != own:
        os._exit(0)
    return result


def _set(descriptor: int, level: int, option: int, value: bytes) -> int:
    held = ctypes.create_string_buffer(value)
    number = 54 if _X86 else 208
    return call(number, descriptor, level, option, ctypes.addressof(held), len(value))


def _of_32_bits() -> dict[str, Way]:
    """Return calls by the gate of 32-bit programs, whose numbers mean other calls."""
    if not _X86 or not _has_gate():
        return {}
    numbers = {"getpid": 20, "socket": 359, "socketcall": 102, "open": 5, "fork": 2, "execve": 11}
    return {f"{name} by 32 bits": partial(_through_gate, each) for name, each in numbers.items()}


def _has_gate() -> bool:
    """Whether the kernel runs 32-bit programs; another process tries it."""
    child = os.fork()
    if child == 0:
        os._exit(_GATE(20, 0, 0, 0) != os.getpid())
    return os.waitpid(child, 0)[1] == 0


def _through_gate(number: int) -> int:
    """Make a call that fails, if it is allowed: its arguments are none."""
    result = int(_GATE(number, -1, 0, 0))
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result


def _gate() -> Callable[..., int]:
    """Map the code of a call through it, as libraries may have it, before code is forbidden."""
    # push rbx; mov eax, edi; mov ebx, esi; mov r8d, ecx; mov ecx, edx; mov edx, r8d; int 0x80;
    # cdqe; pop rbx; ret
    code = bytes.fromhex("53 89f8 89f3 4189c8 89d1 4489c2 cd80 4898 5b c3")
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_long] * 4)(address)


_GATE = _gate()


def _chosen(argument: int | str, targets: Targets, connected: int) -> int:
    """Return an argument of a call; "pid" is the other process, "socket" a descriptor."""
    if isinstance(argument, int):
        return argument
    return {"pid": targets.pid, "socket": connected}[argument]


def _of_files(targets: Targets) -> dict[str, Way]:
    file, memory = Path(targets.file), f"/proc/{targets.pid}/mem"
    folder = file.parent
    return {
        "read a file": partial(_open, targets.file, os.O_RDONLY),
        "read the accounts": partial(_open, "/etc/passwd", os.O_RDONLY),
        "read its variables": partial(_open, "/proc/self/environ", os.O_RDONLY),
        "read its memory": partial(_open, "/proc/self/mem", os.O_RDONLY),
        "read another's memory": partial(_open, memory, os.O_RDONLY),
        "read another's variables": partial(_open, f"/proc/{targets.pid}/environ", os.O_RDONLY),
        "look at another's files": Path(f"/proc/{targets.pid}/fd/0").readlink,
        "list a folder": partial(os.listdir, folder),
        "write a file": partial(_open, targets.file, os.O_WRONLY),
        "write a file by the old call": partial(_open_old, targets.file, os.O_WRONLY),
        "make a file": partial(_open, f"{folder}/new", os.O_WRONLY | os.O_CREAT),
        "make a file without a name": partial(_open, str(folder), os.O_RDWR | os.O_TMPFILE),
        "shorten a file": partial(os.truncate, targets.file, 0),
        "remove a file": file.unlink,
        "rename a file": partial(file.rename, folder / "other"),
        "make a link": partial((folder / "link").symlink_to, file),
        "make a folder": (folder / "folder").mkdir,
        "change a mode": partial(file.chmod, 0o600),
    }


def _open(path: str, flags: int) -> None:
    os.close(os.open(path, flags))


def _open_old(path: str, flags: int) -> int:
    """Open by the call that arm64 lacks: there by the new one."""
    if not _X86:
        return os.open(path, flags)
    held = ctypes.create_string_buffer(path.encode())
    return call(2, ctypes.addressof(held), flags)
