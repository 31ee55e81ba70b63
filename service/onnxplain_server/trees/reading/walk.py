"""Graph walk: from the inputs of an ONNX graph through preparation and trees to its outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from onnx import ModelProto, NodeProto, ValueInfoProto
from onnx.helper import tensor_dtype_to_np_dtype
from onnx.numpy_helper import to_array

from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading import column_moves
from onnxplain_server.trees.reading.linear.part import LinearPart
from onnxplain_server.trees.reading.linear.targets import Targets
from onnxplain_server.trees.reading.onnx_nodes import (
    STANDARD_DOMAINS,
    TREE_OPERATORS,
    constant_value,
    required_inputs,
)
from onnxplain_server.trees.reading.refusal import RefusedError
from onnxplain_server.trees.reading.tensor_columns import Column, DType, FeatureSteps
from onnxplain_server.trees.reading.tensors import (
    BEFORE_TREES,
    FeatureColumns,
    Opaque,
    Scores,
    Tensor,
)
from onnxplain_server.trees.reading.tree_operators import (
    TreeOperator,
    read_operator,
    read_sum_operator,
)


@dataclass(frozen=True, slots=True, eq=False)
class BoundOperator:
    """A tree operator with its input columns.

    Attributes
    ----------
    operator : TreeOperator
    columns : tuple of Column
        Columns that its nodes compare.
    """

    operator: TreeOperator
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TreeGraph:
    """Features, tree operators, scores and linear functions of a model.

    Attributes
    ----------
    dtypes : tuple of numpy dtypes
        Types of the features, in the order of the inputs.
    trees : tuple of BoundOperator
    scores : Scores
        Concatenated columns of the outputs, over the targets of all trees or the exponents.
    linear : LinearPart
        What is added to the scores, or to the exponents; without columns where nothing is.
    exponents : Scores or None
        Sums of which the outputs are affine in the exponentials; None where they are sums.
    others : frozenset of int
        Features that other operators than trees use in a way that is not known.
    """

    dtypes: tuple[DType, ...]
    trees: tuple[BoundOperator, ...]
    scores: Scores
    linear: LinearPart
    exponents: Scores | None
    others: frozenset[int]


def walk_graph(model: ModelProto, width: int | None) -> TreeGraph:
    """Walk a graph whose outputs are numeric tensors.

    Parameters
    ----------
    model : ModelProto
    width : int or None
        Number of columns of an input that does not declare it.

    Raises
    ------
    RefusedError
        Where an output is no affine function of sums over trees and of feature columns, and none
        of exponentials of sums over trees.
    """
    if not any(node.op_type in TREE_OPERATORS for node in model.graph.node):
        raise RefusedError("the model has no trees")
    walker = _Walker(model, width)
    walker.go()
    return walker.result()


def walk_sums(model: ModelProto, width: int | None) -> TreeGraph:
    """Walk as `walk_graph`; refuse exponentials."""
    graph = walk_graph(model, width)
    if graph.exponents is not None:
        raise RefusedError("the model computes Exp after its trees, so it is no sum")
    return graph


def walk_to_trees(model: ModelProto, width: int | None) -> TreeGraph:
    """Walk a graph to its trees only; the scores are the sums of their leaf values.

    Parameters and errors are those of `walk_graph`; operators after the trees are ignored.
    """
    if not any(node.op_type in TREE_OPERATORS for node in model.graph.node):
        raise RefusedError("the model has no trees")
    walker = _Walker(model, width, read_sum_operator)
    walker.go()
    return walker.sums()


class _Walker:
    """Interprets every tensor of a graph, in the order of the nodes."""

    def __init__(
        self,
        model: ModelProto,
        width: int | None,
        read: Callable[[NodeProto], TreeOperator] = read_operator,
    ) -> None:
        self._graph = model.graph
        self._read = read
        self._refused: list[str] = []
        self._trees: list[BoundOperator] = []
        self._targets = Targets()
        self._exponents: list[Scores] = []
        self._others: set[int] = set()
        self._dtypes: list[DType] = []
        self._tensors: dict[str, Tensor] = {
            tensor.name: to_array(tensor) for tensor in self._graph.initializer
        }
        for value in required_inputs(self._graph):
            self._tensors[value.name] = FeatureColumns(tuple(self._features(value, width)))

    def _features(self, value: ValueInfoProto, width: int | None) -> Iterator[Column]:
        """Yield the columns of an input."""
        tensor = value.type.tensor_type
        sizes = [dim.dim_value for dim in tensor.shape.dim]
        count = 1 if len(sizes) == 1 else (sizes[1] if len(sizes) > 1 else 0) or width
        if count is None:
            raise RefusedError("the model does not say how many columns it takes")
        dtype = np.dtype(tensor_dtype_to_np_dtype(tensor.elem_type))
        for _ in range(count):
            yield FeatureSteps(len(self._dtypes), dtype)
            self._dtypes.append(dtype)

    def go(self) -> None:
        """Visit every node; unknown tensors are opaque, refused only if an output needs them."""
        for node in self._graph.node:
            inputs = [self._tensors.get(name) if name else None for name in node.input]
            try:
                tensors = column_moves.outputs(node, self._interpret(node, inputs), inputs)
            except RefusedError as refused:
                opaque = Opaque(refused.reason, feeds_trees=node.op_type in TREE_OPERATORS)
                tensors = [opaque] * len(node.output)
            if tensors and isinstance(tensors[-1], Opaque):
                self._note_opaque(node, tensors[-1], inputs)
            self._tensors.update(zip(node.output, tensors, strict=True))

    def _note_opaque(self, node: NodeProto, tensor: Opaque, inputs: column_moves.Inputs) -> None:
        """Note trees that cannot be read, and features that go into what is not known."""
        if node.op_type in TREE_OPERATORS:
            self._refused.append(tensor.reason)
        taken = (t for t in inputs if isinstance(t, FeatureColumns))
        self._others.update(column.feature for t in taken for column in t.columns)

    def result(self) -> TreeGraph:
        """Concatenate the outputs."""
        outputs = [self._tensors.get(value.name) for value in self._graph.output]
        for tensor in outputs:
            if isinstance(tensor, Opaque):
                raise RefusedError(tensor.beside_trees().reason)
        scores = [t for t in outputs if isinstance(t, Scores)]
        if len(scores) < len(outputs) or not scores or not self._trees:
            raise RefusedError("not all of the model's outputs come from trees")
        if any(score.is_stack and len(score.offset) > 1 for score in scores):
            raise RefusedError("the model stacks rows")
        if len({score.is_exponential for score in scores}) > 1:
            raise RefusedError("some of its outputs are sums over trees, others exponentials")
        if not scores[0].is_exponential:
            return self._graph_of(self._joined(scores, self._targets.count), None)
        exponents = self._joined(self._exponents, self._targets.count)
        return self._graph_of(self._joined(scores, len(exponents.offset)), exponents)

    @staticmethod
    def _joined(parts: Sequence[Scores], count: int) -> Scores:
        """Concatenate columns over `count` targets or exponents."""
        scores = [part.wide(count) for part in parts]
        matrix = np.concatenate([score.matrix for score in scores])
        offset = np.concatenate([score.offset for score in scores])
        return Scores(matrix, offset)

    def sums(self) -> TreeGraph:
        """Return the trees, all of which must be readable, without the operators after them."""
        if self._refused:
            raise RefusedError(self._refused[0])
        own = self._targets.trees()
        scores = Scores(np.eye(self._targets.count)[own], np.zeros(len(own)))
        return self._graph_of(scores, None)

    def _graph_of(self, scores: Scores, exponents: Scores | None) -> TreeGraph:
        if exponents is None:
            scores, linear = self._targets.separate(scores)
        else:
            exponents, linear = self._targets.separate(exponents)
        others = frozenset(self._others | self._targets.steps())
        trees = tuple(self._trees)
        return TreeGraph(tuple(self._dtypes), trees, scores, linear, exponents, others)

    def _interpret(self, node: NodeProto, inputs: column_moves.Inputs) -> Tensor:
        opaque = next((tensor for tensor in inputs if isinstance(tensor, Opaque)), None)
        if opaque is not None:
            return _pass_on(opaque, node, inputs)
        if node.domain not in STANDARD_DOMAINS:
            return Opaque(f"the model computes {node.domain}:{node.op_type}")
        if node.op_type == "Constant":
            return _constant(node)
        return self._compute(node, inputs)

    def _compute(self, node: NodeProto, inputs: column_moves.Inputs) -> Tensor:
        """Interpret an operator on tensors that are all understood."""
        if node.op_type in TREE_OPERATORS:
            return self._bind(node, inputs)
        operand = next((t for t in inputs if isinstance(t, FeatureColumns | Scores)), None)
        if operand is None:
            return Opaque(f"the model computes constants with {node.op_type}")
        if any(isinstance(tensor, Scores) for tensor in inputs):
            return self._combine(node, inputs)
        return self._targets.apply(node, operand, inputs)

    def _combine(self, node: NodeProto, inputs: column_moves.Inputs) -> FeatureColumns | Scores:
        """Interpret an operator on scores, or on scores and feature columns."""
        averaged = column_moves.on_stacks(node, inputs)
        if averaged is not None:
            return averaged
        mixed = [
            self._targets.of_columns(t) if isinstance(t, FeatureColumns) else t for t in inputs
        ]
        mixed = [replace(t, is_stack=False) if isinstance(t, Scores) else t for t in mixed]
        scores = [tensor for tensor in mixed if isinstance(tensor, Scores)]
        try:
            if node.op_type == "Exp" and not scores[0].is_exponential:
                return self._exponential(scores[0])
            return self._targets.apply(node, scores[0], mixed)
        except RefusedError:
            if not all(map(self._targets.is_linear, scores)):
                raise
            raise RefusedError(f"the model computes {node.op_type} {BEFORE_TREES}") from None

    def _exponential(self, exponents: Scores) -> Scores:
        """Return new exponentials, of these columns."""
        if self._targets.has_columns(exponents):
            raise RefusedError("the model computes Exp after linear functions and its trees")
        first = sum(len(known.offset) for known in self._exponents)
        self._exponents.append(exponents)
        count = len(exponents.offset)
        return Scores(np.eye(count, first + count, first), np.zeros(count), is_exponential=True)

    def _bind(self, node: NodeProto, inputs: column_moves.Inputs) -> Scores:
        """Read a tree operator and bind it to its columns."""
        operand = inputs[0]
        if isinstance(operand, Scores) and self._targets.is_linear(operand):
            raise RefusedError(f"the model computes linear functions of features {BEFORE_TREES}")
        if not isinstance(operand, FeatureColumns):
            raise RefusedError(f"its {node.op_type} takes an input that is no table of features")
        operator = self._read(node)
        self._trees.append(BoundOperator(operator, operand.columns))
        first = self._targets.sums(operator.target_count)
        matrix = np.zeros((len(operator.offset), self._targets.count))
        matrix[:, first:] = operator.matrix
        return Scores(matrix, operator.offset)


def _pass_on(opaque: Opaque, node: NodeProto, inputs: column_moves.Inputs) -> Opaque:
    """Return what a node makes of an input that is not understood."""
    if node.op_type in TREE_OPERATORS:
        return replace(opaque, feeds_trees=True)
    is_joined = any(isinstance(tensor, Scores) for tensor in inputs)
    return opaque.beside_trees() if is_joined else opaque


def _constant(node: NodeProto) -> Array:
    value = constant_value(node)
    if value is None or value.dtype.kind == "U":
        raise RefusedError("the model has a constant of a kind that is not supported")
    return value
