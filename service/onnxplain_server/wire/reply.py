"""Encoder of replies, in the format that was asked for, and up to a limit."""

from __future__ import annotations

from google.protobuf.message import EncodeError, Message
from onnxplain.v1.explanation_service_pb2 import ExplainStreamResponse, PartialExplanation
from onnxplain.v1.plan_pb2 import ExplanationPlan, RemainingQuota

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import NO_WORK, Reply, ReplyFormat, Work
from onnxplain_server.wire import canonical
from onnxplain_server.wire.kept_parts import pack_part
from onnxplain_server.wire.protobuf_split import response_event


def encode(
    message: Message,
    reply_format: ReplyFormat,
    byte_limit: float,
    work: Work = NO_WORK,
) -> Reply:
    """Encode a message.

    Parameters
    ----------
    message : Message
    reply_format : ReplyFormat
    byte_limit : float
        May be infinite.
    work : Work
        Behind the reply.

    Raises
    ------
    ExplainError
        RESPONSE_TOO_LARGE, OUT_OF_MEMORY.
    """
    # JSON takes at least half as much: "1.0, " for a number of eight bytes.
    least = message.ByteSize() / (2 if reply_format.is_json else 1)
    _check_size(least, byte_limit, "at least ")
    try:
        content = _encode(message, reply_format)
    except EncodeError:
        # protobuf's name for memory that ran out: the message itself is complete.
        raise ExplainError(
            Reason.OUT_OF_MEMORY,
            "the response needs more memory than there is for one request; ask for fewer rows, "
            "features or grid points",
        ) from None
    _check_size(len(content), byte_limit)
    return Reply((content,), work)


def encode_partial(message: PartialExplanation, reply_format: ReplyFormat) -> bytes:
    """Encode part of an answer as an event of a stream, or for an operation to keep."""
    if reply_format.is_json:
        return canonical.encode(message).encode()
    if reply_format is ReplyFormat.KEPT:
        return pack_part(message)
    return bytes(ExplainStreamResponse(partial=message).SerializeToString())


def with_remaining_quota(
    reply: Reply, remaining: RemainingQuota, reply_format: ReplyFormat
) -> Reply:
    """Add to an encoded plan what its caller may still use, without reading it.

    A worker has written it. It always has fields, of which `remaining_quota` is the last.
    """
    if reply_format.is_json:
        field = ExplanationPlan.DESCRIPTOR.fields_by_name["remaining_quota"].json_name
        start = reply.content.removesuffix(b"}")
        parts = start, f', "{field}": {canonical.encode(remaining)}}}'.encode()
    else:
        # Parsers merge messages that follow each other.
        added = ExplanationPlan(remaining_quota=remaining)
        parts = reply.content, added.SerializeToString()
    return Reply(parts, reply.work)


def _encode(message: Message, reply_format: ReplyFormat) -> bytes:
    if reply_format.is_json:
        return canonical.encode(message).encode()
    content = bytes(message.SerializeToString())
    return response_event(content) if reply_format is ReplyFormat.EVENT else content


def _check_size(byte_count: float, limit: float, qualifier: str = "") -> None:
    if byte_count > limit:
        raise ExplainError(
            Reason.RESPONSE_TOO_LARGE,
            f"the response has {qualifier}{byte_count:,.0f} bytes, and this server sends at most "
            f"{limit:,.0f} (setting max_response_bytes); ask for fewer rows (row_count), features "
            "or grid points (grid_size), or set plots to false",
        )
