"""A server with an audit log, and the lines of the log."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 120.0


class Log:
    """An audit log in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self, count: int) -> list[dict[str, Any]]:
        """Wait for so many lines; return all there are, parsed."""
        end = time.monotonic() + PATIENCE
        while (text := self.text()).count("\n") < count:
            assert time.monotonic() < end, text
            time.sleep(0.005)
        return [json.loads(line) for line in text.splitlines()]

    def text(self) -> str:
        return self.path.read_text() if self.path.exists() else ""


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "audit.jsonl")


@pytest.fixture
def audited(start, log: Log) -> Callable[..., Any]:
    """Start a server that writes the log."""

    def begin(runner, **settings: object):
        return start(runner, audit_log=str(log.path), **settings)

    return begin
