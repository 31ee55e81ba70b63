"""Every client gets the right answers and reasons, the same as the Python client's."""

from __future__ import annotations

import os
import subprocess
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from harness import CASES, ROOT, Runner, Server, disagreement, fault

Answers = Callable[[Runner], Mapping[str, Any]]

_PATIENCE_SECONDS = 300


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_as_expected(answers: Answers, client: Runner, name: str) -> None:
    found = answers(client)[name]

    assert ("unsupported" in found) == (name in client.lacks)
    if name not in client.lacks:
        assert fault(found, CASES[name]) is None


@pytest.mark.parametrize("name", [name for name in CASES if "error" in CASES[name]["expected"]])
def test_errors_tell_reason_message_field_and_code(
    answers: Answers, client: Runner, name: str
) -> None:
    if name not in client.lacks:
        assert answers(client)[name]["error"].keys() == {"reason", "message", "field", "code"}


@pytest.mark.parametrize("name", [name for name in CASES if "response" in CASES[name]["expected"]])
def test_the_bytes_are_those_of_the_python_client(
    answers: Answers, pythons: Mapping[str, Any], client: Runner, name: str
) -> None:
    if name not in client.lacks:
        found = answers(client)[name]
        assert disagreement(name, CASES[name], found, pythons[name]) is None


def test_progress_rises_to_what_is_planned(answers: Answers, client: Runner) -> None:
    progress = answers(client)["stream"]["progress"]

    done = [each[0] for each in progress]
    assert done == sorted(done)
    assert all(each[0] <= each[1] for each in progress)
    assert done[-1] > 0


@pytest.mark.parametrize("name", ["error-cancelled", "error-deadline-exceeded"])
def test_who_leaves_frees_the_server(
    server: Server, client: Runner, name: str, tmp_path: Path
) -> None:
    """The request is seen to be computed, and then no longer, though it had much left to do."""
    command = [*client.command, str(ROOT), str(tmp_path), name]
    with subprocess.Popen(command, env=os.environ | server.environment) as process:
        assert wait_for(lambda: running(server) == 1 or process.poll() is not None)
    assert process.returncode == 0

    assert wait_for(lambda: running(server) == 0)


def running(server: Server) -> float:
    """Return how many requests are computed."""
    url = f"http://127.0.0.1:{server.metrics_port}/metrics"
    with urllib.request.urlopen(url) as page:
        lines = page.read().decode().splitlines()
    return next(
        float(line.split()[1]) for line in lines if line.startswith("onnxplain_running_requests ")
    )


def wait_for(fact: Callable[[], bool]) -> bool:
    """Tell whether something comes true before patience ends."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while not (seen := fact()) and time.monotonic() < end:
        time.sleep(0.02)
    return seen
