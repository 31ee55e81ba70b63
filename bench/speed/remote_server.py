"""Server of a model that answers 2,000 rows in 10 ms, by REST and gRPC: remote_server.py.

It reads a request and computes nothing, so that what is measured is the client. It prints its ports
and serves until its input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import grpc
import numpy as np
from onnxplain_server.adapters.remote.protocols.inference_pb2 import (
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
    """Connection of HTTP; a name that ends in "binary" takes bytes."""

    def __init__(self, *, is_binary: bool) -> None:
        self._content = bytearray()
        self._answers = _answers(is_binary=is_binary)
        self._path, self._missing = "", -1

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._content += data
        if self._missing < 0 and (end := self._content.find(b"\r\n\r\n")) >= 0:
            head = self._content[:end].decode().lower()
            self._path = head.split()[1]
            _, _, length = head.partition("\r\ncontent-length:")
            size = int(length.split()[0]) if length else 0
            self._missing = end + 4 + size
        if 0 <= self._missing <= len(self._content):
            self._content.clear()
            self._missing = -1
            pause = SECONDS if self._path.endswith("/infer") else 0.0
            answer = self._answers[self._path]
            asyncio.get_running_loop().call_later(pause, self._transport.write, answer)


def _answers(*, is_binary: bool) -> dict[str, bytes]:
    """Return whole answers by path."""
    extensions = ["binary_tensor_data"] if is_binary else []
    return {
        "/v2": _answer(json.dumps({"name": "s", "extensions": extensions}).encode()),
        "/v2/models/m": _answer(json.dumps(_METADATA).encode()),
        "/v2/models/m/infer": _binary_answer() if is_binary else _json_answer(),
    }


def _json_answer() -> bytes:
    output = _OUTPUT | {"data": _PREDICTIONS.ravel().tolist()}
    return _answer(json.dumps({"outputs": [output]}).encode())


def _binary_answer() -> bytes:
    content = _PREDICTIONS.tobytes()
    output = _OUTPUT | {"parameters": {"binary_data_size": len(content)}}
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
