"""Server of the Open Inference Protocol over gRPC: its model answers twice the first feature."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import numpy as np
from onnxplain_server.wire.inference.inference_pb2 import (
    ModelInferRequest,
    ModelInferResponse,
    ModelMetadataRequest,
    ModelMetadataResponse,
)

_Tensor = ModelMetadataResponse.TensorMetadata


def _metadata(request: ModelMetadataRequest, _context: Any) -> ModelMetadataResponse:
    tensors = [_Tensor(name="x", datatype="FP64", shape=[-1, 2])]
    return ModelMetadataResponse(name=request.name, platform="p", inputs=tensors)


def _infer(request: ModelInferRequest, _context: Any) -> ModelInferResponse:
    rows = np.frombuffer(request.raw_input_contents[0]).reshape(request.inputs[0].shape)
    answer = ModelInferResponse(raw_output_contents=[(2 * rows[:, 0]).tobytes()])
    answer.outputs.add(name="y", datatype="FP64", shape=[len(rows), 1])
    return answer


_HANDLERS = {
    "ModelMetadata": grpc.unary_unary_rpc_method_handler(
        _metadata, ModelMetadataRequest.FromString, ModelMetadataResponse.SerializeToString
    ),
    "ModelInfer": grpc.unary_unary_rpc_method_handler(
        _infer, ModelInferRequest.FromString, ModelInferResponse.SerializeToString
    ),
}


@contextmanager
def serving(credentials: grpc.ServerCredentials | None = None) -> Iterator[int]:
    """Serve on a free port of 127.0.0.1, by TLS where there are credentials; yield the port."""
    service = grpc.method_handlers_generic_handler("inference.GRPCInferenceService", _HANDLERS)
    server = grpc.server(ThreadPoolExecutor(4), [service], options=[("grpc.so_reuseport", 0)])
    if credentials is None:
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()
