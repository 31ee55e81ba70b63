"""Replies of gRPC that nobody reads: refused before the work, and dropped by a clock."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial

import grpc
import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import Reply
from onnxplain_server.transport import unread_replies
from onnxplain_server.transport.unread_replies import UnreadReplies

from tools.unread_call import UnreadCall
from tools.waiting import PATIENCE_SECONDS, until


@pytest.fixture
def unread() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def test_a_caller_with_unread_replies_is_refused_until_the_clock_drops_them(
    start, make_runner, unread: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = make_runner()
    reply = Reply((ExplainResponse(summary=["a" * 2**19]).SerializeToString(),))
    runner.answer = lambda *_given: reply
    client = start(runner, unread_memory_bytes=2**20)
    held = client.server._unread

    method, message = "/onnxplain.v1.ExplanationService/Explain", ExplainRequest()
    call = UnreadCall(client.server.grpc_port, method, message.SerializeToString())
    unread.enter_context(closing(call))
    until(lambda: held.byte_count >= 2**20)
    with pytest.raises(grpc.RpcError) as refused:
        client.stub.Explain(ExplainRequest())
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "wait to be read take" in refused.value.details()

    monkeypatch.setattr(unread_replies, "_IDLE_SECONDS", -1_000.0)
    assert call.is_reset.wait(PATIENCE_SECONDS)
    until(lambda: not held.byte_count)
    client.stub.Explain(ExplainRequest())


def test_replies_that_are_read_are_counted_no_longer(start, make_runner) -> None:
    client = start(make_runner())

    for _ in range(3):
        client.stub.Explain(ExplainRequest())
        list(client.stub.ExplainStream(ExplainRequest()))

    until(lambda: not client.server._unread.byte_count)


def is_counted(account: UnreadReplies, byte_count: int) -> bool:
    return account.byte_count >= byte_count


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
    account, dropped = UnreadReplies(200), list[str]()
    removals = [
        account.add(name, key, size, partial(dropped.append, name))
        for name, key, size in [("a1", "a", 20), ("b1", "b", 49), ("a2", "a", 19), ("c1", "c", 12)]
    ]
    assert refused(account, "d")
    assert not dropped

    monkeypatch.setattr(unread_replies, "_IDLE_SECONDS", 0.0)
    monkeypatch.setattr(unread_replies, "_BYTES_PER_SECOND", 1)
    assert refused(account, "b")  # who holds most itself
    assert not refused(account, "d")
    assert dropped == ["b1"]

    assert account.dropped_count == 1

    for remove in (*removals, *removals):
        remove()
    assert account.byte_count == 0
    account.close()


def test_a_reply_waits_for_room_and_is_refused_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    account, ever = UnreadReplies(200), math.inf
    first = account.reserve("call 1", "a", 150, list, ever)  # larger than the limit, and alone
    reader = threading.Timer(0.05, first)
    reader.start()
    second = account.reserve("call 2", "a", 60, list, ever)
    assert account.byte_count == 120
    account.add("call 2", "a", 60, list)()
    assert account.byte_count == 120

    for key, deadline in (("b", 0.0), ("a", 0.0)):
        with pytest.raises(ExplainError, match="no room for this one of 41"):
            account.reserve("call 3", key, 41, list, deadline)
    monkeypatch.setattr(unread_replies, "_IDLE_SECONDS", 0.0)
    monkeypatch.setattr(unread_replies, "_ROOM_SECONDS", 0.0)
    with pytest.raises(ExplainError, match="no room"):  # who asks is not dropped for room
        account.reserve("call 3", "a", 41, list, ever)
    assert account.dropped_count == 0
    with pytest.raises(ExplainError, match="no room"):  # its transport does not let it go
        account.reserve("call 3", "b", 41, list, ever)
    assert account.dropped_count == 1
    second()
    account.reserve("call 3", "b", 41, list, ever)()
    reader.join()
    account.close()


def test_parts_of_streams_keep_to_the_half_of_their_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many begin at once: those of others have room."""
    monkeypatch.setattr(unread_replies, "_ROOM_SECONDS", 0.0)
    account, ever = UnreadReplies(200), math.inf
    for call in ("call 1", "call 2"):
        account.reserve(call, "a", 25, list, ever, is_part=True)
    with pytest.raises(ExplainError, match="no room"):
        account.reserve("call 3", "a", 1, list, ever, is_part=True)

    account.reserve("call 3", "b", 25, list, ever, is_part=True)
    assert account.byte_count == 150
    account.close()


def test_one_reply_at_a_time_waits_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread_replies, "_ROOM_SECONDS", PATIENCE_SECONDS)
    account, ever = UnreadReplies(200), math.inf
    first = account.add("call 1", "a", 100, list)
    waiting = threading.Thread(target=account.reserve, args=("call 2", "b", 50, list, ever))
    waiting.start()
    until(lambda: account._is_waited)

    with pytest.raises(ExplainError, match="no room"):
        account.reserve("call 3", "c", 50, list, ever)
    first()
    waiting.join()
    assert account.byte_count == 100
    account.reserve("call 3", "c", 50, list, ever)
    account.close()


def test_finished_replies_that_find_no_room_are_refused(
    start, make_runner, unread: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the sum keeps its limit, also where requests at work began below it."""
    monkeypatch.setattr(unread_replies, "_ROOM_SECONDS", 0.0)
    runner = make_runner()
    reply = Reply((ExplainResponse(summary=["a" * 2**20]).SerializeToString(),))
    runner.answer = lambda *_given: reply
    client = start(runner, unread_memory_bytes=5 * 2**20)
    message, port = ExplainRequest().SerializeToString(), client.server.grpc_port
    for count, method in enumerate(("Explain", "ExplainStream"), 1):
        call = UnreadCall(port, f"/onnxplain.v1.ExplanationService/{method}", message, "127.0.0.2")
        unread.enter_context(closing(call))
        until(partial(is_counted, client.server._unread, count * 2**21))

    with pytest.raises(grpc.RpcError, match="no room for this one"):
        client.stub.Explain(ExplainRequest())
    assert client.server._unread.byte_count < 5 * 2**20
