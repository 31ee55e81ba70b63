"""Processes of a cluster that are there and do nothing."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stopped(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Have a worker that is there, and computes nothing."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)
