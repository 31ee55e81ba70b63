"""Waiting for a cluster, and processes of it that are there and do nothing."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 300.0
"""A bound that only something endless exceeds."""


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@contextmanager
def stopped(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Have a worker that is there, and computes nothing."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)
