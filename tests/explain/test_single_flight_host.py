"""The single flight is entered at the first cache miss, not before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from unittest.mock import Mock

import pytest
from onnxplain_server.explain.single_flight_host import SingleFlightHost


class Host:
    """A host with a cache; while one request waits, another puts `meanwhile` into the cache."""

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


def test_cached_numbers_do_not_wait_for_others() -> None:
    host = Host({"a": b"1"}, {})
    single_flight, key = SingleFlightHost(host), Mock()

    with single_flight.deduplicate(key):
        assert single_flight.cache_get(["a"]) == [b"1"]

    assert host.events == ["cache_get"]
    key.assert_not_called()


def test_a_request_that_has_waited_finds_the_numbers_of_another() -> None:
    host = Host({"a": b"1"}, {"b": b"2"})
    single_flight = SingleFlightHost(host)

    with single_flight.deduplicate(lambda: "curves"):
        assert single_flight.cache_get(["a", "b"]) == [b"1", b"2"]

    assert host.events == ["cache_get", "enter curves", "cache_get", "leave curves"]


def test_a_piece_of_work_is_entered_once() -> None:
    host = Host({}, {})
    single_flight = SingleFlightHost(host)

    with single_flight.deduplicate(lambda: "curves"):
        for _ in range(2):
            assert single_flight.cache_get(["a"]) == [None]
    with single_flight.deduplicate(lambda: "pairs"):
        single_flight.cache_get(["a"])

    assert host.events == [
        *("cache_get", "enter curves", "cache_get", "cache_get", "leave curves"),
        *("cache_get", "enter pairs", "cache_get", "leave pairs"),
    ]


def test_outside_of_work_no_single_flight_is_entered() -> None:
    host = Host({}, {})
    single_flight = SingleFlightHost(host)
    with pytest.raises(ZeroDivisionError), single_flight.deduplicate(lambda: "curves"):
        raise ZeroDivisionError

    assert single_flight.cache_get(["a"]) == [None]
    assert host.events == ["cache_get"]
