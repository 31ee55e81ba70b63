"""Surfaces: on each, a caller that reads nothing of a large reply, or sends without an end."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.request import Request, urlopen

import grpc
from google.longrunning.operations_pb2 import WaitOperationRequest
from google.longrunning.operations_pb2_grpc import OperationsStub
from google.protobuf import json_format
from google.protobuf.message import Message
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainStreamRequest,
    ReadExplanationRequest,
    StartExplanationRequest,
)
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub
from onnxplain.v1.upload_pb2 import UploadTableRequest

from bench.server.server_process import Server
from bench.server.unread.asked import request
from tools.unread_call import UnreadCall

SOURCE = "127.0.0.2"
"""Address of those who do not read or send: another caller than who asks besides."""

_SERVICE = "/onnxplain.v1.ExplanationService"
_PROTOBUF_BYTES, _JSON_BYTES = 8, 20
"""Of a value in protobuf, and in JSON with the mark behind it."""
_PART_BYTES = 2**20
_RECEIVED_BYTES = 4_096
_MISSING_BYTES, _DRIP_SECONDS = 1_000, 2.0
"""Bytes of a message that come one by one, and the time between two of them."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a caller does on one server.

    Attributes
    ----------
    server : Server
    byte_count : int
        Of the reply, or of the body.
    seconds : float or None
        Deadline.
    operation : str
        Name of one whose answer has so many bytes, where the surface needs it.
    """

    server: Server
    byte_count: int
    seconds: float | None
    operation: str = ""


Caller = Callable[[Case], Any]
"""Begins a call, which `close` of what it returns ends."""


def explain(case: Case) -> UnreadCall:
    asked = request(case.byte_count // _PROTOBUF_BYTES)
    return _unread(case, "Explain", asked)


def stream(case: Case) -> UnreadCall:
    asked = request(case.byte_count // _PROTOBUF_BYTES)
    return _unread(case, "ExplainStream", ExplainStreamRequest(request=asked))


def read_explanation(case: Case) -> UnreadCall:
    return _unread(case, "ReadExplanation", ReadExplanationRequest(name=case.operation))


def rest(case: Case) -> socket.socket:
    return _posted(case, "application/json")


def rest_events(case: Case) -> socket.socket:
    return _posted(case, "text/event-stream")


def rest_result(case: Case) -> socket.socket:
    return _sent(case, f"GET /v1/{case.operation}/result", {}, b"")


class Dripping:
    """Call whose caller sends a byte every other second.

    Parameters
    ----------
    call : UnreadCall or socket
        Owned from now on.
    send : callable (bytes) -> None
        Sends more of it.
    """

    def __init__(self, call: UnreadCall | socket.socket, send: Callable[[bytes], object]) -> None:
        self._call, self._send = call, send
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._drip, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the call."""
        self._is_over.set()
        self._call.close()
        self._thread.join()

    def _drip(self) -> None:
        with suppress(OSError):
            while not self._is_over.wait(_DRIP_SECONDS):
                self._send(b" ")


def drip_message(case: Case) -> Dripping:
    """Send a message whose end comes byte by byte."""
    return _dripping(case, "Explain", bytes(case.byte_count))


def drip_upload(case: Case) -> Dripping:
    """Send the parts of a file, and then another one byte by byte."""
    part = UploadTableRequest(format=UploadTableRequest.CSV, content=bytes(_PART_BYTES))
    message = part.SerializeToString()
    head = b"\0" + len(message).to_bytes(4, "big")
    rest = (head + message) * (case.byte_count // _PART_BYTES)
    # Of the first message all but a byte, with which the others follow.
    return _dripping(case, "UploadTable", message[:-1], message[-1:] + rest)


def drip_body(case: Case) -> Dripping:
    """Send a body whose end comes byte by byte."""
    length = str(case.byte_count + _MISSING_BYTES)
    kind = {"Content-Type": "application/json", "Content-Length": length}
    connection = _sent(case, "POST /v1/explanations", kind, b" " * case.byte_count)
    return Dripping(connection, connection.send)


SURFACES: dict[str, Caller] = {
    "gRPC Explain": explain,
    "gRPC ExplainStream": stream,
    "gRPC ReadExplanation": read_explanation,
    "REST explanation": rest,
    "REST events": rest_events,
    "REST result of an operation": rest_result,
    "gRPC message, dripping": drip_message,
    "gRPC upload, dripping": drip_upload,
    "REST body, dripping": drip_body,
}
OF_OPERATIONS = {"gRPC ReadExplanation", "REST result of an operation"}


def ended_operation(server: Server, surface: str, byte_count: int) -> str:
    """Return the name of an operation that has succeeded, with an answer of about so many bytes."""
    value_bytes = _JSON_BYTES if surface.startswith("REST") else _PROTOBUF_BYTES
    asked = StartExplanationRequest(request=request(byte_count // value_bytes))
    with grpc.insecure_channel(server.endpoint) as channel:
        started = ExplanationServiceStub(channel).StartExplanation(asked)
        waiting = WaitOperationRequest(name=started.name)
        operation = OperationsStub(channel).WaitOperation(waiting)
        while not operation.done:
            operation = OperationsStub(channel).WaitOperation(waiting)
    with urlopen(Request(f"http://127.0.0.1:{server.rest_port}/v1/{started.name}")) as reply:
        state = json.load(reply)
    if "error" in state:
        raise RuntimeError(f"an operation of the benchmark failed: {state['error']}")
    return str(started.name)


def _unread(case: Case, method: str, asked: Message) -> UnreadCall:
    message = asked.SerializeToString()
    return UnreadCall(
        *(case.server.grpc_port, f"{_SERVICE}/{method}", message, SOURCE), seconds=case.seconds
    )


def _dripping(case: Case, method: str, message: bytes, more: bytes = b"") -> Dripping:
    call = UnreadCall(
        *(case.server.grpc_port, f"{_SERVICE}/{method}", message, SOURCE),
        missing_byte_count=1 if more else _MISSING_BYTES,
        seconds=case.seconds,
    )
    if more:
        call.send(more + b"\0" + _MISSING_BYTES.to_bytes(4, "big"))
    return Dripping(call, call.send)


def _posted(case: Case, accepted: str) -> socket.socket:
    asked: ExplainRequest = request(case.byte_count // _JSON_BYTES)
    body = json_format.MessageToJson(asked).encode()
    fields = {"Content-Type": "application/json", "Accept": accepted}
    return _sent(case, "POST /v1/explanations", {**fields, "Content-Length": str(len(body))}, body)


def _sent(case: Case, line: str, fields: dict[str, str], body: bytes) -> socket.socket:
    address = ("127.0.0.1", case.server.rest_port)
    connection = socket.create_connection(address, None, (SOURCE, 0))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED_BYTES)
    if case.seconds is not None:
        fields = {**fields, "X-Request-Timeout-Ms": f"{1_000 * case.seconds:.0f}"}
    head = "".join(f"{name}: {text}\r\n" for name, text in fields.items())
    with suppress(ConnectionError):
        connection.sendall(f"{line} HTTP/1.1\r\nHost: localhost\r\n{head}\r\n".encode() + body)
    return connection
