"""Replies of gRPC that nobody reads: refused before the work, and dropped by a clock."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing

import grpc
import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import Reply
from onnxplain_server.transport import unread_replies
from onnxplain_server.transport.unread_replies import UnreadReplies

from tools.waiting import PATIENCE_SECONDS, until

METHOD = b"/onnxplain.v1.ExplanationService/Explain"
DATA, HEADERS, RESET, SETTINGS, PING = 0, 1, 3, 4, 6
ACKNOWLEDGED, END_STREAM, END_HEADERS = 1, 1, 4
NO_WINDOW = struct.pack(">HI", 4, 0)
"""SETTINGS_INITIAL_WINDOW_SIZE 0: the server may send no byte of a reply."""


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """A frame of HTTP/2 (RFC 9113, section 4.1)."""
    head = struct.pack(">I", len(payload))[1:] + bytes((kind, flags))
    return head + struct.pack(">I", stream) + payload


def literal(name: bytes, value: bytes) -> bytes:
    """A header of HPACK without any table (RFC 7541, section 6.2.2)."""
    return b"\0" + bytes((len(name),)) + name + bytes((len(value),)) + value


class Unread:
    """A caller that reads no byte of its reply, and answers pings."""

    def __init__(self, port: int) -> None:
        self.is_reset = threading.Event()
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        headers = {
            b":method": b"POST",
            b":scheme": b"http",
            b":path": METHOD,
            b":authority": b"here",
            b"content-type": b"application/grpc",
            b"te": b"trailers",
        }
        fields = b"".join(literal(*header) for header in headers.items())
        message = ExplainRequest().SerializeToString()
        self._socket.sendall(
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
            + frame(SETTINGS, 0, 0, NO_WINDOW)
            + frame(HEADERS, END_HEADERS, 1, fields)
            + frame(DATA, END_STREAM, 1, struct.pack(">?I", False, len(message)) + message)
        )
        self._thread = threading.Thread(target=self._answer)
        self._thread.start()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _answer(self) -> None:
        with self._socket.makefile("rb") as received:
            while len(head := received.read(9)) == 9:
                payload = received.read(int.from_bytes(head[:3], "big"))
                kind, flags = head[3], head[4]
                if kind == RESET:
                    self.is_reset.set()
                elif kind in {SETTINGS, PING} and not flags & ACKNOWLEDGED:
                    acknowledged = payload if kind == PING else b""
                    self._socket.sendall(frame(kind, ACKNOWLEDGED, 0, acknowledged))


@pytest.fixture
def unread() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def test_a_caller_with_unread_replies_is_refused_until_the_clock_drops_them(
    start, make_runner, unread: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Runner(make_runner):
        def explain(self, *given: object, **named: object) -> Reply:
            return Reply((ExplainResponse(summary=["a" * 2**19]).SerializeToString(),))

    client = start(Runner(), unread_memory_bytes=2**20)
    held = client.server._grpc._unread

    caller = unread.enter_context(closing(Unread(client.server.grpc_port)))
    until(lambda: held.byte_count >= 2**19)
    with pytest.raises(grpc.RpcError) as refused:
        client.stub.Explain(ExplainRequest())
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "wait to be read" in refused.value.details()

    monkeypatch.setattr(unread_replies, "_IDLE_SECONDS", -1_000.0)
    assert caller.is_reset.wait(PATIENCE_SECONDS)
    until(lambda: not held.byte_count)
    client.stub.Explain(ExplainRequest())


def test_replies_that_are_read_are_counted_no_longer(start, make_runner) -> None:
    client = start(make_runner())

    for _ in range(3):
        client.stub.Explain(ExplainRequest())
        list(client.stub.ExplainStream(ExplainRequest()))

    until(lambda: not client.server._grpc._unread.byte_count)


def refused(account: UnreadReplies, key: str) -> bool:
    try:
        account.check(key)
    except ExplainError as error:
        return error.reason is Reason.OVERLOADED
    return False


def test_the_oldest_reply_of_the_caller_with_most_makes_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not before it has waited for 15 s, and for other callers only."""
    account, dropped = UnreadReplies(100), list[str]()
    removals = [
        account.add(key, size, lambda name=name: dropped.append(name))
        for name, key, size in [("a1", "a", 20), ("b1", "b", 49), ("a2", "a", 19), ("c1", "c", 12)]
    ]
    assert refused(account, "d")
    assert not dropped

    monkeypatch.setattr(unread_replies, "_IDLE_SECONDS", 0.0)
    monkeypatch.setattr(unread_replies, "_BYTES_PER_SECOND", 1)
    assert refused(account, "b")  # who holds most itself
    assert not refused(account, "d")
    assert dropped == ["b1"]

    for remove in (*removals, *removals):
        remove()
    assert account.byte_count == 0
    account.close()
