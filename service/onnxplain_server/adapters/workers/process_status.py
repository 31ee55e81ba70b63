"""What the kernel tells about a process."""

from __future__ import annotations

import os
import signal
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_USER, _SYSTEM = 11, 12  # fields of stat after the name, which may hold spaces


def private_bytes(pid: int) -> int:
    """Memory of a process without files, as after a fork shared with its parent or not; else 0."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * _PAGE_BYTES


def processor_seconds(pid: int) -> float:
    """Processor time that a process has used in its life, in hundredths; 0 where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICKS_PER_SECOND


def exit_cause(status: int | None) -> str:
    """Tell how a process ended: its exit code, the negative signal, or None where nobody knows."""
    if status is None or status >= 0:
        return "by an error" if status else "by itself"
    return f"by {signal.Signals(-status).name}"
