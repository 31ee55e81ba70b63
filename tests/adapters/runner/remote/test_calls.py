"""Calls of a remote model: their rows, and how many run at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from onnxplain_server.adapters.runner.remote import call_slots
from onnxplain_server.adapters.runner.remote.call_slots import CallSlots
from onnxplain_server.adapters.runner.remote.model import RemoteModel
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote.models import RemoteDescription

from tools.waiting import PATIENCE_SECONDS

SLOTS = 3


class Calls:
    """Calls that answer a row's only number, and count how many run at a time.

    Where some are awaited, calls are answered once so many have run at a time.
    """

    call_count = SLOTS

    def __init__(self, row_limit: int, awaited: int = 0) -> None:
        self.row_limit = row_limit
        self.rows: list[int] = []
        self.most = 0
        self._awaited = awaited
        self._met = threading.Event()
        self._lock = threading.Lock()
        self._running = 0

    def describe(self) -> RemoteDescription:
        return RemoteDescription((Input("x", "double", 1, ("a",)),), ("y",))

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
            self.rows.append(len(feeds["x"]))
            if self._running >= self._awaited:
                self._met.set()
        assert self._met.wait(PATIENCE_SECONDS)
        if self._awaited:
            time.sleep(0.02)  # in which more would come
        with self._lock:
            self._running -= 1
        return feeds["x"]


def model(calls: Calls) -> RemoteModel:
    return RemoteModel(calls, CallSlots(SLOTS), (Input("x", "double", 1, ("a",)),), ("y",))


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (2_000, [2_000]),
        (2_001, [1_984, 17]),
        (2_015, [1_984, 31]),
        (2_016, [2_000, 16]),
        (4_001, [2_000, 2_000, 1]),
    ],
)
def test_calls_keep_the_limit_and_leave_no_few_rows(count: int, expected: list[int]) -> None:
    calls = Calls(2_000)
    rows = np.arange(float(count))[:, None]

    answers = model(calls).ask({"x": rows})

    assert calls.rows == expected
    np.testing.assert_array_equal(answers, rows)


@pytest.mark.parametrize("row_limit", [1, 7, 16, 17, 31])
def test_calls_of_a_small_limit_keep_it(row_limit: int) -> None:
    for count in range(1, 70):
        calls = Calls(row_limit)

        answers = model(calls).ask({"x": np.arange(float(count))[:, None]})

        assert max(calls.rows) <= row_limit
        assert answers[:, 0].tolist() == list(range(count))


def test_threads_make_no_more_calls_at_a_time_than_there_are_slots() -> None:
    calls = Calls(10, awaited=SLOTS)
    asked, count = model(calls), CallSlots(SLOTS).thread_count

    with ThreadPoolExecutor(count) as threads:
        parts = [np.full((30, 1), float(i)) for i in range(2 * count)]
        answers = list(threads.map(lambda part: asked.ask({"x": part}), parts))

    assert calls.most == SLOTS < count
    assert [part[0, 0] for part in answers] == list(range(2 * count))


def test_the_wait_for_a_slot_takes_no_time_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds pass with each attempt at a slot, and none otherwise."""
    now = [0.0]

    class Slots(threading.Semaphore):
        def __enter__(self, blocking: bool = True, timeout: float | None = None) -> bool:
            now[0] += 10.0
            return super().__enter__(blocking, timeout)

    monkeypatch.setattr(call_slots, "time", SimpleNamespace(monotonic=lambda: now[0]))
    slots = CallSlots(1)
    slots._slots = Slots(1)
    with slots.taken():
        first = slots.clock()
    with slots.taken():
        second = slots.clock()

    assert now == [20.0]
    assert (first, second) == (0.0, 0.0)
