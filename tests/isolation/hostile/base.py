"""Hostile model: its bytes and the allowed outcomes; helpers to build such models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnxplain_server.core.errors import Reason

ML = "ai.onnx.ml"

BROKEN = frozenset({Reason.INVALID_MODEL})
REFUSED = frozenset({Reason.INVALID_MODEL, Reason.UNSUPPORTED_MODEL})
COMPLEX = frozenset({Reason.MODEL_TOO_COMPLEX})


@dataclass(frozen=True)
class Hostile:
    """A model and the reasons for which it may be refused.

    Attributes
    ----------
    name : str
        Begins with its class in the notes on hostile models: (a) to (m).
    content : bytes
    reasons : frozenset of Reason
        One of them is given, unless `may_answer` and there is an answer.
    may_answer : bool
        Whether an answer, equal to that of the runtime alone, is right too.
    """

    name: str
    content: bytes
    reasons: frozenset[Reason]
    may_answer: bool = False


def model(
    nodes: Sequence[NodeProto],
    *,
    inputs: Mapping[str, tuple[int, Sequence[Any]]] | None = None,
    outputs: Mapping[str, int] | None = None,
    constants: Mapping[str, Any] | None = None,
    opset: int = 17,
    ml: int = 3,
    domains: Sequence[str] = (),
) -> ModelProto:
    """By default from X, float of 3 columns, to y, float."""
    given = inputs or {"X": (TensorProto.FLOAT, ["n", 3])}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, *kind) for name, kind in given.items()],
        [
            helper.make_tensor_value_info(name, kind, None)
            for name, kind in (outputs or {"y": TensorProto.FLOAT}).items()
        ],
        [
            value if isinstance(value, TensorProto) else numpy_helper.from_array(value, name)
            for name, value in (constants or {}).items()
        ],
    )
    versions = {"": opset, ML: ml, **dict.fromkeys(domains, 1)}
    opsets = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def node(op_type: str, inputs: str, outputs: str = "y", **attributes: Any) -> NodeProto:
    """Make a node; names are separated by blanks."""
    return helper.make_node(op_type, inputs.split(), outputs.split(), **attributes)


def hostile(
    name: str, made: ModelProto | bytes, reasons: frozenset[Reason], *, may_answer: bool = False
) -> Hostile:
    content = made if isinstance(made, bytes) else made.SerializeToString()
    return Hostile(name, content, reasons, may_answer)


def whole(*numbers: int) -> Any:
    """Make a constant of whole numbers."""
    return np.array(numbers, np.int64)
