"""What a worker gives up before it sees a client's bytes."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
from dataclasses import dataclass
from pathlib import Path

from onnxplain_server.adapters.workers.sandbox import landlock, seccomp

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_PAGE_BYTES = resource.getpagesize()
_THREAD_BYTES = 16 * 2**20
"""Address space that a thread reserves, its stack and what the allocator keeps for it."""

_FILE_COUNT = 16


@dataclass(frozen=True, slots=True)
class Budget:
    """What one worker may use.

    Attributes
    ----------
    memory_bytes : int
        Address space beyond what it was forked with and the arena.
    processor_seconds : int
        In its life; the kernel kills it then.
    """

    memory_bytes: int
    processor_seconds: int


def confine(budget: Budget, thread_count: int) -> tuple[str, ...]:
    """Give up rights and resources, for good.

    Returns
    -------
    tuple of str
        Protections that this kernel does not have.
    """
    gc.freeze()
    address_space = mapped_bytes() + budget.memory_bytes + thread_count * _THREAD_BYTES
    for kind, most in (
        (resource.RLIMIT_AS, address_space),
        (resource.RLIMIT_CPU, budget.processor_seconds),
        (resource.RLIMIT_NOFILE, _FILE_COUNT),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        _limit(kind, most)
    libc = ctypes.CDLL(None, use_errno=True)
    steps = {
        "no_new_privs": lambda: libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0,
        "landlock": landlock.restrict,
        "seccomp": seccomp.restrict,
    }
    return tuple(name for name, take in steps.items() if not take())


def _limit(kind: int, most: int) -> None:
    """Lower a limit for good; what was forbidden already stays so."""
    _, hard = resource.getrlimit(kind)
    lower = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (lower, lower))


def die_with_parent(parent: int) -> None:
    """Be killed when the thread that made this process ends; `parent` is its process."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)  # it ended before the line above


def mapped_bytes() -> int:
    """Size of this process's address space now."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * _PAGE_BYTES
