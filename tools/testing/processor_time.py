"""Processor time of a process and all its descendants, from /proc.

psutil was looked at: to find children it reads every process of the machine, at each call.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path

_TICK = 1 / os.sysconf("SC_CLK_TCK")


def of_this_tree() -> float:
    """Return the processor seconds of this process and of its children, ended and alive."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = own.ru_utime + own.ru_stime + reaped.ru_utime + reaped.ru_stime
    return seconds + sum(_of_live(child) for child in _children(os.getpid()))


def _of_live(process: int) -> float:
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    fields = status.rpartition(")")[2].split()
    ticks = sum(int(field) for field in fields[11:15])  # utime, stime, cutime, cstime
    return ticks * _TICK + sum(_of_live(child) for child in _children(process))


def _children(process: int) -> list[int]:
    """Return the live children of all threads of a process; of one that has ended, those so far."""
    children: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            children += map(int, (thread / "children").read_text(encoding="utf-8").split())
    return children
