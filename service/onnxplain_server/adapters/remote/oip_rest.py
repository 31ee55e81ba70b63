"""Open Inference Protocol 2 over REST: tensors as JSON, or as bytes where the server takes them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from onnxplain_server.adapters.remote.failures import ModelFailures
from onnxplain_server.adapters.remote.http_transport import HttpAnswer, HttpTransport
from onnxplain_server.adapters.remote.json_numbers import (
    check_finite,
    decoded,
    encoded,
    number_array,
)
from onnxplain_server.adapters.remote.oip_metadata import (
    ModelMetadata,
    inputs_of,
    labels_fault,
    output_of,
    read_tensors,
)
from onnxplain_server.adapters.remote.predictions import PredictionColumns
from onnxplain_server.adapters.remote.tensors import (
    DTYPES,
    STRINGS,
    Tensor,
    tensors_of,
    unpacked,
)
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote_models import RemoteAddress, RemoteDescription

_HEADER_LENGTH = "Inference-Header-Content-Length"
_BINARY_EXTENSION = "binary_tensor_data"


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a server tells of a model, and whether it takes tensors as bytes."""

    metadata: ModelMetadata
    inputs: tuple[Input, ...]
    takes_bytes: bool


class OipRestClient:
    """Client of a model by the Open Inference Protocol over REST.

    Parameters
    ----------
    address : RemoteAddress
    transport : HttpTransport
    failures : ModelFailures
    """

    def __init__(
        self, address: RemoteAddress, transport: HttpTransport, failures: ModelFailures
    ) -> None:
        self._address = address
        self._transport = transport
        self._failures = failures
        version = f"/versions/{quote(address.version, safe='')}" if address.version else ""
        self._path = f"/v2/models/{quote(address.name, safe='')}{version}"
        self.columns = PredictionColumns(address.output_names, failures)
        self._lock = threading.Lock()
        self._known: _Facts | None = None

    def describe(self) -> RemoteDescription:
        facts = self._facts()
        metadata = facts.metadata
        output = output_of(self._address, metadata, self._failures)
        if output is not None and output.column_count:
            self.columns.expect(output.column_count)
        return RemoteDescription(
            facts.inputs, self.columns.names, metadata.version, metadata.platform
        )

    def predict(self, feeds: Mapping[str, Array], row_count: int) -> Array:
        facts = self._facts()
        tensors = tensors_of(feeds, facts.inputs, facts.metadata.inputs)
        if facts.takes_bytes:
            body, headers = self._binary_request(tensors)
        else:
            check_finite(feeds)
            body, headers = self._json_request(tensors)
        answer = self._transport.call(f"{self._path}/infer", body, headers, row_count)
        return self.columns.matrix(self._output(answer), row_count)

    def _facts(self) -> _Facts:
        """Return what the server tells, asked once."""
        with self._lock:
            if self._known is None:
                metadata = self._metadata()
                inputs = inputs_of(self._address, metadata, self._failures)
                self._known = _Facts(metadata, inputs, self._takes_bytes())
            return self._known

    def _metadata(self) -> ModelMetadata:
        document = decoded(self._transport.call(self._path).body, self._failures)
        versions = document.get("versions")
        version = versions[0] if isinstance(versions, list) and len(versions) == 1 else ""
        return ModelMetadata(
            read_tensors(document.get("inputs"), self._failures),
            read_tensors(document.get("outputs"), self._failures),
            self._address.version or str(version),
            str(document.get("platform") or ""),
        )

    def _takes_bytes(self) -> bool:
        try:
            document = decoded(self._transport.call("/v2").body, self._failures)
        except ExplainError as error:
            if error.reason not in {Reason.REMOTE_MODEL_NOT_FOUND, Reason.REMOTE_MODEL_ANSWER}:
                raise
            return False
        extensions = document.get("extensions")
        return isinstance(extensions, list) and _BINARY_EXTENSION in extensions

    def _json_request(self, tensors: Sequence[Tensor]) -> tuple[bytes, dict[str, str]]:
        inputs = [{**_entry(tensor), "data": tensor.values.ravel()} for tensor in tensors]
        return encoded(self._document(inputs)), {"Content-Type": "application/json"}

    def _binary_request(self, tensors: Sequence[Tensor]) -> tuple[bytes, dict[str, str]]:
        parts = [tensor.packed() for tensor in tensors]
        inputs = [
            {**_entry(tensor), "parameters": {"binary_data_size": len(part)}}
            for tensor, part in zip(tensors, parts, strict=True)
        ]
        document = self._document(inputs) | {"parameters": {"binary_data_output": True}}
        head = encoded(document)
        headers = {"Content-Type": "application/octet-stream", _HEADER_LENGTH: str(len(head))}
        return b"".join((head, *parts)), headers

    def _document(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output = self._address.output
        return {"inputs": inputs} | ({"outputs": [{"name": output}]} if output else {})

    def _output(self, answer: HttpAnswer) -> Array:
        """Return the output with the predictions, in its shape."""
        head, rest = self._split(answer)
        document = decoded(head, self._failures)
        entries = document.get("outputs")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise self._failures.answer("answers without a list of outputs")
        offset = 0
        parts: dict[str, tuple[dict[str, Any], memoryview]] = {}
        for entry in entries:
            size = _binary_size(entry)
            if size > len(rest) - offset:
                raise self._failures.answer("answers with fewer bytes than it tells")
            parts[str(entry.get("name"))] = entry, rest[offset : offset + size]
            offset += size
        entry, content = parts[self._chosen(parts)]
        return self._array(entry, content)

    def _split(self, answer: HttpAnswer) -> tuple[memoryview, memoryview]:
        content = memoryview(answer.body)
        length = answer.headers.get(_HEADER_LENGTH, str(len(content)))
        if not (length.isascii() and length.isdigit()) or int(length) > len(content):
            raise self._failures.answer(f"answers with a wrong header {_HEADER_LENGTH}")
        return content[: int(length)], content[int(length) :]

    def _chosen(self, parts: Mapping[str, object]) -> str:
        named = self._address.output
        if named in parts:
            return named
        names = ", ".join(f'"{name}"' for name in list(parts)[:10]) or "none"
        if named:
            raise self._failures.invalid("output", f'has no output "{named}", but {names}')
        if not parts:
            raise self._failures.answer("answers without outputs")
        if len(parts) > 1:
            raise self._failures.invalid(
                "output", f"answers with several outputs: name one of {names}"
            )
        return next(iter(parts))

    def _array(self, entry: Mapping[str, Any], content: memoryview) -> Array:
        datatype, shape = str(entry.get("datatype")), _sizes(entry.get("shape"))
        if datatype == STRINGS:
            raise self._failures.answer(labels_fault(str(entry.get("name")), {}))
        if datatype not in DTYPES or shape is None:
            raise self._failures.answer("answers with an output without datatype or shape")
        try:
            if content or "data" not in entry:
                return unpacked(datatype, content, shape)
            cure = "name an output with numbers in model.remote.output"
            values = number_array(entry["data"], self._failures, cure)
            return values.reshape(shape).astype(DTYPES[datatype])
        except ValueError:
            fault = f"answers with an output that does not have its shape {shape}"
            raise self._failures.answer(fault) from None


def _entry(tensor: Tensor) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "shape": list(tensor.values.shape),
        "datatype": tensor.datatype,
    }


def _binary_size(entry: Mapping[str, Any]) -> int:
    parameters = entry.get("parameters")
    size = parameters.get("binary_data_size", 0) if isinstance(parameters, dict) else 0
    return size if type(size) is int and size >= 0 else 0


def _sizes(shape: object) -> tuple[int, ...] | None:
    is_shape = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
    return tuple(shape) if isinstance(shape, list) and is_shape else None
