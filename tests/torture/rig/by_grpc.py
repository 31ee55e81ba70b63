"""Calls over gRPC, by the Python client with one retry."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import onnxplain
from onnxplain.operations import OperationView
from onnxplain.transport.uploads import File
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest, ExplainRequest
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table
from rig.answers import document
from rig.operations import Look
from rig.outcome import Answered, Refused

_CALLS_PER_CONNECTION = 15
_DETAILS = "grpc-status-details-bin"


class Grpc:
    """A caller over gRPC.

    Parameters
    ----------
    ports : list of int
        Of all replicas.
    generator : random.Random
    """

    surfaces = ("grpc", "grpc-stream", "grpc-uploads")

    def __init__(self, ports: list[int], generator: random.Random) -> None:
        self._ports = list(ports)
        self._generator = generator
        self._client: Any = None
        self._left = 0

    def explain(self, surface: str, request: ExplainRequest, seconds: float) -> Answered:
        """Ask; raises Refused."""
        messages = self._messages()
        if surface == "grpc-stream":
            tell: Callable[[float, float], None] = _nothing
            made = lambda: messages.explain(request, timeout=seconds, progress=tell)  # noqa: E731
        elif surface == "grpc-uploads":
            made = lambda: self._by_name(request, seconds)  # noqa: E731
        else:
            made = lambda: messages.explain(request, timeout=seconds)  # noqa: E731
        return Answered(document(_translated(made)))

    def describe(self, model: bytes, seconds: float) -> Answered:
        """Ask what a model takes and gives."""
        request = DescribeModelRequest(model=Model(content=model))
        made = lambda: self._messages().describe(request, timeout=seconds)  # noqa: E731
        return Answered(document(_translated(made)))

    def leave(self, request: ExplainRequest, seconds: float) -> None:
        """Ask, and go away in the middle of it."""

        def begun() -> None:
            events = self._messages().explain_stream(request, timeout=seconds)
            for _ in range(self._generator.randint(1, 3)):
                next(events, None)
            events.close()

        _translated(begun)

    def start(self, request: ExplainRequest, request_id: str, seconds: float) -> str:
        """Start an operation; see `OperationCaller`."""
        messages = self._messages()
        made = lambda: messages.start(  # noqa: E731
            request, request_id=request_id, labels={}, timeout=seconds
        )
        return str(_translated(made).name)

    def look(self, name: str, wait: float, seconds: float) -> Look:
        """Look at an operation."""
        operations = self._messages().operations
        found = OperationView(_translated(lambda: operations.wait(name, wait, timeout=seconds)))
        end = found.metadata.end_time.ToJsonString() if found.is_done else ""
        failure = found.error
        error = Refused(failure.reason, failure.message, True) if failure else None
        return Look(found.state, end, found.metadata.attempt_count, error)

    def read(self, name: str, seconds: float) -> dict[str, Any]:
        """Read the answer of an operation."""
        operations = self._messages().operations
        return document(_translated(lambda: operations.read(name, timeout=seconds)))

    def delete(self, name: str, seconds: float) -> None:
        """Delete an operation."""
        operations = self._messages().operations
        _translated(lambda: operations.delete(name, timeout=seconds))

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()

    def _messages(self):
        """The client's calls; on a new connection now and then, to any replica first."""
        if self._left == 0:
            self.close()
            self._generator.shuffle(self._ports)
            addresses = ",".join(f"127.0.0.1:{port}" for port in self._ports)
            self._client = onnxplain.connect(f"ipv4:{addresses}", retry_count=1)
            self._left = _CALLS_PER_CONNECTION
        self._left -= 1
        return self._client.messages

    def _by_name(self, request: ExplainRequest, seconds: float):
        """Upload model and table, and ask by their ids; what is gone is uploaded again."""
        messages = self._client.messages
        files: list[File] = [Model(content=request.model.content)]
        named = ExplainRequest()
        named.CopyFrom(request)
        named.model.CopyFrom(Model(id=messages.upload(files[0], timeout=seconds)))
        if request.table.WhichOneof("source") != "columns":
            files.append(request.table)
            named.table.CopyFrom(Table(id=messages.upload(files[1], timeout=seconds)))
        return messages.explain(named, timeout=seconds, files=files)


def _nothing(_done: float, _planned: float) -> None:
    """Take progress."""


def _translated(made: Callable[[], Any]):
    try:
        return made()
    except onnxplain.ExplainError as error:
        trailing: Any = getattr(error.__cause__, "trailing_metadata", tuple)
        told = any(key == _DETAILS for key, _ in trailing() or ())
        raise Refused(error.reason, error.message, told, error.retry_seconds) from None
