"""Uploaded files in a real Redis: in parts, for a time, within their room, whole or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from onnxplain_server.adapters.storage import redis_eviction
from onnxplain_server.adapters.storage.layered_storage import LayeredBlobs
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.redis_blobs import RedisBlobs
from onnxplain_server.adapters.storage.redis_connection import TIMEOUT_SECONDS, RedisConnection
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.request import RequestFile

SIGNER = Signer(b"secret of the tests")
MIB = 2**20


def blob(size: int, seed: int = 0) -> RequestFile:
    return RequestFile("csv", np.random.default_rng(seed).bytes(size))


@pytest.fixture
def blobs(link: RedisConnection) -> RedisBlobs:
    return RedisBlobs(link, SIGNER, 20 * MIB, 3_600)


def is_kept(store: RedisBlobs, name: str, given: RequestFile) -> bool:
    found = store.get(name)
    return found is not None and (found.form, found.content) == (given.form, given.content)


@pytest.mark.parametrize("size", [1, MIB - 38, MIB - 37, MIB - 36, 5 * MIB, 5 * MIB + 1])
def test_a_file_is_kept_as_it_is(blobs: RedisBlobs, size: int) -> None:
    given = blob(size)

    blobs.put("a", given)

    assert is_kept(blobs, "a", given)
    assert blobs.get("b") is None


def test_no_value_in_redis_is_larger_than_one_mebibyte(redis_server, blobs: RedisBlobs) -> None:
    blobs.put("a", blob(5 * MIB))

    sizes = [redis_server.admin.strlen(key) for key in redis_server.keys("part")]
    assert len(sizes) == 6
    assert max(sizes) == MIB


def test_another_process_finds_it(
    redis_server, blobs: RedisBlobs, link_to: Callable[..., RedisConnection]
) -> None:
    given = blob(3 * MIB)
    blobs.put("a", given)

    assert is_kept(RedisBlobs(link_to(redis_server.url), SIGNER, 20 * MIB, 3_600), "a", given)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch, redis_server) -> Callable[[float], None]:
    """Lets time pass for what is kept: by the servers' clocks, and in Redis."""
    passed = 0.0

    class Clock:
        @staticmethod
        def time() -> float:
            return time.time() + passed

    def go_on(seconds: float) -> None:
        nonlocal passed
        passed += seconds
        admin = redis_server.admin
        for key in [*redis_server.keys("part"), *redis_server.keys("blob")]:
            admin.pexpire(key, admin.pttl(key) - round(1000 * seconds))

    monkeypatch.setattr(redis_eviction, "time", Clock)
    return go_on


def test_all_of_it_goes_when_its_time_is_over(
    redis_server, link: RedisConnection, later: Callable[[float], None]
) -> None:
    store = RedisBlobs(link, SIGNER, 20 * MIB, 1_000)
    store.put("a", blob(3 * MIB))

    later(1_000)

    assert store.get("a") is None
    assert redis_server.keys("part") == redis_server.keys("blob") == []


def test_uploading_again_begins_its_time_anew_without_storing_it_twice(
    redis_server, link: RedisConnection, later: Callable[[float], None]
) -> None:
    store, given = RedisBlobs(link, SIGNER, 20 * MIB, 1_000), blob(3 * MIB)
    store.put("a", given)
    keys = redis_server.keys("part")
    later(700)

    store.put("a", given)

    assert redis_server.keys("part") == keys
    assert redis_server.admin.zcard("onnxplain:blobs") == 1
    later(700)
    assert is_kept(store, "a", given)


def test_a_file_of_which_a_part_is_gone_is_stored_anew(redis_server, blobs: RedisBlobs) -> None:
    given = blob(3 * MIB)
    blobs.put("a", given)
    redis_server.admin.delete(redis_server.keys("part")[1])
    assert blobs.get("a") is None

    blobs.put("a", given)

    assert is_kept(blobs, "a", given)


def test_those_that_end_first_make_room(redis_server, blobs: RedisBlobs) -> None:
    files = {name: blob(6 * MIB, seed) for seed, name in enumerate("abcd")}
    for name, given in files.items():
        blobs.put(name, given)

    assert [is_kept(blobs, name, given) for name, given in files.items()] == [False, *[True] * 3]
    assert len(redis_server.keys("part")) == 3 * 7


def test_a_file_that_was_uploaded_again_is_not_the_first_to_go(blobs: RedisBlobs) -> None:
    files = {name: blob(6 * MIB, seed) for seed, name in enumerate("abcd")}
    for name in "abcad":
        blobs.put(name, files[name])

    assert [is_kept(blobs, name, given) for name, given in files.items()] == [
        True,
        False,
        True,
        True,
    ]


def test_who_uploads_much_displaces_his_own_and_nobody_else_s(blobs: RedisBlobs) -> None:
    files = {name: blob(4 * MIB, seed) for seed, name in enumerate(["ann:1", "bob:1", "eve:1"])}
    for name, given in files.items():
        blobs.put(name, given)

    for seed in range(3, 9):
        blobs.put(f"eve:{seed}", blob(4 * MIB, seed))

    assert [is_kept(blobs, name, given) for name, given in files.items()] == [True, True, False]
    kept = [is_kept(blobs, f"eve:{seed}", blob(4 * MIB, seed)) for seed in range(3, 9)]
    assert kept == [False] * 3 + [True] * 3


def test_who_holds_most_makes_room_for_others(blobs: RedisBlobs) -> None:
    for seed in range(5):
        blobs.put(f"eve:{seed}", blob(4 * MIB, seed))

    blobs.put("ann:1", blob(4 * MIB, 9))

    assert is_kept(blobs, "ann:1", blob(4 * MIB, 9))
    kept = [is_kept(blobs, f"eve:{seed}", blob(4 * MIB, seed)) for seed in range(5)]
    assert kept == [False] + [True] * 4


def test_the_list_of_files_does_not_grow_with_those_that_are_gone(
    redis_server, link: RedisConnection, later: Callable[[float], None]
) -> None:
    store = RedisBlobs(link, SIGNER, 20 * MIB, 1_000)
    for seed in range(5):
        store.put(str(seed), blob(100, seed))
    later(1_000)

    store.put("a", blob(100))

    assert redis_server.admin.zcard("onnxplain:blobs") == 1


def test_small_files_are_not_kept_in_any_number(redis_server, link: RedisConnection) -> None:
    store = RedisBlobs(link, SIGNER, MIB, 3_600)
    for seed in range(30):
        store.put(str(seed), blob(100, seed))

    assert redis_server.admin.zcard("onnxplain:blobs") == 16


def test_what_is_over_its_time_takes_no_room(
    redis_server, link: RedisConnection, later: Callable[[float], None]
) -> None:
    """Eve holds most, and would lose what is left of hers to what was Bob's."""
    store, given = RedisBlobs(link, SIGNER, 20 * MIB, 1_000), blob(10 * MIB)
    RedisBlobs(link, SIGNER, 20 * MIB, 500).put("bob:1", blob(8 * MIB))
    store.put("eve:1", given)
    later(600)

    store.put("ann:1", blob(9 * MIB, 1))

    assert is_kept(store, "eve:1", given)
    assert redis_server.admin.zcard("onnxplain:blobs") == 2


def test_a_file_larger_than_all_room_displaces_nothing(blobs: RedisBlobs) -> None:
    given = blob(MIB)
    blobs.put("a", given)

    blobs.put("b", blob(20 * MIB + 1))

    assert is_kept(blobs, "a", given)
    assert blobs.get("b") is None


def test_lies_in_the_list_of_files_do_no_harm(redis_server, blobs: RedisBlobs) -> None:
    end = time.time() + 1_000
    lies = [b"\xff\xfe", "no entry", "0" * 32 + " 999999 1", "0" * 32 + " 1 " + "9" * 18]
    redis_server.admin.zadd("onnxplain:blobs", dict.fromkeys(lies, end))
    given = blob(MIB)

    blobs.put("a", given)

    assert is_kept(blobs, "a", given)


@pytest.mark.parametrize("kind", ["blob", "part"])
def test_a_change_of_any_value_makes_a_file_absent(
    redis_server, blobs: RedisBlobs, kind: str
) -> None:
    given = blob(2 * MIB)
    damages = [
        lambda whole: whole[:-1],
        lambda whole: whole[:50] + bytes(byte ^ 1 for byte in whole[50:52]) + whole[52:],
        lambda _whole: b"",
        lambda whole: whole + b"\x00",
    ]
    for place, damage in product(range(1 if kind == "blob" else 3), damages):
        blobs.put("a", given)
        key = redis_server.keys(kind)[place]
        redis_server.admin.set(key, damage(redis_server.admin.get(key)))
        assert blobs.get("a") is None
        # Where the head is lost, nobody knows its parts: they wait for their time to be over.
        assert kind == "blob" or redis_server.keys("part") == []

    blobs.put("a", given)
    assert is_kept(blobs, "a", given)


def test_parts_in_each_others_places_make_a_file_absent(redis_server, blobs: RedisBlobs) -> None:
    blobs.put("a", blob(2 * MIB))
    first, second, _ = redis_server.keys("part")
    redis_server.admin.rename(first, "kept")
    redis_server.admin.rename(second, first)
    redis_server.admin.rename("kept", second)

    assert blobs.get("a") is None


def test_a_head_under_another_name_is_no_file(redis_server, blobs: RedisBlobs) -> None:
    """As if somebody gave a caller the file of another."""
    blobs.put("ada", blob(100))
    (ada,) = redis_server.keys("blob")
    blobs.put("bob", blob(100, 1))
    (bob,) = set(redis_server.keys("blob")) - {ada}
    redis_server.admin.copy(ada, bob, replace=True)

    assert blobs.get("bob") is None


def test_redis_that_is_full_keeps_nothing_of_a_file(redis_server, blobs: RedisBlobs) -> None:
    redis_server.admin.config_set("maxmemory", "6mb")

    blobs.put("a", blob(15 * MIB))

    assert blobs.get("a") is None
    assert redis_server.keys("part") == []


@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_where_redis_fails_this_process_still_keeps_files(
    redis_server, link_to: Callable[..., RedisConnection], tries: list[str], fault: str
) -> None:
    """At the cost of one timeout, though the file has ten parts."""
    link = link_to(redis_server.url, pause=1e9, timeout=TIMEOUT_SECONDS)
    blobs = RedisBlobs(link, SIGNER, 20 * MIB, 3_600)
    store = LayeredBlobs(MemoryBlobs(20 * MIB, 3_600), blobs)
    getattr(redis_server, fault)()
    given = blob(10 * MIB)

    store.put("a", given)

    assert store.get("a") is given
    assert store.get("b") is None
    assert len(tries) == 1


def test_a_file_is_fetched_once_by_each_process(redis_server, blobs: RedisBlobs) -> None:
    given = blob(2 * MIB)
    blobs.put("a", given)
    store = LayeredBlobs(MemoryBlobs(20 * MIB, 3_600), blobs)
    assert store.get("a") is not None

    redis_server.admin.flushall()

    found = store.get("a")
    assert found is not None
    assert found.content == given.content
