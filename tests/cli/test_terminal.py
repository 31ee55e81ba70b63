"""Output of commands in a real terminal: texts there, JSON in a pipe and in a file."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

IRIS = Path(__file__).parents[2] / "examples" / "iris"
EXPLAIN = (
    *("explain", str(IRIS / "linear.onnx"), str(IRIS / "iris.csv")),
    *("--feature-columns", "sepal_width,petal_length,petal_width,species"),
    *("--method", "partial_dependence", "--set", "features=petal_width", "--no-plots"),
)
DESCRIBE = ("describe", str(IRIS / "linear.onnx"))


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "onnxplain_server", *arguments]


def shown_in_terminal(*arguments: str) -> str:
    """What a command writes into a terminal, as is: with the codes of colors."""
    ours, theirs = pty.openpty()
    kind = os.environ.keys() - {"NO_COLOR", "COLUMNS"}
    environment = {name: os.environ[name] for name in kind} | {"TERM": "xterm"}
    with subprocess.Popen(
        command(*arguments), stdout=theirs, stderr=subprocess.PIPE, env=environment
    ) as running:
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(ours), b""))
        _, errors = running.communicate()
    os.close(ours)
    assert (running.returncode, errors) == (0, b"")
    return shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 2**16)
    except OSError:  # EIO: on Linux, what a terminal says when all that wrote to it have ended
        return b""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(EXPLAIN, ("petal_width", "▁", "All tables:", "\x1b[")), (DESCRIBE, ("inputs", "\x1b["))],
    ids=["explain", "describe"],
)
def test_a_terminal_shows_texts(arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    shown = shown_in_terminal(*arguments)

    assert [word for word in words if word not in shown] == []
    assert "Limit:" not in shown
    assert not shown.startswith("{")


def test_a_terminal_gets_json_that_is_asked_for() -> None:
    assert json.loads(shown_in_terminal(*DESCRIBE, "--output", "json"))


@pytest.mark.slow
def test_a_pipe_gets_json_unless_tables_are_asked_for() -> None:
    table = subprocess.run(
        command(*DESCRIBE, "--output", "table"), capture_output=True, check=True, text=True
    )

    for arguments in (EXPLAIN, DESCRIBE):
        piped = subprocess.run(command(*arguments), capture_output=True, check=True)
        assert json.loads(piped.stdout)
    assert not table.stdout.startswith("{")
    assert "\x1b" not in table.stdout


def test_a_file_gets_json_and_plain_tables_in_a_terminal_too(tmp_path: Path) -> None:
    file = tmp_path / "answer"

    assert shown_in_terminal(*EXPLAIN, "--output-file", str(file)) == ""
    assert json.loads(file.read_text())
    assert shown_in_terminal(*EXPLAIN, "--output-file", str(file), "--output", "table") == ""
    assert "petal_width" in file.read_text()
    assert "\x1b" not in file.read_text()
