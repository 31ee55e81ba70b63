"""REST routes of operations: explanations that are started, followed, and fetched later."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flask import Blueprint, Response, request

from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.transport.operations.operation_arguments import wait_seconds
from onnxplain_server.transport.operations.operation_calls import OperationCalls
from onnxplain_server.transport.operations.operation_messages import operation_name, to_message
from onnxplain_server.transport.rest import (
    query,
    request_body,
    rest_access,
    server_sent_events,
)
from onnxplain_server.transport.service import Service
from onnxplain_server.wire import canonical
from onnxplain_server.wire.kept_parts import join_parts
from onnxplain_server.wire.media_types import JSON

_ASYNC = "respond-async"
_NAME = "request_id"
_LABEL = "label"
_SECONDS = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,9})?)s?")
_NUMBER = re.compile(r"-?[0-9]{1,9}")


def is_async() -> bool:
    """Return whether the request prefers to be answered before it is computed (RFC 7240)."""
    preferences = ",".join(request.headers.getlist("Prefer")).split(",")
    return any(each.partition(";")[0].strip().lower() == _ASYNC for each in preferences)


def refuse_start_parameters() -> None:
    """Refuse what a start takes, and all other parameters, where no operation is started."""
    query.parameters(_NAME, repeated=_LABEL)
    for name in request.args:
        text = f"{name} belongs to an operation; to start one send Prefer: {_ASYNC}"
        raise query.invalid(text, name)


def start(service: Service, calls: OperationCalls) -> Response:
    """Start the explanation that the current request asks for: 202 with its location."""
    with service.admit(rest_access.caller()) as ticket:
        calls.check_enabled()
        body = request_body.of(ServiceMethod.EXPLAIN)
        request_id = query.parameters(_NAME, repeated=_LABEL).get(_NAME, "")
        operation = calls.start(body, ticket, request_id, _labels())
    response = _json(canonical.encode(operation), 202)
    response.headers["Location"] = f"/v1/{operation.name}"
    if is_async():
        response.headers["Preference-Applied"] = _ASYNC
    return response


# Long: it holds all of its routes.
def operation_routes(service: Service, calls: OperationCalls) -> Blueprint:
    """Make the routes."""
    routes = Blueprint("operations", "onnxplain")

    @routes.post("/v1/explanations:start")
    def start_explanation() -> Response:
        return start(service, calls)

    @routes.get("/v1/operations")
    def list_operations() -> Response:
        given = query.parameters("filter", "page_size", "page_token")
        page = calls.list(
            rest_access.caller_name(),
            given.get("filter", ""),
            _page_size(given.get("page_size", "0")),
            given.get("page_token", ""),
        )
        return _json(canonical.encode(page))

    @routes.get("/v1/operations/<plain:operation_id>")
    def get_operation(operation_id: str) -> Response:
        caller, name = rest_access.caller(), operation_name(operation_id)
        wait = query.parameters("wait").get("wait")
        if server_sent_events.is_accepted():
            events = calls.follow(caller.name, name, caller.is_disconnected)
            return server_sent_events.respond_messages("operation", _begun(events))
        seconds = _wait(wait, caller.seconds)
        operation = calls.wait_end(caller.name, name, seconds, caller.is_disconnected)
        return _json(canonical.encode(to_message(operation)))

    @routes.post("/v1/operations/<plain:operation_id>:cancel")
    def cancel_operation(operation_id: str) -> Response:
        query.refuse()
        calls.cancel(rest_access.caller_name(), operation_name(operation_id))
        return _json("{}")

    @routes.delete("/v1/operations/<plain:operation_id>")
    def delete_operation(operation_id: str) -> Response:
        query.refuse()
        calls.delete(rest_access.caller_name(), operation_name(operation_id))
        return _json("{}")

    @routes.get("/v1/operations/<plain:operation_id>/result")
    def get_result(operation_id: str) -> Response:
        query.refuse()
        name = operation_name(operation_id)
        with service.admit(rest_access.caller()) as ticket:
            calls.check_answer(ticket.caller.name, name)
            content = service.encode_kept(
                ServiceMethod.ANSWER,
                lambda: calls.response_parts(ticket.caller.name, name),
                ticket,
            )
        return Response(content, mimetype=JSON)

    @routes.get("/v1/operations/<plain:operation_id>/partials")
    def get_partials(operation_id: str) -> Response:
        query.refuse()
        with service.admit(rest_access.caller()) as ticket:
            parts = calls.parts(ticket.caller.name, operation_name(operation_id))
            content = service.encode_kept(ServiceMethod.PARTS, lambda: join_parts(parts), ticket)
        return Response(content, mimetype=JSON)

    return routes


def _begun(events: Iterator[object]) -> Iterator[object]:
    """Take the first event, so that errors before it are the status of the response."""
    first = next(events)

    def rest() -> Iterator[object]:
        yield first
        yield from events

    return rest()


def _labels() -> dict[str, str]:
    """Return the labels of the parameters `label`, each KEY=VALUE."""
    labels: dict[str, str] = {}
    for text in request.args.getlist(_LABEL):
        key, equals, value = text.partition("=")
        if not equals or key in labels:
            problem = "is no KEY=VALUE" if not equals else "has a key that stands twice"
            raise query.invalid(f'the label "{text[:100]}" {problem}', "label")
        labels[key] = value
    return labels


def _page_size(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise query.invalid(f'page_size must be a whole number, not "{text[:40]}"', "page_size")
    return int(text)


def _wait(text: str | None, remaining: float) -> float:
    """Return the seconds of the parameter `wait`, within the request's time; 0 without it."""
    if text is None:
        return 0.0
    match = _SECONDS.fullmatch(text)
    if match is None:
        raise query.invalid(f'wait must be seconds, like 30s, not "{text[:40]}"', "wait")
    return wait_seconds(remaining, float(match[1]))


def _json(text: str, status: int = 200) -> Response:
    return Response(text, status, mimetype=JSON)
