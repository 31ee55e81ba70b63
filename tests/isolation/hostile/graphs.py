"""Cases (e) and (f): foreign operators, and graphs that load without end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from hostile.base import BROKEN, COMPLEX, ML, REFUSED, Hostile, hostile, model, node
from onnx import ModelProto, TensorProto, helper
from onnxplain_server.core.errors import Reason

_UNSUPPORTED = frozenset({Reason.UNSUPPORTED_MODEL})


def hostiles() -> Iterator[Hostile]:
    yield from _foreign()
    for count in (2_001, 10_000, 50_000):
        yield hostile(f"f-chain-{count}", chain(count), COMPLEX)
    for count in (65, 20_000):
        yield hostile(f"f-outputs-{count}", many_outputs(count), COMPLEX)
    for depth in (8, 10, 30, 32):
        yield hostile(f"f-branches-{depth}", branches(depth), COMPLEX)
    yield hostile("f-function-bomb", function_bomb(10, 9), _UNSUPPORTED)
    yield hostile("f-function", function_bomb(1, 1), _UNSUPPORTED)
    yield hostile("f-recursive-function", recursive_function(), _UNSUPPORTED)
    yield hostile("f-cycle", model([node("Neg", "y", "x"), node("Neg", "x")]), REFUSED)
    yield hostile("f-self-cycle", model([node("Neg", "y")]), REFUSED)
    yield hostile("f-two-producers", model([node("Neg", "X"), node("Abs", "X")]), REFUSED)
    yield hostile("f-dangling", model([node("Neg", "nowhere")]), REFUSED)
    yield hostile("f-no-nodes", model([]), BROKEN)
    yield hostile("f-million-nodes", empty_nodes(300_000), COMPLEX)


def _foreign() -> Iterator[Hostile]:
    for domain, operator in (
        ("custom", "Anything"),
        ("com.microsoft", "PyOp"),
        ("com.microsoft", "EPContext"),
        ("com.microsoft", "NoSuchOperator"),
        ("com.microsoft.nchwc", "Conv"),
        ("ai.onnx.training", "Adam"),
        ("ai.onnx.preview.training", "Adam"),
        ("\x00\x1b[31m../../etc", "Neg"),
        ("", "NoSuchOperator"),
        ("", "ImageDecoder"),
        (ML, "NoSuchOperator"),
    ):
        made = model([node(operator, "X", domain=domain)], domains=[domain] if domain else [])
        yield hostile(f"e-{domain.encode().hex()}-{operator}", made, _UNSUPPORTED)
    for opset in (0, 99, 2**31 - 1, -1):
        yield hostile(f"e-opset-{opset}", model([node("Neg", "X")], opset=opset), REFUSED)
    for version in (0, 99, 2**31, -1):
        made = model([node("Neg", "X")])
        made.ir_version = version
        yield hostile(f"e-ir-{version}", made, REFUSED, may_answer=version in {0, -1})
    made = model([node("Neg", "X")])
    del made.opset_import[:]
    yield hostile("e-no-opset", made, REFUSED, may_answer=True)


def chain(count: int) -> ModelProto:
    """Make a chain of nodes, each with the next one's input."""
    names = ["X", *(f"t{i}" for i in range(count - 1)), "y"]
    pairs = pairwise(names)
    return model([node("Neg", before, after) for before, after in pairs])


def many_outputs(count: int) -> ModelProto:
    names = [f"y{i}" for i in range(count)]
    nodes = [node("Neg", "X", name) for name in names[:100]]
    return model(nodes, outputs=dict.fromkeys(names, TensorProto.FLOAT))


def branches(depth: int) -> ModelProto:
    """Make a branch inside a branch, and so on."""
    inner = [node("Neg", "X", "t0")]
    for level in range(depth):
        name = f"t{level}"
        result = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        graph = helper.make_graph(inner, f"g{level}", [], [result])
        other = helper.make_graph([node("Abs", "X", name)], "other", [], [result])
        inner = [node("If", "c", f"t{level + 1}", then_branch=graph, else_branch=other)]
    inner[0].output[0] = "y"
    return model(inner, constants={"c": np.array(True)})


def function_bomb(levels: int, width: int) -> ModelProto:
    """Make functions that each call the next one `width` times."""
    made = model([node("F0", "X", domain="own")], domains=["own"])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    for level in range(levels):
        callee, domain = ("Neg", "") if level == levels - 1 else (f"F{level + 1}", "own")
        names = ["a", *(f"t{i}" for i in range(width - 1)), "b"]
        pairs = pairwise(names)
        calls = [node(callee, before, after, domain=domain) for before, after in pairs]
        function = helper.make_function("own", f"F{level}", ["a"], ["b"], calls, opsets)
        made.functions.append(function)
    return made


def recursive_function() -> ModelProto:
    made = function_bomb(1, 1)
    made.functions[0].node[0].op_type, made.functions[0].node[0].domain = "F0", "own"
    return made


def empty_nodes(count: int) -> bytes:
    """Make nodes of two bytes each, which a parser turns into hundreds."""
    body = b"\x0a\x00" * count
    size, length = len(body), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    length.append(size)
    return model([node("Neg", "X")]).SerializeToString() + b"\x3a" + bytes(length) + body
