"""Publisher of parts of an answer, for requests that ask for them."""

from __future__ import annotations

from collections.abc import Callable

from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import AnswerHost
from onnxplain_server.core.request import ReplyFormat
from onnxplain_server.explain import PartialExplanation
from onnxplain_server.wire import answer, reply
from onnxplain_server.wire.result_tables.table_check import names_table


def refuse_parts(message: service_pb2.ExplainRequest, reply_format: ReplyFormat) -> None:
    """Raise INVALID_OPTION for parts of an answer where only the answer is returned."""
    if message.partial and not reply_format.has_parts:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "only a stream or an operation has room for partial answers: call ExplainStream or "
            "StartExplanation, or accept text/event-stream",
            "partial",
        )


def publisher(
    message: service_pb2.ExplainRequest, host: AnswerHost, reply_format: ReplyFormat
) -> Callable[[PartialExplanation], None] | None:
    """Return what publishes parts of the answer to the host; None if none are asked for."""
    if not message.partial:
        return None
    rows = not names_table(message.result_uri)

    def publish(part: PartialExplanation) -> None:
        written = answer.write_partial(part, rows=rows)
        host.publish(reply.encode_partial(written, reply_format))

    return publish
