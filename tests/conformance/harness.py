"""Cases, a server to ask, runners that ask it, and what their answers are compared by."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rfc8785

HERE = Path(__file__).parent
ROOT = HERE.parent
CASES: Mapping[str, Any] = {
    path.stem: json.loads(path.read_text()) for path in sorted((HERE / "cases").glob("*.json"))
}


@dataclass(frozen=True)
class Runner:
    """A program that asks cases, and what its surface does not have."""

    name: str
    command: Sequence[str]
    lacks: frozenset[str] = frozenset()


PYTHON = Runner("Python", (sys.executable, str(HERE / "runners" / "python.py")))
CURL = Runner(
    "curl", (sys.executable, str(HERE / "runners" / "rest.py")), frozenset({"error-cancelled"})
)
COMMAND_LINE = Runner(
    "command line",
    (sys.executable, str(HERE / "runners" / "command_line.py")),
    frozenset(
        {
            "codes",
            "compare",
            "error-blob-not-found",
            "error-cancelled",
            "error-describe-table-no-column",
            "error-external-data",
            "error-predict-no-such-row",
            "stream",
            "two-files-uploaded",
            "upload",
        }
    ),
)

SETTINGS = {"cache_bytes": 0, "max_planned_rows": 1e8}
"""Without a cache, so that an answer does not tell what was asked before it."""

PACED = frozenset({"stream", "large", "large-by-itself"})
"""Here the model predicts, in batches as large as their time allows; sums change with that in
their last digit, from call to call."""

# Whoever ends a call first, caller or server, tells it in its own words.
_ENDED = {"DEADLINE_EXCEEDED", "CANCELLED"}

_PORTS = re.compile(r"metrics.*?:(\d+).*REST.*?:(\d+).*gRPC.*?:(\d+)")


@dataclass(frozen=True)
class Server:
    """A running server."""

    metrics_port: int
    rest_port: int
    grpc_port: int
    process_id: int = 0

    @property
    def environment(self) -> dict[str, str]:
        """What runners are told."""
        return {
            "ONNXPLAIN_ENDPOINT": f"127.0.0.1:{self.grpc_port}",
            "ONNXPLAIN_URL": f"http://127.0.0.1:{self.rest_port}",
        }


@contextmanager
def serving(**settings: object) -> Iterator[Server]:
    """Run a server with these settings besides `SETTINGS`, on free ports."""
    ports = {"rest_port": 0, "grpc_port": 0, "metrics_port": 0}
    given = {**ports, **SETTINGS, **settings}
    variables = {f"ONNXPLAIN_{name.upper()}": str(value) for name, value in given.items()}
    with subprocess.Popen(
        [sys.executable, "-m", "onnxplain_server", "serve"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | variables,
    ) as process:
        assert process.stderr is not None
        found = next(filter(None, map(_PORTS.search, process.stderr)), None)
        assert found is not None, "the server did not start"
        # Read to the end, or a server that logs much would wait for us.
        reader = threading.Thread(target=process.stderr.read)
        reader.start()
        try:
            metrics_port, rest_port, grpc_port = map(int, found.groups())
            yield Server(metrics_port, rest_port, grpc_port, process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            reader.join()


def ask(
    runner: Runner, server: Server, folder: Path, names: Sequence[str], root: Path = ROOT
) -> dict[str, Any]:
    """Let a runner ask these cases; what it wrote for each."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [*runner.command, str(root), str(folder), *names],
        env=os.environ | server.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: json.loads((folder / f"{name}.json").read_text()) for name in names}


def kept(found: Mapping[str, Any], case: Mapping[str, Any]) -> dict[str, Any]:
    """Take out what differs from server to server, and how a client writes its request."""
    plain: dict[str, Any] = deepcopy(dict(found))
    receipt = plain.get("response", {}).get("receipt", {})
    for name in ("elapsed", "serverVersion", "libraryVersions", "processor", "request"):
        receipt.pop(name, None)
    if "columns" in case:
        # Identity of the table as it is sent, which each client does in its own way.
        receipt.pop("tableDigest", None)
    plain.pop("progress", None)
    error = plain.get("error", {})
    if error.get("reason") in _ENDED:
        plain["error"] = {"reason": error["reason"]}
    return plain


def same_bytes(found: Mapping[str, Any], case: Mapping[str, Any]) -> bytes:
    """Write an answer that all clients must get alike, in the one form of RFC 8785."""
    plain = kept(found, case)
    receipt = found.get("response", {}).get("receipt", {})
    plain["versions"] = [receipt.get("serverVersion"), receipt.get("libraryVersions")]
    return bytes(rfc8785.dumps(plain))


def disagreement(
    name: str, case: Mapping[str, Any], found: Mapping[str, Any], other: Mapping[str, Any]
) -> str | None:
    """Tell where the answers of two surfaces to one case differ; None where they do not."""
    if name in PACED:
        return difference(kept(found, case), kept(other, case))
    same = same_bytes(found, case) == same_bytes(other, case)
    return None if same else f"other bytes; {difference(kept(found, case), kept(other, case))}"


def fault(found: Mapping[str, Any], case: Mapping[str, Any]) -> str | None:
    """Tell what is wrong with a runner's answer; None where it is as expected."""
    expected = case["expected"]
    if "error" in expected and "error" in found:
        return _error_fault(kept(found, case)["error"], expected["error"])
    return difference(kept(found, case), expected)


def _error_fault(found: Mapping[str, Any], expected: Mapping[str, Any]) -> str | None:
    """HTTP has codes of its own, and the command line one text for message and field."""
    texts = {expected.get("message"), f"{expected.get('field')}: {expected.get('message')}"}
    if found["reason"] != expected["reason"]:
        return f"{found['reason']} instead of {expected['reason']}"
    if found.get("message") not in texts:
        return f"{found.get('message')!r} instead of {expected.get('message')!r}"
    return next(
        (
            f"{name}: {found[name]!r} instead of {expected[name]!r}"
            for name in ("field", "code")
            if name in found and found[name] != expected[name]
        ),
        None,
    )


def difference(found: Any, expected: Any, place: str = "") -> str | None:
    """Tell the first place where an answer is not as expected; None where there is none."""
    if isinstance(expected, dict) and isinstance(found, dict):
        if found.keys() != expected.keys():
            return f"{place}: {sorted(found)} instead of {sorted(expected)}"
        pairs = [(f"{place}.{name}", found[name], expected[name]) for name in expected]
    elif isinstance(expected, list) and isinstance(found, list):
        if len(found) != len(expected):
            return f"{place}: {len(found)} items instead of {len(expected)}"
        pairs = [
            (f"{place}[{i}]", *both) for i, both in enumerate(zip(found, expected, strict=True))
        ]
    elif place.endswith(".vegaLite"):
        return difference(json.loads(found), json.loads(expected), f"{place}()")
    else:
        return None if _alike(found, expected) else f"{place}: {found!r} instead of {expected!r}"
    return next(filter(None, (difference(*pair[1:], pair[0]) for pair in pairs)), None)


def _alike(found: Any, expected: Any) -> bool:
    numbers = (int, float)
    if isinstance(found, numbers) and isinstance(expected, numbers):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)
    return bool(found == expected)
