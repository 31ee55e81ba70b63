"""ONNX graph with its producers: traversed backwards, extended by nodes, and cut to outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper, shape_inference

from onnxplain_server.adapters.onnx.large_values import NO_VALUES
from onnxplain_server.adapters.onnx.packing import without_lists
from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.onnx_nodes import (
    constant_value,
    nodes_within,
    required_inputs,
    tensors_read,
)
from onnxplain_server.wire.requests.partial_copy import copy_without

DEFAULT_OPSET = 13
_NAME_LENGTH = 80


def quote_name(name: str) -> str:
    """Quote a name from a model for a message: escaped, and truncated to 80 characters."""
    return repr(name if len(name) <= _NAME_LENGTH else f"{name[:_NAME_LENGTH]}...")


class Graph:
    """Main graph of a model.

    Parameters
    ----------
    model : ModelProto
        Owned from now on: `add` extends it. Its outputs never change; `cut` returns a smaller copy.
    values : mapping of name to array
        Of its tensors that are apart.
    """

    def __init__(self, model: ModelProto, values: Mapping[str, Array] = NO_VALUES) -> None:
        self.model = model
        self.values = values
        self._producers = {name: node for node in model.graph.node for name in node.output if name}
        self._tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        self._used_names = self._names()

    @property
    def inputs(self) -> tuple[ValueInfoProto, ...]:
        """Inputs that must be fed: those without an initializer."""
        return required_inputs(self.model.graph)

    @cached_property
    def outputs(self) -> tuple[ValueInfoProto, ...]:
        """Outputs of the model: types as declared, else inferred; shapes are not reliable."""
        declared = tuple(self.model.graph.output)
        if all(value.type.WhichOneof("value") for value in declared):
            return declared
        return tuple(shape_inference.infer_shapes(without_lists(self.model)).graph.output)

    def producer(self, tensor: str) -> NodeProto | None:
        """Return the node that computes a tensor; None for inputs and initializers."""
        return self._producers.get(tensor)

    def constant(self, tensor: str) -> Array | None:
        """Return the value of an initializer or Constant node; None for other tensors."""
        if tensor in self.values:
            return self.values[tensor]
        if tensor in self._tensors:
            return numpy_helper.to_array(self._tensors[tensor])
        node = self.producer(tensor)
        return None if node is None else constant_value(node)

    def add(self, op_type: str, inputs: Sequence[str], domain: str = "", **attributes: Any) -> str:
        """Append a node with one output; return the name of the output."""
        output = self._unused_name(op_type)
        node = helper.make_node(op_type, inputs, [output], domain=domain, **attributes)
        self._append(node, output)
        return output

    def add_copy(self, node: NodeProto, inputs: Sequence[str]) -> str:
        """Append a copy of a node, with one output and other inputs; return its output."""
        copy = NodeProto()
        copy.CopyFrom(node)
        output = self._unused_name(node.op_type)
        copy.name = output
        copy.input[:] = inputs
        copy.output[:] = [output]
        self._append(copy, output)
        return output

    def add_constant(self, values: Array) -> str:
        """Append an initializer; return its name."""
        name = self._unused_name("constant")
        tensor = numpy_helper.from_array(values, name)
        self.model.graph.initializer.append(tensor)
        self._tensors[name] = tensor
        return name

    def cut(self, outputs: Iterable[str]) -> ModelProto:
        """Return a copy with `outputs` only, and only the nodes that these depend on."""
        names = list(outputs)
        cut: ModelProto = copy_without(self.model, ("graph",))
        cut.graph.CopyFrom(copy_without(self.model.graph, ("node", "output")))
        needed = self._needed(names)
        declared = {value.name: value for value in self.outputs}
        cut.graph.node.extend(node for node in self.model.graph.node if _key(node) in needed)
        for name in names:
            output = cut.graph.output.add(name=name)
            if name in declared and declared[name].type.HasField("tensor_type"):
                element_type = declared[name].type.tensor_type.elem_type
                output.type.tensor_type.elem_type = element_type
        return cut

    def _needed(self, outputs: Iterable[str]) -> set[str]:
        """Return the keys of all nodes that `outputs` depend on."""
        stack, needed = list(outputs), set[str]()
        while stack:
            node = self.producer(stack.pop())
            if node is None or _key(node) in needed:
                continue
            needed.add(_key(node))
            stack.extend(tensors_read(node))
        return needed

    def _append(self, node: NodeProto, output: str) -> None:
        self.model.graph.node.append(node)
        self._producers[output] = node
        domains = {entry.domain for entry in self.model.opset_import}
        if node.domain not in domains and not (node.domain == "" and "ai.onnx" in domains):
            version = DEFAULT_OPSET if node.domain == "" else 1
            self.model.opset_import.add(domain=node.domain, version=version)

    def _names(self) -> set[str]:
        graph = self.model.graph
        names = {name for node in nodes_within(graph) for name in (*node.input, *node.output)}
        return names | set(self._tensors) | {value.name for value in graph.input}

    def _unused_name(self, stem: str) -> str:
        number = len(self._used_names)
        while f"{stem}_{number}" in self._used_names:
            number += 1
        self._used_names.add(f"{stem}_{number}")
        return f"{stem}_{number}"


def _key(node: NodeProto) -> str:
    """Identify a node by its first named output."""
    return next(filter(None, node.output), "")
