"""Usage of pods: processor and memory of their processes, from samples of each second."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import psutil

from tools.cluster.pod_process import PodProcess

WINDOW_SECONDS = 5
"""Time over which the use of processors is averaged."""


@dataclass(frozen=True)
class Usage:
    """What a pod uses.

    Attributes
    ----------
    processors : float
        Processor seconds per second, averaged over the window.
    memory_bytes : int
        Proportional set size: pages that processes share count once.
    """

    processors: float
    memory_bytes: int


class Meter:
    """Measures pods until it is stopped.

    Parameters
    ----------
    pods : mapping of str to PodProcess
        Those that run, by their uid; it may change.
    """

    def __init__(self, pods: Mapping[str, PodProcess]) -> None:
        self._pods = pods
        # Of each run of a container: times of a clock, and processor seconds since its start.
        self._samples: dict[int, deque[tuple[float, float]]] = {}
        self._stopping = threading.Event()
        self._loop = threading.Thread(target=self._run, daemon=True)
        self._loop.start()

    def stop(self) -> None:
        self._stopping.set()
        self._loop.join()

    def usage(self, uid: str) -> Usage | None:
        """Return what a pod uses; None where it has not run for the length of the window."""
        process = self._pods.get(uid)
        samples = self._samples.get(process.run.pid) if process else None
        if process is None or not samples or samples[-1][0] - samples[0][0] < WINDOW_SECONDS:
            return None
        (start, before), (end, after) = samples[0], samples[-1]
        memory = sum(map(_memory_bytes, _processes(process.run.pid)))
        return Usage((after - before) / (end - start), memory)

    def _run(self) -> None:
        while not self._stopping.wait(1.0):
            pids = {process.run.pid for process in list(self._pods.values())}
            self._samples = {pid: self._samples.get(pid, deque()) for pid in pids}
            for pid, samples in self._samples.items():
                samples.append((time.monotonic(), sum(map(_processor_seconds, _processes(pid)))))
                while len(samples) > 2 and samples[-1][0] - samples[1][0] >= WINDOW_SECONDS:
                    samples.popleft()


def _processes(pid: int) -> list[psutil.Process]:
    """Return a process and all that it started."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    return []


def _processor_seconds(process: psutil.Process) -> float:
    """Return what a process and its children that have ended have used."""
    with suppress(psutil.NoSuchProcess):
        return float(sum(process.cpu_times()[:4]))  # user, system, and those of children
    return 0.0


def _memory_bytes(process: psutil.Process) -> int:
    with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        return int(process.memory_full_info().pss)
    return 0
