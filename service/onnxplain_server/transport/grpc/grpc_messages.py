"""Messages and callers of gRPC calls, as the servicers of all services read them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.telemetry.spans import Spans
from onnxplain_server.transport.admission import caller_addresses
from onnxplain_server.transport.admission.admission import Caller, CallerKey
from onnxplain_server.transport.grpc_errors import caller_name

_Message = TypeVar("_Message", bound=Message)


def parser(kind: type[_Message]) -> Callable[[bytes], _Message]:
    """Return a parser of one kind of message; it raises INVALID_REQUEST."""

    def parse(raw: bytes) -> _Message:
        try:
            return kind.FromString(raw)
        except DecodeError:
            message = f"the message cannot be decoded as {kind.__name__}"
            raise ExplainError(Reason.INVALID_REQUEST, message) from None

    return parse


def caller_key(context: grpc.ServicerContext) -> CallerKey:
    """Return the key of the caller of a call, as `Caller.key`."""
    return caller_of(context, Spans()).key


def caller_of(context: grpc.ServicerContext, spans: Spans) -> Caller:
    """Return the authenticated caller of a call."""
    remaining = context.time_remaining()
    seconds = math.inf if remaining is None else remaining
    address = caller_addresses.of_peer(context.peer())
    return Caller(caller_name(context), seconds, lambda: not context.is_active(), address, spans)
