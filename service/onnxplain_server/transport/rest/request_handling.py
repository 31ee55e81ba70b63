"""Handling around every REST request: its id, problem documents, headers, metrics and log line."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any, cast

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException

from onnxplain_server.telemetry.tracing import UNTRACED, Trace, Tracer
from onnxplain_server.transport import path_parts
from onnxplain_server.transport.metrics.request_metrics import Metrics, known_method
from onnxplain_server.transport.request_log import NOBODY, OK, RequestRecord
from onnxplain_server.transport.rest import headers, problems
from onnxplain_server.transport.rest.connections.request_parser import is_explanation
from onnxplain_server.transport.status import retry_seconds
from onnxplain_server.wire.media_types import JSON

_REQUEST_ID = "X-Request-Id"

# Blueprint of the routes of platforms, whose clients read errors in plain JSON only.
PLATFORMS = "platforms"

# Blueprint of the health checks, which are called every few seconds.
PROBES = "probes"

# Blueprint of the files of the page, which loads before its reader has logged in.
PAGE = "page"

# Blueprints whose routes anybody may ask.
PUBLIC = frozenset({PROBES, PAGE})


class Exchange:
    """HTTP exchange: a request and its outcome; outlives Flask's request while events stream."""

    def __init__(self, metrics: Metrics, tracer: Tracer) -> None:
        self._metrics = metrics
        self._method = request.method
        self._route = path_parts.shown(request.url_rule.rule) if request.url_rule else ""
        self._is_probe = request.blueprint == PROBES
        self.path = request.path
        client_id = request.headers.get(_REQUEST_ID)
        self.record = RequestRecord(f"{request.method} {self.path}", client_id, self._trace(tracer))
        self.record.usage.received_byte_count = request.content_length or 0
        self.outcome = ""
        self.retry_seconds: int | None = None
        self.caller = NOBODY

    def problem_of(self, error: Exception) -> dict[str, Any]:
        """Return the problem of an error, and keep its reason for the log and the metrics."""
        document = self._describe(error)
        self.outcome = document["reason"]
        return document

    def close(self, status: int) -> None:
        """Write the log line, and count the request unless it is a probe."""
        level = logging.DEBUG if self._is_probe else logging.INFO
        seconds = self.record.close(
            self.outcome or OK,
            self.caller,
            status=status,
            level=level,
            attributes={"http.response.status_code": status},
        )
        if self._is_probe:
            return
        self._metrics.http_ended(self._method, self._route, status, seconds)
        if is_explanation(self._method, self._route) and status != HTTPStatus.ACCEPTED:
            self._metrics.explanation_ended(
                self.record.explanation("rest", self.outcome or OK, self.caller, seconds)
            )
        if self.outcome:
            self._metrics.rejected(self.outcome)

    def _trace(self, tracer: Tracer) -> Trace:
        """Open the span of the request; probes have none."""
        method = known_method(self._method)
        attributes = {"http.request.method": method, "http.route": self._route}
        headers = {name.lower(): value for name, value in request.headers.items()}
        name = f"{method} {self._route}".strip()
        return (UNTRACED if self._is_probe else tracer).begin(name, headers, attributes)

    def _describe(self, error: Exception) -> dict[str, Any]:
        if isinstance(error, HTTPException) and error.code is not None:
            detail = error.description or error.name
            return problems.http_problem(error.code, detail, self.record.request_id, self.path)
        presentable = self.record.presentable(error)
        self.retry_seconds = retry_seconds(presentable)
        return problems.problem(presentable, self.record.request_id, self.path)


def install(app: Flask, metrics: Metrics, tracer: Tracer) -> None:
    """Install the handling in the application."""

    @app.before_request
    def begin() -> None:
        g.exchange = Exchange(metrics, tracer)

    app.register_error_handler(Exception, _answer)
    app.after_request(_finish)


def current() -> Exchange:
    """Return the exchange of the current request."""
    return cast("Exchange", g.exchange)


def _answer(error: Exception) -> Response:
    document = current().problem_of(error)
    text = problems.encode(document)
    media_type = JSON if request.blueprint == PLATFORMS else problems.MEDIA_TYPE
    response = Response(text, document["status"], mimetype=media_type)
    if isinstance(error, HTTPException):
        for name, value in error.get_headers():
            if name == "Allow":
                response.headers[name] = value
    if response.status_code == HTTPStatus.UNAUTHORIZED:
        sent = "Authorization" in request.headers
        response.headers["WWW-Authenticate"] = headers.challenge(document["detail"], sent=sent)
    if (seconds := current().retry_seconds) is not None:
        response.headers["Retry-After"] = str(seconds)
    return response


def _finish(response: Response) -> Response:
    exchange = current()
    response.headers[_REQUEST_ID] = exchange.record.request_id
    for name, value in headers.SECURITY.items():
        # The Swagger UI page has its own policy.
        response.headers.setdefault(name, value)
    response.call_on_close(lambda: exchange.close(response.status_code))
    return response
