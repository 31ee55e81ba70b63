"""`onnxplain ui`: a server of its own on this machine, and the address of its page."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import pytest

COMMAND = [sys.executable, "-m", "onnxplain_server", "ui", "--no-browser"]
FOLDER = Path(__file__).parents[3] / "examples" / "miami"
MODEL, TABLE = FOLDER / "miami.onnx", FOLDER / "miami_housing.csv.gz"


@pytest.fixture
def ui() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the command; it ends with its test."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def address_of(process: subprocess.Popen[str]) -> tuple[str, dict[str, list[str]]]:
    """Return the origin that was printed, and what the fragment of the address says."""
    assert process.stdout is not None
    line = process.stdout.readline()
    parts = urlsplit(line.removeprefix("onnxplain is at ").strip())
    return f"{parts.scheme}://{parts.netloc}", parse_qs(parts.fragment.partition("?")[2])


def status(url: str, token: str | None = None) -> int:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        with urlopen(Request(url, headers=headers), timeout=120) as reply:  # noqa: S310 - our own
            return int(reply.status)
    except HTTPError as error:
        return error.code


def test_it_uploads_the_files_and_answers_the_holder_of_the_token_only(ui) -> None:
    process = ui(MODEL, TABLE)
    origin, told = address_of(process)
    (token,), (model,) = told["token"], told["model"]

    assert told["modelName"] == [MODEL.name]
    assert told["tableName"] == [TABLE.name]
    assert urlsplit(origin).hostname == "127.0.0.1"
    assert status(f"{origin}/") == 200
    assert status(f"{origin}/v1/models/{model}", token) == 200
    assert status(f"{origin}/v1/models/{model}") == 401
    assert status(f"{origin}/v1/models/{model}", token[::-1]) == 401


@pytest.mark.slow
def test_ctrl_c_ends_it(ui) -> None:
    process = ui()
    _, told = address_of(process)

    process.send_signal(signal.SIGINT)

    assert set(told) == {"token"}
    assert process.wait(timeout=120) == 0
    assert "Traceback" not in process.stderr.read()


def test_a_missing_file_is_refused_before_a_server_starts(ui) -> None:
    process = ui("missing.onnx")

    assert process.wait(timeout=120) == 1
    assert "cannot read missing.onnx" in process.stderr.read()
