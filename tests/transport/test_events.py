"""Events of a stream whose reader is slow, or does not read."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import Reply
from onnxplain_server.transport.admission.follower import Follower
from onnxplain_server.transport.admission.request_control import RequestControl
from onnxplain_server.transport.events import Events

PART = bytes(2**20)
WAITING_COUNT = 8
"""Parts of 1 MiB that may wait."""


def publishing(count: int, published: list[int]) -> Callable[[Callable[[], None], Follower], Reply]:
    """An explanation that publishes so many parts, and notes each."""

    def explain(begin: Callable[[], None], follower: Follower) -> Reply:
        begin()
        for index in range(count):
            follower.publish(PART)
            published.append(index)
        return Reply((b"the answer",))

    return explain


def test_the_explanation_waits_for_a_slow_reader() -> None:
    """No more than 8 MiB wait at any time; each part comes, and then the reply."""
    published: list[int] = []
    events = Events(RequestControl(math.inf), publishing(64, published))

    most = taken = 0
    for event in events:
        most = max(most, len(published) - taken)
        taken += event == PART

    assert taken == 64
    assert most <= WAITING_COUNT + 1
    assert isinstance(event, Reply)


def test_parts_that_nobody_reads_end_at_the_deadline() -> None:
    published: list[int] = []
    ended = threading.Event()

    def explain(begin: Callable[[], None], follower: Follower) -> Reply:
        try:
            return publishing(64, published)(begin, follower)
        finally:
            ended.set()

    events = Events(RequestControl(0.2), explain)
    ended.wait()

    with pytest.raises(ExplainError) as error:
        list(events)

    assert error.value.reason is Reason.DEADLINE_EXCEEDED
    assert len(published) <= WAITING_COUNT
