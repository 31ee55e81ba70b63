"""CORS: answers to preflight requests, and the headers that let listed origins read an answer."""

from __future__ import annotations

from flask import Flask, Response, request

from onnxplain_server.transport.rest.origin_policy import OriginPolicy

_PREFLIGHT_SECONDS = "600"


def install(app: Flask, policy: OriginPolicy) -> None:
    """Install the handling; before authentication, since preflight requests have no credentials."""

    @app.before_request
    def answer_preflight() -> Response | None:
        asked = request.access_control_request_method
        headers = policy.cors_headers(request.origin)
        is_preflight = request.method == "OPTIONS" and asked is not None
        if not is_preflight or "Access-Control-Allow-Origin" not in headers:
            return None
        response = Response(status=204)
        response.headers["Access-Control-Allow-Methods"] = _methods(app)
        # No cookie is read, so no header gives a page of a listed origin more than it has.
        response.access_control_allow_headers = request.access_control_request_headers
        response.headers["Access-Control-Max-Age"] = _PREFLIGHT_SECONDS
        return response

    @app.after_request
    def add_headers(response: Response) -> Response:
        for name, value in policy.cors_headers(request.origin).items():
            response.headers.add(name, value)
        return response


def _methods(app: Flask) -> str:
    rules = app.url_map.iter_rules()
    return ", ".join(sorted({method for rule in rules for method in rule.methods or ()}))
