"""Takes from this process what macOS or Windows lack.

Foreign libraries are imported before, since their builds for those systems do without.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import select
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path, PureWindowsPath
from types import ModuleType, SimpleNamespace
from typing import Any

_FOLDERS_OF_LINUX = ("/proc/", "/sys/", "/dev/shm")  # noqa: S108 - a name

_LACKED_BY_BOTH: Mapping[ModuleType, str] = {
    os: "sched_ memfd_create MFD_ pidfd_open eventfd EFD_ O_PATH O_TMPFILE posix_fadvise "
    "posix_fallocate copy_file_range splice setns unshare getrandom getresuid getresgid",
    signal: "pidfd_send_signal sigtimedwait sigwaitinfo SIGRT",
    socket: "SOCK_CLOEXEC SOCK_NONBLOCK AF_NETLINK AF_VSOCK SO_PEERCRED",
    mmap: "MADV_REMOVE MADV_DONTFORK MAP_POPULATE",
    time: "pthread_getcpuclockid CLOCK_BOOTTIME CLOCK_TAI",
}
"""Beginnings of names."""

_LACKED_BY_WINDOWS: Mapping[ModuleType, str] = {
    os: "fork register_at_fork sysconf confstr getuid geteuid getgid getegid getgroups setuid "
    "setgid chown fchown lchown chroot mkfifo mknod pread pwrite readv writev uname nice "
    "getpriority setpriority PRIO_ killpg setsid setpgid getsid getpgid getpgrp wait3 wait4 waitid "
    "WNOHANG WIF statvfs fstatvfs openpty O_CLOEXEC O_NOFOLLOW O_NONBLOCK O_DIRECTORY O_NOCTTY "
    "O_SYNC getloadavg sendfile fchdir fchmod pathconf fpathconf lockf posix_spawn ctermid "
    "fdatasync",
    signal: "SIGKILL SIGHUP SIGUSR SIGPIPE SIGALRM SIGCHLD SIGQUIT SIGSTOP SIGCONT SIGTSTP SIGBUS "
    "SIGXCPU SIGXFSZ SIGWINCH alarm pause setitimer pthread_ sigwait sigpending siginterrupt",
    socket: "AF_UNIX send_fds recv_fds SCM_ CMSG_ SO_REUSEPORT MSG_DONTWAIT MSG_NOSIGNAL",
    mmap: "MADV_ PROT_ MAP_",
    time: "clock_ CLOCK_ tzset",
}

_MODULES_OF_POSIX = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog")
_RESERVED_NAMES = {"CON", "PRN", "AUX", "NUL", "COM1", "LPT1"}
_FORBIDDEN_CHARACTERS = set('<>:"|?*')


def take_away(system: str) -> None:
    """Leave to this process what `system` has: "darwin" or "win32"."""
    warnings.filterwarnings("error", category=EncodingWarning, module="onnxplain")
    _have_select_alone()
    _hide("psutil")  # its build for Linux reads /proc
    maps = os.open("/proc/self/maps", os.O_RDONLY)
    _refuse(os, "stat", _of_linux)
    sys.addaudithook(_refuse_opening)
    _lose(_LACKED_BY_BOTH)
    if system == "win32":
        _lose(_LACKED_BY_WINDOWS)
        _be_windows(maps)
    sys.platform = system


def _lose(names: Mapping[ModuleType, str]) -> None:
    for module, beginnings in names.items():
        for name in [each for each in vars(module) if each.startswith(tuple(beginnings.split()))]:
            delattr(module, name)


def _hide(*modules: str) -> None:
    """Let imports of modules fail from here on."""
    for module in modules:
        sys.modules[module] = None  # type: ignore[assignment] # what Python takes for missing


def _have_select_alone() -> None:
    """Let the standard library do what it does where epoll, poll and O_TMPFILE are missing."""
    vars(selectors)["DefaultSelector"] = selectors.SelectSelector
    tempfile._O_TMPFILE_WORKS = False  # type: ignore[attr-defined]
    subprocess._PopenSelector = selectors.SelectSelector  # type: ignore[attr-defined]


def _refuse(module: ModuleType, name: str, check: Callable[[str], None]) -> None:
    """Let a function call `check` with its first argument before."""
    function = getattr(module, name)

    def checked(path: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(path, str | os.PathLike):
            check(os.fspath(path))
        return function(path, *arguments, **named)

    setattr(module, name, checked)


def _of_linux(path: str | bytes) -> None:
    if isinstance(path, str) and path.startswith(_FOLDERS_OF_LINUX):
        raise FileNotFoundError(2, "No such file or directory", path)


def _refuse_opening(event: str, arguments: tuple[Any, ...]) -> None:
    if event in {"open", "os.listdir", "os.scandir"} and isinstance(arguments[0], str):
        _of_linux(arguments[0])
        if sys.platform == "win32" and event == "open":
            _as_windows_names(arguments[0])


def _as_windows_names(path: str) -> None:
    name = Path(path).name
    if PureWindowsPath(name).stem.upper() in _RESERVED_NAMES or _FORBIDDEN_CHARACTERS & set(name):
        raise OSError(22, "Invalid argument", path)


def _be_windows(maps: int) -> None:
    shutil._USE_CP_SENDFILE = False  # type: ignore[attr-defined]
    _hide(*_MODULES_OF_POSIX)
    for name in [each for each in vars(select) if "poll" in each.lower()]:
        delattr(select, name)
    load = ctypes.CDLL.__init__

    def load_named(self: ctypes.CDLL, name: Any, *arguments: Any, **named: Any) -> None:
        if name is None:
            raise TypeError("bad argument type for built-in operation")
        load(self, name, *arguments, **named)

    ctypes.CDLL.__init__ = load_named  # type: ignore[method-assign]
    kernel = SimpleNamespace(GlobalMemoryStatusEx=_memory_status)
    vars(ctypes)["windll"] = SimpleNamespace(kernel32=kernel)
    tempfile.NamedTemporaryFile = _named_file  # type: ignore[assignment]
    socket.socketpair = _connected  # type: ignore[assignment]
    _keep_files_in_use(maps)


def _keep_files_in_use(maps: int) -> None:
    """Refuse to remove or to replace a file that this process has open or mapped."""
    readlink, unlink = os.readlink, os.unlink

    def temporary_file(*_arguments: Any, dir: str | None = None, **_named: Any) -> Any:  # noqa: A002
        number, path = tempfile.mkstemp(dir=dir)
        unlink(path)
        return os.fdopen(number, "w+b")

    tempfile.TemporaryFile = temporary_file  # type: ignore[assignment]

    def check(path: str) -> None:
        mapped = _content(maps)
        opened = [readlink(f"/dev/fd/{number}") for number in _open_numbers()]
        if os.path.realpath(path) in opened or f" {os.path.realpath(path)}\n" in mapped:
            raise PermissionError(13, "The process cannot access the file", path)

    for name in ("unlink", "remove", "rename", "replace"):
        _refuse(os, name, check)


def _content(file: int) -> str:
    os.lseek(file, 0, os.SEEK_SET)
    parts = iter(lambda: os.read(file, 2**20), b"")
    return b"".join(parts).decode()


def _open_numbers() -> list[int]:
    numbers = []
    for number in range(3, 1_024):
        with contextlib.suppress(OSError):
            os.fstat(number)
            numbers.append(number)
    return numbers


def _memory_status(status: Any) -> int:
    """Fill MEMORYSTATUSEX: its length, then its load, then the memory of the machine."""
    content = (ctypes.c_uint32 * 16).from_address(ctypes.addressof(status._obj))
    (ctypes.c_uint64 * 8).from_address(ctypes.addressof(status._obj))[1] = 2**33
    return int(content[0] == 64)


def _named_file(*_arguments: Any, **_named: Any) -> None:
    raise AssertionError("a temporary file that is open cannot be opened again by its name")


def _connected() -> tuple[socket.socket, socket.socket]:
    """Connect two sockets of TCP, as the standard library does without those of one machine."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        one = socket.create_connection(listening.getsockname())
        other, _ = listening.accept()
    return one, other
