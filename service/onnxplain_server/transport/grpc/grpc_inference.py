"""gRPC methods of the Open Inference Protocol, over an explainer: ModelInfer explains rows."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

import grpc

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.explainer.explainer import Explainer
from onnxplain_server.transport.grpc.grpc_service import ExplanationServicer
from onnxplain_server.transport.grpc_methods import INFERENCE_SERVICE, MODEL_INFER
from onnxplain_server.wire.inference import infer_request
from onnxplain_server.wire.inference.inference_pb2 import (
    ModelInferResponse,
    ModelMetadataRequest,
    ModelMetadataResponse,
    ModelReadyRequest,
    ModelReadyResponse,
    ServerLiveRequest,
    ServerLiveResponse,
    ServerMetadataRequest,
    ServerMetadataResponse,
    ServerReadyRequest,
    ServerReadyResponse,
)
from onnxplain_server.wire.media_types import INFER_REQUEST

_OUTPUT = "explanation"


def inference_handlers(
    explainer: Explainer, explanations: ExplanationServicer
) -> grpc.GenericRpcHandler:
    """Return the handlers of `inference.GRPCInferenceService`."""
    served = _Inference(explainer, explanations)
    probes: Mapping[str, tuple[Callable[..., Any], type[Any]]] = {
        "ServerLive": (served.live, ServerLiveRequest),
        "ServerReady": (served.ready, ServerReadyRequest),
        "ModelReady": (served.model_ready, ModelReadyRequest),
        "ServerMetadata": (served.metadata, ServerMetadataRequest),
        "ModelMetadata": (served.model_metadata, ModelMetadataRequest),
    }
    methods = {
        name: grpc.unary_unary_rpc_method_handler(
            method,
            request_deserializer=request.FromString,
            response_serializer=lambda answer: answer.SerializeToString(),
        )
        for name, (method, request) in probes.items()
    }
    # Requests and the reply are bytes, see `ByteStreamInterceptor`.
    methods[MODEL_INFER] = grpc.unary_unary_rpc_method_handler(served.infer)
    return grpc.method_handlers_generic_handler(INFERENCE_SERVICE, methods)


class _Inference:
    def __init__(self, explainer: Explainer, explanations: ExplanationServicer) -> None:
        self._explainer = explainer
        self._explanations = explanations

    def live(self, _request: ServerLiveRequest, _context: object) -> ServerLiveResponse:
        return ServerLiveResponse(live=True)

    def ready(self, _request: ServerReadyRequest, _context: object) -> ServerReadyResponse:
        return ServerReadyResponse(ready=self._explanations.is_ready)

    def model_ready(
        self, request: ModelReadyRequest, context: grpc.ServicerContext
    ) -> ModelReadyResponse:
        self._check_known(request.name, context)
        return ModelReadyResponse(ready=self._explanations.is_ready)

    def metadata(self, _request: ServerMetadataRequest, _context: object) -> ServerMetadataResponse:
        return ServerMetadataResponse(name="onnxplain", version=version("onnxplain-server"))

    def model_metadata(
        self, request: ModelMetadataRequest, context: grpc.ServicerContext
    ) -> ModelMetadataResponse:
        self._check_known(request.name, context)
        if not self._explanations.is_ready:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the explainer is not ready")
        answer = ModelMetadataResponse(name=self._explainer.name, platform="onnxplain")
        for name, datatype in self._explainer.inputs:
            answer.inputs.add(name=name, datatype=datatype, shape=[-1])
        answer.outputs.add(name=_OUTPUT, datatype="BYTES", shape=[1])
        return answer

    def _check_known(self, name: str, context: grpc.ServicerContext) -> None:
        if name != self._explainer.name:
            context.abort(grpc.StatusCode.NOT_FOUND, _unknown(name, self._explainer.name))

    def infer(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        with self._explanations.admitted(context, MODEL_INFER) as ticket:
            message = self._explanations.receive(requests, ticket)
            name, request_id = infer_request.names(message)
            if name != self._explainer.name:
                text = _unknown(name, self._explainer.name)
                raise ExplainError(Reason.INVALID_REQUEST, text, "model_name")
            content = self._explainer.explain(INFER_REQUEST, [message], ticket).content
            answer = ModelInferResponse(model_name=name, id=request_id)
            answer.outputs.add(name=_OUTPUT, datatype="BYTES", shape=[1])
            answer.raw_output_contents.append(struct.pack("<I", len(content)) + content)
            return bytes(answer.SerializeToString())


def _unknown(name: str, known: str) -> str:
    return f'there is no model "{name[:100]}"; this explainer has {known}'
