"""Cached numbers in a real Redis that is killed, frozen, filled, restarted and lied in."""

from __future__ import annotations

import pickle
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from onnxplain_server.adapters.storage.layered_storage import LayeredCache
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.redis_cache import VALUE_BYTES, RedisCache
from onnxplain_server.adapters.storage.redis_connection import (
    TIMEOUT_SECONDS,
    RedisConnection,
    RedisUnavailableError,
)
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.interfaces import CacheCounts

SEAL_BYTES = len(Signer(b"secret").sign("", b""))


NEVER = 1e9
"""A pause after which nobody asks again."""


class Clock:
    """A clock that is moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def cache_on(link: RedisConnection) -> RedisCache:
    """A cache with a seal as good as any."""
    return RedisCache(link, Signer(b"secret"), 60)


def remember_often(cache: RedisCache, times: int) -> None:
    for _ in range(times):
        cache.put_many({"a": b"1"})


def test_what_was_remembered_is_recalled_in_the_order_asked(cache: RedisCache) -> None:
    cache.put_many({"a": b"1", "b": b""})

    assert cache.get_many(["b", "none", "a"]) == [b"", None, b"1"]
    assert cache.counts() == CacheCounts(2, 1, 0, 0)


def test_hundreds_of_names_are_recalled_at_once(cache: RedisCache) -> None:
    entries = {f"name {i}": str(i).encode() for i in range(300)}
    cache.put_many(entries)

    assert cache.get_many(list(entries)) == list(entries.values())


def test_values_live_as_long_as_they_are_told_to(redis_server, cache: RedisCache) -> None:
    cache.put_many({"a": b"1"})

    (key,) = redis_server.keys("cache")
    assert 3_000 < redis_server.admin.ttl(key) <= 3_600


def test_names_and_callers_cannot_be_read_from_the_keys(redis_server, cache: RedisCache) -> None:
    cache.put_many({"ada:salaries": b"1"})

    assert all(b"ada" not in key for key in redis_server.admin.scan_iter())


@pytest.mark.parametrize("caller", ["bob", "", "alice\n", "alice:", "a" * 10_000, "\x00\x1b[31m"])
def test_a_value_of_one_caller_is_none_of_another(
    redis_server, cache: RedisCache, caller: str
) -> None:
    """Not under the same name, nor where somebody copies it to the other's key."""
    mine, theirs = ("alice:model:table:grid", f"{caller}:model:table:grid")
    cache.put_many({mine: b"numbers of alice"})
    (key,) = redis_server.keys("cache")
    sealed = redis_server.admin.get(key)
    cache.put_many({theirs: b"others"})
    (other,) = set(redis_server.keys("cache")) - {key}
    redis_server.admin.set(other, sealed)

    assert cache.get_many([theirs]) == [None]
    assert all(len(each) < 100 and each.decode().isprintable() for each in (key, other))


@pytest.mark.parametrize("size", [VALUE_BYTES - SEAL_BYTES, VALUE_BYTES - SEAL_BYTES + 1])
def test_values_of_more_than_one_mebibyte_are_not_stored(
    redis_server, cache: RedisCache, size: int
) -> None:
    cache.put_many({"a": bytes(size)})

    fits = size + SEAL_BYTES <= VALUE_BYTES
    assert (cache.get_many(["a"]) == [bytes(size)]) is fits
    assert len(redis_server.keys("cache")) == fits


def test_many_large_values_travel_in_bounded_commands(cache: RedisCache) -> None:
    entries = {f"{i}": bytes([i]) * 1_000_000 for i in range(40)}

    cache.put_many(entries)

    assert cache.get_many(list(entries)) == list(entries.values())
    assert cache.counts().error_count == 0


def test_a_change_of_any_byte_makes_a_value_absent_and_deletes_it(
    redis_server, cache: RedisCache
) -> None:
    cache.put_many({"a": b"payload"})
    (key,) = redis_server.keys("cache")
    whole = redis_server.admin.get(key)

    for place in range(len(whole)):
        broken = bytearray(whole)
        broken[place] ^= 1
        redis_server.admin.set(key, bytes(broken))
        assert cache.get_many(["a"]) == [None]
        assert not redis_server.admin.exists(key)

    assert cache.counts() == CacheCounts(0, 0, len(whole), 0)


class Bomb:
    """Notices when it is unpickled."""

    exploded = False

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return Bomb.explode, ()

    @staticmethod
    def explode() -> None:
        Bomb.exploded = True


@pytest.mark.parametrize(
    "lie",
    [
        b"",
        b"\x00" * 100,
        b"ONXS\x02" + bytes(100),
        pickle.dumps(Bomb()),
        Signer(b"another secret of enough bytes").sign("a", b"payload"),
    ],
    ids=["nothing", "zeros", "later version", "pickle", "another secret"],
)
def test_a_value_that_was_not_sealed_here_is_absent(
    redis_server, cache: RedisCache, lie: bytes
) -> None:
    cache.put_many({"a": b"payload"})
    (key,) = redis_server.keys("cache")
    redis_server.admin.set(key, lie)

    assert cache.get_many(["a"]) == [None]
    assert redis_server.keys("cache") == []
    assert cache.counts().error_count == 1
    assert not Bomb.exploded


def test_a_value_that_is_cut_short_is_absent(redis_server, cache: RedisCache) -> None:
    cache.put_many({"a": b"payload"})
    (key,) = redis_server.keys("cache")
    whole = redis_server.admin.get(key)

    for length in range(len(whole)):
        redis_server.admin.set(key, whole[:length])
        assert cache.get_many(["a"]) == [None]


def test_values_moved_to_each_others_names_are_absent(redis_server, cache: RedisCache) -> None:
    """As if somebody replayed the numbers of one caller, model or table as those of another."""
    cache.put_many({"a": b"1", "b": b"2"})
    first, second = redis_server.keys("cache")
    redis_server.admin.rename(first, "kept")
    redis_server.admin.rename(second, first)
    redis_server.admin.rename("kept", second)

    assert cache.get_many(["a", "b"]) == [None, None]
    assert cache.counts().error_count == 2


def test_a_key_of_another_type_is_absent(redis_server, cache: RedisCache) -> None:
    cache.put_many({"a": b"1"})
    (key,) = redis_server.keys("cache")
    redis_server.admin.delete(key)
    redis_server.admin.rpush(key, "1")

    assert cache.get_many(["a"]) == [None]


def test_with_redis_gone_nothing_is_found_and_nothing_waits(
    redis_server, link_to: Callable[..., RedisConnection], tries: list[str]
) -> None:
    cache = cache_on(link_to(redis_server.url, pause=NEVER))
    cache.put_many({"a": b"1"})
    redis_server.kill()
    tries.clear()

    assert [cache.get_many(["a"]) for _ in range(1_000)] == [[None]] * 1_000
    remember_often(cache, 1_000)
    assert len(tries) == 1


def test_a_server_that_starts_without_redis_uses_it_once_it_is_there(
    redis_server, link_to: Callable[..., RedisConnection]
) -> None:
    redis_server.kill()
    clock = Clock()
    cache = cache_on(link_to(redis_server.url, pause=5.0, clock=clock))
    cache.put_many({"a": b"1"})

    redis_server.start()
    cache.put_many({"a": b"1"})
    assert cache.get_many(["a"]) == [None]
    clock.now = 5.0
    cache.put_many({"a": b"1"})

    assert cache.get_many(["a"]) == [b"1"]


def test_frozen_redis_costs_one_timeout_and_then_nothing(
    redis_server, link_to: Callable[..., RedisConnection], tries: list[str]
) -> None:
    cache = cache_on(link_to(redis_server.url, pause=NEVER, timeout=TIMEOUT_SECONDS))
    redis_server.freeze()
    start = time.monotonic()

    assert cache.get_many(["a"]) == [None]
    assert time.monotonic() - start > 0.9 * TIMEOUT_SECONDS
    assert [cache.get_many(["a"]) for _ in range(1_000)] == [[None]] * 1_000
    remember_often(cache, 1_000)
    assert len(tries) == 1


def test_frozen_redis_costs_every_thread_no_more_than_one_timeout(
    redis_server, link_to: Callable[..., RedisConnection], soon: Callable[..., bool]
) -> None:
    """More threads than the link has, each of which is busy until all who asked have gone on."""
    link = link_to(redis_server.url, pause=NEVER, timeout=TIMEOUT_SECONDS)
    thawed = threading.Event()
    ended: list[bool] = []

    def ask() -> None:
        with pytest.raises(RedisUnavailableError):
            link.ask(lambda _redis: thawed.wait(600))
        ended.append(thawed.is_set())

    threads = [threading.Thread(target=ask) for _ in range(30)]
    for thread in threads:
        thread.start()
    soon(lambda: len(ended) == len(threads))
    thawed.set()
    for thread in threads:
        thread.join()

    assert ended == [False] * 30


def test_over_time_frozen_redis_costs_one_timeout_per_pause(
    redis_server, link_to: Callable[..., RedisConnection], tries: list[str]
) -> None:
    clock = Clock()
    cache = cache_on(link_to(redis_server.url, pause=1.0, timeout=TIMEOUT_SECONDS, clock=clock))
    redis_server.freeze()
    for tenths in range(27):
        clock.now = tenths / 10
        cache.get_many(["a"])

    assert len(tries) == 3


def test_thawed_redis_gives_the_right_values_again(
    redis_server, link_to: Callable[..., RedisConnection], soon: Callable[..., bool]
) -> None:
    """The replies of commands that came too late must not be taken for those of later ones."""
    entries = {name: name.encode() for name in "abcdefgh"}
    cache_on(link_to(redis_server.url)).put_many(entries)
    cache = cache_on(link_to(redis_server.url, pause=0.0, timeout=TIMEOUT_SECONDS))
    found: list[tuple[bytes | None, ...]] = []

    def is_found(names: str) -> bool:
        found.append(tuple(cache.get_many(list(names))))
        return found[-1] == tuple(name.encode() for name in names)

    for name in entries:
        redis_server.freeze()
        assert cache.get_many([name]) == [None]
        redis_server.thaw()
        assert soon(lambda: is_found("ha"))
    assert soon(lambda: is_found("abcdefgh"))
    # On a busy machine, a command may be too late again.
    assert set(found) <= {(b"h", b"a"), (None,) * 2, tuple(entries.values()), (None,) * 8}


def test_restarted_redis_is_used_at_the_next_command(redis_server, cache: RedisCache) -> None:
    cache.put_many({"a": b"1"})
    redis_server.kill()
    redis_server.start()

    cache.put_many({"a": b"2"})

    assert cache.get_many(["a"]) == [b"2"]
    assert cache.counts().error_count == 0


@pytest.mark.parametrize(
    "busy",
    [
        lambda admin: admin.execute_command("DEBUG", "SLEEP", "3"),
        lambda admin: admin.eval(
            "local t = redis.call('TIME') local e = t[1] * 1e6 + t[2] + 3e6 "
            "repeat t = redis.call('TIME') until t[1] * 1e6 + t[2] > e",
            0,
        ),
    ],
    ids=["sleep", "script"],
)
def test_busy_redis_costs_one_timeout_and_then_answers_rightly(
    redis_server,
    link_to: Callable[..., RedisConnection],
    soon: Callable[..., bool],
    busy: Callable[[Any], Any],
) -> None:
    """It is busy for three seconds; who asks it goes on before."""
    cache_on(link_to(redis_server.url)).put_many({"a": b"1", "b": b"2"})
    cache = cache_on(link_to(redis_server.url, pause=0.0, timeout=TIMEOUT_SECONDS))
    for _ in range(20):  # until this process was not kept up for so long
        other = threading.Thread(target=busy, args=(redis_server.admin,))
        other.start()
        # At first it may not be busy yet.
        assert soon(lambda: cache.get_many(["a"]) == [None])
        went_on_before = other.is_alive()
        other.join()
        if went_on_before:
            break

    assert went_on_before
    assert soon(lambda: cache.get_many(["b"]) == [b"2"])


def test_full_redis_keeps_what_it_has_and_the_rest_is_counted(
    redis_server, cache: RedisCache
) -> None:
    cache.put_many({"before": b"1"})
    redis_server.admin.config_set("maxmemory", "2mb")
    large = {str(i): bytes(500_000) for i in range(8)}

    cache.put_many(large)

    assert cache.get_many(["before"]) == [b"1"]
    kept = sum(value is not None for value in cache.get_many(list(large)))
    assert kept < 8
    assert cache.counts().error_count == 8 - kept
    assert cache.get_many(["before"]) == [b"1"]


def test_redis_that_evicts_makes_values_absent_only(redis_server, cache: RedisCache) -> None:
    redis_server.admin.config_set("maxmemory", "3mb")
    redis_server.admin.config_set("maxmemory-policy", "allkeys-lru")
    entries = {str(i): bytes([i]) * 200_000 for i in range(50)}
    for name, value in entries.items():
        cache.put_many({name: value})

    found = cache.get_many(list(entries))

    assert 0 < sum(value is not None for value in found) < 50
    pairs = zip(found, entries.values(), strict=True)
    assert all(value in {None, expected} for value, expected in pairs)


def test_redis_that_refuses_everything_costs_numbers_only(redis_server, cache: RedisCache) -> None:
    """A user without rights, as after a mistake in its access rules."""
    redis_server.admin.acl_setuser("default", enabled=True, reset=False, commands=["-@all"])

    cache.put_many({"a": b"1"})

    assert cache.get_many(["a"]) == [None]
    assert cache.counts().error_count == 2


def test_a_wrong_password_costs_numbers_only(
    redis_server, link_to: Callable[..., RedisConnection]
) -> None:
    redis_server.admin.config_set("requirepass", "right")
    url = redis_server.url.replace("//", "//:wrong@")
    cache = cache_on(link_to(url))

    assert cache.get_many(["a"]) == [None]


def test_rules_for_our_keys_and_three_commands_suffice_for_cached_numbers(
    redis_server, link_to: Callable[..., RedisConnection]
) -> None:
    redis_server.admin.execute_command(
        "ACL", "SETUSER", "ours", "on", ">pw", "~onnxplain:*", "+mget", "+set", "+del"
    )
    cache = cache_on(link_to(redis_server.url.replace("//", "//ours:pw@")))

    cache.put_many({"a": b"1"})

    assert cache.get_many(["a", "b"]) == [b"1", None]
    assert cache.counts().error_count == 0


def test_an_address_that_swallows_everything_costs_one_timeout(
    link_to: Callable[..., RedisConnection], tries: list[str]
) -> None:
    """TEST-NET-1 (RFC 5737): nobody answers there, or nobody lets us."""
    link = link_to("redis://192.0.2.1:6379/0", pause=NEVER, timeout=TIMEOUT_SECONDS)
    start = time.monotonic()

    def ask() -> None:
        with pytest.raises(RedisUnavailableError):
            link.ask(lambda redis: redis.ping())

    ask()
    ask()

    assert len(tries) == 1
    assert time.monotonic() - start < 60  # the system itself tries for two minutes


def test_a_slow_look_up_of_the_address_costs_one_timeout(
    link_to: Callable[..., RedisConnection], tries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks goes on before the address is found, or is not."""
    link = link_to("redis://redis.example:6379/0", pause=NEVER, timeout=TIMEOUT_SECONDS)
    released = threading.Event()
    looked_up: list[str] = []

    def look_up(name: str, *_, **__) -> list[Any]:
        released.wait(120)
        looked_up.append(name)
        return []

    monkeypatch.setattr("socket.getaddrinfo", look_up)

    def ask() -> None:
        with pytest.raises(RedisUnavailableError):
            link.ask(lambda redis: redis.ping())

    ask()
    ask()

    assert looked_up == []
    assert len(tries) == 1
    released.set()


def test_a_command_that_came_too_late_is_not_tried_again(
    link_to: Callable[..., RedisConnection],
) -> None:
    """redis-py's own habit, on a thread that would be missing for later commands."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"redis://127.0.0.1:{mute.getsockname()[1]}/0"
        link = link_to(url, timeout=TIMEOUT_SECONDS)
        with pytest.raises(RedisUnavailableError):
            link.ask(lambda redis: redis.ping())
        link.close()  # it waits for its threads: then nothing more comes
        mute.setblocking(False)
        with mute.accept()[0], pytest.raises(BlockingIOError):
            mute.accept()


def test_redis_is_asked_only_for_what_this_process_lacks(redis_server, cache: RedisCache) -> None:
    layered = LayeredCache(MemoryCache(100_000, Signer(b"front")), cache)
    layered.put_many({"a": b"1", "b": b"2"})
    redis_server.admin.flushall()

    assert layered.get_many(["a", "c"]) == [b"1", None]
    counts = layered.counts()
    assert (counts.hit_count, counts.miss_count) == (1, 1)


def test_numbers_of_another_process_are_fetched_once(cache: RedisCache) -> None:
    cache.put_many({"a": b"1"})
    layered = LayeredCache(MemoryCache(100_000, Signer(b"front")), cache)

    assert [layered.get_many(["a"]), layered.get_many(["a"])] == [[b"1"], [b"1"]]
    assert cache.counts().hit_count == 1
    assert (layered.counts().hit_count, layered.counts().miss_count) == (2, 0)
