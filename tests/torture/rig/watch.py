"""What is looked at all the time: the health of each replica, and what all processes hold."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rig.cluster import Cluster
from rig.history import Probe, Sample, Writer
from rig.replica import Replica, children

_PROBE_SECONDS = 0.25
_SAMPLE_SECONDS = 1.0
_DESCRIPTORS_PER_WORKER = 3
"""Its socket, its arena and its pidfd."""
_ESTABLISHED = "01"
"""State of a connection in /proc/net/tcp."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - looked at, never written to


def probe(replica: Replica, writer: Writer, stop: threading.Event) -> None:
    """Ask a replica for its health, over and over, by a way without faults."""
    while not stop.wait(_PROBE_SECONDS):
        for path in ("/livez", "/readyz"):
            start = time.monotonic()
            status = replica.ask(path)
            writer.write(Probe(replica.name, start, path, status, time.monotonic() - start))


def sample(cluster: Cluster, writer: Writer, stop: threading.Event) -> None:
    """Measure everything each second."""
    while not stop.wait(_SAMPLE_SECONDS):
        for found in _samples(cluster):
            writer.write(found)


def process(pid: int) -> dict[str, float]:
    """Measure a process: bytes, threads, descriptors; empty where it is gone."""
    with suppress(OSError, ValueError):
        root = Path(f"/proc/{pid}")
        _, resident, shared, *_ = (root / "statm").read_text().split()
        return {
            "resident_bytes": float(int(resident) * _PAGE_BYTES),
            "own_bytes": float((int(resident) - int(shared)) * _PAGE_BYTES),
            "threads": float(sum(1 for _ in (root / "task").iterdir())),
            "descriptors": float(sum(1 for _ in (root / "fd").iterdir())),
        }
    return {}


def _links(folder: Path) -> Iterator[str]:
    for entry in folder.iterdir():
        with suppress(OSError):  # closed meanwhile
            yield str(entry.readlink())


def unexplained(pid: int, worker_count: int) -> dict[str, float]:
    """Count a server's descriptors, less those of its workers and of connections that are open.

    Both come and go with the load. A worker that has ended, or a connection that the other side
    has closed, explains nothing: what a server keeps of it counts.
    """
    with suppress(OSError, ValueError):
        root = Path(f"/proc/{pid}")
        links = list(_links(root / "fd"))
        sockets = {link[8:-1] for link in links if link.startswith("socket:[")}
        established = sum(
            fields[3] == _ESTABLISHED and fields[9] in sockets
            for table in ("tcp", "tcp6")
            for fields in map(str.split, (root / "net" / table).read_text().splitlines()[1:])
        )
        count = len(links) - established - _DESCRIPTORS_PER_WORKER * worker_count
        return {"unexplained_descriptors": float(count)}
    return {}


def _samples(cluster: Cluster) -> Iterator[Sample]:
    now = time.monotonic()
    for name, replica in cluster.replicas.items():
        pid, zygote = replica.pid, replica.zygote
        held = process(pid) | (unexplained(pid, len(replica.forks)) if pid else {})
        yield from _life(now, f"server-{name}-{replica.lives}", held)
        yield from _life(now, f"zygote-{name}-{zygote}", process(zygote))
        workers = _workers(zygote)
        yield from _life(now, f"workers-{name}-{replica.lives}", workers if pid else {})
    used = cluster.redis.used_bytes()
    if used is not None:
        yield Sample(now, f"redis-{cluster.redis.pid}", {"used_bytes": used})
    files = [entry for entry in _SHARED_MEMORY.iterdir() if _is_ours(entry)]
    yield Sample(now, "shared-memory", {"files": float(len(files))})


def _workers(zygote: int) -> dict[str, float]:
    """Measure all workers together: what each has beyond the zygote that it was forked from."""
    shared = process(zygote).get("own_bytes", 0.0)
    found = [each["own_bytes"] for each in map(process, children(zygote)) if each]
    return {"count": float(len(found)), "own_bytes": sum(max(0.0, b - shared) for b in found)}


def _is_ours(entry: Path) -> bool:
    with suppress(OSError):
        return entry.stat().st_uid == os.getuid()
    return False


def _life(now: float, life: str, values: dict[str, float]) -> Iterator[Sample]:
    if values:
        yield Sample(now, life, values)
