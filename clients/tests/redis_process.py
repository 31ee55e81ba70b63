"""Redis of a test, on a port of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.ports import free_port


@contextmanager
def running_redis(binary: str, folder: Path) -> Iterator[str]:
    """Run a Redis that keeps nothing over its end, and yield its URL for `redis_url`."""
    port = free_port()
    options = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder), "--save", ""]
    with subprocess.Popen([binary, *options], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert any("Ready to accept" in line for line in process.stdout), "Redis did not start"
        try:
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.kill()
