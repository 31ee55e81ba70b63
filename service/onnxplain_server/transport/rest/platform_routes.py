"""REST routes of an explainer: KServe's first protocol, the Open Inference Protocol, and MLflow.

Errors are the problem documents of all routes: their member `error` is what these platforms read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from http import HTTPStatus
from importlib.metadata import version

from flask import Blueprint, Response
from werkzeug import exceptions

from onnxplain_server.core.request import Reply
from onnxplain_server.transport.explainer.explainer import Explainer
from onnxplain_server.transport.rest import request_body, request_handling, rest_access
from onnxplain_server.transport.service import Service
from onnxplain_server.wire.media_types import JSON

Wrap = Callable[[bytes], bytes]
"""Wraps a canonical ExplainResponse as a platform's answer."""


# Long: it holds all of its routes.
def platform_routes(service: Service, explainer: Explainer) -> Blueprint:
    """Make the routes of explanations."""
    routes = Blueprint(request_handling.PLATFORMS, "onnxplain")

    def explain(wrap: Wrap) -> Response:
        with ExitStack() as stack:
            ticket = stack.enter_context(service.admit(rest_access.caller()))
            media_type, parts = request_body.rows()
            reply = explainer.explain(media_type, parts, ticket)
            return _answer(reply, wrap, stack.pop_all())

    @routes.post("/v1/models/<name>:explain")
    def explain_instances(name: str) -> Response:
        _check_name(name, explainer)
        return explain(bytes)

    @routes.post("/v2/models/<name>/explain")
    def explain_tensors(name: str) -> Response:
        _check_name(name, explainer)
        return explain(lambda answer: _tensor(explainer.name, answer))

    @routes.post("/invocations")
    def explain_invocation() -> Response:
        return explain(lambda answer: b'{"predictions": ' + answer + b"}")

    @routes.post("/v1/models/<name>:predict")
    @routes.post("/v2/models/<name>/infer")
    def predict(name: str) -> Response:
        _check_name(name, explainer)
        raise exceptions.NotImplemented(
            "this server explains and does not predict: ask the predictor, or :explain here"
        )

    @routes.get("/v1/models")
    def models() -> dict[str, list[str]]:
        return {"models": [explainer.name]}

    return routes


# Long: it holds all of its routes.
def add_probes(routes: Blueprint, service: Service, explainer: Explainer) -> None:
    """Add the health checks of platforms to those of the server."""
    name = explainer.name

    def state(document: dict[str, object]) -> tuple[dict[str, object], int]:
        if service.ready:
            return document, HTTPStatus.OK
        return {"error": f"Model with name {name} is not ready."}, HTTPStatus.SERVICE_UNAVAILABLE

    @routes.get("/")
    def alive() -> dict[str, str]:
        return {"status": "alive"}

    @routes.get(f"/v1/models/{name}")
    @routes.get(f"/v2/models/{name}/ready")
    def model_ready() -> tuple[dict[str, object], int]:
        return state({"name": name, "ready": True})

    @routes.get("/health")
    def healthy() -> tuple[dict[str, object], int]:
        return state({"ready": True})

    @routes.get("/v2")
    def server() -> dict[str, object]:
        return {
            "name": "onnxplain",
            "version": version("onnxplain-server"),
            "extensions": [],
        }

    @routes.get(f"/v2/models/{name}")
    def metadata() -> tuple[dict[str, object], int]:
        inputs = [
            {"name": column, "datatype": datatype, "shape": [-1]}
            for column, datatype in explainer.inputs
        ]
        return state(
            {
                "name": name,
                "platform": "onnxplain",
                "inputs": inputs,
                "outputs": [{"name": "explanation", "datatype": "BYTES", "shape": [1]}],
            }
        )


def _check_name(name: str, explainer: Explainer) -> None:
    if name != explainer.name:
        message = f'there is no model "{name[:100]}"; this explainer has {explainer.name}'
        raise exceptions.NotFound(message)


def _tensor(name: str, answer: bytes) -> bytes:
    """Return an answer as the only element of a tensor of texts."""
    output = {"name": "explanation", "datatype": "BYTES", "shape": [1], "data": [answer.decode()]}
    return json.dumps({"model_name": name, "outputs": [output]}).encode()


def _answer(reply: Reply, wrap: Wrap, stack: ExitStack) -> Response:
    """Send a reply; close `stack` once it is sent, or the client has gone."""
    response = Response(wrap(reply.content), mimetype=JSON)
    response.call_on_close(stack.close)
    return response
