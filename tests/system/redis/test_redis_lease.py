"""One computation where several replicas ask the same; each link stands for a replica."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from onnxplain_server.adapters.storage import redis_lease
from onnxplain_server.adapters.storage.layered_storage import LayeredCache
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.redis_cache import RedisCache
from onnxplain_server.adapters.storage.redis_connection import TIMEOUT_SECONDS, RedisConnection
from onnxplain_server.adapters.storage.redis_lease import LEASE_SECONDS, Leases
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.errors import ExplainError, Reason

LONG_SECONDS = 60.0
"""A lease that nobody loses on a machine that has much else to do."""


@pytest.fixture(autouse=True)
def _done_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """On such a machine, who waits may sleep longer than a second."""
    monkeypatch.setattr(redis_lease, "_DONE_MILLISECONDS", round(1000 * LEASE_SECONDS))


def patient() -> bool:
    return True


def never() -> bool:
    return False


class Asker:
    """Asks for the work "a" in another thread."""

    def __init__(self, leases: Leases) -> None:
        self._leases = leases
        self._has_waited = threading.Event()
        self._first: list[bool] = []
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        with self._leases.single_flight("a", self._keep_waiting) as first:
            self._first.append(first)

    def _keep_waiting(self) -> bool:
        self._has_waited.set()
        return True

    def waits(self) -> bool:
        """Whether it has come to wait, and still does."""
        return self._has_waited.wait(120) and not self._first

    def first(self) -> bool:
        """Whether it was the first inside, as soon as it was there."""
        self._thread.join(120)
        return self._first[0]


class Holder:
    """Holds the work "a" in another thread until told to end."""

    def __init__(self, leases) -> None:
        self._leases = leases
        self._inside = threading.Event()
        self._end = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._hold, daemon=True)
        self._thread.start()
        assert self._inside.wait(120)

    def _hold(self) -> None:
        try:
            with self._leases.single_flight("a", patient) as self.first:
                self._inside.set()
                self._end.wait(600)
                if self._failure:
                    raise self._failure
        except ValueError:
            pass

    def end(self, failure: Exception | None = None) -> None:
        self._failure = failure
        self._end.set()
        self._thread.join()


def asked(leases: Leases, keep_waiting: Callable[[], bool] = patient) -> bool:
    """Ask for the work "a": whether it was the first inside."""
    with leases.single_flight("a", keep_waiting) as first:
        return first


@pytest.fixture
def here(redis_server, link_to: Callable[..., RedisConnection]) -> Leases:
    return Leases(link_to(redis_server.url), LONG_SECONDS)


@pytest.fixture
def there(redis_server, link_to: Callable[..., RedisConnection]) -> Leases:
    return Leases(link_to(redis_server.url), LONG_SECONDS)


def test_who_asks_while_another_works_waits_until_it_is_done(here: Leases, there: Leases) -> None:
    holder, asker = Holder(here), Asker(there)
    assert asker.waits()
    holder.end()

    assert holder.first
    assert not asker.first()
    assert (here.coalesced_count, there.coalesced_count) == (0, 1)


def test_all_who_wait_go_on_together_once_the_work_is_done(
    redis_server, here: Leases, link_to: Callable[..., RedisConnection]
) -> None:
    holder = Holder(here)
    askers = [Asker(Leases(link_to(redis_server.url), LONG_SECONDS)) for _ in range(10)]
    assert all(asker.waits() for asker in askers)

    holder.end()

    assert [asker.first() for asker in askers] == [False] * 10


class OftenRenewed(Leases):
    """Leases that are renewed as if they ended soon, and last for long."""

    _milliseconds = 1_000_000


def test_a_lease_is_kept_for_as_long_as_the_work_takes(
    redis_server, link_to: Callable[..., RedisConnection], soon: Callable[..., bool]
) -> None:
    """Whenever half of its time is over, it is renewed."""
    here, there = (OftenRenewed(link_to(redis_server.url), seconds=0.2) for _ in range(2))
    holder, asker = Holder(here), Asker(there)
    (key,) = redis_server.keys("lease")
    for _ in range(3):
        redis_server.admin.pexpire(key, 500_000)
        assert soon(lambda: redis_server.admin.pttl(key) > 600_000)

    assert asker.waits()
    holder.end()
    assert not asker.first()


class Ticks(threading.Event):
    """An event that comes at the fourth wait, without any waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout or 0.0)
        return len(self.waits) > 3


def test_a_lease_is_renewed_long_before_it_ends(redis_server, here: Leases) -> None:
    """Two renewals may be lost, or come late, and the third is in time."""
    holder, ticks = Holder(here), Ticks()
    (key,) = redis_server.keys("lease")
    here._renew(key.decode(), redis_server.admin.get(key).decode(), ticks)
    holder.end()

    assert len(ticks.waits) == 4
    assert 3 * max(ticks.waits) < LONG_SECONDS


def test_work_that_fails_is_taken_over(here: Leases, there: Leases) -> None:
    holder, asker = Holder(here), Asker(there)
    assert asker.waits()
    holder.end(ValueError("the work failed"))

    assert asker.first()


def test_work_of_a_replica_that_was_killed_is_taken_over_when_its_lease_ends(
    redis_server, there: Leases
) -> None:
    """As a replica leaves its lease that has no time to say anything."""
    with there.single_flight("a", patient):
        (key,) = redis_server.keys("lease")
    start = time.monotonic()
    redis_server.admin.set(key, "token of the dead", px=700)

    assert asked(there)
    assert time.monotonic() - start > 0.69


@pytest.mark.parametrize("value", ["token of nobody", "done", ""])
@pytest.mark.parametrize("seconds", [None, 365 * 86_400])
def test_a_lease_without_a_time_to_live_or_with_a_longer_one_is_taken_over_at_once(
    redis_server, there: Leases, value: str, seconds: int | None
) -> None:
    """Nobody renews or releases it, so that all would wait for it as long as they may."""
    with there.single_flight("a", patient):
        (key,) = redis_server.keys("lease")
    redis_server.admin.set(key, value, ex=seconds)

    with there.single_flight("a", never) as first:
        assert first
        assert 0 < redis_server.admin.pttl(key) <= 1000 * LONG_SECONDS


def test_a_lease_whose_time_to_live_was_removed_is_taken_over_by_one_of_those_who_wait(
    redis_server, here: Leases, link_to: Callable[..., RedisConnection]
) -> None:
    holder = Holder(here)
    askers = [Asker(Leases(link_to(redis_server.url), LONG_SECONDS)) for _ in range(5)]
    assert all(asker.waits() for asker in askers)
    (key,) = redis_server.keys("lease")

    redis_server.admin.persist(key)

    assert sorted(asker.first() for asker in askers) == [False] * 4 + [True]
    holder.end()


def test_a_lease_that_was_lost_is_not_taken_from_its_new_holder(redis_server, here: Leases) -> None:
    holder = Holder(here)
    (key,) = redis_server.keys("lease")
    redis_server.admin.set(key, "token of another", px=600_000)

    holder.end()

    assert redis_server.admin.get(key) == b"token of another"


def test_a_lease_never_outlives_its_time_by_far(redis_server, here: Leases) -> None:
    holder = Holder(here)
    (key,) = redis_server.keys("lease")
    lives = [redis_server.admin.pttl(key)]
    here._renew(key.decode(), redis_server.admin.get(key).decode(), Ticks())
    lives.append(redis_server.admin.pttl(key))
    holder.end()
    done = redis_server.admin.pttl(key)

    assert 0 < min(lives) <= max(lives) <= 1_000 * LONG_SECONDS
    assert 0 < done <= redis_lease._DONE_MILLISECONDS


def test_who_is_no_longer_patient_goes_on_without(here: Leases, there: Leases) -> None:
    holder = Holder(here)
    answers = iter([True, True, False])

    assert not asked(there, lambda: next(answers))

    assert list(answers) == []
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
    redis_server, here: Leases, link_to: Callable[..., RedisConnection], fault: str
) -> None:
    """Before the work is done: frozen, Redis gives nobody the lease and tells of no end."""
    holder = Holder(here)
    asker = Asker(Leases(link_to(redis_server.url, timeout=TIMEOUT_SECONDS), LONG_SECONDS))
    asker.waits()
    getattr(redis_server, fault)()

    assert not asker.first()
    redis_server.kill()  # nor would the holder be answered that it has ended
    holder.end()


def test_without_redis_nobody_waits(
    redis_server, link_to: Callable[..., RedisConnection], tries: list[str]
) -> None:
    leases = Leases(link_to(redis_server.url, pause=1e9), LONG_SECONDS)
    redis_server.kill()

    assert [asked(leases) for _ in range(100)] == [False] * 100
    assert len(tries) == 1


def test_where_scripts_are_refused_a_lease_ends_by_its_time(
    redis_server, link_to: Callable[..., RedisConnection]
) -> None:
    redis_server.admin.execute_command(
        "ACL", "SETUSER", "ours", "on", ">pw", "~onnxplain:*", "+get", "+set", "+pexpire"
    )
    url = redis_server.url.replace("//", "//ours:pw@")
    here, there = (Leases(link_to(url), LONG_SECONDS) for _ in range(2))
    holder, asker = Holder(here), Asker(there)
    assert asker.waits()
    (key,) = redis_server.keys("lease")
    token = redis_server.admin.get(key)
    holder.end()

    assert redis_server.admin.get(key) == token
    assert 0 < redis_server.admin.pttl(key) <= 1_000 * LONG_SECONDS
    redis_server.admin.pexpire(key, 1)
    assert asker.first()


def test_of_a_process_one_asker_at_a_time_asks_redis(
    redis_server, link_to: Callable[..., RedisConnection], soon: Callable[..., bool]
) -> None:
    caches = [
        LayeredCache(
            MemoryCache(10_000, Signer(b"front")),
            RedisCache(link_to(redis_server.url), Signer(b"secret"), 60),
        )
        for _ in range(2)
    ]
    inside: list[bool] = []
    waiting: set[int] = set()
    all_have_come = threading.Event()

    def keep_waiting() -> bool:
        waiting.add(threading.get_ident())
        return True

    def ask(cache: LayeredCache) -> None:
        with cache.single_flight("a", keep_waiting) as first:
            if first:
                all_have_come.wait(120)
            inside.append(first)

    threads = [threading.Thread(target=ask, args=(caches[i % 2],)) for i in range(40)]
    for thread in threads:
        thread.start()
    assert soon(lambda: len(waiting) == 39)
    clients = redis_server.admin.client_list()
    all_have_come.set()
    for thread in threads:
        thread.join()

    assert sorted(inside) == [False] * 39 + [True]
    assert len(clients) <= 5
