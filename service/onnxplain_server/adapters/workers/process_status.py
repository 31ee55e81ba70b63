"""Process status from /proc: memory and processor time; and exit codes in words."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

if sys.platform != "linux":
    raise ImportError("of Linux alone")

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_TIMES = slice(11, 13)  # fields of stat after the name, which may hold spaces: user and system
_SCHEDULED_TIME = 2
"""Kind of a process's clock: time by the scheduler, not by ticks."""
_TIMES_WITH_CHILDREN = slice(11, 15)


def private_bytes(pid: int) -> int:
    """Return the anonymous memory of a process, shared with its parent or not; 0 if it is gone."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * _PAGE_BYTES


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far, also of one that ended; 0 once reaped.

    Exact; to 0.01 s where the kernel does not show the clocks of other processes.
    """
    try:
        return time.clock_gettime(_process_clock(pid))
    except OSError:
        return _seconds(pid, _TIMES)


def _process_clock(pid: int) -> int:
    """Return the clock of a process's processor time, as clock_getcpuclockid(3) does on Linux."""
    return ~pid << 3 | _SCHEDULED_TIME


def family_seconds(pid: int) -> float:
    """Return the processor time of a process and of its children that it has reaped."""
    return _seconds(pid, _TIMES_WITH_CHILDREN)


def _seconds(pid: int, times: slice) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[times])) / _TICKS_PER_SECOND


def exit_cause(status: int | None) -> str:
    """Describe an exit code, a negative signal number, or None for unknown."""
    if status is None or status >= 0:
        return "by an error" if status else "by itself"
    return f"by {signal.Signals(-status).name}"
