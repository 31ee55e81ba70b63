"""In-memory cache: LRU eviction, byte limit, signatures."""

from __future__ import annotations

import threading
import tracemalloc

import pytest
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.interfaces import CacheCounts

SIGNER = Signer(b"secret")


def test_what_was_remembered_is_recalled_in_the_order_asked() -> None:
    cache = MemoryCache(10_000, SIGNER)
    cache.put_many({"a": b"1", "b": b""})

    assert cache.get_many(["b", "none", "a"]) == [b"", None, b"1"]


def test_the_least_recently_used_goes_first() -> None:
    cache = MemoryCache(3 * 1_450, SIGNER)
    for name in "abc":
        cache.put_many({name: bytes(1_000)})
    cache.get_many(["a"])

    cache.put_many({"d": bytes(1_000)})

    assert [value is not None for value in cache.get_many("abcd")] == [True, False, True, True]


def test_a_value_over_the_whole_limit_is_dropped_and_displaces_nothing() -> None:
    cache = MemoryCache(2_000, SIGNER)
    cache.put_many({"small": b"1"})

    cache.put_many({"large": bytes(2_000)})

    assert cache.get_many(["small", "large"]) == [b"1", None]


def test_a_cache_of_no_bytes_keeps_nothing() -> None:
    cache = MemoryCache(0, SIGNER)

    cache.put_many({"a": b""})

    assert cache.get_many(["a"]) == [None]
    assert cache.counts().byte_count == 0


def test_nobody_waits_for_what_will_not_be_kept() -> None:
    cache = MemoryCache(0, SIGNER)

    with cache.single_flight("a", pytest.fail), cache.single_flight("a", pytest.fail) as second:
        assert second


def test_the_limit_holds_for_the_memory_that_is_really_taken() -> None:
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    cache = MemoryCache(500_000, SIGNER)
    for number in range(3_000):
        cache.put_many({f"{number}" * 20: bytes(number % 100)})
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()

    assert 250_000 < cache.counts().byte_count <= 500_000
    assert taken <= 1.1 * 500_000


def test_hits_and_misses_are_counted() -> None:
    cache = MemoryCache(10_000, SIGNER)
    cache.put_many({"a": b"1"})

    cache.get_many(["a", "b", "a", "c", "a"])

    counts = cache.counts()
    assert (counts.hit_count, counts.miss_count, counts.error_count) == (3, 2, 0)
    assert counts.byte_count > 0


def test_a_value_under_another_name_is_an_error_and_then_absent() -> None:
    """As if something had moved the values of one caller to another's names."""
    cache = MemoryCache(10_000, SIGNER)
    cache.put_many({"a": b"1", "b": b"2"})
    values = cache._values
    first, second = values
    values[first], values[second] = values[second], values[first]

    assert cache.get_many(["a", "b"]) == [None, None]
    assert cache.counts() == CacheCounts(hit_count=0, miss_count=0, error_count=2, byte_count=0)
    assert cache.get_many(["a"]) == [None]
    assert cache.counts().miss_count == 1


def test_many_threads_at_once_neither_fail_nor_mix_values() -> None:
    cache = MemoryCache(20_000, SIGNER)
    wrong: list[str] = []

    def work(own: int) -> None:
        for turn in range(300):
            name = f"{own}-{turn % 7}"
            cache.put_many({name: name.encode() * 50})
            (value,) = cache.get_many([name])
            if value not in {None, name.encode() * 50}:
                wrong.append(name)

    threads = [threading.Thread(target=work, args=(own,)) for own in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    counts = cache.counts()
    assert wrong == []
    assert counts.hit_count + counts.miss_count == 8 * 300
    assert counts.error_count == 0
    assert counts.byte_count <= 20_000


@pytest.mark.parametrize("place", range(len(SIGNER.sign("name", b"payload"))))
def test_a_change_of_any_byte_breaks_the_seal(place: int) -> None:
    sealed = bytearray(SIGNER.sign("name", b"payload"))
    sealed[place] ^= 1

    assert SIGNER.verify("name", bytes(sealed)) is None


@pytest.mark.parametrize("length", range(len(SIGNER.sign("name", b"payload"))))
def test_a_value_that_is_cut_short_breaks_the_seal(length: int) -> None:
    assert SIGNER.verify("name", SIGNER.sign("name", b"payload")[:length]) is None


def test_the_seal_of_another_secret_is_broken() -> None:
    assert Signer(b"other").verify("name", SIGNER.sign("name", b"payload")) is None


def test_a_name_cannot_lend_its_end_to_the_payload() -> None:
    sealed = SIGNER.sign("name", b"payload")

    assert SIGNER.verify("na", sealed) is None
    assert SIGNER.verify("na", sealed[:37] + b"me" + sealed[37:]) is None
    assert SIGNER.verify("name", sealed) == b"payload"
