"""Readers that never read, and senders that drip: what they take of a server, and of others' time.

    python -m bench.server.unread [SECONDS]

Each surface, 8, 64 and 256 readers, replies of about 1 and 60 MB; and bodies of as many bytes over
REST whose last byte does not come. None with a deadline. Prints
memory and disk of the server beyond its rest, at most and at the end, and the 99th percentile of
another caller's small calls, beside its own alone.
"""

from __future__ import annotations

import io
import math
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from google.protobuf import json_format
from onnx import TensorProto, helper, numpy_helper
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub

from bench.server.server_process import Server, served
from tools.unread_call import UnreadCall

READER_COUNTS, REPLY_MB = (8, 64, 256), (1, 60)
_ALONE_SECONDS = 5.0
_READER = "127.0.0.2"
"""Address of those who do not read: another caller than who asks besides."""
_METHOD = "/onnxplain.v1.ExplanationService/Explain"
_WIDTH = 4
_MB_BYTES = 10**6
_NUMBER_BYTES = {"gRPC": 8, "REST": 20, "body": 20}
"""Of a value in protobuf, and in JSON with the mark behind it."""
_MIB = 2**20

Reader = Callable[[Server, ExplainRequest], Any]


def main(seconds: float = 180.0) -> None:
    """Print a line for each case."""
    print(
        f"{'surface':8} {'readers':>7} {'reply':>7} {'memory, MiB':>14} {'disk, MiB':>12} "
        f"{'p99 of others, ms':>18} {'alone':>6}"
    )
    for surface, read in (("gRPC", _over_grpc), ("REST", _over_rest), ("body", _dripping)):
        for count in READER_COUNTS:
            for size in REPLY_MB:
                asked = request(size * _MB_BYTES // _NUMBER_BYTES[surface])
                measured = _measure(read, count, asked, seconds)
                print(f"{surface:8} {count:7} {size:4} MB {measured}")


def request(number_count: int) -> ExplainRequest:
    """Ask for curves of single rows with about so many values, in a request of some kB."""
    # A curve of each row, with a point at each value: as many values as rows, squared.
    row_count = max(2, math.isqrt(number_count // _WIDTH))
    asked = ExplainRequest(plots=False, row_count=row_count)
    asked.model.content, asked.table.parquet = _model(), _rows(row_count)
    curves = asked.methods.add().individual_conditional_expectation
    curves.curve_count = curves.grid_size = row_count
    return asked


def _rows(count: int) -> bytes:
    """Return rows as Parquet, where neighbours differ by one and take no space."""
    file = io.BytesIO()
    table = pa.table({f"x{index}": np.arange(count) + index for index in range(_WIDTH)})
    encoding = "DELTA_BINARY_PACKED"
    pq.write_table(table, file, use_dictionary=False, column_encoding=encoding)
    return file.getvalue()


def _model() -> bytes:
    weights = numpy_helper.from_array(np.ones((_WIDTH, 1), np.float32), "weights")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["rows", "weights"], ["score"])],
        "sum",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, _WIDTH])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, [None, 1])],
        [weights],
    )
    opset = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString())


def _measure(read: Reader, count: int, asked: ExplainRequest, seconds: float) -> str:
    with served() as server, ExitStack() as opened:
        alone = _percentile(server, _ALONE_SECONDS)
        rest, most = _memory(server), [0.0, 0.0]
        is_over = threading.Event()

        def watch() -> None:
            while not is_over.wait(0.2):
                most[0] = max(most[0], _memory(server) - rest)
                most[1] = max(most[1], _disk(server))

        watcher = threading.Thread(target=watch)
        watcher.start()
        for _ in range(count):
            with suppress(OSError):
                opened.enter_context(closing(read(server, asked)))
        beside = _percentile(server, seconds)
        is_over.set()
        watcher.join()
        memory = f"{most[0]:.0f}, {_memory(server) - rest:.0f}"
        disk = f"{most[1]:.0f}, {_disk(server):.0f}"
        return f"{memory:>14} {disk:>12} {beside:18.0f} {alone:6.0f}"


def _over_grpc(server: Server, asked: ExplainRequest) -> UnreadCall:
    return UnreadCall(server.grpc_port, _METHOD, asked.SerializeToString(), _READER)


def _over_rest(server: Server, asked: ExplainRequest) -> socket.socket:
    body = json_format.MessageToJson(asked).encode()
    return _sent(server, body, len(body))


def _dripping(server: Server, asked: ExplainRequest) -> socket.socket:
    values = asked.row_count**2 * _WIDTH
    body = b" " * (values * _NUMBER_BYTES["body"])
    return _sent(server, body, len(body) + 1)


def _sent(server: Server, body: bytes, length: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.rest_port), None, (_READER, 0))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    head = f"POST /v1/explanations HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n"
    with suppress(ConnectionError):
        connection.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
    return connection


def _percentile(server: Server, seconds: float) -> float:
    """Return the 99th percentile of small calls, one after the other, in ms."""
    asked = request(0)
    times, end = [], time.monotonic() + seconds
    with grpc.insecure_channel(server.endpoint) as channel:
        stub = ExplanationServiceStub(channel)
        while time.monotonic() < end:
            start = time.monotonic()
            stub.Explain(asked)
            times.append(1_000 * (time.monotonic() - start))
    return float(np.percentile(times, 99))


def _memory(server: Server) -> float:
    """Return the memory of the serving process, in MiB."""
    status = Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1_024


def _disk(server: Server) -> float:
    """Return the size of files that the server has deleted and holds open, in MiB."""
    byte_count = 0
    for file in Path(f"/proc/{server.pid}/fd").iterdir():
        with suppress(OSError):
            name = str(file.readlink())
            if name.endswith("(deleted)") and not name.startswith("/memfd:"):
                byte_count += file.stat().st_size
    return byte_count / _MIB


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
