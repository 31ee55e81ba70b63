"""Authentication of REST callers, by the headers: before the body of a request is read."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

from flask import Flask, g, request

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.telemetry.spans import Span
from onnxplain_server.transport.admission import caller_addresses
from onnxplain_server.transport.admission.admission import Caller, CallerKey
from onnxplain_server.transport.admission.authentication import Authenticator, Credentials
from onnxplain_server.transport.rest import request_handling
from onnxplain_server.transport.rest.connections.request_parser import HeaderCheck
from onnxplain_server.transport.rest.connections.waitress_channel import NAME_CALLER, REQUEST_START
from onnxplain_server.transport.rest.request_timeout import TIMEOUT, milliseconds


def install(
    app: Flask, authenticator: Authenticator, check_unread: Callable[[CallerKey, int], None]
) -> None:
    """Authenticate the caller of every route that is not public; unknown routes included.

    `check_unread` is called with the caller's key and the size of the body, before a request is
    admitted and as its work begins.
    """

    @app.before_request
    def identify() -> None:
        if request.blueprint not in request_handling.PUBLIC:
            sent = tuple(request.headers.getlist("Authorization"))
            g.caller = request_handling.current().caller = authenticator.authenticate(
                Credentials(sent)
            )
            g.check_unread = check_unread


def header_check(app: Flask, authenticator: Authenticator) -> HeaderCheck:
    """Return a check that refuses unauthenticated requests before their bodies arrive.

    It runs on the only thread that reads, so it does not wait: what it cannot
    decide at once is left to the authentication of the route.
    """
    public = frozenset(
        rule.rule
        for rule in app.url_map.iter_rules()
        if rule.endpoint.partition(".")[0] in request_handling.PUBLIC
    )

    def check(path: str, authorization: str | None) -> ExplainError | None:
        if path in public:
            return None
        sent = () if authorization is None else (authorization,)
        try:
            authenticator.authenticate(Credentials(sent), wait=False)
        except ExplainError as error:
            return error if error.reason is Reason.UNAUTHENTICATED else None
        return None

    return check


def caller_name() -> str:
    """Return the caller of the current request; AttributeError if it was not authenticated."""
    return cast("str", g.caller)


def caller() -> Caller:
    """Return the authenticated caller of the current request; OVERLOADED if it reads no replies."""
    is_disconnected = request.environ.get("waitress.client_disconnected", lambda: False)
    address = caller_addresses.network(request.remote_addr or "")
    record = request_handling.current().record
    start = request.environ.get(REQUEST_START, time.monotonic())
    received = Span("receive", start, time.monotonic())
    record.spans.add([received])
    name, seconds = caller_name(), _seconds()
    sender = Caller(name, seconds, is_disconnected, address, record.spans, start, record.usage)
    request.environ.get(NAME_CALLER, lambda _key: None)(sender.key)
    check = partial(g.check_unread, sender.key, request.content_length or 0)
    check()
    # Once more behind the queue: replies of others may have come before.
    return replace(sender, begin=check)


def _seconds() -> float:
    header = request.headers.get(TIMEOUT)
    if header is None:
        return math.inf
    if (count := milliseconds(header)) is None:
        message = f'{TIMEOUT} must be a positive whole number of milliseconds, not "{header[:40]}"'
        raise ExplainError(Reason.INVALID_REQUEST, message)
    return count / 1000
