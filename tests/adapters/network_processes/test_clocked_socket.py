"""Sockets to processes that are not believed: no call outlasts the deadline of its request."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator

import pytest
from onnxplain_server.adapters.network_processes.clocked_socket import ClockedSocket
from onnxplain_server.adapters.sources.range_session import RangeSession
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.sources import SourceBlocks
from onnxplain_server.transport.admission.request_control import RequestControl


@pytest.fixture
def pair() -> Iterator[tuple[ClockedSocket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ClockedSocket(ours, time.monotonic() + 0.05) as end, theirs:
        yield end, theirs


@pytest.mark.parametrize(
    "call",
    [
        lambda end: end.recv(2),
        lambda end: end.recv_into(bytearray(2)),
        lambda end: [end.sendall(bytes(2**16)) for _ in range(2**10)],
        lambda end: [end.recv(1) for _ in range(2)],
    ],
    ids=["recv", "recv_into", "sendall", "a byte and no more"],
)
def test_a_call_ends_at_the_deadline(
    pair: tuple[ClockedSocket, socket.socket],
    call: Callable[[ClockedSocket], object],
    request: pytest.FixtureRequest,
) -> None:
    end, theirs = pair
    if "byte" in request.node.callspec.id:
        theirs.send(b"C")

    with pytest.raises(TimeoutError):
        call(end)


def test_what_is_there_is_received_after_the_deadline(
    pair: tuple[ClockedSocket, socket.socket],
) -> None:
    end, theirs = pair
    end.deadline = 0.0
    theirs.send(b"ab")

    assert end.recv(2) == b"ab"


def test_a_fetching_process_that_begins_to_answer_and_stops_ends_no_later() -> None:
    """As one would that a hostile file has taken over."""
    begun: list[socket.socket] = []
    control = RequestControl(0.05)

    def connect() -> socket.socket:
        ours, theirs = socket.socketpair()
        theirs.send(b"C")
        begun.append(theirs)
        return ClockedSocket(ours, control.deadline)

    session = RangeSession(SourceBlocks(b"", (), (("file", 9, ""),)), connect, control)
    with pytest.raises(ExplainError) as late:
        session(0, 0, 9)
    assert late.value.reason is Reason.DEADLINE_EXCEEDED
    for end in begun:
        end.close()
