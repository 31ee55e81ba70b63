"""Publisher of parts of an answer, for requests that ask for them."""

from __future__ import annotations

from collections.abc import Callable

from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import AnswerHost
from onnxplain_server.core.request import ReplyFormat
from onnxplain_server.explain import PartialExplanation
from onnxplain_server.wire import answer, reply


def publisher(
    message: service_pb2.ExplainRequest, host: AnswerHost, reply_format: ReplyFormat
) -> Callable[[PartialExplanation], None] | None:
    """Return what publishes parts of the answer to the host; None if none are asked for.

    Raises
    ------
    ExplainError
        INVALID_OPTION where the answer is no stream.
    """
    if not message.partial:
        return None
    if not reply_format.is_stream:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "only a stream has room for partial answers: call ExplainStream, or accept "
            "text/event-stream",
            "partial",
        )

    def publish(part: PartialExplanation) -> None:
        host.publish(reply.encode_partial(answer.write_partial(part), reply_format))

    return publish
