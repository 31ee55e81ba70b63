"""Dask cluster of this machine: a scheduler and workers as processes, for one measurement."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from onnxplain_server.adapters.cluster.dask_client import connected
from onnxplain_server.adapters.cluster.dask_workers import DaskWorkers

from bench.shared.commands import ROOT

QUIET = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "500ms",
}
"""As the manifests set it: else each process takes 3 % of a processor to watch itself."""


@dataclass(frozen=True)
class Cluster:
    """Workers as a client asks them; `replace` kills the oldest one, and starts another."""

    workers: DaskWorkers
    replace: Callable[[], None]


@contextmanager
def cluster(workers: int, threads: int) -> Iterator[Cluster]:
    """Start a scheduler and workers, and wait for them."""
    program = str(Path(sys.executable).with_name("dask"))
    environment = os.environ | QUIET | {"PYTHONPATH": str(ROOT)}  # of `sleep_task`
    processes = []
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("wb") as log:

        def start(*arguments: str) -> None:
            command = [program, *arguments, "--no-dashboard"]
            processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment))

        def start_worker() -> None:
            options = ("--nthreads", str(threads), "--local-directory", folder, "--no-nanny")
            start("worker", str(address), *options)

        def replace() -> None:
            oldest = processes.pop(1)  # after the scheduler
            oldest.kill()
            oldest.wait()
            start_worker()

        told = Path(folder) / "scheduler.json"
        try:
            start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(told))
            while (address := _address(told)) is None:
                time.sleep(0.1)
            for _ in range(workers):
                start_worker()
            with connected(address) as made:
                made.client.wait_for_workers(workers)
                yield Cluster(made, replace)
        finally:
            for process in processes:
                process.kill()
                process.wait()


def _address(told: Path) -> str | None:
    """Return the address in a scheduler's file; None while it is being written."""
    try:
        return str(json.loads(told.read_text("ascii"))["address"])
    except (OSError, ValueError):
        return None
