"""Slow-client protection of gRPC messages."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission import scheduler as scheduler_module
from onnxplain_server.transport.admission.admission import Caller
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.grpc import receiving
from onnxplain_server.transport.grpc.receiving import MessageReceiver

from tools.unread_call import UnreadCall
from tools.waiting import PATIENCE_SECONDS, until

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
def receiver() -> MessageReceiver:
    return MessageReceiver(2)


def test_messages_come_in_their_order(receiver: MessageReceiver) -> None:
    with Scheduler(1, 0).admit(caller("ada")) as ticket:
        assert list(receiver.messages(iter([b"1", b"2"]), ticket, MESSAGE_BYTES)) == [b"1", b"2"]
        assert receiver.only(iter([b"1"]), ticket, MESSAGE_BYTES) == b"1"


def test_a_call_without_a_message_is_refused(receiver: MessageReceiver) -> None:
    with Scheduler(1, 0).admit(caller("ada")) as ticket, pytest.raises(ExplainError) as caught:
        receiver.only(iter([]), ticket, MESSAGE_BYTES)

    assert caught.value.reason is Reason.INVALID_REQUEST


def test_who_sends_nothing_for_long_gives_its_place_back(
    receiver: MessageReceiver, never: Iterator[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "_IDLE_SECONDS", -0.9)
    scheduler = Scheduler(1, 0)

    with pytest.raises(ExplainError) as caught, scheduler.admit(caller("eve")) as ticket:
        list(receiver.messages(never, ticket, MESSAGE_BYTES))

    assert caught.value.reason is Reason.DEADLINE_EXCEEDED
    assert scheduler.counts().in_flight_count == 0


def test_a_slow_upload_gives_way_to_another_caller(
    receiver: MessageReceiver, never: Iterator[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "_IDLE_SECONDS", PATIENCE)
    scheduler = Scheduler(1, 1)
    reasons: list[Reason] = []

    def upload() -> None:
        with scheduler.admit(caller("eve")), scheduler.admit(caller("eve")) as ticket:
            try:
                list(receiver.messages(never, ticket, MESSAGE_BYTES))
            except ExplainError as error:
                reasons.append(error.reason)

    thread = threading.Thread(target=upload)
    thread.start()
    end = time.monotonic() + PATIENCE
    while scheduler.counts().in_flight_count < 2:
        assert time.monotonic() < end
        time.sleep(0.005)
    with scheduler.admit(caller("ada")):
        thread.join(PATIENCE)

    assert reasons == [Reason.OVERLOADED]


def test_a_call_that_waits_to_be_received_sends_no_more_than_a_window(
    start, make_runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HTTP/2's windows would grow otherwise, and each caller that waits would take a MiB."""
    monkeypatch.setattr(scheduler_module, "_RECEIVE_SECONDS", 0.3)
    client = start(make_runner(), running_count=1, waiting_count=20)
    scheduler = client.server._scheduler
    method, part = "/onnxplain.v1.ExplanationService/Explain", b"."
    with ExitStack() as opened:

        def call(message: bytes) -> UnreadCall:
            made = UnreadCall(client.server.grpc_port, method, message, missing_byte_count=9)
            return opened.enter_context(closing(made))

        count = scheduler._reading._count
        for _ in range(count):
            call(part)
        until(lambda: scheduler._reading.held.total() >= scheduler._reading._shared_count)
        waiting = call(bytes(2**22))

        assert waiting.is_reset.wait(PATIENCE_SECONDS)
        assert waiting.sent_byte_count < 2**17
