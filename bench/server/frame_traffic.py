"""Frames that workers send for real requests of all methods, beside the limits of what they may."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from google.protobuf.json_format import ParseDict
from onnx import TensorProto, helper, numpy_helper
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, MethodOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.adapters.workers import worker_process
from onnxplain_server.adapters.workers.frame_server import FrameServer
from onnxplain_server.adapters.workers.ipc import frame_limits as limits
from onnxplain_server.adapters.workers.ipc import payloads
from onnxplain_server.adapters.workers.ipc.channel import Frame, FrameKind
from onnxplain_server.adapters.workers.isolated import Isolated, WorkerTimeouts
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl

from bench.server.isolation import ORDER

_SHAPES = ((300, 8, 1), (1_000, 100, 1), (1_000, 20, 40), (300, 1_000, 1))
"""Rows, columns and outputs."""
_SECONDS = 10.0
_SQUARED: dict[str, Any] = {"loss": "SQUARED_ERROR"}
_OPTIONS = {"permutation_importance": _SQUARED, "average_loss": _SQUARED, "swarm": _SQUARED}


@dataclass
class _Counts:
    """Of one request."""

    names: int = 0
    entries: int = 0
    put_bytes: int = 0
    value_bytes: int = 0
    reads: int = 0

    def add(self, frame: Frame) -> None:
        if frame.kind is FrameKind.CACHE_GET:
            self.names = max(self.names, len(payloads.unpack_names(frame.payload)))
        if frame.kind is FrameKind.CACHE_PUT:
            entries = payloads.unpack_entries(frame.payload)
            self.entries = max(self.entries, len(entries))
            self.put_bytes += limits.charge(entries)
            self.value_bytes = max(self.value_bytes, *map(len, entries.values()))


class _CountingServer(FrameServer):
    """A frame server that counts."""

    counts = _Counts()

    def receive(self) -> Frame:
        frame = super().receive()
        self.counts.add(frame)
        self.counts.reads = self._channel.read_count - self._read_start
        return frame


def main() -> None:
    """Print what each request sends, the second time with its numbers in the cache."""
    timeouts = WorkerTimeouts(load_seconds=10, quarantine_seconds=300)
    runner = Isolated(ORDER, spare_count=1, warm_bytes=2**30, timeouts=timeouts)
    cache = MemoryCache(2**30, Signer(b"a secret of the benchmark"))
    print(f"{'':44} {'reads':>6} {'per s':>6} {'names':>6} {'entries':>7} {'value':>9} {'put':>11}")
    print(
        f"{'limit':44} {limits.READ_BURST:6} {limits.READS_PER_SECOND:6} "
        f"{limits.NAME_COUNT_LIMIT:6} {limits.NAME_COUNT_LIMIT:7} {limits.VALUE_BYTE_LIMIT:9} "
        f"{limits.PUT_BYTE_LIMIT:11}"
    )
    methods = [field.name for field in MethodOptions.DESCRIPTOR.oneofs_by_name["method"].fields]
    with patch.object(worker_process, "FrameServer", _CountingServer):
        for shape, method, turn in product(_SHAPES, methods, ("computed", "cached")):
            _report(runner, cache, shape, method, turn)
    runner.close()


def _report(
    runner: Isolated, cache: MemoryCache, shape: tuple[int, int, int], method: str, turn: str
) -> None:
    counts = _CountingServer.counts = _Counts()
    context = RequestContext(RequestControl(_SECONDS), cache, f"{shape}:", model_key=str(shape))
    start, outcome = time.monotonic(), ""
    try:
        runner.answer(Call(ServiceMethod.EXPLAIN, _request(shape, method)), context)
    except ExplainError as error:
        outcome = error.reason.name
    rate = counts.reads / (time.monotonic() - start)
    print(
        f"{'x'.join(map(str, shape)):10} {method[:24]:24} {turn:8} {counts.reads:6} {rate:6.0f} "
        f"{counts.names:6} {counts.entries:7} {counts.value_bytes:9} {counts.put_bytes:11} "
        f"{outcome}",
        flush=True,
    )


def _request(shape: tuple[int, int, int], method: str) -> bytes:
    rows, width, outputs = shape
    generator = np.random.default_rng(0)
    weights = generator.normal(size=(width, outputs)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["X", "w"], ["m"]), helper.make_node("Sigmoid", ["m"], ["y"])],
        "scores",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", outputs])],
        [numpy_helper.from_array(weights, "w")],
    )
    opsets = [helper.make_opsetid("", 17)]
    columns = generator.normal(size=(width, rows)).astype(np.float32)
    names = [f"x{j}" for j in range(width)]
    table = pa.table(dict(zip([*names, "t"], [*columns, columns[0]], strict=True)))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return ExplainRequest(
        model=Model(content=model.SerializeToString()),
        table=Table(arrow=sink.getvalue().to_pybytes()),
        methods=[ParseDict({method: _OPTIONS.get(method, {})}, MethodOptions())],
        feature_columns=names,
        target_column="t",
        engine="BLACK_BOX",
        plots=False,
    ).SerializeToString()


if __name__ == "__main__":
    main()
