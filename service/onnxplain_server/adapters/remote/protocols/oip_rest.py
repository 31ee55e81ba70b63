"""Open Inference Protocol 2 over REST: tensors as JSON, or as bytes where the server takes them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

import numpy as np

from onnxplain_server.adapters.remote.calls.http_transport import HttpAnswer, HttpTransport
from onnxplain_server.adapters.remote.failures import ModelFailures
from onnxplain_server.adapters.remote.protocols.json_numbers import (
    check_finite,
    decoded,
    encoded,
    number_array,
)
from onnxplain_server.adapters.remote.protocols.oip_metadata import ModelMetadata, read_tensors
from onnxplain_server.adapters.remote.protocols.tensors import AnswerTensor, Tensor, unpacked
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason, printable
from onnxplain_server.core.remote.models import RemoteAddress

_HEADER_LENGTH = "Inference-Header-Content-Length"
_WORD_BYTES = 200
_BINARY_EXTENSION = "binary_tensor_data"
_CURE = "name an output with numbers in model.remote.output"


class OipRestConnection:
    """`OipConnection` over REST.

    Parameters
    ----------
    address : RemoteAddress
    transport : HttpTransport
    failures : ModelFailures
    """

    def __init__(
        self, address: RemoteAddress, transport: HttpTransport, failures: ModelFailures
    ) -> None:
        self._output = address.output
        self._transport = transport
        self._failures = failures
        version = f"/versions/{quote(address.version, safe='')}" if address.version else ""
        self._path = f"/v2/models/{quote(address.name, safe='')}{version}"
        self._lock = threading.Lock()
        self._is_binary: bool | None = None

    def metadata(self) -> ModelMetadata:
        document = decoded(self._transport.call(self._path).body, self._failures)
        versions = document.get("versions")
        return ModelMetadata(
            read_tensors(document.get("inputs"), self._failures),
            read_tensors(document.get("outputs"), self._failures),
            _word(versions[0]) if isinstance(versions, list) and len(versions) == 1 else "",
            _word(document.get("platform")),
        )

    def infer(self, tensors: Sequence[Tensor], row_count: int) -> Sequence[AnswerTensor]:
        make = self._binary_request if self._takes_bytes() else self._json_request
        body, headers = make(tensors)
        answer = self._transport.call(f"{self._path}/infer", body, headers, row_count)
        head, content = self._split(answer)
        entries = decoded(head, self._failures).get("outputs")
        if not isinstance(entries, list):
            raise self._failures.answer("answers without a list of outputs")
        outputs = []
        for entry in entries:
            size = _binary_size(entry)
            if size > len(content):
                raise self._failures.answer("answers with fewer bytes than it tells")
            outputs.append(self._read(entry, content[:size]))
            content = content[size:]
        return outputs

    def _takes_bytes(self) -> bool:
        """Return whether the server takes tensors as bytes; asked once."""
        with self._lock:
            if self._is_binary is None:
                self._is_binary = _BINARY_EXTENSION in self._extensions()
            return self._is_binary

    def _extensions(self) -> Sequence[object]:
        try:
            document = decoded(self._transport.call("/v2").body, self._failures)
        except ExplainError as error:
            # A gateway may lead to the model alone.
            if error.reason in {
                Reason.REMOTE_MODEL_NOT_FOUND,
                Reason.REMOTE_MODEL_FORBIDDEN,
                Reason.REMOTE_MODEL_ANSWER,
            }:
                return ()
            raise
        extensions = document.get("extensions")
        return extensions if isinstance(extensions, list) else ()

    def _json_request(self, tensors: Sequence[Tensor]) -> tuple[bytes, dict[str, str]]:
        check_finite({tensor.name: tensor.values for tensor in tensors})
        inputs = [{**_entry(tensor), "data": tensor.values.ravel()} for tensor in tensors]
        return encoded(self._document(inputs)), {"Content-Type": "application/json"}

    def _binary_request(self, tensors: Sequence[Tensor]) -> tuple[bytes, dict[str, str]]:
        parts = [tensor.packed() for tensor in tensors]
        inputs = [
            {**_entry(tensor), "parameters": {"binary_data_size": len(part)}}
            for tensor, part in zip(tensors, parts, strict=True)
        ]
        head = encoded(self._document(inputs, binary_data_output=True))
        headers = {"Content-Type": "application/octet-stream", _HEADER_LENGTH: str(len(head))}
        return b"".join((head, *parts)), headers

    def _document(self, inputs: list[dict[str, Any]], **parameters: object) -> dict[str, Any]:
        if len(inputs) > 1:
            # MLServer and KServe then make a table of them; KServe would take the first one alone.
            parameters["content_type"] = "pd"
        document: dict[str, Any] = {"inputs": inputs}
        if self._output:
            document["outputs"] = [{"name": self._output}]
        return document | ({"parameters": parameters} if parameters else {})

    def _split(self, answer: HttpAnswer) -> tuple[memoryview, memoryview]:
        content = memoryview(answer.body)
        length = answer.headers.get(_HEADER_LENGTH, str(len(content)))
        if not (length.isascii() and length.isdigit()) or int(length) > len(content):
            raise self._failures.answer(f"answers with a wrong header {_HEADER_LENGTH}")
        return content[: int(length)], content[int(length) :]

    def _read(self, entry: object, content: memoryview) -> AnswerTensor:
        if not isinstance(entry, dict) or (shape := _sizes(entry.get("shape"))) is None:
            raise self._failures.answer("answers with an output without shape")
        datatype = str(entry.get("datatype"))
        read = partial(self._numbers, entry, datatype, content)
        return AnswerTensor(str(entry.get("name")), datatype, shape, read)

    def _numbers(self, entry: Mapping[str, Any], datatype: str, content: memoryview) -> Array:
        if content or "data" not in entry:
            return unpacked(datatype, content)
        values = number_array(entry["data"], self._failures, _CURE)
        with np.errstate(over="ignore"):  # beyond float32 is infinite
            return values.astype(np.float32) if datatype == "FP32" else values


def _word(value: object) -> str:
    return printable(value, _WORD_BYTES) if isinstance(value, str) else ""


def _entry(tensor: Tensor) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "shape": list(tensor.values.shape),
        "datatype": tensor.datatype,
    }


def _binary_size(entry: object) -> int:
    parameters = entry.get("parameters") if isinstance(entry, dict) else None
    size = parameters.get("binary_data_size", 0) if isinstance(parameters, dict) else 0
    return size if type(size) is int and size >= 0 else 0


def _sizes(shape: object) -> tuple[int, ...] | None:
    is_shape = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
    return tuple(shape) if isinstance(shape, list) and is_shape else None
