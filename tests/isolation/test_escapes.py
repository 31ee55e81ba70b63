"""Ways out of confined processes of each kind: all refused, and nobody behind them hears a byte."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from escapes import resolving, rules, ways
from escapes.attempts import outcome
from escapes.listening import Listeners, listening
from onnxplain_server.adapters.network_processes.network_process import WITHOUT_THREADS

NOBODY = 65534
LIBC = ctypes.CDLL(None)
LANDLOCK, LANDLOCK_OF_TCP = 444, 4
KINDS = ("worker", "fetch", "call", "cluster")
SETS = {f"Cap{name}": 0 for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")}
CARRIED = {
    *(f"{name} {host}" for name in ("TCP", "UDP") for host in ("127.0.0.1", "::1")),
    *(f"unix {name}{end}" for name in ("name", "path") for end in ("", "-dgram", "-seq")),
}
"""What listeners hear where nothing is confined."""


@pytest.fixture
def listeners() -> Iterator[Listeners]:
    """Listeners, and another process and a file of the same user, in a folder for all users."""
    with (
        TemporaryDirectory(prefix="escapes-") as name,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other,
    ):
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "own").mkdir(mode=0o777)
        (folder / "own").chmod(0o777)
        (folder / "own" / "file").write_text("a secret")
        (folder / "own" / "file").chmod(0o666)
        with listening(folder, other.pid) as made:
            yield made
        other.kill()


def may_have_users_of_its_own(user: int) -> bool:
    """Return whether the system lets a user make a name space of users."""
    asked = "import ctypes, os, sys; libc = ctypes.CDLL(None); os.setuid(int(sys.argv[1]))"
    command = [sys.executable, "-c", f"{asked}; sys.exit(-libc.unshare(0x10000000))", str(user)]
    return subprocess.run(command, check=False).returncode == 0


def tried(kind: str, user: int, listeners: Listeners, listed: int) -> dict[str, Any]:
    """Start a process of a kind; return its report."""
    folder = Path(listeners.targets.path).parent
    prefix = f"127.0.0.1:{listed}/"
    (folder / "sources.toml").write_text(f'[[source]]\nprefix = "https://{prefix}"\n')
    (folder / "remotes.toml").write_text(f'[[remote_model]]\nprefix = "http://{prefix}"\n')
    given = json.dumps(dataclasses.asdict(listeners.targets) | {"listed": listed})
    return dict(json.loads(run("escapes.attempts", listeners, kind, str(user), given, str(folder))))


def run(module: str, listeners: Listeners, *arguments: str) -> bytes:
    """Run a program of these tests, as a process that has the network is started."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env={
            **WITHOUT_THREADS,
            "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
            "ESCAPE_NAME": Path(listeners.targets.path).parent.name,
        },
        stdout=subprocess.PIPE,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("user", [0, NOBODY])
@pytest.mark.parametrize("kind", KINDS)
def test_no_way_leads_out(kind: str, user: int, listeners: Listeners) -> None:
    if user and os.getuid():
        pytest.skip("only root can become another user")
    with socket.create_server(("127.0.0.1", 0)) as listed:
        report = tried(kind, user, listeners, listed.getsockname()[1])
    if LIBC.syscall(LANDLOCK, None, ctypes.c_size_t(0), 1) < LANDLOCK_OF_TCP:
        pytest.skip("this kernel lacks landlock")

    open_ways = {name: word for name, word in report["outcomes"].items() if word != "refused"}

    assert report["missing"] == []
    assert open_ways == {}
    mark = f"a byte that got out of {Path(listeners.targets.path).parent.name}".encode()
    assert listeners.heard(mark) == set()
    assert len(report["outcomes"]) > 200
    sets = report["capabilities"]
    if user and not may_have_users_of_its_own(user):  # as in a chroot, or by Docker's profile
        sets = {**sets, "CapBnd": 0}
    assert sets == SETS
    assert report["listed"] == ("refused" if kind == "worker" else "passed")


def test_without_a_rule_bytes_would_get_out(listeners: Listeners) -> None:
    """The listeners hear what is not confined, so that their silence tells something."""
    passed = {
        name for name, way in ways.carrying(listeners.targets).items() if outcome(way) == "passed"
    }

    heard = listeners.heard(ways.MARK)

    assert heard >= CARRIED & set(listeners.sockets)
    assert all(f"fast open by {name} to 127.0.0.1" in passed for name in ways.FAST_OPEN)


def test_each_rule_closes_a_way(listeners: Listeners) -> None:
    """Each check of an argument, taken away, leaves a way open that all of them close."""
    given = json.dumps(dataclasses.asdict(listeners.targets))

    found = json.loads(run("escapes.rules", listeners, given))

    without_landlock = set(found.pop(rules.NONE))
    assert without_landlock >= {"TCP to 127.0.0.1", "TCP to ::1", "read a file", "list a folder"}
    assert len(found) > 15
    assert [rule for rule, open_ in found.items() if not set(open_) - without_landlock] == []


def test_names_are_asked_for_by_tcp(listeners: Listeners) -> None:
    """A process that has the network has no UDP, no netlink and no unix sockets to find them."""
    found = json.loads(run("escapes.resolving", listeners))
    if found is None:
        pytest.skip("no name space for a name server of its own")
    missing, addresses = found
    if missing:
        pytest.skip(f"this kernel lacks {' and '.join(missing)}")

    assert addresses == [resolving.ADDRESS]
