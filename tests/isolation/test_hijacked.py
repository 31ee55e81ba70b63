"""Workers that were taken over: what the parent does between two looks at the clock is bounded."""

from __future__ import annotations

import signal
import time
import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hostile import hijacked, takeovers
from onnxplain_server.adapters.storage import memory_cache
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.adapters.workers.ipc import frame_limits
from onnxplain_server.adapters.workers.ipc.channel import MalformedError
from onnxplain_server.adapters.workers.request_monitor import RequestMonitor
from onnxplain_server.adapters.workers.worker_process import Worker
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import GoOn, Values
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl

from tools.waiting import until

CACHE_BYTES = 64 * 2**20
"""Of the cache, which may be full besides what the parent holds for a worker."""

HELD_BYTES = 100 * 2**20
LOOK_COUNT = 60
"""Looks at the clock after which the caller disconnects."""

SILENT = "a frame that stops halfway"
OPEN = Path("/proc/self/fd")


class CountingCache(MemoryCache):
    """A cache that counts what is asked of it since the last look at the clock."""

    def __init__(self) -> None:
        super().__init__(CACHE_BYTES, Signer(b"a secret of the tests"))
        self.names = self.entries = self.byte_count = self.calls = 0

    def get_many(self, names: Sequence[str], go_on: GoOn = lambda _bytes: True) -> Values:
        counted = 0

        def count(byte_count: int) -> bool:
            nonlocal counted
            self.names += memory_cache._NAMES_PER_BATCH
            self.calls += 1
            self.byte_count += byte_count - counted
            counted = byte_count
            return go_on(byte_count)

        values = super().get_many(names, count)
        count(sum(len(value or b"") for value in values))
        return values

    def put_many(self, entries: Mapping[str, bytes]) -> None:
        super().put_many(entries)
        self.entries += len(entries)
        self.calls += 1
        self.byte_count += sum(map(len, entries.values()))


class Clock:
    """Looks at the clock: how often, and the most that was done between two of them."""

    def __init__(self, cache: CountingCache, look_count: int) -> None:
        self.looks = 0
        self._look_count = look_count
        self.most: dict[str, int] = {}
        self.worker: Worker | None = None
        self._cache = cache
        self._reads = 0

    def look(self) -> bool:
        """Note what was done since the last look; True once the caller has gone."""
        reads = self.worker._channel.read_count if self.worker else 0
        done = {
            "reads": reads - self._reads,
            **{name: getattr(self._cache, name) for name in ("names", "entries", "byte_count")},
            "calls": self._cache.calls,
        }
        self._reads = reads
        self._cache.names = self._cache.entries = self._cache.byte_count = self._cache.calls = 0
        self.most = {name: max(done[name], self.most.get(name, 0)) for name in done}
        self.looks += 1
        return self.looks > self._look_count


@contextmanager
def traced() -> Iterator[None]:
    """Trace what this process holds."""
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", hijacked.BEHAVIOURS)
def test_a_worker_that_was_taken_over_gets_little_done(name: str) -> None:
    """It ends by its first breach, or once the caller has gone: that is seen at the next look."""
    cache = CountingCache()
    clock = Clock(cache, 20 if name == SILENT else LOOK_COUNT)
    host = RequestContext(RequestControl(600, clock.look), cache, "prefix:")

    with hijacked.taken_over(name) as clock.worker, traced():
        with pytest.raises((MalformedError, ExplainError)) as error:
            clock.worker.ask(hijacked.EXCHANGE, RequestMonitor(host, 600, lambda: None))
        held = tracemalloc.get_traced_memory()[1]
        assert not clock.worker.is_usable

    if isinstance(error.value, ExplainError):
        assert error.value.reason is Reason.CANCELLED
    assert clock.most["reads"] <= 1
    assert clock.most["calls"] <= 1
    assert clock.most["names"] <= 64
    assert clock.most["entries"] <= 256
    assert clock.most["byte_count"] <= frame_limits.VALUE_BYTE_LIMIT + 2**20
    assert held - CACHE_BYTES < HELD_BYTES


BREACHES = {
    name
    for name in hijacked.BEHAVIOURS
    if name
    not in {"1,024 names, again and again", "56 MiB of its own values, again and again"}
    | {SILENT, "flights without end", "one byte at a time"}
    | takeovers.UNREAD
}
"""Those that break a limit, rather than go on until somebody has had enough."""


@pytest.mark.parametrize("name", sorted(BREACHES))
def test_a_breach_is_malformed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long before the caller goes. Nothing but progress is told by the rate of reads."""
    monkeypatch.setattr(frame_limits, "READS_PER_SECOND", 0)
    monkeypatch.setattr(frame_limits, "PUT_BYTE_LIMIT", 32 * 2**20)
    is_flood = name in {"progress without end", "progress that is no number"}
    monkeypatch.setattr(frame_limits, "READ_BURST", 1_000 if is_flood else float("inf"))
    cache = CountingCache()
    host = RequestContext(RequestControl(600, Clock(cache, 50_000).look), cache, "prefix:")

    with hijacked.taken_over(name) as worker, pytest.raises(MalformedError):
        worker.ask(hijacked.EXCHANGE, RequestMonitor(host, 600, lambda: None))


def test_single_bytes_are_told_by_the_rate_of_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_limits, "READS_PER_SECOND", 0)
    monkeypatch.setattr(frame_limits, "READ_BURST", 1_000)
    cache = CountingCache()
    clock = Clock(cache, 10 * frame_limits.READ_BURST)
    host = RequestContext(RequestControl(600, clock.look), cache, "prefix:")

    with hijacked.taken_over("one byte at a time") as worker, pytest.raises(MalformedError):
        worker.ask(hijacked.EXCHANGE, RequestMonitor(host, 600, lambda: None))


@pytest.mark.parametrize("name", takeovers.AFTER_THE_ANSWER)
def test_after_its_answer_a_worker_rests(name: str) -> None:
    """It is stopped, so that it takes neither processor nor memory; what it has sent is seen."""
    host = RequestContext(RequestControl(600), CountingCache(), "prefix:")
    with hijacked.taken_over(name) as worker:
        worker.ask(hijacked.EXCHANGE, RequestMonitor(host, 600, lambda: None))
        worker.rest(0)
        time.sleep(0.2)

        assert worker.wake() is (name != "an answer in advance")


@pytest.mark.parametrize("name", takeovers.AFTER_THE_ANSWER)
def test_a_worker_that_did_not_rest_is_not_used_again(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it could not be stopped."""
    monkeypatch.setattr(signal, "SIGSTOP", signal.SIGCONT)
    host = RequestContext(RequestControl(600), CountingCache(), "prefix:")
    with hijacked.taken_over(name) as worker:
        worker.ask(hijacked.EXCHANGE, RequestMonitor(host, 600, lambda: None))
        worker.rest(0)
        until(lambda: not worker.wake())


def test_descriptors_that_come_with_an_answer_are_not_taken() -> None:
    """The parent has as many open files afterwards as before."""
    host = RequestContext(RequestControl(600), CountingCache(), "prefix:")
    with hijacked.taken_over(takeovers.HANDING) as worker:
        before = len([*OPEN.iterdir()])
        worker.ask(hijacked.EXCHANGE, RequestMonitor(host, 600, lambda: None))

        assert len([*OPEN.iterdir()]) == before


def test_after_a_refusal_a_worker_rests() -> None:
    """As after an answer, once it is given back."""
    host = RequestContext(RequestControl(600), CountingCache(), "prefix:")
    with hijacked.taken_over("a refusal, and a loop without end") as worker:
        with pytest.raises(ExplainError) as error:
            worker.ask(hijacked.EXCHANGE, RequestMonitor(host, 600, lambda: None))
        assert error.value.reason is Reason.INVALID_MODEL
        assert worker.is_usable
        worker.rest(0)

        until(lambda: is_stopped(worker.pid))


def is_stopped(pid: int) -> bool:
    """Whether a process does not run, by the letter of its state."""
    state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    return state == "T"
