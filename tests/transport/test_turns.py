"""Who may compute, and when."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from onnxplain_server.adapters.memory_cache import MemoryCache
from onnxplain_server.adapters.seal import Seal
from onnxplain_server.call import Call
from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.transport.turns import Turns


def make_call(seconds: float) -> Call:
    return Call(MemoryCache(0, Seal(b"")), "", seconds)


def test_a_latecomer_does_not_overtake_those_who_wait() -> None:
    turns = Turns(running_count=1, waiting_count=2)
    took = threading.Event()
    leave = threading.Event()

    def wait_for_turn() -> None:
        with turns.turn(make_call(5)):
            took.set()
            leave.wait(5)

    # Held throughout, so that the first in the queue sleeps when the turn is given back.
    with turns._changed:
        with turns.turn(make_call(5)):
            first = threading.Thread(target=wait_for_turn)
            first.start()
            while not turns._waiting:
                turns._changed.wait(0.01)
        with pytest.raises(ExplainError) as caught, turns.turn(make_call(0.2)):
            pass

    assert caught.value.reason is Reason.DEADLINE_EXCEEDED
    assert "while waiting for a turn" in caught.value.message
    assert took.is_set()
    leave.set()
    first.join()


def test_a_turn_that_fails_is_given_back() -> None:
    turns = Turns(running_count=1, waiting_count=0)
    with pytest.raises(ValueError, match="lost"), turns.place(), turns.turn(make_call(1)):
        raise ValueError("lost")

    begin = time.monotonic()
    with turns.place(), turns.turn(make_call(1)):
        assert time.monotonic() - begin < 0.5
    assert turns.wait_empty(0)


def test_places_are_counted_exactly() -> None:
    turns = Turns(running_count=1, waiting_count=1)

    with turns.place(), turns.place():
        with pytest.raises(ExplainError) as caught, turns.place():
            pass
        assert not turns.wait_empty(0)

    assert caught.value.reason is Reason.OVERLOADED
    assert turns.wait_empty(0)


def test_who_stands_aside_lets_another_run_and_is_next_to_run_again() -> None:
    turns = Turns(running_count=1, waiting_count=2)
    call, order = make_call(5), []

    def run(number: int) -> None:
        with turns.turn(make_call(5)):
            order.append(number)
            time.sleep(0.1)

    others = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    with turns.turn(call):
        for waiting, other in enumerate(others, 1):
            other.start()
            while turns.counts().waiting_count < waiting:
                time.sleep(0.005)
        assert order == []
        with call.stand_aside():
            wait_until(lambda: order == [0])
        order.append(9)
        time.sleep(0.15)
        assert order == [0, 9]
    for other in others:
        other.join()

    assert order == [0, 9, 1]


def test_who_stands_aside_when_the_server_stops_is_told_so() -> None:
    turns = Turns(running_count=1, waiting_count=0)
    call = make_call(5)

    with pytest.raises(ExplainError) as caught, turns.turn(call), call.stand_aside():
        turns.end_all()

    assert caught.value.reason is Reason.UNAVAILABLE
    assert turns.counts().running_count == 0


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 2
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)
