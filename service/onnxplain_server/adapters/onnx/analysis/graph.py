"""A graph that can be read backwards from its outputs, extended, and cut to what is needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper, shape_inference

from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.onnx_nodes import (
    constant_value,
    nodes_within,
    required_inputs,
    tensors_read,
)

DEFAULT_OPSET = 13
_SHOWN = 80


def shown(name: str) -> str:
    """A name from a model, quoted for a message: no control characters, no endless text."""
    return repr(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}...")


class Graph:
    """The main graph of a model.

    Parameters
    ----------
    model : ModelProto
        Taken over: `add` extends it. Its outputs stay as they are; `cut` gives a smaller copy.
    """

    def __init__(self, model: ModelProto) -> None:
        self.model = model
        self._producers = {name: node for node in model.graph.node for name in node.output if name}
        self._tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        self._taken = self._names()

    @property
    def inputs(self) -> tuple[ValueInfoProto, ...]:
        """What has to be fed: an input that has a value of its own is none."""
        return required_inputs(self.model.graph)

    @cached_property
    def outputs(self) -> tuple[ValueInfoProto, ...]:
        """What the model gives: types as declared, or else inferred; shapes may lie."""
        declared = tuple(self.model.graph.output)
        if all(value.type.WhichOneof("value") for value in declared):
            return declared
        return tuple(shape_inference.infer_shapes(self.model).graph.output)

    def producer(self, tensor: str) -> NodeProto | None:
        """Node that gives this tensor; None for inputs and initializers."""
        return self._producers.get(tensor)

    def constant(self, tensor: str) -> Array | None:
        """Value of a tensor that does not depend on the rows, as far as it is written down."""
        if tensor in self._tensors:
            return numpy_helper.to_array(self._tensors[tensor])
        node = self.producer(tensor)
        return None if node is None else constant_value(node)

    def add(self, op_type: str, inputs: Sequence[str], domain: str = "", **attributes: Any) -> str:
        """Append a node with one output, and return the output's new name."""
        output = self._fresh(op_type)
        node = helper.make_node(op_type, inputs, [output], domain=domain, **attributes)
        self._append(node, output)
        return output

    def add_copy(self, node: NodeProto, inputs: Sequence[str]) -> str:
        """Append a copy of a node with one output that reads `inputs` instead."""
        copy = NodeProto()
        copy.CopyFrom(node)
        output = self._fresh(node.op_type)
        copy.name = output
        copy.input[:] = inputs
        copy.output[:] = [output]
        self._append(copy, output)
        return output

    def add_constant(self, values: Array) -> str:
        """Append an initializer, and return its new name."""
        name = self._fresh("constant")
        tensor = numpy_helper.from_array(values, name)
        self.model.graph.initializer.append(tensor)
        self._tensors[name] = tensor
        return name

    def cut(self, outputs: Iterable[str]) -> ModelProto:
        """A copy that gives `outputs` only, without the nodes that they do not need."""
        wanted = list(outputs)
        cut = ModelProto()
        cut.CopyFrom(self.model)
        kept = self._needed(wanted)
        declared = {value.name: value for value in self.outputs}
        del cut.graph.node[:], cut.graph.output[:]
        cut.graph.node.extend(node for node in self.model.graph.node if _key(node) in kept)
        for name in wanted:
            output = cut.graph.output.add(name=name)
            if name in declared and declared[name].type.HasField("tensor_type"):
                kind = declared[name].type.tensor_type.elem_type
                output.type.tensor_type.elem_type = kind
        return cut

    def _needed(self, outputs: Iterable[str]) -> set[str]:
        """Keys of all nodes on which `outputs` depend."""
        waiting, kept = list(outputs), set[str]()
        while waiting:
            node = self.producer(waiting.pop())
            if node is None or _key(node) in kept:
                continue
            kept.add(_key(node))
            waiting.extend(tensors_read(node))
        return kept

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

    def _fresh(self, stem: str) -> str:
        number = len(self._taken)
        while f"{stem}_{number}" in self._taken:
            number += 1
        self._taken.add(f"{stem}_{number}")
        return f"{stem}_{number}"


def _key(node: NodeProto) -> str:
    """What tells a node from all others: its first output that is not left out."""
    return next(filter(None, node.output), "")
