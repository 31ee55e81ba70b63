"""REST routes: each decodes the request, calls the service and encodes the reply."""

from __future__ import annotations

import math
import sys
from contextlib import AbstractContextManager, ExitStack
from importlib.metadata import version

from flask import Blueprint, Flask, Response, request
from google.protobuf.message import Message
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest
from onnxplain.v1.model_pb2 import Model

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.telemetry.tracing import UNTRACED, Tracer
from onnxplain_server.transport.admission import caller_addresses
from onnxplain_server.transport.admission.admission import Caller
from onnxplain_server.transport.admission.authentication import ALLOW_ALL, Authenticator
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.rest import (
    cross_origin,
    request_body,
    request_handling,
    rest_access,
    server_sent_events,
)
from onnxplain_server.transport.rest.openapi_page import create_docs
from onnxplain_server.transport.rest.origin_policy import OWN_ORIGIN, OriginPolicy
from onnxplain_server.transport.service import Service
from onnxplain_server.wire import canonical

_TIMEOUT = "X-Request-Timeout-Ms"


def create_app(
    service: Service,
    metrics: Metrics,
    message_bytes: int,
    *,
    authenticator: Authenticator = ALLOW_ALL,
    tracer: Tracer = UNTRACED,
    origin_policy: OriginPolicy = OWN_ORIGIN,
) -> Flask:
    """Make the WSGI application.

    Parameters
    ----------
    service : Service
        Serves the requests.
    metrics : Metrics
        Counts the requests.
    message_bytes : int
        Size limit of a request's body, except of uploads.
    authenticator : Authenticator
        Authenticates the callers; by default, all are anonymous.
    tracer : Tracer
        Traces the requests.
    origin_policy : OriginPolicy
        Origins that may read the answers.
    """
    app = Flask("onnxplain", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = message_bytes
    app.config["MAX_FORM_MEMORY_SIZE"] = message_bytes
    request_handling.install(app, metrics, tracer)
    cross_origin.install(app, origin_policy)
    rest_access.install(app, authenticator)
    for routes in (_explanations, _uploads, _probes):
        app.register_blueprint(routes(service))
    app.register_blueprint(_version())
    app.register_blueprint(create_docs())
    return app


def _explanations(service: Service) -> Blueprint:
    routes = Blueprint("explanations", "onnxplain")

    @routes.post("/v1/explanations")
    def explain() -> Response:
        with ExitStack() as stack:
            is_stream = server_sent_events.is_accepted()
            ticket = stack.enter_context(service.admit(_caller()))
            with _part("receive"):
                message = request_body.explain_request()
            if is_stream:
                return server_sent_events.respond(service.events(message, ticket), stack.pop_all())
            return _json(service.explain(message, ticket))

    @routes.post("/v1/models:describe")
    def describe() -> Response:
        with service.admit(_caller()) as ticket:
            with _part("receive"):
                message = request_body.describe_request()
            return _json(service.describe(message, ticket))

    @routes.get("/v1/models/<model_id>")
    def describe_uploaded(model_id: str) -> Response:
        with service.admit(_caller()) as ticket:
            message = DescribeModelRequest(model=Model(id=model_id))
            return _json(service.describe(message, ticket))

    return routes


def _uploads(service: Service) -> Blueprint:
    routes = Blueprint("uploads", "onnxplain")

    @routes.put("/v1/models")
    def upload_model() -> Response:
        _lift_body_limit()
        with service.admit(_caller()) as ticket:
            return _json(service.upload_model(request_body.model_parts(), ticket))

    @routes.put("/v1/tables")
    def upload_table() -> Response:
        _lift_body_limit()
        with service.admit(_caller()) as ticket:
            return _json(service.upload_table(*request_body.table_parts(), ticket))

    return routes


def _lift_body_limit() -> None:
    """Leave the size limit of this request's body to the service, which counts as it reads."""
    request.max_content_length = sys.maxsize


def _version() -> Blueprint:
    routes = Blueprint("version", "onnxplain")

    @routes.get("/version")
    def server_version() -> dict[str, str]:
        return {"version": version("onnxplain-server")}

    return routes


def _probes(service: Service) -> Blueprint:
    routes = Blueprint(request_handling.PROBES, "onnxplain")

    @routes.get("/livez")
    @routes.get("/healthz")
    @routes.get("/v2/health/live")
    def live() -> dict[str, bool]:
        return {"live": True}

    @routes.get("/readyz")
    @routes.get("/ping")
    @routes.get("/v2/health/ready")
    def ready() -> tuple[dict[str, bool], int]:
        is_ready = service.ready
        return {"ready": is_ready}, 200 if is_ready else 503

    return routes


def _json(message: Message) -> Response:
    with _part("encode"):
        return Response(canonical.encode(message), mimetype="application/json")


def _part(name: str) -> AbstractContextManager[None]:
    return request_handling.current().record.spans.measure(name)


def _caller() -> Caller:
    is_disconnected = request.environ.get("waitress.client_disconnected", lambda: False)
    address = caller_addresses.network(request.remote_addr or "")
    seconds = _seconds(request.headers.get(_TIMEOUT))
    spans = request_handling.current().record.spans
    return Caller(rest_access.caller_name(), seconds, is_disconnected, address, spans)


def _seconds(milliseconds: str | None) -> float:
    if milliseconds is None:
        return math.inf
    is_number = milliseconds.isascii() and milliseconds.isdigit() and len(milliseconds) <= 12
    if not is_number or int(milliseconds) == 0:
        message = (
            f'{_TIMEOUT} must be a positive whole number of milliseconds, not "{milliseconds[:40]}"'
        )
        raise ExplainError(Reason.INVALID_REQUEST, message)
    return int(milliseconds) / 1000
