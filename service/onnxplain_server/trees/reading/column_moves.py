"""Column operators: select, reshape, concatenate, add and scale columns of features or scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from onnx import NodeProto, TensorProto

from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.trees.reading.onnx_nodes import Attributes
from onnxplain_server.trees.reading.preparation import PREPARING, with_constant
from onnxplain_server.trees.reading.refusal import RefusedError
from onnxplain_server.trees.reading.tensor_columns import sum_of_lookups
from onnxplain_server.trees.reading.tensors import FeatureColumns, Opaque, Scores, Tensor

Inputs = Sequence[Tensor | None]
"""Inputs of a node; None for one that is left out."""


def width(tensor: FeatureColumns | Scores) -> int:
    """Return the number of columns."""
    return len(tensor.columns if isinstance(tensor, FeatureColumns) else tensor.offset)


def select_columns(tensor: FeatureColumns | Scores, chosen: Indices) -> FeatureColumns | Scores:
    """Select columns by position."""
    if np.any((chosen < -width(tensor)) | (chosen >= width(tensor))):
        raise RefusedError("the model selects columns that do not exist")
    if isinstance(tensor, FeatureColumns):
        return FeatureColumns(tuple(tensor.columns[i] for i in chosen))
    return replace(tensor, matrix=tensor.matrix[chosen], offset=tensor.offset[chosen])


def gather(
    node: NodeProto, operand: FeatureColumns | Scores, inputs: Inputs
) -> FeatureColumns | Scores:
    """Select columns: Gather and ArrayFeatureExtractor."""
    axis = 1 if node.op_type == "ArrayFeatureExtractor" else Attributes(node).value("axis", 0)
    if axis not in {1, -1}:
        raise RefusedError("the model selects rows")
    return select_columns(operand, constant(node, inputs, 1).reshape(-1).astype(np.intp))


def slice_columns(
    node: NodeProto, operand: FeatureColumns | Scores, inputs: Inputs
) -> FeatureColumns | Scores:
    """Select a range of columns: Slice."""
    attributes = Attributes(node)
    if len(inputs) > 1:
        starts, ends = (constant(node, inputs, i).reshape(-1) for i in (1, 2))
        axes = constant(node, inputs, 3).reshape(-1) if len(inputs) > 3 else np.arange(len(starts))
        steps = constant(node, inputs, 4).reshape(-1) if len(inputs) > 4 else np.ones(len(starts))
    else:
        starts, ends = attributes.integers("starts"), attributes.integers("ends")
        axes = attributes.integers("axes") if attributes.value("axes", ()) else np.arange(2)
        steps = np.ones(len(starts))
    if len(starts) != 1 or axes[0] not in {1, -1} or steps[0] == 0:
        raise RefusedError("the model selects rows")
    chosen = np.arange(width(operand))[int(starts[0]) : _end(ends[0]) : int(steps[0])]
    return select_columns(operand, chosen)


def outputs(node: NodeProto, tensor: Tensor, inputs: Inputs) -> list[Tensor]:
    """Return the tensor of each output of a node, by what it computes."""
    if node.op_type == "Split" and isinstance(tensor, FeatureColumns | Scores):
        return [*_split(node, tensor, inputs)]
    tensors: list[Tensor] = [tensor] * len(node.output)
    if node.op_type == "TreeEnsembleClassifier":
        tensors[0] = Opaque("the model gives class labels")
    return tensors


def _split(
    node: NodeProto, operand: FeatureColumns | Scores, inputs: Inputs
) -> Iterator[FeatureColumns | Scores]:
    """Yield the ranges of columns of each output: Split."""
    attributes, count = Attributes(node), len(node.output)
    if attributes.value("axis", 0) not in {1, -1}:
        raise RefusedError("the model selects rows")
    sizes = constant(node, inputs, 1) if len(inputs) > 1 else attributes.integers("split")
    if not len(sizes):  # equal parts, the last of which may be smaller
        each = -(-width(operand) // count)
        sizes = np.diff(np.minimum(np.arange(count + 1) * each, width(operand)))
    ends = np.cumsum(sizes.reshape(-1), dtype=np.intp)
    if len(ends) != count:
        raise RefusedError("the model selects columns that do not exist")
    for size, end in zip(np.diff(ends, prepend=0), ends, strict=True):
        yield select_columns(operand, np.arange(end - size, end))


def reshape(
    node: NodeProto, operand: FeatureColumns | Scores, inputs: Inputs
) -> FeatureColumns | Scores:
    """Accept shapes that keep the rows: (-1, width), or any shape of a single column."""
    if node.op_type != "Reshape":
        return operand
    if width(operand) == 1:
        return _stacked(operand, inputs[1:])
    shape = constant(node, inputs, 1).reshape(-1).tolist()
    if len(shape) < 2 or shape[0] not in {-1, 0} or shape[-1] not in {-1, width(operand)}:
        raise RefusedError("the model rearranges its columns into rows")
    return operand


def _stacked(
    operand: FeatureColumns | Scores, shapes: Sequence[Tensor | None]
) -> FeatureColumns | Scores:
    """Return a single column in another shape, which may make it a layer."""
    shape = shapes[0] if shapes else None
    is_layer = isinstance(shape, np.ndarray) and shape.reshape(-1).tolist() == [1, -1, 1]
    return replace(operand, is_stack=is_layer) if isinstance(operand, Scores) else operand


def on_stacks(node: NodeProto, inputs: Inputs) -> Scores | None:
    """Join layers, or average them; None where there are none, or a single one is a column."""
    stacks = [tensor for tensor in inputs if isinstance(tensor, Scores) and tensor.is_stack]
    attributes = Attributes(node)
    if not stacks:
        return None
    if node.op_type == "Concat":
        if len(stacks) < len(inputs) or attributes.value("axis", 1) != 0:
            raise RefusedError("the model stacks rows")
        return replace(_joined(node, stacks), is_stack=True)
    if node.op_type == "ReduceMean":
        axes = constant(node, inputs, 1) if len(inputs) > 1 else attributes.integers("axes")
        if axes.reshape(-1).tolist() != [0] or attributes.value("keepdims", 1):
            raise RefusedError("the model averages rows")
        (stack,) = stacks
        matrix, offset = stack.matrix.mean(axis=0), stack.offset.mean(keepdims=True)
        return Scores(matrix[np.newaxis], offset, stack.is_exponential)
    if any(width(stack) > 1 for stack in stacks):
        raise RefusedError(f"the model computes {node.op_type} of layers of its trees")
    return None


def concatenate(node: NodeProto, inputs: Inputs) -> FeatureColumns | Scores:
    """Concatenate columns: Concat and FeatureVectorizer."""
    if Attributes(node).value("axis", 1) not in {1, -1, 2}:
        raise RefusedError("the model stacks rows")
    if all(isinstance(tensor, FeatureColumns) for tensor in inputs):
        return FeatureColumns(
            tuple(c for t in inputs if isinstance(t, FeatureColumns) for c in t.columns)
        )
    return _joined(node, inputs)


def _joined(node: NodeProto, inputs: Inputs) -> Scores:
    scores = _as_scores(node, inputs)
    matrix = np.concatenate([score.matrix for score in scores])
    offset = np.concatenate([score.offset for score in scores])
    return Scores(matrix, offset, scores[0].is_exponential)


def add(node: NodeProto, inputs: Inputs) -> Scores:
    """Add, subtract or average scores and constants."""
    scores = _as_scores(node, inputs)
    count = max(len(score.offset) for score in scores)
    signs = [1.0] * len(scores)
    if node.op_type == "Sub":
        signs[1] = -1.0
    share = 1 / len(scores) if node.op_type == "Mean" else 1.0
    if any(len(score.offset) not in {1, count} for score in scores):
        raise RefusedError("the model adds columns to others")
    matrix, offset = np.zeros((count, scores[0].matrix.shape[1])), np.zeros(count)
    for sign, score in zip(signs, scores, strict=True):
        matrix = matrix + share * sign * score.matrix
        offset = offset + share * sign * score.offset
    return Scores(matrix, offset, scores[0].is_exponential)


def multiply(node: NodeProto, inputs: Inputs) -> Scores:
    """Multiply or divide scores by a constant."""
    scores = next(tensor for tensor in inputs if isinstance(tensor, Scores))
    i = 1 if inputs[0] is scores else 0
    factor = constant(node, inputs, i).astype(np.float64).reshape(-1)
    if node.op_type == "Div":
        if i == 0:
            raise RefusedError("the model divides by the sum over its trees")
        factor = 1 / factor
    if len(factor) not in {1, len(scores.offset)} or not np.isfinite(factor).all():
        raise RefusedError("the model does not multiply its scores by one finite factor per column")
    matrix, offset = scores.matrix * factor[:, np.newaxis], scores.offset * factor
    return replace(scores, matrix=matrix, offset=offset)


MOVING: Mapping[
    str, Callable[[NodeProto, FeatureColumns | Scores, Inputs], FeatureColumns | Scores]
] = {
    "Identity": reshape,
    "Flatten": reshape,
    "Squeeze": reshape,
    "Unsqueeze": reshape,
    "Reshape": reshape,
    "Gather": gather,
    "ArrayFeatureExtractor": gather,
    "Slice": slice_columns,
    "Split": reshape,
}
"""Functions that select or reshape columns, by operator."""

_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE})
ADDING = frozenset({"Add", "Sub", "Sum", "Mean"})
MULTIPLYING = frozenset({"Mul", "Div"})


def apply(
    node: NodeProto, operand: FeatureColumns | Scores, inputs: Inputs
) -> FeatureColumns | Scores:
    """Apply an operator to columns or scores."""
    if node.op_type in MOVING and operand is inputs[0]:
        return MOVING[node.op_type](node, operand, inputs)
    if node.op_type in {"Concat", "FeatureVectorizer"}:
        return concatenate(node, inputs)
    if isinstance(operand, FeatureColumns):
        return _prepare(node, operand, inputs)
    return _combine(node, operand, inputs)


def _prepare(node: NodeProto, operand: FeatureColumns, inputs: Inputs) -> FeatureColumns:
    """Apply an operator to columns before the trees."""
    if node.op_type in PREPARING:
        return PREPARING[node.op_type](node, operand)
    if node.op_type == "ReduceSum":
        return _total(node, operand, inputs)
    if node.op_type in {"Add", "Sub", "Mul", "Div"}:
        position = 0 if inputs[1] is operand else 1
        factor = constant(node, inputs, position)
        return with_constant(node.op_type, operand, factor, first=position == 0)
    raise RefusedError(f"the model computes {node.op_type} before its trees")


def _total(node: NodeProto, operand: FeatureColumns, inputs: Inputs) -> FeatureColumns:
    """Sum the columns of each row, as of the rare categories of one feature."""
    attributes = Attributes(node)
    axes = constant(node, inputs, 1) if len(inputs) > 1 else attributes.integers("axes")
    if axes.reshape(-1).tolist() not in ([1], [-1]) or not attributes.value("keepdims", 1):
        raise RefusedError("the model adds rows")
    return FeatureColumns((sum_of_lookups(operand.columns),))


def _combine(node: NodeProto, operand: Scores, inputs: Inputs) -> Scores:
    """Apply an operator to scores after the trees."""
    if node.op_type == "Cast" and Attributes(node).value("to", 0) in _FLOATS:
        return operand
    if node.op_type == "Neg":
        return replace(operand, matrix=-operand.matrix, offset=-operand.offset)
    if node.op_type in ADDING:
        return add(node, inputs)
    if node.op_type in MULTIPLYING:
        return multiply(node, inputs)
    after = "an exponential of its trees" if operand.is_exponential else "its trees"
    raise RefusedError(f"the model computes {node.op_type} after {after}, so it is no sum")


def constant(node: NodeProto, inputs: Inputs, position: int) -> Array:
    """Return an input, which must be a constant."""
    tensor = inputs[position] if position < len(inputs) else None
    if not isinstance(tensor, np.ndarray):
        raise RefusedError(f"the model computes an input of {node.op_type} that must be constant")
    return tensor


def _end(value: int) -> int | None:
    return None if value >= 2**31 - 1 else int(value)


def _as_scores(node: NodeProto, inputs: Inputs) -> list[Scores]:
    """Convert scores and constants to scores with the same number of targets."""
    own = [tensor for tensor in inputs if isinstance(tensor, Scores)]
    kinds = {score.is_exponential for score in own}
    if len(kinds) > 1:
        raise RefusedError(f"the model mixes sums over trees and exponentials in {node.op_type}")
    count = max((score.matrix.shape[1] for score in own), default=0)
    scores = []
    for tensor in inputs:
        if isinstance(tensor, np.ndarray):
            values = tensor.astype(np.float64).reshape(-1)
            scores.append(Scores(np.zeros((len(values), count)), values, *kinds))
        elif isinstance(tensor, Scores):
            scores.append(tensor.wide(count))
        else:
            raise RefusedError(f"the model mixes features and scores in {node.op_type}")
    return scores
