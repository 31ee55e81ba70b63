"""Overhead of isolation against the in-process runner, side by side in one run."""

from __future__ import annotations

import statistics
import time

import numpy as np
import pyarrow as pa
from onnx import TensorProto, helper
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, MethodOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceOptions
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.sandbox.confine import Budget
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings
from onnxplain_server.adapters.workers.isolated import Isolated, WorkerTimeouts
from onnxplain_server.core.interfaces import Call, Runner
from onnxplain_server.core.model_limits import ModelLimits
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl

from bench.server import isolation_time

SMALL_MILLISECONDS, TABLE_MILLISECONDS, START_SECONDS = 0.1, 5.0, 3.0
_BLOCKS = 10
ORDER = WorkerSettings(2, 65 * 2**20, Budget(2**30, 86_400), ModelLimits())


def main() -> None:
    start = time.perf_counter()
    isolated = Isolated(ORDER, spare_count=2, warm_bytes=2**30, timeouts=WorkerTimeouts(10, 300))
    seconds = time.perf_counter() - start
    plain = InProcess(ORDER.thread_count)
    print(f"start of the workers   {seconds:6.2f} s      (at most {START_SECONDS} s)")
    for name, request, count, most in (
        ("small call", _small(), 100, SMALL_MILLISECONDS),
        ("20 MB of table", _large(), 3, TABLE_MILLISECONDS),
    ):
        costs = _compare(plain, isolated, request, count)
        print(
            f"{name:22} {costs[1] - costs[0]:+6.2f} ms     (at most +{most} ms; {costs[0]:.2f} ms)"
        )
    isolation_time.report(isolated, _small())
    isolated.close()
    plain.close()


def _compare(plain: Runner, isolated: Runner, request: bytes, count: int) -> tuple[float, float]:
    """Milliseconds of both at the median, in blocks by turns."""
    times: dict[Runner, list[float]] = {plain: [], isolated: []}
    for _ in range(_BLOCKS):
        for runner, taken in times.items():
            taken.extend(_time(runner, request) for _ in range(count))
    return statistics.median(times[plain]), statistics.median(times[isolated])


def _time(runner: Runner, request: bytes) -> float:
    start = time.perf_counter()
    runner.answer(Call(ServiceMethod.EXPLAIN, request), _call())
    return 1000 * (time.perf_counter() - start)


def _call() -> RequestContext:
    return RequestContext(
        RequestControl(60),
        MemoryCache(0, Signer(b"a secret of the benchmark")),
        "",
        model_key="one model",
    )


def _small() -> bytes:
    method = MethodOptions(partial_dependence=PartialDependenceOptions(grid_size=5))
    return _request(Table(csv=b"a,b,c\n1,2,3\n4,5,6\n7,8,10\n"), method)


def _large() -> bytes:
    """100,000 rows of 50 columns of four bytes, of which little is computed."""
    values = np.random.default_rng(0).normal(size=(100_000, 50)).astype(np.float32)
    table = pa.table({f"x{j}": values[:, j] for j in range(50)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    method = MethodOptions(partial_dependence=PartialDependenceOptions(grid_size=2))
    method.partial_dependence.features.add(names=["x0"])
    return _request(Table(arrow=sink.getvalue().to_pybytes()), method, row_count=2)


def _request(table: Table, method: MethodOptions, row_count: int | None = None) -> bytes:
    width = 50 if row_count else 3
    graph = helper.make_graph(
        [helper.make_node("Neg", ["X"], ["y"])],
        "negation",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", width])],
    )
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return ExplainRequest(
        model=Model(content=model),
        table=table,
        methods=[method],
        plots=False,
        row_count=row_count,
        output_indices=[0],
    ).SerializeToString()


if __name__ == "__main__":
    main()
