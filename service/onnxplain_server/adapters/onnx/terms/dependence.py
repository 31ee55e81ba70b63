"""Dependence: the features that each value of a tensor's rows is computed from, forwards.

Only what provably works row by row is followed; all else is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from onnx import NodeProto

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.terms.feature_sets import is_single, together
from onnxplain_server.adapters.onnx.terms.operators import (
    MOVES,
    ONE_BY_ONE,
    POSITIONS,
    REDUCING,
    SPREADS,
    WHOLE_ROWS,
    reduced_axes,
)
from onnxplain_server.adapters.onnx.terms.row_operator import RowOperator
from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.onnx_nodes import subgraphs


def read_dependence(
    graph: Graph,
    widths: Sequence[tuple[int, ...]],
    known: dict[str, Array] | None = None,
    follow: Callable[[NodeProto], None] = lambda _node: None,
) -> Mapping[str, Array]:
    """Follow the features through a graph.

    Parameters
    ----------
    graph : Graph
    widths : sequence of tuple of int
        Shape of a row of each input: (), or (n_columns,).
    known : dict of tensor name to integers, optional
        Where to note what is found.
    follow : callable (NodeProto)
        Follows each node too, after it was followed by the table of operators.

    Returns
    -------
    mapping of tensor name to integers
        Features of each value of a row, see `feature_sets`. Tensors that are not there are
        constant or unknown.
    """
    known = {} if known is None else known
    first = 0
    for value, shape in zip(graph.inputs, widths, strict=True):
        size = int(np.prod(shape))
        known[value.name] = np.arange(first, first + size).reshape(shape)
        first += size
    for node in graph.model.graph.node:
        followed = _follow(graph, node, known)
        known.update((name, own) for name, own in zip(node.output, followed, strict=False) if name)
        follow(node)
    return known


def _follow(graph: Graph, node: NodeProto, known: Mapping[str, Array]) -> Sequence[Array]:
    """Return the dependence of a node's outputs; () where it is unknown."""
    varying = [name for name in node.input if name and graph.constant(name) is None]
    if not varying or any(name not in known for name in varying) or any(subgraphs(node)):
        return ()
    try:
        return _results(RowOperator(graph, node), [known[name] for name in varying])
    except (ValueError, IndexError, TypeError):
        return ()


def _results(operator: RowOperator, inputs: list[Array]) -> Sequence[Array]:
    move = MOVES.get(operator.name) or SPREADS.get(operator.name)
    if move is not None:
        return move(operator, inputs)
    if operator.name in ONE_BY_ONE:
        return [_at_each_place(operator, inputs)]
    if operator.name in REDUCING | POSITIONS:
        (values,) = inputs
        axes = reduced_axes(operator, values.ndim)
        return [together(values, axes, keeps=bool(operator.value("keepdims", 1)))]
    widths = WHOLE_ROWS.get(operator.name)
    if widths is None or len(inputs) > 1 or inputs[0].ndim != 1:
        return ()
    total = together(inputs[0], (0,), keeps=False)
    return [np.full(shape, total) for shape in widths(operator, len(inputs[0]))]


def _at_each_place(operator: RowOperator, inputs: list[Array]) -> Array:
    """Combine tensors and constants that are broadcast to each other."""
    rank = inputs[0].ndim
    if any(values.ndim != rank for values in inputs):
        raise ValueError("an operator aligns rows with columns")
    shapes = [
        constant_shape(values, rank)
        for name in operator.node.input
        if name and (values := operator.graph.constant(name)) is not None
    ]
    shape = np.broadcast_shapes(*(values.shape for values in inputs), *shapes)
    if len(shape) > rank:
        raise ValueError("an operator aligns rows with columns")
    return together(np.stack([np.broadcast_to(values, shape) for values in inputs]), (0,))


def constant_shape(values: Array, rank: int) -> tuple[int, ...]:
    """Return the shape of a constant beside rows, all of which it is the same for.

    Raises
    ------
    ValueError
        If it has numbers for each row.
    """
    if values.ndim > rank + 1 or (values.ndim == rank + 1 and values.shape[0] != 1):
        raise ValueError("an operator has numbers for each row")
    return values.shape[1:] if values.ndim == rank + 1 else values.shape


def single_parts(
    graph: Graph, dependence: Mapping[str, Array], tensors: Sequence[str]
) -> Sequence[str]:
    """Return the last tensors of single features on the ways to tensors, each once."""
    waiting, seen, found = list(tensors), set[str](), list[str]()
    while waiting:
        tensor = waiting.pop()
        if not tensor or tensor in seen or graph.constant(tensor) is not None:
            continue
        seen.add(tensor)
        node = graph.producer(tensor)
        if tensor in dependence and is_single(dependence[tensor]):
            found.append(tensor)
        elif node is not None:
            waiting.extend(node.input)
    return found
