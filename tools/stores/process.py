"""Program that runs while it is used, and listens on 127.0.0.1."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_START_SECONDS = 120


@contextmanager
def running(
    command: Sequence[str], port: int, log: Path, variables: Mapping[str, str] | None = None
) -> Iterator[int]:
    """Run a program until the end of the block, with all that it starts; yield its process id.

    Raises
    ------
    RuntimeError
        If it ends or does not listen on the port; the text has the end of its log.
    """
    environment = {**os.environ, **(variables or {})}
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - a store of this folder
            command, stdout=output, stderr=output, env=environment, start_new_session=True
        )
    try:
        _wait_for(process, port, log)
        yield process.pid
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} does not listen on {port}: {log.read_text()[-2000:]}")
