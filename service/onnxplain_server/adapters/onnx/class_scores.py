"""Class scores: detects from graph and metadata whether prediction columns score classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import NodeProto, ValueInfoProto

from onnxplain_server.adapters.onnx.analysis.additive import PASSING, is_all_ones
from onnxplain_server.adapters.onnx.analysis.ensembles import link_function
from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.analysis.outputs import LABEL_TYPES, OutputTensor

_CLASSIFIERS = frozenset({"TreeEnsembleClassifier", "LinearClassifier", "SVMClassifier"})
_LINKED_SUMS = frozenset({"TreeEnsembleRegressor", "TreeEnsemble", "LinearRegressor"})
_ENDS = frozenset({"Sigmoid", "Softmax", "LogSoftmax", "Hardmax", "ZipMap"})
_EXCLUSIVE = _CLASSIFIERS | {"Softmax", "LogSoftmax", "Hardmax", "ZipMap"}
"""Operators whose columns score classes of which each row has one."""
_FIRST_INPUT = PASSING | {"Abs", "Clip", "Log", "Normalizer", "Transpose", "ReduceMean"}
"""Operators whose output scores classes if their first input does."""
_ALL_INPUTS = frozenset({"Concat", "Add", "Sum", "Mean"})
"""Operators that join or add up class scores."""

_DECISIONS = _CLASSIFIERS | {
    *("ArgMax", "ArgMin", "TopK", "Sign", "Binarizer"),
    *("Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
}
_LOOKUPS = PASSING | {"GatherND", "Where", "LabelEncoder", "Not", "Add", "Mul", "Sub", "Concat"}
"""Operators between a decision and its label."""
_NAMES = ("label", "class")
"""Parts of the names that exporters give to label outputs."""
_METADATA = frozenset({"classes", "class_names", "class_labels"})
_EMPTY = frozenset({"", "[]", "{}", "null", "None"})


def has_class_scores(graph: Graph, parts: Sequence[OutputTensor]) -> bool:
    """Check whether a prediction scores classes.

    It does if the model has a label output or a ZipMap, lists its classes in its metadata, or
    ends in a classifier operator, Sigmoid or Softmax, averages and complements of these included.
    A model that only uses such scores inside, like a network with gates, has none.
    """
    class_lists = (entry for entry in graph.model.metadata_props if entry.key in _METADATA)
    return (
        any(part.is_label for part in parts)
        or bool(label_outputs(graph))
        or any(_operator(graph, output.name) == "ZipMap" for output in graph.outputs)
        or any(entry.value.strip() not in _EMPTY for entry in class_lists)
        or any(_scores_classes(graph, part.tensor) for part in parts)
    )


def scores_two_classes(graph: Graph, parts: Sequence[OutputTensor]) -> bool:
    """Check whether a prediction of two columns scores a class and its complement.

    It does if it names two classes, or ends in a softmax or a classifier operator, or joins a
    probability with its complement. Two columns of a sigmoid are independent.
    """
    if len(parts) != 1 or not has_class_scores(graph, parts):
        return False
    return len(parts[0].labels) == 2 or _is_exclusive(graph, parts[0].tensor)


def label_outputs(graph: Graph) -> tuple[ValueInfoProto, ...]:
    """Return the outputs of predicted labels; counts, or paths through a tree, are none."""
    return tuple(
        output
        for output in graph.outputs
        if output.type.tensor_type.elem_type in LABEL_TYPES
        and (any(n in output.name.lower() for n in _NAMES) or _is_decided(graph, output.name))
    )


def _operator(graph: Graph, tensor: str) -> str:
    node = graph.producer(tensor)
    return "" if node is None else node.op_type


def _scores_classes(graph: Graph, tensor: str) -> bool:
    """Check that every backward path from a tensor meets a classifier, Sigmoid or Softmax."""
    stack, seen = [tensor], set[str]()
    while stack:
        name = stack.pop()
        if name in seen:
            continue
        seen.add(name)
        node = graph.producer(name)
        if node is None:
            return False
        if _ends_in_classes(node):
            continue
        sources = _score_inputs(graph, node)
        if not sources:
            return False
        stack.extend(sources)
    return True


def _is_exclusive(graph: Graph, tensor: str) -> bool:
    """Check that every backward path from a tensor meets scores of classes that exclude others."""
    node = graph.producer(tensor)
    if node is None:
        return False
    if node.op_type in _EXCLUSIVE:
        return True
    if node.op_type == "Concat":
        return _joins_complement(graph, node)
    sources = _score_inputs(graph, node)
    return bool(sources) and all(_is_exclusive(graph, name) for name in sources)


def _joins_complement(graph: Graph, node: NodeProto) -> bool:
    """Check for a column p joined with 1 - p."""
    names = [name for name in node.input if name]
    complements = (_complemented(graph, name) for name in names)
    return len(names) == 2 and any(name in names for name in complements)


def _complemented(graph: Graph, tensor: str) -> str:
    """Return the tensor of which a tensor is 1 minus; empty if it is of none."""
    node = graph.producer(tensor)
    is_complement = node is not None and node.op_type == "Sub" and is_all_ones(graph, node.input[0])
    return node.input[1] if node is not None and is_complement else ""


def _ends_in_classes(node: NodeProto) -> bool:
    if node.op_type in _LINKED_SUMS:
        return link_function(node) is not None
    return node.op_type in _CLASSIFIERS | _ENDS


def _score_inputs(graph: Graph, node: NodeProto) -> list[str]:
    """Return the inputs that must score classes for a node to; none if it computes otherwise."""
    names = [name for name in node.input if name]
    varying = [name for name in names if graph.constant(name) is None]
    if node.op_type in _FIRST_INPUT:
        return names[:1]
    if node.op_type in _ALL_INPUTS and len(varying) == len(names):
        return names
    if node.op_type == "Sub" and is_all_ones(graph, names[0]):
        return varying
    if node.op_type == "Div":  # by the sum of the scores, or by how many are averaged
        return varying if names[0] in varying else []
    if node.op_type == "Mul" and len(varying) == 1:
        (factor,) = (name for name in names if name not in varying)
        return varying if _is_share(graph, factor) else []
    return []


def _is_share(graph: Graph, tensor: str) -> bool:
    values = graph.constant(tensor)
    return values is not None and bool(np.all((values > 0) & (values <= 1)))


def _is_decided(graph: Graph, tensor: str) -> bool:
    """Check that a tensor of labels comes from a decision between classes."""
    stack, seen = [tensor], set[str]()
    while stack:
        node = graph.producer(stack.pop())
        if node is None or node.output[0] in seen:
            continue
        seen.add(node.output[0])
        if node.op_type in _DECISIONS:
            return True
        if node.op_type in _LOOKUPS:
            stack.extend(name for name in node.input if name)
    return False
