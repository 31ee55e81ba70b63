"""Cases (b): models with external data, in every place that a tensor can have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from hostile.base import Hostile, hostile, model, node
from onnx import ModelProto, TensorProto, helper
from onnxplain_server.core.errors import Reason

_REFUSED = frozenset({Reason.EXTERNAL_DATA})

LOCATIONS = {
    "here": "canary.bin",
    "above": "../canary.bin",
    "absolute": "/etc/passwd",
    "shadow": "etc/shadow",
    "token": "var/run/secrets/kubernetes.io/serviceaccount/token",
    "environment": "/proc/self/environ",
    "memory": "/proc/self/mem",
    "endless": "/dev/zero",
    "mark-of-the-runtime": "*/_ORT_MEM_ADDR_/*",
    "empty": "",
    "nul": "canary.bin\x00.onnx",
}


def hostiles(locations: Mapping[str, str] = LOCATIONS) -> Iterator[Hostile]:
    for name, location in locations.items():
        yield hostile(f"b-initializer-{name}", _in_initializer(_tensor(location)), _REFUSED)
    for name, place in _PLACES.items():
        yield hostile(f"b-{name}", place(_tensor("canary.bin")), _REFUSED)
    unmarked = _tensor("canary.bin")
    unmarked.data_location = TensorProto.DEFAULT
    yield hostile("b-unmarked", _in_initializer(unmarked), _REFUSED)


def _tensor(location: str) -> TensorProto:
    tensor = TensorProto(name="w", data_type=TensorProto.UINT8, dims=[3])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", "3")):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    return tensor


def _adding(tensor: TensorProto | None = None) -> ModelProto:
    """Add w to the rows, so that the answer would show it."""
    nodes = [node("Cast", "w", "f", to=TensorProto.FLOAT), node("Add", "X f")]
    return model(nodes, constants={} if tensor is None else {"w": tensor})


def _in_initializer(tensor: TensorProto) -> ModelProto:
    return _adding(tensor)


def _in_attribute(tensor: TensorProto) -> ModelProto:
    made = _adding()
    made.graph.node.insert(0, node("Constant", "", "w", value=tensor))
    return made


def _in_branch(tensor: TensorProto) -> ModelProto:
    made = _adding()
    result = [helper.make_tensor_value_info("t", TensorProto.UINT8, None)]
    graph = helper.make_graph([node("Constant", "", "t", value=tensor)], "b", [], result)
    made.graph.node.insert(0, node("If", "c", "w", then_branch=graph, else_branch=graph))
    made.graph.initializer.append(TensorProto(name="c", data_type=9, int32_data=[1]))
    return made


def _in_branch_initializer(tensor: TensorProto) -> ModelProto:
    made = _in_branch(tensor)
    inner = made.graph.node[0].attribute[0].g
    del inner.node[:]
    inner.initializer.append(tensor)
    inner.node.append(node("Identity", "w", "t"))
    return made


def _in_function(tensor: TensorProto) -> ModelProto:
    made = _adding()
    opsets = [helper.make_opsetid("", 17)]
    inner = [node("Constant", "", "t", value=tensor)]
    made.functions.append(helper.make_function("own", "F", [], ["t"], inner, opsets))
    return made


def _in_sparse(tensor: TensorProto) -> ModelProto:
    made = _adding()
    made.graph.sparse_initializer.add().values.CopyFrom(tensor)
    return made


def _in_sparse_indices(tensor: TensorProto) -> ModelProto:
    made = _adding()
    made.graph.sparse_initializer.add().indices.CopyFrom(tensor)
    return made


def _in_training(tensor: TensorProto) -> ModelProto:
    made = _adding()
    made.training_info.add().algorithm.initializer.append(tensor)
    return made


_PLACES: Mapping[str, Callable[[TensorProto], ModelProto]] = {
    "attribute": _in_attribute,
    "branch": _in_branch,
    "branch-initializer": _in_branch_initializer,
    "function": _in_function,
    "sparse": _in_sparse,
    "sparse-indices": _in_sparse_indices,
    "training": _in_training,
}
