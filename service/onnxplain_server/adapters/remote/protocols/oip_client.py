"""Client of the Open Inference Protocol 2, whatever carries it."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from onnxplain_server.adapters.remote.failures import ModelFailures
from onnxplain_server.adapters.remote.protocols.oip_metadata import (
    ModelMetadata,
    inputs_of,
    labels_fault,
    output_of,
)
from onnxplain_server.adapters.remote.protocols.predictions import PredictionColumns
from onnxplain_server.adapters.remote.protocols.tensors import (
    DTYPES,
    STRINGS,
    AnswerTensor,
    Tensor,
    tensors_of,
)
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote.models import RemoteAddress, RemoteDescription


class OipConnection(Protocol):
    """Connection to a server, which carries the protocol's calls. Thread-safe."""

    def metadata(self) -> ModelMetadata:
        """Ask what the model takes and gives."""

    def infer(self, tensors: Sequence[Tensor], row_count: int) -> Sequence[AnswerTensor]:
        """Ask for predictions: of the stated output, else of those that the server chooses."""


@dataclass(frozen=True, slots=True)
class _Facts:
    """Metadata of a model, and its inputs."""

    metadata: ModelMetadata
    inputs: tuple[Input, ...]


class OipClient:
    """`ModelClient` of the Open Inference Protocol.

    Parameters
    ----------
    address : RemoteAddress
    connection : OipConnection
    failures : ModelFailures
    """

    def __init__(
        self, address: RemoteAddress, connection: OipConnection, failures: ModelFailures
    ) -> None:
        self._address = address
        self._connection = connection
        self._failures = failures
        self.columns = PredictionColumns(address.output_names, failures)
        self._lock = threading.Lock()
        self._known: _Facts | None = None

    def describe(self) -> RemoteDescription:
        facts = self._facts()
        output = output_of(self._address, facts.metadata, self._failures)
        if output is not None and output.column_count:
            self.columns.expect(output.column_count)
        version = self._address.version or facts.metadata.version
        return RemoteDescription(facts.inputs, self.columns.names, version, facts.metadata.platform)

    def predict(self, feeds: Mapping[str, Array], row_count: int) -> Array:
        facts = self._facts()
        tensors = tensors_of(feeds, facts.inputs, facts.metadata.inputs)
        outputs = self._connection.infer(tensors, row_count)
        return self.columns.matrix(self._numbers(self._chosen(outputs)), row_count)

    def _facts(self) -> _Facts:
        """Return what the server tells, asked once."""
        with self._lock:
            if self._known is None:
                metadata = self._connection.metadata()
                inputs = inputs_of(self._address, metadata, self._failures)
                self._known = _Facts(metadata, inputs)
            return self._known

    def _chosen(self, outputs: Sequence[AnswerTensor]) -> AnswerTensor:
        named = self._address.output
        by_name = {output.name: output for output in outputs}
        if len(by_name) != len(outputs):
            raise self._failures.answer("answers with two outputs of one name")
        if not outputs:
            raise self._failures.answer("answers without outputs")
        if named in by_name:
            return by_name[named]
        names = ", ".join(f'"{name}"' for name in list(by_name)[:10])
        if named:
            raise self._failures.invalid("output", f'has no output "{named}", but {names}')
        if len(outputs) > 1:
            fault = f"answers with several outputs: name one of {names}"
            raise self._failures.invalid("output", fault)
        return outputs[0]

    def _numbers(self, output: AnswerTensor) -> Array:
        if output.datatype == STRINGS:
            raise self._failures.answer(labels_fault(output.name, {}))
        if output.datatype not in DTYPES:
            raise self._failures.answer(
                f'answers with the element type "{output.datatype[:20]}", which is no number here'
            )
        values = output.read()
        if min(output.shape, default=0) < 0 or values.size != math.prod(output.shape):
            fault = f"answers with an output that does not have its shape {output.shape}"
            raise self._failures.answer(fault)
        return values.reshape(output.shape)
