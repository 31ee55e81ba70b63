"""Systems: differences of Linux, macOS and Windows have one place; files are of one encoding."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "service/onnxplain_server"
SYSTEMS = SERVER / "core/systems"
CODE = sorted([*SERVER.rglob("*.py"), *(ROOT / "clients/python/onnxplain").rglob("*.py")])
HEAD = 'if sys.platform != "linux":\n    raise ImportError("of Linux alone")\n'
"""Of a module that only Linux can run."""

OF_LINUX = (
    *("adapters/cluster/confined_tasks", "adapters/network_processes/confined_process"),
    *("adapters/network_processes/network_process", "adapters/sandbox/calls"),
    *("adapters/sandbox/capabilities", "adapters/sandbox/confine"),
    *("adapters/sandbox/landlock", "adapters/sandbox/seccomp"),
    *("adapters/workers/ipc/arena", "adapters/workers/ipc/channel"),
    *("adapters/workers/pool", "adapters/workers/priority"),
    *("adapters/workers/process_status", "adapters/workers/worker_client"),
    *("adapters/workers/worker_process", "adapters/workers/zygote"),
    "adapters/workers/zygote_process",
)
"""Modules that only Linux can run: processes that are confined, and those who talk with them."""

ASKED = ("sys.platform", "os.name ", "platform.system", "sched_getaffinity", "os.sysconf(")
TEXT = {"read_text", "write_text"}


def test_modules_of_linux_are_these() -> None:
    found = [path for path in CODE if HEAD in path.read_text(encoding="utf-8")]

    assert [str(path.relative_to(SERVER).with_suffix("")) for path in found] == [*OF_LINUX]


def test_the_system_is_asked_for_in_one_room() -> None:
    asking = [
        str(path.relative_to(ROOT))
        for path in CODE
        if SYSTEMS not in path.parents
        and HEAD not in (code := path.read_text(encoding="utf-8"))
        and any(word in code for word in ASKED)
    ]

    assert asking == []


def calls(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield node


def test_text_is_read_and_written_by_a_named_encoding() -> None:
    nameless = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in CODE
        for call in calls(path)
        if isinstance(call.func, ast.Attribute)
        and (call.func.attr in TEXT or any(word.arg == "text" for word in call.keywords))
        and all(word.arg != "encoding" for word in call.keywords)
    ]

    assert nameless == []
