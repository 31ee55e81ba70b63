"""Answers of the documented examples, computed once, by the commands on their pages."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
Answer = Mapping[str, Any]


@pytest.fixture(scope="session")
def ran(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Return the folder in which the commands ran, and how that ended."""
    folder = tmp_path_factory.mktemp("examples")
    command = [sys.executable, str(EXAMPLES / "run.py"), "--check", str(folder)]
    return folder, subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def answers(ran: tuple[Path, subprocess.CompletedProcess[str]]) -> dict[str, Answer]:
    folder, _ = ran
    return {file.stem: json.loads(file.read_bytes()) for file in folder.glob(".demo/*.json")}
