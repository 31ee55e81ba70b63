"""Encoding of replies: three formats of the same message, up to a limit."""

from __future__ import annotations

import json
import math

import pytest
from google.protobuf.message import EncodeError
from onnxplain.v1.explanation_service_pb2 import (
    ExplainResponse,
    ExplainStreamResponse,
    Explanation,
    Receipt,
)
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import ReplyFormat, Work
from onnxplain_server.wire import reply
from onnxplain_server.wire.reply import encode

RESPONSE = ExplainResponse(receipt=Receipt(seed=7, engine_reason="é\n" * 500))


def test_each_format_holds_the_same_response() -> None:
    protobuf, event, text = (
        encode(RESPONSE, each, math.inf, Work(("swarm",), predicted_row_count=3.0))
        for each in (ReplyFormat.PROTOBUF, ReplyFormat.EVENT, ReplyFormat.JSON)
    )

    assert ExplainResponse.FromString(protobuf.content) == RESPONSE
    assert ExplainStreamResponse.FromString(event.content).response == RESPONSE
    assert json.loads(text.content)["receipt"]["engineReason"] == RESPONSE.receipt.engine_reason
    assert b"\n" not in text.content  # events of REST are lines
    assert {each.work for each in (protobuf, event, text)} == {
        Work(("swarm",), predicted_row_count=3.0)
    }


@pytest.mark.parametrize("reply_format", ReplyFormat)
def test_a_response_of_exactly_the_limit_is_sent_and_a_larger_one_refused(
    reply_format: ReplyFormat,
) -> None:
    size = encode(RESPONSE, reply_format, math.inf).byte_count

    assert encode(RESPONSE, reply_format, size).byte_count == size
    with pytest.raises(ExplainError, match="row_count") as caught:
        encode(RESPONSE, reply_format, size - 1)
    assert caught.value.reason is Reason.RESPONSE_TOO_LARGE
    assert f"at most {size - 1:,}" in caught.value.message


def test_what_is_too_large_as_json_too_is_refused_before_it_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "onnxplain_server.wire.canonical.encode", lambda _message: pytest.fail("was written")
    )
    large = ExplainResponse(receipt=Receipt(engine_reason="x" * 10_000))

    with pytest.raises(ExplainError, match="at least 5,0") as caught:
        encode(large, ReplyFormat.JSON, 2_000)

    assert caught.value.reason is Reason.RESPONSE_TOO_LARGE


def test_memory_that_runs_out_is_not_the_server_s_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_message) -> bytes:
        raise EncodeError("Failed to serialize proto")

    monkeypatch.setattr(reply, "_encode", lambda message, _format: fail(message))

    with pytest.raises(ExplainError) as caught:
        encode(ExplainResponse(explanations=[Explanation()]), ReplyFormat.PROTOBUF, math.inf)

    assert caught.value.reason is Reason.OUT_OF_MEMORY
