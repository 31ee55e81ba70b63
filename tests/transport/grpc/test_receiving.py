"""Messages that come slowly over gRPC."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator

import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.admission import Caller
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.grpc import receiving
from onnxplain_server.transport.grpc.receiving import Arrivals

MESSAGE_BYTES = 2**20
PATIENCE = 120.0


def caller(name: str) -> Caller:
    return Caller(name, math.inf, lambda: False)


@pytest.fixture
def never() -> Iterator[Iterator[bytes]]:
    """One message, then none."""
    end = threading.Event()

    def messages() -> Iterator[bytes]:
        yield b"first"
        end.wait(PATIENCE)

    yield messages()
    end.set()


@pytest.fixture
def arrivals() -> Arrivals:
    return Arrivals(2)


def test_messages_come_in_their_order(arrivals: Arrivals) -> None:
    with Scheduler(1, 0).place(caller("ada")) as place:
        assert list(arrivals.each(iter([b"1", b"2"]), place, MESSAGE_BYTES)) == [b"1", b"2"]
        assert arrivals.only(iter([b"1"]), place, MESSAGE_BYTES) == b"1"


def test_a_call_without_a_message_is_refused(arrivals: Arrivals) -> None:
    with Scheduler(1, 0).place(caller("ada")) as place, pytest.raises(ExplainError) as caught:
        arrivals.only(iter([]), place, MESSAGE_BYTES)

    assert caught.value.reason is Reason.INVALID_REQUEST


def test_who_sends_nothing_for_long_gives_its_place_back(
    arrivals: Arrivals, never: Iterator[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "_IDLE_SECONDS", -0.9)
    turns = Scheduler(1, 0)

    with pytest.raises(ExplainError) as caught, turns.place(caller("eve")) as place:
        list(arrivals.each(never, place, MESSAGE_BYTES))

    assert caught.value.reason is Reason.DEADLINE_EXCEEDED
    assert turns.counts().place_count == 0


def test_a_slow_upload_gives_way_to_another_caller(
    arrivals: Arrivals, never: Iterator[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "_IDLE_SECONDS", PATIENCE)
    turns = Scheduler(1, 1)
    reasons: list[Reason] = []

    def upload() -> None:
        with turns.place(caller("eve")), turns.place(caller("eve")) as place:
            try:
                list(arrivals.each(never, place, MESSAGE_BYTES))
            except ExplainError as error:
                reasons.append(error.reason)

    thread = threading.Thread(target=upload)
    thread.start()
    end = time.monotonic() + PATIENCE
    while turns.counts().place_count < 2:
        assert time.monotonic() < end
        time.sleep(0.005)
    with turns.place(caller("ada")):
        thread.join(PATIENCE)

    assert reasons == [Reason.OVERLOADED]
