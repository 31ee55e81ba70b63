"""Server-sent events: progress on the way, then the response or an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from flask import Response, request
from onnxplain.v1.explanation_service_pb2 import ExplainStreamResponse
from werkzeug.exceptions import NotAcceptable

from onnxplain_server.transport.rest import problems, request_handling
from onnxplain_server.wire import canonical

_EVENTS = "text/event-stream"


def wanted() -> bool:
    """Whether the current request asks for events; raises where it wants neither them nor JSON."""
    chosen = request.accept_mimetypes.best_match(["application/json", _EVENTS])
    if chosen is None and request.accept_mimetypes:
        raise NotAcceptable(f"answers are application/json or {_EVENTS}")
    return chosen == _EVENTS


def respond(events: Iterator[ExplainStreamResponse], held: ExitStack) -> Response:
    """Send the events as they come; what is `held` is released when the last one is out."""
    response = Response(_lines(events, request_handling.current()), mimetype=_EVENTS)
    # Otherwise nginx keeps events until its buffer is full.
    response.headers["X-Accel-Buffering"] = "no"
    response.call_on_close(held.close)
    return response


def _lines(
    events: Iterator[ExplainStreamResponse], exchange: request_handling.Exchange
) -> Iterator[str]:
    try:
        for event in events:
            match event.WhichOneof("event"):
                case "progress":
                    yield _event("progress", canonical.encode(event.progress))
                case _:
                    yield _event("response", canonical.encode(event.response))
    except Exception as error:  # noqa: BLE001 - the border: callers are told by `presentable`
        yield _event("error", problems.encode(exchange.problem_of(error)))


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"
