"""Others at the same work are asked for once a number is missing, not before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from unittest.mock import Mock

import pytest
from onnxplain_server.explain.single_flight_host import SingleFlightHost


class Host:
    """A host with a cache; while one waits to be alone, another remembers `meanwhile`."""

    def __init__(self, values: Mapping[str, bytes], meanwhile: Mapping[str, bytes]) -> None:
        self.values = dict(values)
        self.meanwhile = meanwhile
        self.events: list[str] = []

    def advance(self, done: float, planned: float) -> None: ...

    @contextmanager
    def single_flight(self, name: str) -> Iterator[bool]:
        self.events.append(f"enter {name}")
        self.values |= self.meanwhile
        yield not self.meanwhile
        self.events.append(f"leave {name}")

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        self.events.append("cache_get")
        return [self.values.get(name) for name in names]

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        self.values |= entries


def test_what_is_cached_is_had_without_asking_for_others() -> None:
    host = Host({"a": b"1"}, {})
    coalescing, name = SingleFlightHost(host), Mock()

    with coalescing.work(name):
        assert coalescing.cache_get(["a"]) == [b"1"]

    assert host.events == ["cache_get"]
    name.assert_not_called()


def test_who_has_waited_finds_what_another_has_done() -> None:
    host = Host({"a": b"1"}, {"b": b"2"})
    coalescing = SingleFlightHost(host)

    with coalescing.work(lambda: "curves"):
        assert coalescing.cache_get(["a", "b"]) == [b"1", b"2"]

    assert host.events == ["cache_get", "enter curves", "cache_get", "leave curves"]


def test_a_piece_of_work_is_entered_once() -> None:
    host = Host({}, {})
    coalescing = SingleFlightHost(host)

    with coalescing.work(lambda: "curves"):
        for _ in range(2):
            assert coalescing.cache_get(["a"]) == [None]
    with coalescing.work(lambda: "pairs"):
        coalescing.cache_get(["a"])

    assert host.events == [
        *("cache_get", "enter curves", "cache_get", "cache_get", "leave curves"),
        *("cache_get", "enter pairs", "cache_get", "leave pairs"),
    ]


def test_outside_of_work_nobody_is_asked_for() -> None:
    host = Host({}, {})
    coalescing = SingleFlightHost(host)
    with pytest.raises(ZeroDivisionError), coalescing.work(lambda: "curves"):
        raise ZeroDivisionError

    assert coalescing.cache_get(["a"]) == [None]
    assert host.events == ["cache_get"]
