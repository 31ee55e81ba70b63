"""The list of faults, and who brings them: one at a time, drawn by a seed."""

from __future__ import annotations

import random
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rig.cluster import RESTARTED, Cluster
from rig.history import Fault, Writer
from rig.proxy import Mode, Name, Proxy
from rig.replica import Replica, signal_to

PERIOD_SECONDS = 10.0
"""From the start of one fault to that of the next, where the first one is over by then."""

_REPLACED_SECONDS = 60.0

Heal = Callable[[], None]
Break = Callable[[Cluster, random.Random], tuple[str, Heal]]
"""Breaks something; returns what, and how it is mended."""


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Attributes
    ----------
    name : str
    seconds : (float, float)
        How long it lasts, at least and at most.
    happen : Break
    """

    name: str
    seconds: tuple[float, float]
    happen: Break


def kinds() -> list[Kind]:
    """Return all kinds of faults."""
    return [*_processes(), *_redis(), *_network(), *_exhaustion()]


def _processes() -> Iterator[Kind]:
    yield Kind("worker-kill", (0, 0), _to_worker(signal.SIGKILL, None))
    yield Kind("worker-stop", (1, 4), _to_worker(signal.SIGSTOP, signal.SIGCONT))
    yield Kind("zygote-kill", (0, 0), _kill_zygote)
    yield Kind("replica-kill", (0, 2), _end_replica(Replica.kill))
    yield Kind("replica-term", (0, 2), _end_replica(Replica.terminate))


def _redis() -> Iterator[Kind]:
    yield Kind("redis-stop", (1, 5), lambda c, _: _done("redis", c.redis.freeze, c.redis.thaw))
    yield Kind("redis-kill", (0, 4), lambda c, _: _done("redis", c.redis.kill, c.redis.start))
    yield Kind("redis-flush", (0, 0), lambda c, _: _done("redis", c.redis.flush))
    yield Kind("redis-fill", (2, 5), lambda c, _: _done("redis", c.redis.fill, c.redis.drain))
    yield Kind("redis-damage", (0, 0), lambda c, g: _done("redis", lambda: c.redis.damage(g)))
    yield Kind("redis-swap", (0, 0), lambda c, g: _done("redis", lambda: c.redis.swap(g)))


def _network() -> Iterator[Kind]:
    harms: list[Name] = ["delay", "drop", "half-close", "reset", "throttle"]
    for name in [*harms, "flip"]:
        yield Kind(f"redis-{name}", (2, 5), _harm("to_redis", name))
    for name in [*harms, "garble"]:
        yield Kind(f"client-{name}", (2, 5), _harm("to_client", name))


def _exhaustion() -> Iterator[Kind]:
    yield Kind("disk-full", (2, 5), _limit(resource.RLIMIT_FSIZE, lambda _: 0))
    yield Kind("no-descriptors", (1, 3), _limit(resource.RLIMIT_NOFILE, _taken))


class Nemesis:
    """Brings a fault every ten seconds, until it is told to stop.

    Parameters
    ----------
    cluster : Cluster
    seed : int
    writer : Writer
        Is told of each fault once it is over.
    """

    def __init__(self, cluster: Cluster, seed: int, writer: Writer) -> None:
        self._cluster = cluster
        self._generator = random.Random(seed)  # noqa: S311 - faults, no secret
        self._writer = writer

    def run(self, stop: threading.Event, until: float) -> None:
        """Work until `until` on the monotonic clock, or until `stop` is set."""
        deck: list[Kind] = []
        while not stop.is_set() and time.monotonic() < until:
            if not deck:
                # Each kind comes once before any comes again, in another order each time.
                deck = kinds()
                self._generator.shuffle(deck)
            start = time.monotonic()
            self.bring(deck.pop())
            stop.wait(max(1.0, start + PERIOD_SECONDS - time.monotonic()))

    def bring(self, kind: Kind) -> Fault:
        """Break one thing, wait, mend it, and wait until all is well."""
        start = time.monotonic()
        target, heal = kind.happen(self._cluster, self._generator)
        time.sleep(self._generator.uniform(*kind.seconds))
        heal()
        healed = time.monotonic()
        self._cluster.wait_ready()
        fault = Fault(kind.name, target, start, healed, time.monotonic())
        self._writer.write(fault)
        return fault


def _done(target: str, act: Callable[[], object], heal: Heal = lambda: None) -> tuple[str, Heal]:
    act()
    return target, heal


def _to_worker(number: int, later: int | None) -> Break:
    def happen(cluster: Cluster, generator: random.Random) -> tuple[str, Heal]:
        replica = cluster.replicas[generator.choice(sorted(cluster.replicas))]
        workers = replica.workers
        pid = generator.choice(workers) if workers else 0
        if pid:
            signal_to(pid, number)
        return replica.name, lambda: signal_to(pid, later) if pid and later else None

    return happen


def _kill_zygote(cluster: Cluster, generator: random.Random) -> tuple[str, Heal]:
    replica = cluster.replicas[generator.choice(sorted(cluster.replicas))]
    pid = replica.zygote
    if pid:
        signal_to(pid, signal.SIGKILL)

    def replaced() -> None:
        """Wait: for a moment the server does not know yet, and says that it is ready."""
        end = time.monotonic() + _REPLACED_SECONDS
        while replica.zygote in {0, pid} and time.monotonic() < end:
            time.sleep(0.05)

    return replica.name, replaced


def _end_replica(end: Callable[[Replica], object]) -> Break:
    def happen(cluster: Cluster, _: random.Random) -> tuple[str, Heal]:
        replica = cluster.replicas[RESTARTED]
        end(replica)
        return replica.name, replica.start

    return happen


def _harm(way: str, name: Name) -> Break:
    def happen(cluster: Cluster, generator: random.Random) -> tuple[str, Heal]:
        replica = generator.choice(sorted(cluster.replicas))
        ways = [cluster.to_redis] if way == "to_redis" else [cluster.to_grpc, cluster.to_rest]
        seconds = generator.uniform(0.05, 1.0)
        rate = 10 ** generator.uniform(3.5, 5.5)
        proxies: list[Proxy] = [proxies[replica] for proxies in ways]
        for proxy in proxies:
            cluster.network.set(proxy, Mode(name, seconds, rate))

        def heal() -> None:
            for proxy in proxies:
                cluster.network.set(proxy, Mode())

        return replica, heal

    return happen


def _taken(replica: Replica) -> int:
    """Count the descriptors up to the highest that is in use."""
    with suppress(OSError):
        return max(int(file.name) for file in Path(f"/proc/{replica.pid}/fd").iterdir()) + 1
    return 64


def _limit(kind: int, most: Callable[[Replica], int]) -> Break:
    def happen(cluster: Cluster, generator: random.Random) -> tuple[str, Heal]:
        replica = cluster.replicas[generator.choice(sorted(cluster.replicas))]
        replica.limit(kind, most(replica))
        return replica.name, lambda: replica.limit(kind, None)

    return happen
