"""Uploaded files in memory."""

from __future__ import annotations

import pytest
from onnxplain_server.adapters.memory_blobs import MemoryBlobs
from onnxplain_server.run import Blob


class Clock:
    """A clock that is moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def blob(size: int) -> Blob:
    return Blob("csv", bytes(size))


def test_a_file_is_kept_as_it_is() -> None:
    store = MemoryBlobs(100, 60)
    given = Blob("csv", b"a\n1\n")

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
