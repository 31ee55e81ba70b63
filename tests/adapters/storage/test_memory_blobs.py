"""In-memory store of uploaded files: expiry, and eviction from the largest owner."""

from __future__ import annotations

import pytest
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.core.request import RequestFile


class Clock:
    """A clock that is moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def blob(size: int) -> RequestFile:
    return RequestFile("csv", bytes(size))


def test_a_file_is_kept_as_it_is() -> None:
    store = MemoryBlobs(100, 60)
    given = RequestFile("csv", b"a\n1\n")

    store.put("a", given)

    assert store.get("a") is given
    assert store.get("b") is None


def test_a_file_goes_when_its_time_is_over_and_uploading_begins_it_anew(clock: Clock) -> None:
    store = MemoryBlobs(100, 60, clock)
    store.put("a", blob(1))
    store.put("b", blob(1))
    clock.now = 59
    store.put("b", blob(1))

    clock.now = 60

    assert store.get("a") is None
    assert store.get("b") is not None


def test_what_was_not_used_for_longest_makes_room() -> None:
    store = MemoryBlobs(100, 60)
    store.put("a", blob(40))
    store.put("b", blob(40))
    store.get("a")

    store.put("c", blob(40))

    assert [store.get(name) is not None for name in "abc"] == [True, False, True]


def test_a_file_larger_than_all_room_displaces_nothing() -> None:
    store = MemoryBlobs(100, 60)
    store.put("a", blob(100))

    store.put("b", blob(101))

    assert store.get("a") is not None
    assert store.get("b") is None


def stored(store: MemoryBlobs, *names: str) -> list[str]:
    return [name for name in names if store.get(name) is not None]


def test_who_uploads_much_displaces_his_own_and_nobody_else_s() -> None:
    store = MemoryBlobs(100, 60)
    store.put("ann:1", blob(20))
    store.put("bob:1", blob(20))

    for number in range(50):
        store.put(f"eve:{number}", blob(20))

    assert stored(store, "ann:1", "bob:1") == ["ann:1", "bob:1"]
    assert stored(store, *(f"eve:{number}" for number in range(50))) == [
        "eve:47",
        "eve:48",
        "eve:49",
    ]


def test_who_holds_most_makes_room_for_others() -> None:
    store = MemoryBlobs(100, 60)
    for number in range(5):
        store.put(f"eve:{number}", blob(20))
    store.get("eve:0")

    store.put("ann:1", blob(20))

    assert stored(store, "ann:1", *(f"eve:{n}" for n in range(5))) == [
        *("ann:1", "eve:0", "eve:2", "eve:3", "eve:4")
    ]


def test_of_those_who_hold_as_much_the_one_who_uploads_makes_room() -> None:
    store = MemoryBlobs(100, 60)
    store.put("ann:1", blob(50))
    store.put("bob:1", blob(25))
    store.put("bob:2", blob(25))

    store.put("bob:3", blob(25))

    assert stored(store, "ann:1", "bob:1", "bob:2", "bob:3") == ["ann:1", "bob:2", "bob:3"]


def test_uploading_a_file_again_takes_no_more_room(clock: Clock) -> None:
    store = MemoryBlobs(100, 60, clock)
    for _ in range(10):
        store.put("ann:1", blob(60))
    store.put("bob:1", blob(40))
    assert stored(store, "ann:1", "bob:1") == ["ann:1", "bob:1"]

    clock.now = 61
    store.put("eve:1", blob(100))

    assert stored(store, "ann:1", "bob:1", "eve:1") == ["eve:1"]


def test_who_holds_less_keeps_his_own_when_he_uploads_more() -> None:
    store = MemoryBlobs(100, 60)
    store.put("ann:1", blob(20))
    for number in range(4):
        store.put(f"eve:{number}", blob(20))

    store.put("ann:2", blob(20))

    assert stored(store, "ann:1", "ann:2", "eve:0", "eve:1") == ["ann:1", "ann:2", "eve:1"]
