"""Machine that a benchmark runs on."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("onnxplain-server", "onnxruntime", "numpy", "numba", "woodelf-explainer", "xgboost-cpu")
_WATCHED_SECONDS = 1.0


def processor() -> str:
    """Return the processor's name."""
    described = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"^model name\s*: (.*)", described, re.MULTILINE)
    return model[1] if model else platform.processor()


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def memory_gib() -> int:
    """Return the memory of the machine."""
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def described() -> str:
    """Return the machine in a line."""
    return f"{core_count()} cores of {processor()}, {memory_gib()} GiB"


def versions() -> dict[str, str]:
    """Return versions of Python and of what is measured."""
    return {"Python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def commit() -> str:
    """Return the commit that is measured; with -dirty where files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.check_output(command, text=True, cwd=Path(__file__).parent).strip()


def busy_cores() -> float:
    """Return how many cores were at work during a second in which the caller waits."""
    before = _ticks()
    time.sleep(_WATCHED_SECONDS)
    after = _ticks()
    spent = {name: after[name] - before[name] for name in after}
    total = sum(spent.values())
    idle = spent["idle"] + spent["iowait"]
    return round((total - idle) / total * (os.cpu_count() or 1), 1)


def _ticks() -> Mapping[str, int]:
    """Clock ticks of all processors since the start, by what they were spent on."""
    line = Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0]
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    return dict(zip(names, map(int, line.split()[1:]), strict=False))
