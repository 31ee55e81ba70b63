"""JWKS cache: a provider that is slow, unavailable, or asked by many requests at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from onnxplain_server.adapters.access.jwks_cache import JwksCache
from onnxplain_server.adapters.access.jwks_client import KeySet, ProviderError
from onnxplain_server.core.errors import ExplainError, Reason


class Clock:
    """A clock that is moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Source:
    """A provider whose keys are texts."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.asked = 0
        self.before: Callable[[], object] = lambda: None

    def __call__(self) -> KeySet:
        self.asked += 1
        self.before()
        return KeySet({(name, "RS256"): cast("Any", name) for name in self.names})


def away() -> None:
    raise ProviderError("no keys")


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine, what waits here is answered."""
    monkeypatch.setattr("onnxplain_server.adapters.access.jwks_cache._WAIT_SECONDS", 300.0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def source() -> Source:
    return Source("a")


@pytest.fixture
def keys(source: Source, clock: Clock) -> JwksCache:
    return JwksCache(source, 40, clock)


def reason_of(keys: JwksCache, name: str) -> Reason:
    with pytest.raises(ExplainError) as caught:
        keys.find(name, "RS256")
    return caught.value.reason


def settled(keys: JwksCache) -> None:
    """Wait until no question is under way."""
    flight = keys._refresh
    if flight is not None:
        flight.result(120)


def test_many_who_come_at_once_ask_once(keys: JwksCache, source: Source) -> None:
    everybody = threading.Barrier(30)
    source.before = lambda: everybody.wait(120)

    def find(_number: int) -> object:
        if _number:
            everybody.wait(120)
        return keys.find("a", "RS256")

    with ThreadPoolExecutor(30) as threads:
        actual = list(threads.map(find, range(30)))

    assert actual == ["a"] * 30
    assert source.asked == 1


def test_a_known_key_is_found_without_asking(keys: JwksCache, source: Source) -> None:
    for _ in range(100):
        keys.find("a", "RS256")
    assert source.asked == 1


def test_a_key_is_for_its_algorithm_only(keys: JwksCache) -> None:
    with pytest.raises(ExplainError):
        keys.find("a", "ES256")


def test_a_token_without_a_key_name_means_the_only_key(keys: JwksCache, source: Source) -> None:
    assert cast("Any", keys.find(None, "RS256")) == "a"
    source.names = ("a", "b")
    keys.find("b", "RS256")

    with pytest.raises(ExplainError):
        keys.find(None, "RS256")


def test_a_new_key_is_found_at_once(keys: JwksCache, source: Source) -> None:
    keys.find("a", "RS256")
    source.names = ("b",)

    assert cast("Any", keys.find("b", "RS256")) == "b"
    assert source.asked == 2


def test_unknown_keys_have_the_provider_asked_once_in_ten_seconds(
    keys: JwksCache, source: Source, clock: Clock
) -> None:
    keys.find("a", "RS256")

    assert {reason_of(keys, str(number)) for number in range(100)} == {Reason.UNAUTHENTICATED}
    assert source.asked == 2
    clock.now = 11
    reason_of(keys, "x")
    assert source.asked == 3


def test_keys_are_asked_for_anew_in_the_background(
    keys: JwksCache, source: Source, clock: Clock
) -> None:
    keys.find("a", "RS256")
    source.names = ("b",)
    clock.now = 301
    leave = threading.Event()
    source.before = lambda: leave.wait(120)

    # Nobody waits: the old key is still good.
    assert cast("Any", keys.find("a", "RS256")) == "a"
    leave.set()
    settled(keys)

    assert reason_of(keys, "a") is Reason.UNAUTHENTICATED


def test_the_last_good_keys_stay_while_the_provider_is_away(
    keys: JwksCache, source: Source, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    keys.find("a", "RS256")
    source.before = away

    for step in range(1, 6):
        clock.now = 1_000 * step
        assert cast("Any", keys.find("a", "RS256")) == "a"
        settled(keys)

    assert source.asked == 6
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert reason_of(keys, "b") is Reason.UNAVAILABLE


def test_a_provider_that_was_away_at_the_start_is_asked_again(
    keys: JwksCache, source: Source, clock: Clock
) -> None:
    source.before = away
    assert [reason_of(keys, "a") for _ in range(10)] == [Reason.UNAVAILABLE] * 10
    assert source.asked == 1

    source.before = lambda: None
    clock.now = 2.1

    assert cast("Any", keys.find("a", "RS256")) == "a"


def test_a_provider_that_breaks_the_parser_counts_as_away(keys: JwksCache, source: Source) -> None:
    source.before = lambda: int("no number")
    assert reason_of(keys, "a") is Reason.UNAVAILABLE


def test_only_some_wait_for_a_slow_provider_and_the_others_are_told_to_come_again(
    source: Source, clock: Clock
) -> None:
    keys = JwksCache(source, 2, clock)
    leave = threading.Event()
    source.before = lambda: leave.wait(120)
    with ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(keys.find, "a", "RS256") for _ in range(2)]
        while keys._waiters._value:
            assert not any(actual.done() for actual in waiting)

        assert reason_of(keys, "a") is Reason.UNAVAILABLE
        leave.set()

        assert [cast("Any", actual.result(120)) for actual in waiting] == ["a", "a"]


def test_a_question_that_never_ends_is_asked_again(
    keys: JwksCache, source: Source, clock: Clock
) -> None:
    leave = threading.Event()
    source.before = lambda: leave.wait(120)
    keys.begin()
    while not source.asked:
        pass
    source.before = lambda: None
    clock.now = 31

    assert cast("Any", keys.find("a", "RS256")) == "a"
    leave.set()
