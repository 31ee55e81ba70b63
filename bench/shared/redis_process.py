"""Redis in a process of its own, for measurements."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import redis


@contextmanager
def redis_server() -> Iterator[str]:
    """Run a Redis that keeps nothing on disk, and yield its address."""
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("redis-server is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""]
        with subprocess.Popen([program, *options], stdout=subprocess.DEVNULL) as process:
            try:
                _wait_ready(port, process)
                yield f"redis://127.0.0.1:{port}/0"
            finally:
                process.terminate()


def _wait_ready(port: int, process: subprocess.Popen[bytes]) -> None:
    with redis.Redis(port=port) as link:
        while process.poll() is None:
            try:
                link.ping()
            except redis.ConnectionError:
                time.sleep(0.1)
            else:
                return
    raise SystemExit("redis-server has ended")
