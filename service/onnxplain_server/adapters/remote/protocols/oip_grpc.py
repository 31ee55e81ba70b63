"""Open Inference Protocol 2 over gRPC: tensors as bytes, or by type where columns have names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from onnxplain_server.adapters.remote.calls.grpc_transport import GrpcTransport
from onnxplain_server.adapters.remote.protocols.oip_metadata import ModelMetadata
from onnxplain_server.adapters.remote.protocols.tensors import (
    DTYPES,
    STRINGS,
    AnswerTensor,
    Tensor,
    TensorMetadata,
    unpacked,
)
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import printable
from onnxplain_server.core.remote.models import RemoteAddress
from onnxplain_server.wire.inference.inference_pb2 import (
    InferTensorContents,
    ModelInferRequest,
    ModelInferResponse,
    ModelMetadataRequest,
    ModelMetadataResponse,
)

_SERVICE = "/inference.GRPCInferenceService"

_WORD_BYTES = 200

_CONTENTS = {
    "BOOL": "bool_contents",
    **dict.fromkeys(("INT8", "INT16", "INT32"), "int_contents"),
    "INT64": "int64_contents",
    **dict.fromkeys(("UINT8", "UINT16", "UINT32"), "uint_contents"),
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    STRINGS: "bytes_contents",
}
"""Fields of `InferTensorContents`; FP16 has none."""


class OipGrpcConnection:
    """`OipConnection` over gRPC.

    Parameters
    ----------
    address : RemoteAddress
    transport : GrpcTransport
    """

    def __init__(self, address: RemoteAddress, transport: GrpcTransport) -> None:
        self._address = address
        self._transport = transport

    def metadata(self) -> ModelMetadata:
        request = ModelMetadataRequest(name=self._address.name, version=self._address.version)
        answer = self._transport.call(f"{_SERVICE}/ModelMetadata", request, ModelMetadataResponse)
        inputs, outputs = (
            tuple(TensorMetadata(one.name, one.datatype, tuple(one.shape)) for one in tensors)
            for tensors in (answer.inputs, answer.outputs)
        )
        version = answer.versions[0] if len(answer.versions) == 1 else ""
        words = (printable(word, _WORD_BYTES) for word in (version, answer.platform))
        return ModelMetadata(inputs, outputs, *words)

    def infer(self, tensors: Sequence[Tensor], row_count: int) -> Sequence[AnswerTensor]:
        method, request = f"{_SERVICE}/ModelInfer", self._request(tensors)
        answer = self._transport.call(method, request, ModelInferResponse, row_count)
        return [
            AnswerTensor(
                output.name,
                output.datatype,
                tuple(output.shape),
                partial(_numbers, answer, position),
            )
            for position, output in enumerate(answer.outputs)
        ]

    def _request(self, tensors: Sequence[Tensor]) -> ModelInferRequest:
        request = ModelInferRequest(
            model_name=self._address.name, model_version=self._address.version
        )
        if self._address.output:
            request.outputs.add(name=self._address.output)
        # KServe makes no table of bytes.
        is_table = len(tensors) > 1 and all(tensor.datatype in _CONTENTS for tensor in tensors)
        if len(tensors) > 1:
            request.parameters["content_type"].string_param = "pd"
        for tensor in tensors:
            entry = request.inputs.add(
                name=tensor.name, datatype=tensor.datatype, shape=tensor.values.shape
            )
            if is_table:
                entry.contents.CopyFrom(_contents(tensor))
            else:
                request.raw_input_contents.append(tensor.packed())
        return request


def _contents(tensor: Tensor) -> InferTensorContents:
    values = tensor.values.ravel().tolist()
    if tensor.datatype == STRINGS:
        values = [str(value).encode() for value in values]
    return InferTensorContents(**{_CONTENTS[tensor.datatype]: values})


def _numbers(answer: ModelInferResponse, position: int) -> Array:
    output = answer.outputs[position]
    if answer.raw_output_contents:
        contents = answer.raw_output_contents
        return unpacked(output.datatype, contents[position] if position < len(contents) else b"")
    field = _CONTENTS.get(output.datatype)
    values = getattr(output.contents, field) if field else ()
    # By value: the fields hold 32 bits of each shorter integer.
    return np.array(values).astype(DTYPES[output.datatype])
