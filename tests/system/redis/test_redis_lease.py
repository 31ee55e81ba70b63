"""One computation where several replicas ask the same; each link stands for a replica."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from onnxplain_server.adapters.layered_cache import LayeredCache
from onnxplain_server.adapters.memory_cache import MemoryCache
from onnxplain_server.adapters.redis_cache import RedisCache
from onnxplain_server.adapters.redis_lease import Leases
from onnxplain_server.adapters.redis_link import Link
from onnxplain_server.adapters.seal import Seal
from onnxplain_server.errors import ExplainError, Reason


def patient() -> bool:
    return True


class Holder:
    """Holds the work "a" in another thread until told to end."""

    def __init__(self, leases: Any) -> None:
        self._leases = leases
        self._inside = threading.Event()
        self._end = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._hold)
        self._thread.start()
        assert self._inside.wait(2)

    def _hold(self) -> None:
        try:
            with self._leases.alone("a", patient) as self.first:
                self._inside.set()
                self._end.wait(20)
                if self._failure:
                    raise self._failure
        except ValueError:
            pass

    def end(self, failure: Exception | None = None) -> None:
        self._failure = failure
        self._end.set()
        self._thread.join()


def asked(leases: Leases, keep_waiting: Callable[[], bool] = patient) -> tuple[bool, float]:
    """Ask for the work "a": whether it was the first inside, and after how many seconds."""
    start = time.monotonic()
    with leases.alone("a", keep_waiting) as first:
        return first, time.monotonic() - start


def later(seconds: float, action: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(seconds, action)
    timer.start()
    return timer


@pytest.fixture
def here(redis_server: Any, link_to: Callable[..., Link]) -> Leases:
    return Leases(link_to(redis_server.url), seconds=1.0)


@pytest.fixture
def there(redis_server: Any, link_to: Callable[..., Link]) -> Leases:
    return Leases(link_to(redis_server.url), seconds=1.0)


def test_who_asks_while_another_works_waits_until_it_is_done(here: Leases, there: Leases) -> None:
    holder = Holder(here)
    later(0.5, holder.end)

    first, waited = asked(there)

    assert holder.first
    assert not first
    assert 0.4 < waited < 0.9
    assert (here.coalesced_count, there.coalesced_count) == (0, 1)


def test_all_who_wait_go_on_together_once_the_work_is_done(
    redis_server: Any, here: Leases, link_to: Callable[..., Link]
) -> None:
    holder = Holder(here)
    found: list[tuple[bool, float]] = []
    others = [Leases(link_to(redis_server.url)) for _ in range(10)]
    threads = [threading.Thread(target=lambda o=o: found.append(asked(o))) for o in others]
    for thread in threads:
        thread.start()
    time.sleep(0.3)

    holder.end()
    start = time.monotonic()
    for thread in threads:
        thread.join()

    assert time.monotonic() - start < 0.5
    assert [first for first, _ in found] == [False] * 10


def test_a_lease_is_kept_for_as_long_as_the_work_takes(here: Leases, there: Leases) -> None:
    """Three times as long as a lease lasts that is not renewed."""
    holder = Holder(here)
    later(3.0, holder.end)

    first, waited = asked(there)

    assert not first
    assert waited > 2.9


def test_work_that_fails_is_taken_over(here: Leases, there: Leases) -> None:
    holder = Holder(here)
    later(0.3, lambda: holder.end(ValueError("the work failed")))

    assert asked(there)[0]


def test_work_of_a_replica_that_was_killed_is_taken_over_when_its_lease_ends(
    redis_server: Any, there: Leases
) -> None:
    """As a replica leaves its lease that has no time to say anything."""
    with there.alone("a", patient):
        (key,) = redis_server.keys("lease")
    redis_server.admin.set(key, "token of the dead", px=700)

    first, waited = asked(there)

    assert first
    assert 0.5 < waited < 1.0


def test_a_lease_that_was_lost_is_not_taken_from_its_new_holder(
    redis_server: Any, here: Leases
) -> None:
    holder = Holder(here)
    (key,) = redis_server.keys("lease")
    redis_server.admin.set(key, "token of another", px=5_000)

    holder.end()

    assert redis_server.admin.get(key) == b"token of another"


def test_a_lease_never_outlives_its_time_by_far(redis_server: Any, here: Leases) -> None:
    holder = Holder(here)
    (key,) = redis_server.keys("lease")
    lives = []
    for _ in range(30):
        lives.append(redis_server.admin.pttl(key))
        time.sleep(0.05)
    holder.end()

    assert min(lives) > 0
    assert max(lives) <= 1_000
    time.sleep(1.1)
    assert redis_server.keys("lease") == []


def test_who_is_no_longer_patient_goes_on_without(here: Leases, there: Leases) -> None:
    holder = Holder(here)
    answers = iter([True, True, False])

    first, waited = asked(there, lambda: next(answers))

    assert not first
    assert 0.15 < waited < 0.5
    holder.end()


def test_what_ends_the_waiting_is_raised_to_the_one_who_waits(here: Leases, there: Leases) -> None:
    holder = Holder(here)

    def leave() -> bool:
        raise ExplainError(Reason.CANCELLED, "the caller has gone")

    with pytest.raises(ExplainError, match="gone"):
        asked(there, leave)
    holder.end()


@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_who_waits_goes_on_where_redis_fails(
    redis_server: Any, here: Leases, there: Leases, fault: str
) -> None:
    holder = Holder(here)
    later(0.3, getattr(redis_server, fault))

    first, waited = asked(there)

    assert not first
    assert waited < 1.0
    holder.end()


def test_without_redis_nobody_waits(redis_server: Any, here: Leases) -> None:
    redis_server.kill()

    assert asked(here)[1] < 0.3
    assert asked(here)[1] < 0.01


def test_where_scripts_are_refused_a_lease_ends_by_its_time(
    redis_server: Any, link_to: Callable[..., Link]
) -> None:
    redis_server.admin.execute_command(
        "ACL", "SETUSER", "ours", "on", ">pw", "~onnxplain:*", "+get", "+set", "+pexpire"
    )
    url = redis_server.url.replace("//", "//ours:pw@")
    here, there = (Leases(link_to(url), seconds=0.6) for _ in range(2))
    holder = Holder(here)
    later(1.5, holder.end)

    first, waited = asked(there)

    assert first
    assert 1.4 < waited < 2.7


def test_of_a_process_one_asker_at_a_time_asks_redis(
    redis_server: Any, link_to: Callable[..., Link]
) -> None:
    caches = [
        LayeredCache(
            MemoryCache(10_000, Seal(b"front")),
            RedisCache(link_to(redis_server.url), Seal(b"secret"), 60),
        )
        for _ in range(2)
    ]
    inside: list[bool] = []

    def ask(cache: LayeredCache) -> None:
        with cache.alone("a", patient) as first:
            if first:
                time.sleep(0.5)
            inside.append(first)

    threads = [threading.Thread(target=ask, args=(caches[i % 2],)) for i in range(40)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    clients = redis_server.admin.client_list()
    for thread in threads:
        thread.join()

    assert sorted(inside) == [False] * 39 + [True]
    assert len(clients) <= 5
