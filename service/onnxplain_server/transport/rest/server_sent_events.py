"""Server-sent events: progress, parts of the answer, and last the response or an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from flask import Response, request
from werkzeug.exceptions import NotAcceptable

from onnxplain_server.core.errors import Reason
from onnxplain_server.core.request import Reply
from onnxplain_server.transport.events import Events
from onnxplain_server.transport.rest import problems, request_handling
from onnxplain_server.wire import canonical

_EVENTS = "text/event-stream"


def is_accepted() -> bool:
    """Return whether the request accepts events; raise if neither events nor JSON."""
    media_type = request.accept_mimetypes.best_match(["application/json", _EVENTS])
    if media_type is None and request.accept_mimetypes:
        raise NotAcceptable(f"responses are application/json or {_EVENTS}")
    return media_type == _EVENTS


def respond(events: Events, stack: ExitStack) -> Response:
    """Stream the events, and close `stack` after the last one."""
    exchange = request_handling.current()
    # Until the last event: a client that leaves ends the stream, even before the first one.
    exchange.outcome = Reason.CANCELLED.name
    response = Response(_lines(events, exchange), mimetype=_EVENTS)
    # Otherwise nginx buffers events.
    response.headers["X-Accel-Buffering"] = "no"
    response.call_on_close(stack.close)
    return response


def respond_messages(name: str, messages: Iterator[Any]) -> Response:
    """Stream messages as events of one name; an error is the last event."""
    lines = _message_lines(name, messages, request_handling.current())
    response = Response(lines, mimetype=_EVENTS)
    response.headers["X-Accel-Buffering"] = "no"
    return response


def _message_lines(
    name: str, messages: Iterator[Any], exchange: request_handling.Exchange
) -> Iterator[bytes]:
    try:
        for message in messages:
            yield _event(name, canonical.encode(message))
    except Exception as error:  # noqa: BLE001 - the border: `presentable` hides it
        problem = exchange.problem_of(error)
        yield _event("error", problems.encode(problem))


def _lines(events: Events, exchange: request_handling.Exchange) -> Iterator[bytes]:
    try:
        for event in events:
            if isinstance(event, Reply):
                yield from (b"event: response\ndata: ", *event.parts, b"\n\n")
            elif isinstance(event, bytes):
                yield b"event: partial\ndata: " + event + b"\n\n"
            else:
                yield _event("progress", canonical.encode(event))
    except Exception as error:  # noqa: BLE001 - the border: `presentable` hides it
        yield _event("error", problems.encode(exchange.problem_of(error)))
    else:
        exchange.outcome = ""


def _event(name: str, data: str) -> bytes:
    return f"event: {name}\ndata: {data}\n\n".encode()
