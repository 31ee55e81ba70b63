"""Confinement of processes that have the network: listed ports and files, and nothing else."""

from __future__ import annotations

import ast
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PROGRAM = f"""
import sys
sys.path[:0] = {[entry for entry in sys.path if entry]!r}
import ctypes, mmap, os, signal, socket, subprocess, threading
from pathlib import Path
from onnxplain_server.adapters.network_processes import confined_process
def what(function):
    try:
        return repr(function())
    except BaseException as error:
        return type(error).__name__
folder, listed, other = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
missing = confined_process.confine_to_network(2**29, 4, {{listed}}, [folder / "listed"])
found = {{name: what(lambda: eval(code, globals())) for name, code in ast_literal.items()}}
os.write(1, repr((missing, found)).encode())
os._exit(0)
"""
REFUSED = {
    "read a file": "open('/etc/passwd').read()",
    "read a file beside": "open(folder / 'other').read()",
    "read its memory": "open('/proc/self/mem', 'rb').read(1)",
    "write a file": "open(folder / 'listed' / 'new', 'w')",
    "connect to another port": "socket.create_connection(('127.0.0.1', other), 5)",
    "listen": "socket.create_server(('127.0.0.1', 0))",
    "start a program": "subprocess.run(['/bin/true'])",
    "fork": "os.fork()",
    "signal its parent": "os.kill(os.getppid(), 0)",
    "map code": "mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)",
    "change its user": "os.setuid(12345)",
    "take 4 GiB": "len(bytearray(2**32))",
}
ALLOWED = {
    "connect to a listed port": "socket.create_connection(('127.0.0.1', listed), 60).close()",
    "resolve a name": "len(socket.getaddrinfo('localhost', 80)) > 0",
    "read a listed file": "(folder / 'listed' / 'token').read_text()",
    "start a thread": "(t := threading.Thread(target=int)).start(), t.join(), 'done'",
}


@pytest.fixture
def ports() -> Iterator[tuple[int, int]]:
    """Two ports that somebody listens on."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listed,
        socket.create_server(("127.0.0.1", 0)) as other,
    ):
        yield listed.getsockname()[1], other.getsockname()[1]


@pytest.fixture
def outcomes(tmp_path: Path, ports: tuple[int, int]) -> Callable[..., dict[str, str]]:
    """Try everything in a confined process; skip where the kernel lacks a protection."""
    (tmp_path / "listed").mkdir()
    (tmp_path / "listed" / "token").write_text("secret")
    (tmp_path / "other").write_text("other")

    def run(attempts: dict[str, str]) -> dict[str, str]:
        done = subprocess.run(
            [
                *(sys.executable, "-c", PROGRAM.replace("ast_literal", repr(attempts))),
                *(str(tmp_path), *map(str, ports)),
            ],
            capture_output=True,
            check=True,
            cwd=tmp_path,
        )
        missing, found = ast.literal_eval(done.stdout.decode())
        if missing:
            pytest.skip(f"this kernel lacks {' and '.join(missing)}")
        return dict(found)

    return run


def test_what_is_not_listed_is_refused(outcomes: Callable[..., dict[str, str]]) -> None:
    actual = outcomes(REFUSED)

    assert {name: word for name, word in actual.items() if not word.endswith("Error")} == {}
    assert "ConnectionRefusedError" not in actual.values()
    assert "FileNotFoundError" not in actual.values()


def test_what_is_listed_is_allowed(outcomes: Callable[..., dict[str, str]]) -> None:
    actual = outcomes(ALLOWED)

    assert {name: word for name, word in actual.items() if word.endswith("Error")} == {}
    assert actual["read a listed file"] == "'secret'"
