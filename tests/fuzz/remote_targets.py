"""Readers of what servers of models answer: predictions of all rows, or a refusal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError, Message
from onnxplain_server.adapters.remote.calls.http_transport import HttpAnswer
from onnxplain_server.adapters.remote.failures import ModelFailures
from onnxplain_server.adapters.remote.protocols.kserve_v1 import KserveV1Client
from onnxplain_server.adapters.remote.protocols.model_client import ModelClient
from onnxplain_server.adapters.remote.protocols.oip_client import OipClient
from onnxplain_server.adapters.remote.protocols.oip_grpc import OipGrpcConnection
from onnxplain_server.adapters.remote.protocols.oip_rest import OipRestConnection
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote.models import RemoteAddress
from onnxplain_server.wire.inference.inference_pb2 import ModelInferResponse

ROWS = np.zeros((2, 1))
_ADDRESS = RemoteAddress("", "http://models.example", "m", inputs=(Input("x", "double", 1),))
_TOLD = RemoteAddress("", "http://models.example", "m")
_METADATA = b'{"inputs": [{"name": "x", "datatype": "FP64", "shape": [-1, 1]}]}'
_COLUMNS = (
    b'{"inputs": [{"name": "a", "datatype": "INT64", "shape": [-1]}, {"name": "b", '
    b'"datatype": "BYTES", "shape": [-1, 1]}], "outputs": [], "versions": ["1"]}'
)
_FAILURES = ModelFailures(_ADDRESS)


class Answering:
    """Transport whose server answers so: by path, or any path."""

    def __init__(self, answer: Callable[[str], HttpAnswer]) -> None:
        self._answer = answer

    def call(self, path: str, *_: object) -> HttpAnswer:
        return self._answer(path)


def _predict(client: ModelClient) -> None:
    with suppress(ExplainError):
        predictions = client.predict({"x": ROWS}, len(ROWS))
        assert predictions.ndim == 2
        assert len(predictions) == len(ROWS)
        assert predictions.shape[1] > 0
        assert predictions.dtype in {np.dtype(np.float32), np.dtype(np.float64)}


def remote_predictions(given: bytes) -> None:
    """Predictions in JSON, of KServe's first protocol and MLflow."""
    transport: Any = Answering(lambda _: HttpAnswer({}, given))
    _predict(KserveV1Client(_ADDRESS, transport, _FAILURES))


def remote_tensors(given: bytes) -> None:
    """Tensors in JSON and bytes: the first line tells where the bytes begin."""
    length, _, body = given.partition(b"\n")
    headers = {"Inference-Header-Content-Length": length.decode(errors="replace")}

    def answer(path: str) -> HttpAnswer:
        if path.endswith("/infer"):
            return HttpAnswer(headers if length else {}, body)
        return HttpAnswer({}, _METADATA)

    transport: Any = Answering(answer)
    connection = OipRestConnection(_ADDRESS, transport, _FAILURES)
    _predict(OipClient(_ADDRESS, connection, _FAILURES))


def remote_metadata(given: bytes) -> None:
    """Metadata in JSON."""
    transport: Any = Answering(lambda _: HttpAnswer({}, given))
    connection = OipRestConnection(_TOLD, transport, _FAILURES)
    with suppress(ExplainError):
        description = OipClient(_TOLD, connection, _FAILURES).describe()
        assert description.inputs


class Replying:
    """Transport of gRPC whose server answers so."""

    def __init__(self, given: bytes) -> None:
        self._given = given

    def call(self, method: str, _: Message, answer: type[Message], *__: object) -> Message:
        return answer.FromString(self._given if method.endswith("Infer") else b"")


def remote_messages(given: bytes) -> None:
    """Tensors of gRPC; what is no message is refused before."""
    transport: Any = Replying(given)
    with suppress(DecodeError):
        _predict(OipClient(_ADDRESS, OipGrpcConnection(_ADDRESS, transport), _FAILURES))


def corpus() -> Mapping[str, list[bytes]]:
    """Return what each target reads well."""
    output = b'{"outputs": [{"name": "y", "datatype": "FP32", "shape": [2, 1], %s}]}'
    sized = output % b'"parameters": {"binary_data_size": 8}'
    raw = ModelInferResponse(raw_output_contents=[bytes(16)])
    raw.outputs.add(name="y", datatype="FP64", shape=[2])
    typed = ModelInferResponse()
    typed.outputs.add(name="y", datatype="INT8", shape=[2, 1]).contents.int_contents.extend([1, 2])
    return {
        "remote_predictions": [
            b'{"predictions": [1, null]}',
            b'{"predictions": [[0.5, NaN], [1e3, -Infinity]]}',
            b'{"predictions": [{"a": 1, "b": 2}, {"a": 3, "b": 4}]}',
            b'{"predictions": {"a": [1, 2]}}',
        ],
        "remote_tensors": [
            b"\n" + output % b'"data": [1, 2.5]',
            b"\n" + output % b'"data": [[1], ["NaN"]]',
            b"%d\n" % len(sized) + sized + bytes(8),
        ],
        "remote_metadata": [
            _METADATA,
            _COLUMNS,
            _METADATA[:-1] + b', "outputs": [{"name": "y", "datatype": "FP64", "shape": [-1, 9]}]}',
        ],
        "remote_messages": [raw.SerializeToString(), typed.SerializeToString()],
    }
