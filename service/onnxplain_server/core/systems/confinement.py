"""Confinement of models: whether this system has it, and what it lacks."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from functools import cache

UNCONFINED = "this system cannot confine models: explain only files that you trust"
"""For people, on systems without confinement."""

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_LANDLOCK_CREATE_RULESET, _VERSION_FLAG = 444, 1


def can_confine() -> bool:
    """Return whether models can run in processes without files and network."""
    return not lacking()


@cache
def lacking() -> tuple[str, ...]:
    """Return what this system lacks to confine models; on all systems but Linux, Linux itself.

    One of Landlock and seccomp is enough. A confined process would ask in vain: workers have the
    answer from the warm-up before.
    """
    if sys.platform != "linux":
        return ("Linux",)
    needed = {
        "memfd_create": lambda: os.memfd_create("onnxplain", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING),
        "pidfd_open": lambda: os.pidfd_open(os.getpid()),
    }
    lacks = [name for name, opened in needed.items() if not _opens(opened)]
    if not (_has_seccomp() or _has_landlock()):
        lacks.append("seccomp or Landlock")
    return tuple(lacks)


def _opens(opened: Callable[[], int]) -> bool:
    """Return whether a call gives a descriptor; old builds of Python lack its name."""
    try:
        os.close(opened())
    except (AttributeError, OSError):
        return False
    return True


def _has_seccomp() -> bool:
    """Return whether a filter can be set: the kernel then misses the one that is not given."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, None, 0, 0)
    return ctypes.get_errno() == errno.EFAULT


def _has_landlock() -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    size = ctypes.c_size_t(0)
    return bool(libc.syscall(_LANDLOCK_CREATE_RULESET, None, size, _VERSION_FLAG) >= 1)
