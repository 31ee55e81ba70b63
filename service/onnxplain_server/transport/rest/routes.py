"""REST routes: each passes the request's body to the service, and the reply's bytes back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from importlib.metadata import version

from flask import Blueprint, Flask, Response, request
from google.protobuf.message import Message

from onnxplain_server.core.request import (
    Reply,
    ReplyFormat,
    RequestFile,
    RequestParts,
    ServiceMethod,
)
from onnxplain_server.telemetry.tracing import UNTRACED, Tracer
from onnxplain_server.transport import path_parts
from onnxplain_server.transport.admission.admission import CallerKey
from onnxplain_server.transport.admission.authentication import ALLOW_ALL, Authenticator
from onnxplain_server.transport.explainer.explainer import Explainer
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.operations.operation_calls import OperationCalls
from onnxplain_server.transport.rest import (
    compression,
    cross_origin,
    query,
    request_body,
    request_handling,
    rest_access,
    server_sent_events,
)
from onnxplain_server.transport.rest.openapi_page import create_docs
from onnxplain_server.transport.rest.operation_routes import (
    is_async,
    operation_routes,
    refuse_start_parameters,
    start,
)
from onnxplain_server.transport.rest.origin_policy import OWN_ORIGIN, OriginPolicy
from onnxplain_server.transport.rest.platform_routes import add_probes, platform_routes
from onnxplain_server.transport.service import Service
from onnxplain_server.wire import canonical
from onnxplain_server.wire.calls import ANSWERED, CALLS
from onnxplain_server.wire.media_types import JSON


# Long: it takes the parts of a server, and installs them in their order.
def create_app(
    service: Service,
    metrics: Metrics,
    message_bytes: int,
    *,
    authenticator: Authenticator = ALLOW_ALL,
    check_unread: Callable[[CallerKey, int], None] = lambda _key, _byte_count: None,
    tracer: Tracer = UNTRACED,
    origin_policy: OriginPolicy = OWN_ORIGIN,
    explainer: Explainer | None = None,
    page: Blueprint | None = None,
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
    check_unread : callable (caller key, size of the body) -> None
        Raises OVERLOADED for a caller who does not read its replies.
    tracer : Tracer
        Traces the requests.
    origin_policy : OriginPolicy
        Origins that may read the answers.
    explainer : Explainer, optional
        Without it, there are no routes of platforms.
    page : Blueprint, optional
        Routes of the page for people, `page_routes`.
    """
    app = Flask("onnxplain", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = message_bytes
    path_parts.install(app)
    request_handling.install(app, metrics, tracer)
    compression.install(app)
    cross_origin.install(app, origin_policy)
    rest_access.install(app, authenticator, check_unread)
    calls = OperationCalls(service)
    probes = _probes(service)
    if explainer is not None:
        add_probes(probes, service, explainer)
        app.register_blueprint(platform_routes(service, explainer))
    for routes in (
        _explanations(service, calls),
        _models(service),
        _answered(service),
        _uploads(service),
        probes,
    ):
        app.register_blueprint(routes)
    app.register_blueprint(operation_routes(service, calls))
    app.register_blueprint(_version())
    app.register_blueprint(create_docs())
    if page is not None:
        app.register_blueprint(page)
    return app


def _explanations(service: Service, calls: OperationCalls) -> Blueprint:
    routes = Blueprint("explanations", "onnxplain")

    @routes.post(CALLS[ServiceMethod.EXPLAIN].path)
    def explain() -> Response:
        if is_async():
            return start(service, calls)
        refuse_start_parameters()
        with ExitStack() as stack:
            is_stream = server_sent_events.is_accepted()
            ticket = stack.enter_context(service.admit(rest_access.caller()))
            body = request_body.of(ServiceMethod.EXPLAIN)
            if is_stream:
                events = service.events(body, ticket, ReplyFormat.JSON_EVENT)
                stack.callback(events.close)
                return server_sent_events.respond(events, stack.pop_all())
            reply = service.explain(body, ticket, ReplyFormat.JSON)
            return _passed_on(reply, stack.pop_all())

    return routes


def _models(service: Service) -> Blueprint:
    routes = Blueprint("models", "onnxplain")
    routes.before_request(query.refuse)

    @routes.get("/v1/models/<file:model_id>")
    def describe_uploaded(model_id: str) -> Response:
        with ExitStack() as stack:
            ticket = stack.enter_context(service.admit(rest_access.caller()))
            named = RequestParts(b"", RequestFile(identity=model_id))
            reply = service.answer(ServiceMethod.DESCRIBE, named, ticket, ReplyFormat.JSON)
            return _passed_on(reply, stack.pop_all())

    return routes


def _answered(service: Service) -> Blueprint:
    """Return the routes whose body is a request that is answered at once."""
    routes = Blueprint("answered", "onnxplain")
    routes.before_request(query.refuse)

    def route(method: ServiceMethod) -> Callable[[], Response]:
        def answer() -> Response:
            with ExitStack() as stack:
                ticket = stack.enter_context(service.admit(rest_access.caller()))
                reply = service.answer(method, request_body.of(method), ticket, ReplyFormat.JSON)
                return _passed_on(reply, stack.pop_all())

        return answer

    for method in ANSWERED:
        routes.post(CALLS[method].path, endpoint=method.value)(route(method))
    return routes


def _uploads(service: Service) -> Blueprint:
    routes = Blueprint("uploads", "onnxplain")

    @routes.put("/v1/models")
    def upload_model() -> Response:
        query.refuse()
        _lift_body_limit()
        byte_limit = service.upload_limits["model"].byte_count
        with service.admit(rest_access.caller()) as ticket:
            return _json(service.upload_model(request_body.uploaded_model(byte_limit), ticket))

    @routes.put("/v1/tables")
    def upload_table() -> Response:
        _lift_body_limit()
        with service.admit(rest_access.caller()) as ticket:
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
    return Response(canonical.encode(message), mimetype=JSON)


def _passed_on(reply: Reply, stack: ExitStack) -> Response:
    """Pass a reply on in its parts; close `stack` once it is sent, or the client has gone."""
    response = Response(list(reply.parts), mimetype=JSON)
    response.content_length = reply.byte_count
    response.call_on_close(stack.close)
    return response
