"""Load generator in Go, `clients/go/internal/load`, which leaves the processor to the server."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
ANSWERS = frozenset({"OK", "200"})
"""Codes of calls that were answered."""
_PROGRAM = "build/clients/go/load"


@dataclass(frozen=True, slots=True)
class Call:
    """The gRPC code or HTTP status of a call, when it began, and how long it took, in seconds."""

    code: str
    begun: float
    seconds: float


def build() -> None:
    """Compile the generator."""
    subprocess.run(["make", "--silent", _PROGRAM], cwd=ROOT, check=True)


def closed_loop(endpoint: str, request: bytes, seconds: float, caller_count: int) -> list[Call]:
    """Have callers ask, each again as soon as it has its answer.

    The endpoint is host:port for gRPC, and the request a message; for REST it is the whole
    address, and the request a JSON body. Calls are sent as they are, and never again.
    """
    return _run(endpoint, request, seconds, "-callers", str(caller_count))


def open_loop(endpoint: str, request: bytes, seconds: float, rate: float) -> list[Call]:
    """Ask so many times per second, whatever is answered; endpoint and request as above."""
    return _run(endpoint, request, seconds, "-rate", str(rate))


def answers_per_second(calls: Sequence[Call], seconds: float) -> float:
    """Answers that came within the time, which leaves out what was still at work at its end."""
    whole = [each for each in calls if each.begun + each.seconds <= seconds]
    return sum(each.code in ANSWERS for each in whole) / seconds


def _run(endpoint: str, request: bytes, seconds: float, *loop: str) -> list[Call]:
    with tempfile.NamedTemporaryFile() as file:
        file.write(request)
        file.flush()
        output = subprocess.check_output(
            [ROOT / _PROGRAM, *loop, "-seconds", str(seconds), endpoint, file.name]
        )
    return [Call(**each) for each in json.loads(output)]
