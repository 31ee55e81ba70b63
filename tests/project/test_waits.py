"""Waits of the serving process: each takes a request's clock, or is known with a reason.

A call that blocks elsewhere would hold a request beyond its deadline.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

SERVER = Path(__file__).parents[2] / "service/onnxplain_server"
KNOWN = Path(__file__).parent / "waits.toml"

# What `serve` runs in its own process; others are killed with their request.
SERVING = [
    *SERVER.glob("*.py"),
    *(SERVER / "transport").rglob("*.py"),
    *(SERVER / "adapters/storage").rglob("*.py"),
    *(SERVER / "adapters/access").rglob("*.py"),
    *(SERVER / "adapters/workers").glob("*.py"),
    *(SERVER / "adapters/workers/ipc").glob("*.py"),
    *(SERVER / "adapters/listed").glob("*.py"),
    SERVER / "adapters/cluster/server/cluster_sessions.py",
    SERVER / "adapters/remote_server/remote_calls.py",
    *(SERVER / "adapters/sources").glob("*.py"),
]
OTHERS = {
    *("adapters/listed/confined_process.py", "adapters/sources/objects.py"),
    *("adapters/workers/zygote.py", "local_operations.py"),
}
"""Files in these rooms that run in other processes."""

BLOCKING = {
    *("wait", "wait_for", "result", "acquire", "sleep", "poll", "select", "waitpid"),
    *("recv", "recv_into", "recv_fds", "recvmsg", "accept", "connect", "sendall", "send_fds"),
    *("getaddrinfo", "create_connection", "urlopen", "check_output", "communicate", "flock"),
}
"""Names of methods and functions; `join` is one where it has no argument that is joined."""


def waits(path: Path) -> Iterator[str]:
    """Names of the calls of a file that may block: file, function and method."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for call in ast.walk(function):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                continue
            name, given = call.func.attr, ast.unparse(call.func.value)
            joins_thread = name == "join" and ("thread" in given or not call.args)
            if name in BLOCKING or joins_thread:
                yield f"{path.relative_to(SERVER)} {function.name} {name}"


def test_each_wait_is_known() -> None:
    """Who adds one gives it the clock of the request, and says in waits.toml how."""
    groups = tomllib.loads(KNOWN.read_text(encoding="utf-8"))["waits"]
    known = [wait for group in groups for wait in group["calls"]]
    serving = [path for path in SERVING if str(path.relative_to(SERVER)) not in OTHERS]
    found = {wait for path in serving for wait in waits(path)}

    assert len(known) == len(set(known))
    assert all(group["reason"] for group in groups)
    assert {"unknown": sorted(found - {*known}), "gone": sorted({*known} - found)} == {
        "unknown": [],
        "gone": [],
    }
