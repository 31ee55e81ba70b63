"""Confinement, before any client data: rlimits, no_new_privs, Landlock, capabilities, seccomp."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from onnxplain_server.adapters.sandbox import capabilities, landlock, seccomp

if sys.platform != "linux":
    raise ImportError("of Linux alone")

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_PAGE_BYTES = resource.getpagesize()
_THREAD_BYTES = 16 * 2**20
"""Address space that a thread reserves for its stack and its malloc arena."""

_FILE_COUNT = 16
_CONNECTION_COUNT = 4_096


@dataclass(frozen=True, slots=True)
class Budget:
    """Resource limits of one worker.

    Attributes
    ----------
    memory_bytes : int
        Address space in addition to that at the fork, arena included.
    processor_seconds : int
        Processor time of its life; the kernel kills it beyond.
    """

    memory_bytes: int
    processor_seconds: int


def confine(
    budget: Budget, thread_count: int, network: landlock.Exceptions | None = None
) -> tuple[str, ...]:
    """Drop rights and resources, irrevocably.

    Parameters
    ----------
    budget : Budget
    thread_count : int
    network : Exceptions, optional
        Ports and files that are left to a process that has the network; None: no network.

    Returns
    -------
    tuple of str
        Protections that this kernel lacks.
    """
    gc.freeze()
    address_space = mapped_bytes() + budget.memory_bytes + thread_count * _THREAD_BYTES
    for resource_id, limit in (
        (resource.RLIMIT_AS, address_space),
        (resource.RLIMIT_CPU, budget.processor_seconds),
        (resource.RLIMIT_NOFILE, _FILE_COUNT if network is None else _CONNECTION_COUNT),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        _lower_limit(resource_id, limit)
    libc = ctypes.CDLL(None, use_errno=True)
    protections: dict[str, Callable[[], bool]] = {
        "no_new_privs": lambda: libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0,
        "landlock": partial(landlock.restrict, network) if network else landlock.restrict,
        "capabilities": capabilities.drop,
        "seccomp": partial(seccomp.restrict, has_network=True) if network else seccomp.restrict,
    }
    return tuple(name for name, apply in protections.items() if not apply())


def _lower_limit(resource_id: int, limit: int) -> None:
    """Set a soft and hard rlimit; never raises the hard one."""
    _, hard = resource.getrlimit(resource_id)
    lower = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource_id, (lower, lower))


def die_with_parent(parent: int) -> None:
    """Request SIGKILL at the end of the thread that created this process; `parent` is its pid."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)  # the parent ended before the line above


def mapped_bytes() -> int:
    """Return the current size of this process's address space."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * _PAGE_BYTES
