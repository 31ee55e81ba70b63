"""Server of a model that answers 2,000 rows in 10 ms, by REST and gRPC: slow_server.py.

It computes next to nothing, so that what is measured is the client. As bytes, it answers the
product of the first two columns, in a time by the number of rows; as JSON and by gRPC, always the
same. It prints its ports and serves until its input ends; /connections tells how many were made.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import grpc
import numpy as np
from onnxplain_server.core.arrays import Array
from onnxplain_server.wire.inference.inference_pb2 import (
    ModelInferResponse,
    ModelMetadataResponse,
)

SECONDS = 0.010
ROWS = 2_000
COLUMNS = 10
_HEADER_LENGTH = "Inference-Header-Content-Length"
_PREDICTIONS = np.random.default_rng(1).random((ROWS, 1))
_METADATA: dict[str, Any] = {
    "name": "m",
    "inputs": [{"name": "x", "datatype": "FP64", "shape": [-1, COLUMNS]}],
    "outputs": [{"name": "y", "datatype": "FP64", "shape": [-1, 1]}],
}
_OUTPUT: dict[str, Any] = {"name": "y", "datatype": "FP64", "shape": [ROWS, 1]}


class Http(asyncio.Protocol):
    """Connection of HTTP."""

    made = 0

    def __init__(self, *, is_binary: bool) -> None:
        self._is_binary = is_binary
        self._content = bytearray()
        self._answers = _answers(is_binary=is_binary)
        self._path, self._missing = "", -1

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        Http.made += 1

    def data_received(self, data: bytes) -> None:
        self._content += data
        if self._missing < 0 and (end := self._content.find(b"\r\n\r\n")) >= 0:
            head = self._content[:end].decode().lower()
            self._path = head.split()[1]
            _, _, length = head.partition("\r\ncontent-length:")
            size = int(length.split()[0]) if length else 0
            self._missing = end + 4 + size
        if 0 <= self._missing <= len(self._content):
            pause, answer = self._answer()
            self._content.clear()
            self._missing = -1
            asyncio.get_running_loop().call_later(pause, self._transport.write, answer)

    def _answer(self) -> tuple[float, bytes]:
        """Return an answer and after how long it is given."""
        if self._path == "/connections":
            return 0.0, _answer(str(Http.made).encode())
        if not self._path.endswith("/infer"):
            return 0.0, self._answers[self._path]
        if not self._is_binary:
            return SECONDS, self._answers[self._path]
        rows = np.frombuffer(_tensor(bytes(self._content))).reshape(-1, COLUMNS)
        return SECONDS * len(rows) / ROWS, _binary_answer(rows[:, :1] * rows[:, 1:2])


def _answers(*, is_binary: bool) -> dict[str, bytes]:
    """Return whole answers by path."""
    extensions = ["binary_tensor_data"] if is_binary else []
    return {
        "/v2": _answer(json.dumps({"name": "s", "extensions": extensions}).encode()),
        "/v2/models/m": _answer(json.dumps(_METADATA).encode()),
        "/v2/models/m/infer": _json_answer(),
    }


def _json_answer() -> bytes:
    output = _OUTPUT | {"data": _PREDICTIONS.ravel().tolist()}
    return _answer(json.dumps({"outputs": [output]}).encode())


def _tensor(request: bytes) -> bytes:
    """Return the bytes of a request's only tensor, which follow its JSON."""
    head, _, body = request.partition(b"\r\n\r\n")
    _, _, length = head.lower().partition(f"{_HEADER_LENGTH.lower()}:".encode())
    return body[int(length.split()[0]) :]


def _binary_answer(predictions: Array) -> bytes:
    content = predictions.tobytes()
    sizes = {"shape": predictions.shape, "parameters": {"binary_data_size": len(content)}}
    output = _OUTPUT | sizes
    head = json.dumps({"outputs": [output]}).encode()
    return _answer(head + content, f"{_HEADER_LENGTH}: {len(head)}\r\n")


def _answer(body: bytes, headers: str = "") -> bytes:
    head = f"HTTP/1.1 200 OK\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Grpc(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Methods of gRPC, without decoding."""

    def __init__(self) -> None:
        tensor = ModelMetadataResponse.TensorMetadata
        metadata = ModelMetadataResponse(
            name="m", inputs=[tensor(name="x", datatype="FP64", shape=[-1, COLUMNS])]
        )
        infer = ModelInferResponse(raw_output_contents=[_PREDICTIONS.tobytes()])
        infer.outputs.add(name="y", datatype="FP64", shape=[ROWS, 1])
        self._metadata, self._infer = metadata.SerializeToString(), infer.SerializeToString()

    def service(self, handler_call_details: Any) -> Any:
        """Return the handler of a method."""
        is_infer = handler_call_details.method.endswith("/ModelInfer")

        async def answer(_request: bytes, _context: Any) -> bytes:
            if not is_infer:
                return self._metadata
            await asyncio.sleep(SECONDS)
            return self._infer

        return grpc.unary_unary_rpc_method_handler(answer)


async def main() -> None:
    """Serve until the input ends."""
    loop = asyncio.get_running_loop()
    servers = [
        await loop.create_server(lambda kind=kind: Http(is_binary=kind), "127.0.0.1", 0)  # type: ignore[misc]
        for kind in (False, True)
    ]
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([Grpc()])
    ports = [one.sockets[0].getsockname()[1] for one in servers]
    ports.append(server.add_insecure_port("127.0.0.1:0"))
    await server.start()
    print(json.dumps(ports), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    await server.stop(None)


if __name__ == "__main__":
    asyncio.run(main())
