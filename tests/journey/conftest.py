"""Ten models of usual kinds, trained anew, and the command as a user runs it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tools.missing_programs import DEMAND

ROOT = Path(__file__).parents[2]
TRAINER = ROOT / ".venv-models" / "bin" / "python"
COMMAND = [sys.executable, "-m", "onnxplain_server"]


@dataclass(frozen=True, slots=True)
class Case:
    """A model, its rows with the column "target", and the predictions of its library."""

    model: Path
    table: Path
    rows: pd.DataFrame
    predicted: Any

    @property
    def is_classifier(self) -> bool:
        """Return whether the target names classes."""
        return self.rows["target"].nunique() <= 3


@pytest.fixture(scope="session")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """The models by name."""
    if not TRAINER.exists():
        (pytest.fail if os.environ.get(DEMAND) else pytest.skip)("make .venv-models/.made")
    folder = tmp_path_factory.mktemp("models")
    command = [str(TRAINER), "-W", "ignore", str(Path(__file__).with_name("train.py"))]
    subprocess.run([*command, str(folder)], check=True)
    made = {}
    for model in sorted(folder.glob("*.onnx")):
        table = model.with_suffix(".csv")
        rows = pd.read_csv(table)
        predicted = rows.pop("predicted").to_numpy()
        rows.to_csv(table, index=False)
        made[model.stem] = Case(model, table, rows, predicted)
    return made


@pytest.fixture(scope="session")
def ask(cases: dict[str, Case]) -> Callable[..., dict[str, Any]]:
    """Answers of `onnxplain explain MODEL TABLE --target-column target` in a pipe, kept by name."""
    kept: dict[str, dict[str, Any]] = {}

    def answer(name: str) -> dict[str, Any]:
        if name not in kept:
            case = cases[name]
            # Slow models need a budget that keeps the tests short, of rows: no clock decides.
            words = ["explain", case.model, case.table, "--target-column", "target"]
            words += ["--budget-predicted-row-count", "100000"]
            kept[name] = json.loads(run_piped(*words).stdout)
        return kept[name]

    return answer


@pytest.fixture(scope="session")
def piped() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command with its output in a pipe."""
    return run_piped


@pytest.fixture(scope="session")
def in_terminal() -> Callable[..., str]:
    """Run the command with its output in a terminal of 120 columns."""
    return run_in_terminal


def run_piped(*words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*COMMAND, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done


def run_in_terminal(*words: object) -> str:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "120", "TERM": "dumb"}
    command = [*COMMAND, *map(str, words)]
    with subprocess.Popen(
        command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment
    ) as running:
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    assert running.returncode == 0
    return shown.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 2**16)
    except OSError:  # EIO, on Linux, once all that wrote to it have ended
        return b""
