"""Replies of gRPC that nobody reads: refused before the work, and dropped by a clock."""

from __future__ import annotations

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
    runner.explain = lambda *_given: reply
    client = start(runner, unread_memory_bytes=2**20)
    held = client.server._grpc._unread

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
    account, dropped = UnreadReplies(200), list[str]()
    removals = [
        account.add(key, size, partial(dropped.append, name))
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
