"""Processors that this process may use."""

from __future__ import annotations

import os
import sys


def processor_count() -> int:
    """Return the number of processors that this process may use: on Linux, by its affinity."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
