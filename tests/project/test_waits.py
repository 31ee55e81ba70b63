"""Waits of the serving process: each takes a request's clock, or is known with a reason.

A call that blocks elsewhere would hold a request beyond its deadline.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SERVICE = Path(__file__).parents[2] / "service"
SERVER = SERVICE / "onnxplain_server"
KNOWN = Path(__file__).parent / "waits.toml"

ENTRY = "onnxplain_server.__main__"
STARTING = {"_serve", "_isolated", "_stores", "_cache", "_blobs"}
"""Functions of the entry that build a server: what they import, at any depth, may run in it."""

BLOCKING = {
    *("wait", "wait_for", "wait_ready", "result", "acquire", "sleep", "pause"),
    *("poll", "select", "waitpid", "wait3", "wait4", "sigwait", "flock", "lockf", "as_completed"),
    *("recv", "recv_into", "recvfrom", "recv_fds", "recvmsg", "accept", "connect", "sendall"),
    *("send_fds", "sendmsg", "getaddrinfo", "gethostbyname", "create_connection", "urlopen"),
    *("check_output", "check_call", "communicate", "Popen", "input", "readline"),
}
"""Names of methods and functions that may block, however they are called."""

Call = tuple[str, ast.Call]


def blocks(call: ast.Call) -> bool:
    """Whether a call may block, by its name and the shape of its arguments."""
    name, given = _name(call)
    words = {keyword.arg for keyword in call.keywords}
    return {
        # of a thread, rather than of texts or paths
        "join": "thread" in given or not call.args,
        # of a queue, rather than of a mapping
        "get": bool(words & {"timeout", "block"}) or not (call.args or call.keywords),
        # of an executor, rather than of a socket or of logging
        "shutdown": not call.args and words <= {"wait", "cancel_futures"} and given != "logging",
        "run": given == "subprocess",
        "exception": given != "LOG",
    }.get(name, name in BLOCKING)


def _name(call: ast.Call) -> tuple[str, str]:
    """Name of what is called, and what it is taken from."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr, ast.unparse(call.func.value)
    return (call.func.id, "") if isinstance(call.func, ast.Name) else ("", "")


def calls(node: ast.AST, function: str = "module") -> Iterator[Call]:
    """Calls below a node, each with the innermost function around it that has a name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield function, child
        inner = function
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = child.name
        yield from calls(child, inner)


def waits(tree: ast.AST) -> set[str]:
    """Names of the calls that may block: function and method; "()" is told of no arguments."""
    return {
        f"{function} {_name(call)[0]}" + "()" * (not (call.args or call.keywords))
        for function, call in calls(tree)
        if blocks(call)
    }


def module_of(path: Path) -> str:
    parts = path.relative_to(SERVICE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, ast.Module]:
    """All of the server's, by name."""
    return {
        module_of(path): ast.parse(path.read_text(encoding="utf-8"))
        for path in SERVER.rglob("*.py")
    }


def imported(tree: ast.AST) -> Iterator[str]:
    """Names that are imported below a node, also in its functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def serving() -> set[str]:
    """Modules that the serving process may import."""
    functions = [
        node
        for node in modules()[ENTRY].body
        if isinstance(node, ast.FunctionDef) and node.name in STARTING
    ]
    assert {function.name for function in functions} == STARTING
    found, left = set[str](), [name for function in functions for name in imported(function)]
    while left:
        name = left.pop()
        if name in modules() and name not in found:
            found.add(name)
            left += imported(modules()[name])
    return found


def place(module: str) -> str:
    return f"{module.partition('.')[2].replace('.', '/')}.py"


def test_each_wait_is_known() -> None:
    """Who adds one gives it the clock of the request, and says in waits.toml how."""
    groups = tomllib.loads(KNOWN.read_text(encoding="utf-8"))["waits"]
    known = [wait for group in groups for wait in group["calls"]]
    found = {f"{place(name)} {wait}" for name in serving() for wait in waits(modules()[name])}

    assert len(known) == len(set(known))
    assert all(group["reason"] for group in groups)
    assert {"unknown": sorted(found - {*known}), "gone": sorted({*known} - found)} == {
        "unknown": [],
        "gone": [],
    }


def test_what_requests_wait_for_has_a_limit_of_time() -> None:
    """A call without any argument has none; only those with another reason may be such."""
    groups = tomllib.loads(KNOWN.read_text(encoding="utf-8"))["waits"]

    assert [
        wait for group in groups if group.get("timed") for wait in group["calls"] if "()" in wait
    ] == []


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("def f():\n    sleep(1)", "f sleep"),
        ("def f():\n    time.sleep(1)", "f sleep"),
        ("def f():\n    event.wait()", "f wait()"),
        ("async def f():\n    lock.acquire()", "f acquire()"),
        (
            "def f():\n    with pool.submit(g) as future:\n        return future.result()",
            "f result()",
        ),
        ("def f():\n    return queue.get()", "f get()"),
        ("def f():\n    return queue.get(timeout=5)", "f get"),
        ("def f():\n    thread.join()", "f join()"),
        ("def f():\n    executor.shutdown()", "f shutdown()"),
        ("def f():\n    subprocess.run(command)", "f run"),
        ("def f():\n    subprocess.Popen(command)", "f Popen"),
        ("def f():\n    select.select([a], [], [])", "f select"),
        ("def f():\n    return lambda: end.recv(1)", "f recv"),
        ("class A:\n    def f(self):\n        def g():\n            wait(futures)", "g wait"),
        ("end.accept()", "module accept()"),
    ],
)
def test_a_planted_wait_is_found(planted: str, found: str) -> None:
    assert found in waits(ast.parse(planted))


def test_what_does_not_wait_is_not_found() -> None:
    source = "', '.join(names); mapping.get(name); end.shutdown(SHUT_WR); LOG.exception('failed')"

    assert waits(ast.parse(source)) == set()


def test_all_rooms_of_the_serving_process_are_looked_through() -> None:
    """Also those that no list names: a new module is one that a known one imports."""
    rooms = {name.partition(".")[2].rpartition(".")[0] for name in serving()}

    assert rooms >= {
        *("transport", "transport.grpc", "transport.rest", "transport.operations"),
        *("transport.rest.connections", "adapters.storage", "adapters.access"),
        *(
            "adapters.workers",
            "adapters.workers.ipc",
            "adapters.network_processes",
            "adapters.sources",
        ),
        *("adapters.cluster.server", "adapters.remote_server", "telemetry", "core.systems"),
    }
