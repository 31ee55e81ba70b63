"""Cases (c) and (d): models that need more memory than there is, or never end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from hostile.base import REFUSED, Hostile, hostile, model, node, whole
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxplain_server.core.errors import Reason

_HUGE = 25 * 10**9
_MEMORY = frozenset({Reason.OUT_OF_MEMORY}) | REFUSED
_TIME = frozenset({Reason.LOADING_TOO_LONG, Reason.DEADLINE_EXCEEDED, Reason.OUT_OF_MEMORY})


def memory() -> Iterator[Hostile]:
    for name, nodes, constants in (
        ("constant-of-shape", [node("ConstantOfShape", "s", "z")], {"s": whole(_HUGE)}),
        ("expand", [node("Expand", "one s", "z")], {"s": whole(_HUGE)}),
        ("range", [node("Range", "zero s one", "z")], {"s": np.array(2.5e10, np.float32)}),
        ("tile", [node("Tile", "one s", "z")], {"s": whole(_HUGE)}),
        (
            "eye",
            [node("ConstantOfShape", "s", "e"), node("EyeLike", "e", "z")],
            {"s": whole(10**5, 10**5)},
        ),
        ("one-hot", [node("OneHot", "i s pair", "z")], {"s": whole(_HUGE)}),
        ("pad", [node("Pad", "one s", "z")], {"s": whole(_HUGE, 0)}),
        ("resize", [node("ConstantOfShape", "s", "z")], {"s": whole(2**31, 2**31)}),
    ):
        numbers = (
            np.array([1.0], np.float32) if name in {"expand", "tile", "pad"} else np.float32(1)
        )
        shared = {
            "one": np.asarray(numbers),
            "zero": np.array(0.0, np.float32),
            "i": whole(1),
            "pair": np.array([0.0, 1.0], np.float32),
        }
        used = {part for each in nodes for part in each.input}
        stored = {key: value for key, value in {**shared, **constants}.items() if key in used}
        end = [node("ReduceMax", "z", "m", keepdims=0), node("Add", "X m")]
        yield hostile(f"c-{name}", model([*nodes, *end], constants=stored), _MEMORY)
    yield hostile("c-doubling", doubling(40), _MEMORY)
    for name, dims in (
        ("2^32x2^32", (2**32, 2**32)),
        ("2^62", (2**62,)),
        ("2^63-1", (2**63 - 1,)),
        ("negative", (-3,)),
        ("too-many", (3, 10**6)),
    ):
        tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims, raw_data=bytes(12))
        made = model([node("Add", "X w")], constants={"w": tensor})
        yield hostile(f"c-dims-{name}", made, _MEMORY)


def doubling(times: int) -> ModelProto:
    """Make rows longer by concatenating them with themselves."""
    names = ["X", *(f"t{i}" for i in range(times))]
    pairs = pairwise(names)
    nodes = [node("Concat", f"{a} {a}", b, axis=1) for a, b in pairs]
    return model([*nodes, node("ReduceMax", names[-1], "y", axes=[1])])


def endless() -> Iterator[Hostile]:
    yield hostile("d-loop", loop(2**62), _TIME)
    yield hostile("d-kernel", kernel(8_000), _TIME)
    yield hostile("d-folding", folding(200, 3_000), _TIME)


def empty_loops() -> Iterator[Hostile]:
    """Loops whose count is no number: written down, and computed, which only a worker survives."""
    written = loop(3)
    written.graph.initializer[0].CopyFrom(numpy_helper.from_array(whole(), "m"))
    yield hostile("f-loop-of-nothing", written, frozenset({Reason.INVALID_MODEL}))
    computed = loop(3)
    computed.graph.initializer[0].CopyFrom(numpy_helper.from_array(whole(0), "s"))
    zero = numpy_helper.from_array(whole(0))
    computed.graph.node.insert(0, node("ConstantOfShape", "s", "m", value=zero))
    yield hostile(
        "f-loop-of-nothing-computed", computed, REFUSED | {Reason.WORKER_DIED}, may_answer=True
    )


def loop(times: int) -> ModelProto:
    """Count without end."""
    body = helper.make_graph(
        [node("Identity", "go", "go_on"), node("Identity", "v", "w")],
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
    constants = {"m": np.array(times, np.int64), "c": np.array(True)}
    return model([node("Loop", "m c X", "y", body=body)], constants=constants)


def kernel(size: int) -> ModelProto:
    """One multiplication that takes many seconds and cannot be interrupted."""
    nodes = [
        node("ReduceMax", "X", "m", keepdims=0),
        node("Expand", "m s", "a"),
        node("MatMul", "a a", "p"),
        node("ReduceMax", "p", "q", keepdims=0),
        node("Add", "X q"),
    ]
    return model(nodes, constants={"s": whole(size, size)})


def folding(times: int, size: int) -> ModelProto:
    """Multiplications of constants, which an optimiser would do while it loads."""
    nodes = [
        node("ConstantOfShape", "s", "a0", value=numpy_helper.from_array(np.ones(1, np.float32)))
    ]
    nodes += [node("MatMul", f"a{i} a{i}", f"a{i + 1}") for i in range(times)]
    nodes += [node("ReduceMax", f"a{times}", "m", keepdims=0), node("Add", "X m")]
    return model(nodes, constants={"s": whole(size, size)})
