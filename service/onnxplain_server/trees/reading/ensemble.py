"""Ensemble: the trees of a model as arrays over cells of its features, read from ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import ModelProto

from onnxplain_server.core.arrays import Array, Indices, Int32Vector, Matrix, Vector
from onnxplain_server.trees.reading.axes import END, Axis, Keys
from onnxplain_server.trees.reading.categories import tested_categories
from onnxplain_server.trees.reading.feature_axes import build_axes, text_categories
from onnxplain_server.trees.reading.nodes import Mode, Nodes
from onnxplain_server.trees.reading.refusal import Refusal, RefusedError
from onnxplain_server.trees.reading.shared_nodes import TreeStructure, expand_shared_nodes
from onnxplain_server.trees.reading.special_cases.merging import refuse_merged_tests
from onnxplain_server.trees.reading.splits import KeyRuns, merge_runs, true_runs
from onnxplain_server.trees.reading.structure import link_nodes
from onnxplain_server.trees.reading.walk import BoundOperator, TreeGraph, walk_sums, walk_to_trees

Int32Array = npt.NDArray[np.int32]
"""Any shape."""


class CellSets(NamedTuple):
    """Sets of cells, operator a list of disjoint ascending runs, as a tuple that kernels accept.

    Attributes
    ----------
    start : (n_sets + 1,)
        Set i has the runs start[i] to start[i + 1].
    low, high : (n_runs,)
        First border of a run, and the border after its last cell.
    """

    start: Int32Vector
    low: Int32Vector
    high: Int32Vector


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """Trees whose sums of leaves give every output by an affine function.

    Borders of cells are numbered across all features: feature j with m cells has the
    m + 1 borders from `first[j]`, and its cell c lies between the borders
    first[j] + c and first[j] + c + 1. A set of cells is a list of runs [low, high) of borders.

    Attributes
    ----------
    axes : tuple of Axis
        One per feature.
    first : (n_features + 1,)
        First border of each feature, and the number of borders.
    roots : (n_trees,)
        Ascending; the nodes of a tree are contiguous.
    feature : (n_nodes,)
        Feature that a node compares; -1 at leaves.
    true, false, parent : (n_nodes,)
        -1 where there is none.
    truth : CellSets
        Cells for which each node is true.
    leaf : (n_leaves,)
        Leaf nodes, ascending.
    values : (n_leaves, n_targets)
    matrix : (n_outputs, n_targets)
    offset : (n_outputs,)
        Outputs are matrix · (sum of values) + offset.
    depth : int
        Most steps from a root to a leaf.
    categories : frozenset of int
        Features that are only looked up, or tested for equality or membership.
    """

    axes: tuple[Axis, ...]
    first: Int32Array
    roots: Int32Array
    feature: Int32Array
    true: Int32Array
    false: Int32Array
    parent: Int32Array
    truth: CellSets
    leaf: Int32Array
    values: Matrix
    matrix: Matrix
    offset: Vector
    depth: int
    categories: frozenset[int] = frozenset()

    def codes(self, feature: int, values: Array) -> Int32Array:
        """Return the lower border of each value's cell: (n,)."""
        return _int32(self.first[feature] + self.axes[feature].cells(values))


def read_ensemble(model: ModelProto, width: int | None = None) -> Ensemble | Refusal:
    """Read the trees of a model whose outputs are affine functions of their sums.

    Parameters
    ----------
    model : ModelProto
        Its outputs are numeric tensors, whose concatenated columns are the outputs explained.
    width : int or None
        Number of columns of the input matrix, where the model does not declare it.

    Returns
    -------
    Ensemble or Refusal
        A refusal where an output is no affine function of sums over trees that compare single
        features.
    """
    try:
        graph = walk_sums(model, width)
        if graph.linear.columns:
            return Refusal("the model adds linear functions of features to its trees")
        return build_ensemble(graph)
    except RefusedError as refused:
        return Refusal(refused.reason)


def read_tree_sums(model: ModelProto, width: int | None = None) -> Ensemble | Refusal:
    """Read the trees of a model, whatever follows the sums of their leaf values.

    Parameters are those of `read_ensemble`.

    Returns
    -------
    Ensemble or Refusal
        Its outputs are those sums. A refusal where trees compare other values than features.
    """
    try:
        return build_ensemble(walk_to_trees(model, width))
    except RefusedError as refused:
        return Refusal(refused.reason)


@dataclass(frozen=True, slots=True, eq=False)
class _ExpandedOperator:
    """A tree operator with its structure.

    `features` and `values` belong to the nodes in the file: the feature that each compares, -1 at
    leaves, and its values for the operator's targets.
    """

    bound: BoundOperator
    features: Indices
    values: Matrix
    structure: TreeStructure

    @property
    def nodes(self) -> Nodes:
        return self.bound.operator.nodes


def _expand(bound: BoundOperator) -> _ExpandedOperator:
    operator = bound.operator
    nodes = operator.nodes
    graph = link_nodes(nodes, len(bound.columns))
    refuse_merged_tests(nodes, graph, operator.values)
    column_features = np.array([column.feature for column in bound.columns], dtype=np.intp)
    inner = nodes.modes != Mode.LEAF
    features = np.full(len(nodes.modes), -1)
    features[inner] = column_features[nodes.columns[inner]]
    return _ExpandedOperator(
        bound,
        features,
        operator.share * operator.values,
        expand_shared_nodes(nodes, graph, features),
    )


def build_ensemble(graph: TreeGraph) -> Ensemble:
    """Build trees whose outputs are a graph's scores, not `linear`; may raise RefusedError."""
    operators = [_expand(bound) for bound in graph.trees]
    features = np.concatenate(
        [operator.features[operator.structure.origin] for operator in operators]
    )
    leaf = np.flatnonzero(features < 0)
    values, matrix = _drop_unused_targets(_values(operators)[leaf], graph.scores.matrix)
    runs = _runs(operators, graph)
    axes = build_axes(graph, runs)
    first = np.cumsum([0, *(len(axis.cuts) + 2 for axis in axes)])
    return Ensemble(
        axes,
        _int32(first),
        _combine(operators, "roots"),
        _int32(features),
        _combine(operators, "true"),
        _combine(operators, "false"),
        _combine(operators, "parents"),
        _copy_to_nodes(_cell_sets(runs, axes, first, sum(_file_counts(operators))), operators),
        _int32(leaf),
        values,
        matrix,
        graph.scores.offset,
        max(operator.structure.depth for operator in operators),
        tested_categories(graph),
    )


def _file_counts(operators: Sequence[_ExpandedOperator]) -> list[int]:
    return [len(operator.features) for operator in operators]


def _starts(counts: Sequence[int]) -> Indices:
    """Number the nodes of all operators consecutively: the first of each operator."""
    return np.cumsum([0, *counts])


def _runs(operators: Sequence[_ExpandedOperator], graph: TreeGraph) -> list[list[KeyRuns]]:
    """Find the runs in which nodes of the file are true, by feature; a chain where any node is."""
    categories = text_categories(graph)
    by_feature: list[list[KeyRuns]] = [[] for _ in categories]
    for start, operator in zip(_starts(_file_counts(operators)), operators, strict=False):
        inner = np.flatnonzero(operator.nodes.modes != Mode.LEAF)
        order = inner[np.argsort(operator.nodes.columns[inner], kind="stable")]
        used, first = np.unique(operator.nodes.columns[order], return_index=True)
        for number, chosen in zip(used, np.split(order, first[1:]), strict=False):
            column = operator.bound.columns[number]
            runs = true_runs(operator.nodes, chosen, column, categories[column.feature])
            owner = operator.structure.head[runs.nodes] + start
            by_feature[column.feature].append(replace(runs, nodes=owner))
    if any(operator.structure.is_joined for operator in operators):
        return [[merge_runs(parts)] if parts else [] for parts in by_feature]
    return by_feature


def _cell_sets(
    runs: Sequence[list[KeyRuns]], axes: Sequence[Axis], first: Indices, node_count: int
) -> CellSets:
    """Convert the ends of runs from keys to borders, and sort the runs by node."""
    nodes, lows, highs = ([np.array([], dtype=np.intp)] for _ in range(3))
    for j, axis in enumerate(axes):
        for part in runs[j]:
            nodes.append(part.nodes)
            lows.append(first[j] + _borders(axis.cuts, part.lows))
            highs.append(first[j] + _borders(axis.cuts, part.highs))
    node = np.concatenate(nodes)
    order = np.argsort(node, kind="stable")
    counts = np.bincount(node, minlength=node_count)
    return CellSets(
        _int32(np.append(0, np.cumsum(counts))),
        _int32(np.concatenate(lows)[order]),
        _int32(np.concatenate(highs)[order]),
    )


def _borders(cuts: Keys, keys: Keys) -> Indices:
    borders: Indices = np.searchsorted(cuts, keys, side="right") + (keys == END)
    return borders


def _copy_to_nodes(truth: CellSets, operators: Sequence[_ExpandedOperator]) -> CellSets:
    """Copy the sets of nodes in the file to the nodes expanded from them."""
    starts = _starts(_file_counts(operators))
    parts = zip(starts, operators, strict=False)
    origin = np.concatenate([operator.structure.origin + start for start, operator in parts])
    first, counts = truth.start[origin], np.diff(truth.start)[origin]
    start = np.append(0, np.cumsum(counts))
    runs = np.arange(start[-1]) + np.repeat(first - start[:-1], counts)
    return CellSets(_int32(start), _int32(truth.low[runs]), _int32(truth.high[runs]))


def _values(operators: Sequence[_ExpandedOperator]) -> Matrix:
    """Combine the values of all operators' nodes, each with its targets: (n_nodes, n_targets)."""
    blocks = [operator.values[operator.structure.origin] for operator in operators]
    if len(blocks) == 1:
        return blocks[0]
    values = np.zeros((sum(map(len, blocks)), sum(block.shape[1] for block in blocks)))
    row = column = 0
    for block in blocks:
        values[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    return values


def _drop_unused_targets(values: Matrix, matrix: Matrix) -> tuple[Matrix, Matrix]:
    """Drop targets without an output or without a leaf; keep at least one."""
    used = np.flatnonzero(matrix.any(axis=0) & values.any(axis=0))
    used = used if len(used) else np.array([0])
    return np.ascontiguousarray(values[:, used]), np.ascontiguousarray(matrix[:, used])


def _combine(operators: Sequence[_ExpandedOperator], name: str) -> Int32Array:
    """Combine a field of all structures, with nodes numbered consecutively; -1 stays."""
    parts = []
    starts = _starts([len(operator.structure.origin) for operator in operators])
    for start, operator in zip(starts, operators, strict=False):
        positions = getattr(operator.structure, name)
        parts.append(np.where(positions < 0, -1, positions + start))
    return _int32(np.concatenate(parts))


def _int32(positions: Array) -> Int32Array:
    return np.ascontiguousarray(positions, dtype=np.int32)
