"""Processes from start to end: what they print, their wall time and their peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_LAUNCHER = """
import os, sys, time
start = time.perf_counter()
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
seconds = time.perf_counter() - start
print(seconds, usage.ru_maxrss * 1024 / 1e6, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""Small process between: Linux counts a process from the memory of the one that it is forked of."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process that has ended.

    Attributes
    ----------
    printed : str
        Its standard output.
    seconds : float
        Wall time.
    megabytes : float
        Peak of its memory.
    """

    printed: str
    seconds: float
    megabytes: float


def run(command: Sequence[str], settings: Mapping[str, str] | None = None) -> Process:
    """Run a command as a process of its own, and wait for it.

    Parameters
    ----------
    settings : mapping of str to str, optional
        Further variables of its environment.

    Raises
    ------
    subprocess.CalledProcessError
    """
    own = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-S", "-c", _LAUNCHER, *command],
        capture_output=True,
        text=True,
        check=True,
        env={**own, **(settings or {})},
    )
    seconds, megabytes = done.stderr.split()[-2:]
    return Process(done.stdout, float(seconds), float(megabytes))
