"""Journeys through the page, as programs of Node."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from harness import Server


def walk(root: Path, journey: str, server: Server, files: Path, **more: str) -> None:
    """Run the journeys of one file."""
    node = root / ".venv-proto" / "bin"
    program = root / "clients" / "web" / "build" / "tests" / "journeys" / f"{journey}.test.js"
    assert program.exists(), "the journeys are not built: run `make test-client-web`"
    told = {"PATH": f"{node}:{os.environ['PATH']}", "ONNXPLAIN_FILES": str(files)}
    done = subprocess.run(
        [str(node / "node"), "--test", str(program)],
        cwd=root / "clients" / "web",
        env=os.environ | server.environment | told | more,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
