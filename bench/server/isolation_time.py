"""Time to stop hostile work, and to answer again after a kill."""

from __future__ import annotations

import os
import signal
import statistics
import threading
import time
from collections.abc import Callable

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest
from onnxplain.v1.model_pb2 import Model
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.adapters.workers.isolated import Isolated
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl

END_SECONDS, AFTER_KILL_SECONDS = 0.5, 0.1
_HOSTILE_COUNT, _KILL_COUNT = 10, 40
_DEADLINE_SECONDS = 1.0
_AT_WORK_SECONDS = 0.3


def report(isolated: Isolated, small: bytes) -> None:
    """Print the figures; `small` is a request that is answered in milliseconds."""
    for name, model in (("endless loop", _loop()), ("long multiplication", _product(8_000))):
        request = DescribeModelRequest(model=Model(content=model.SerializeToString()))
        content = request.SerializeToString()
        late = [_after_deadline(isolated, content) for _ in range(_HOSTILE_COUNT)]
        left = [_after_cancelling(isolated, content) for _ in range(_HOSTILE_COUNT)]
        for what, seconds in (("deadline", late), ("caller left", left)):
            print(
                f"{name}, {what:12} {max(seconds):6.3f} s later over, at most; median "
                f"{statistics.median(seconds):.3f}   (at most {END_SECONDS} s)"
            )
    times = [_after_kill(isolated, small) for _ in range(_KILL_COUNT)]
    print(
        f"answer after a kill    {statistics.median(times):6.3f} s at the median, "
        f"{max(times):.3f} at most   (median at most {AFTER_KILL_SECONDS} s)"
    )


def _after_deadline(isolated: Isolated, content: bytes) -> float:
    return _ended(isolated, content, _call(_DEADLINE_SECONDS)) - _DEADLINE_SECONDS


def _after_cancelling(isolated: Isolated, content: bytes) -> float:
    call = _call(60)
    timer = threading.Timer(_AT_WORK_SECONDS, call.control.cancel)
    timer.start()
    seconds = _ended(isolated, content, call) - _AT_WORK_SECONDS
    timer.join()
    return seconds


def _ended(isolated: Isolated, content: bytes, call: RequestContext) -> float:
    start = time.perf_counter()
    try:
        isolated.answer(Call(ServiceMethod.DESCRIBE, content), call)
    except ExplainError:
        return time.perf_counter() - start
    raise RuntimeError("hostile work has come to an end by itself")


def _after_kill(isolated: Isolated, small: bytes) -> float:
    """Kill the worker that has the model, then ask for it again."""
    isolated.answer(Call(ServiceMethod.EXPLAIN, small), _call(60))
    for worker in isolated._pool._warm:  # noqa: SLF001 - nobody else needs to know their numbers
        os.kill(worker.pid, signal.SIGKILL)
    return _timed(lambda: isolated.answer(Call(ServiceMethod.EXPLAIN, small), _call(60)))


def _timed(ask: Callable[[], object]) -> float:
    start = time.perf_counter()
    ask()
    return time.perf_counter() - start


def _call(seconds: float) -> RequestContext:
    cache = MemoryCache(0, Signer(b"a secret of the benchmark"))
    return RequestContext(RequestControl(seconds), cache, "", model_key="hostile")


def _loop() -> ModelProto:
    """Count to 2^62."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_on"]),
            helper.make_node("Identity", ["v"], ["w"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("w", TensorProto.FLOAT, None),
        ],
    )
    node = helper.make_node("Loop", ["m", "c", "X"], ["y"], body=body)
    return _model([node], {"m": np.array(2**62), "c": np.array(True)})


def _product(size: int) -> ModelProto:
    """One multiplication of many seconds, which the runtime does not interrupt."""
    nodes = [
        helper.make_node("ReduceMax", ["X"], ["m"], keepdims=0),
        helper.make_node("Expand", ["m", "s"], ["a"]),
        helper.make_node("MatMul", ["a", "a"], ["p"]),
        helper.make_node("ReduceMax", ["p"], ["q"], keepdims=0),
        helper.make_node("Add", ["X", "q"], ["y"]),
    ]
    return _model(nodes, {"s": np.array([size, size])})


def _model(nodes: list[NodeProto], constants: dict[str, Array]) -> ModelProto:
    """Make a model from X, float of three columns, to y."""
    graph = helper.make_graph(
        nodes,
        "hostile",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
