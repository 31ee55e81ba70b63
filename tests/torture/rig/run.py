"""A run: the right answers first, then load, faults and measurements side by side."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rig import watch
from rig.client import Role
from rig.cluster import STEADY, Cluster
from rig.faults import Nemesis
from rig.history import Writer
from rig.replica import children

_LAST_CALL_SECONDS = 120.0
"""For calls that are under way when the run ends."""

_FIRST_CALL_SECONDS = 300.0


@dataclass(frozen=True)
class Run:
    """What was asked of a run, and how it went.

    Attributes
    ----------
    seconds : float
        How long faults and load should last.
    seed : int
    clients : int
        Good ones; one hostile one comes with them.
    start, end : float
        On the clock of the history; `end` is 0 where the run was ended at once.
    steady : str
        The replica that lives through all of it.
    exit_codes : tuple of int
        Of the replicas at the end.
    leftovers : int
        Processes of the replicas that outlived them.
    """

    seconds: float
    seed: int
    clients: int
    start: float = 0.0
    end: float = 0.0
    steady: str = STEADY
    exit_codes: tuple[int, ...] = ()
    leftovers: int = 0


def run(folder: Path, seconds: float, seed: int, clients: int, stop: threading.Event) -> None:
    """Do all of it; what is found is in the folder, also where `stop` ends it early."""
    (folder / "answers").mkdir(parents=True)
    python("reference", str(folder))
    cluster = Cluster(folder, seed)
    try:
        cluster.start()
        asked = Run(seconds, seed, clients)
        with _watched(cluster, folder), _clients(cluster, folder, asked):
            _wait_for_calls(folder, clients + 1)
            asked = replace(asked, start=time.monotonic())
            _write(folder, asked)
            writer = Writer(folder / "faults.jsonl")
            Nemesis(cluster, seed, writer).run(stop, asked.start + seconds)
        end, members = time.monotonic(), _members(cluster)
    finally:
        codes = cluster.close()
    left = sum(Path(f"/proc/{pid}/exe").exists() for pid in members)
    _write(folder, replace(asked, end=end, exit_codes=tuple(codes), leftovers=left))


def read(folder: Path) -> Run:
    """Read what was asked of a run."""
    return Run(**json.loads((folder / "run.json").read_text(encoding="utf-8")))


def python(*arguments: str) -> None:
    """Run another command of this rig in a process of its own."""
    subprocess.run(command(*arguments), check=True)


def command(*arguments: str) -> list[str]:
    """Write the command line of another command of this rig."""
    return [sys.executable, "-m", "rig", *arguments]


def _write(folder: Path, asked: Run) -> None:
    (folder / "run.json").write_text(json.dumps(asdict(asked)) + "\n", encoding="utf-8")


@contextmanager
def _watched(cluster: Cluster, folder: Path) -> Iterator[None]:
    """Probe and measure meanwhile."""
    stop = threading.Event()
    probes, samples = Writer(folder / "probes.jsonl"), Writer(folder / "samples.jsonl")
    threads = [threading.Thread(target=watch.sample, args=(cluster, samples, stop))]
    threads += [
        threading.Thread(target=watch.probe, args=(replica, probes, stop))
        for replica in cluster.replicas.values()
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        probes.close()
        samples.close()


@contextmanager
def _clients(cluster: Cluster, folder: Path, asked: Run) -> Iterator[None]:
    """Have clients ask meanwhile."""
    ports = cluster.grpc_ports(), cluster.rest_ports()
    roles = [Role(k, asked.seed, *ports) for k in range(asked.clients)]
    roles.append(Role(asked.clients, asked.seed, *ports, is_hostile=True))
    running = [
        subprocess.Popen(command("client", str(folder), json.dumps(asdict(role)))) for role in roles
    ]
    try:
        yield
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(_LAST_CALL_SECONDS)


def _wait_for_calls(folder: Path, clients: int) -> None:
    """Wait until each client has been answered once: loading code takes a while."""
    end = time.monotonic() + _FIRST_CALL_SECONDS
    while time.monotonic() < end:
        started = sum(file.stat().st_size > 0 for file in folder.glob("calls-*.jsonl"))
        if started == clients:
            return
        time.sleep(0.1)
    raise RuntimeError("a client made no call")


def _members(cluster: Cluster) -> list[int]:
    """Name the processes below the replicas."""
    zygotes = [pid for each in cluster.replicas.values() for pid in children(each.pid)]
    return [*zygotes, *(pid for zygote in zygotes for pid in children(zygote))]
