"""The tree view of a model: its trees as arrays, over cells of its features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import ModelProto

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.trees.reading.axes import END, FIRST, MISSING, Axis, Keys
from onnxplain_server.trees.reading.merging import refuse_merged_tests
from onnxplain_server.trees.reading.nodes import Mode, Nodes
from onnxplain_server.trees.reading.refusal import Refusal, RefusedError
from onnxplain_server.trees.reading.shared_nodes import TreeStructure, expand_shared_nodes
from onnxplain_server.trees.reading.splits import KeyRuns, known_keys, merge_runs, true_runs
from onnxplain_server.trees.reading.structure import leaf_values, link_nodes
from onnxplain_server.trees.reading.tensor_columns import Lookup
from onnxplain_server.trees.reading.walk import BoundOperator, TreeGraph, walk_graph, walk_to_trees

Int32Array = npt.NDArray[np.int32]
"""(n,)"""


class CellSets(NamedTuple):
    """Sets of cells, each a list of disjoint ascending runs; as a tuple, so that kernels take it.

    Attributes
    ----------
    start : (n_sets + 1,)
        Set i has the runs start[i] to start[i + 1].
    low, high : (n_runs,)
        A run's first border and the one after its last cell.
    """

    start: Int32Array
    low: Int32Array
    high: Int32Array


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """Trees of which every output is an affine function.

    Borders of cells are numbered through all features: feature j with m cells has the
    m + 1 borders from `first[j]`, and its cell c lies between the borders
    first[j] + c and first[j] + c + 1. A set of cells is a list of runs [low, high) of borders.

    Attributes
    ----------
    axes : tuple of Axis
        One per feature.
    first : (n_features + 1,)
        First border of each feature, and their number.
    roots : (n_trees,)
        Ascending; each tree's nodes stand together.
    feature : (n_nodes,)
        What a node looks at; -1 at leaves.
    true, false, parent : (n_nodes,)
        -1 where there is none.
    truth : CellSets
        Where each node is true.
    leaf : (n_leaves,)
        Nodes that are leaves, ascending.
    values : (n_leaves, n_targets)
    matrix : (n_outputs, n_targets)
    offset : (n_outputs,)
        Outputs are matrix · (sum of values) + offset.
    depth : int
        Most steps from a root to a leaf.
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

    def codes(self, feature: int, values: Array) -> Int32Array:
        """Return the lower border of each value's cell: (n,)."""
        codes: Int32Array = (self.first[feature] + self.axes[feature].cells(values)).astype(
            np.int32
        )
        return codes


def read_ensemble(model: ModelProto, width: int | None = None) -> Ensemble | Refusal:
    """Find the trees of a model.

    Parameters
    ----------
    model : ModelProto
        Its outputs are numeric tensors; their columns side by side are the outputs explained.
    width : int or None
        Number of columns of the matrix it takes, where it does not say.

    Returns
    -------
    Ensemble or Refusal
        The refusal where an output is no affine function of sums over trees, each of which
        compares single features.
    """
    try:
        return _build(walk_graph(model, width))
    except RefusedError as refused:
        return Refusal(refused.reason)


def read_tree_sums(model: ModelProto, width: int | None = None) -> Ensemble | Refusal:
    """Find the trees of a model, whatever it makes of the sums of their leaf values.

    Parameters are those of `read_ensemble`.

    Returns
    -------
    Ensemble or Refusal
        Its outputs are those sums. The refusal where trees compare what is no feature.
    """
    try:
        return _build(walk_to_trees(model, width))
    except RefusedError as refused:
        return Refusal(refused.reason)


@dataclass(frozen=True, slots=True, eq=False)
class _Checked:
    """A tree operator of which the structure is known.

    `features` and `values` are those of the nodes in the file: what each looks at, -1 at leaves,
    and what it gives to the operator's targets.
    """

    planted: BoundOperator
    features: Indices
    values: Matrix
    structure: TreeStructure

    @property
    def nodes(self) -> Nodes:
        return self.planted.operator.nodes


def _check(planted: BoundOperator) -> _Checked:
    operator = planted.operator
    nodes = operator.nodes
    links = link_nodes(nodes, len(planted.columns))
    values = leaf_values(nodes, operator.target_count)
    refuse_merged_tests(nodes, links, values)
    of_column = np.array([column.feature for column in planted.columns], dtype=np.intp)
    inner = nodes.modes != Mode.LEAF
    features = np.full(len(nodes.modes), -1)
    features[inner] = of_column[nodes.columns[inner]]
    return _Checked(
        planted, features, operator.share * values, expand_shared_nodes(nodes, links, features)
    )


def _build(walked: TreeGraph) -> Ensemble:
    checked = [_check(planted) for planted in walked.trees]
    features = np.concatenate([each.features[each.structure.origin] for each in checked])
    leaf = np.flatnonzero(features < 0)
    values, matrix = _used(_values(checked)[leaf], walked.scores.matrix)
    runs = _runs(checked, walked)
    axes = _axes(walked, runs)
    first = np.cumsum([0, *(len(axis.cuts) + 2 for axis in axes)])
    return Ensemble(
        axes,
        _small(first),
        _linked(checked, "roots"),
        _small(features),
        _linked(checked, "true"),
        _linked(checked, "false"),
        _linked(checked, "parents"),
        _copied(_bordered(runs, axes, first, sum(_file_counts(checked))), checked),
        _small(leaf),
        values,
        matrix,
        walked.scores.offset,
        max(each.structure.depth for each in checked),
    )


def _file_counts(checked: Sequence[_Checked]) -> list[int]:
    return [len(each.features) for each in checked]


def _starts(counts: Sequence[int]) -> Indices:
    """Numbers of the operators' first nodes, where those of all operators are numbered through."""
    return np.cumsum([0, *counts])


def _runs(checked: Sequence[_Checked], walked: TreeGraph) -> list[list[KeyRuns]]:
    """Find where the nodes in the file are true, by feature; chains where any of their nodes is."""
    categories = _categories(walked)
    by_feature: list[list[KeyRuns]] = [[] for _ in categories]
    for start, each in zip(_starts(_file_counts(checked)), checked, strict=False):
        inner = np.flatnonzero(each.nodes.modes != Mode.LEAF)
        order = inner[np.argsort(each.nodes.columns[inner], kind="stable")]
        used, first = np.unique(each.nodes.columns[order], return_index=True)
        for number, chosen in zip(used, np.split(order, first[1:]), strict=False):
            column = each.planted.columns[number]
            found = true_runs(each.nodes, chosen, column, categories[column.feature])
            owner = each.structure.head[found.nodes] + start
            by_feature[column.feature].append(replace(found, nodes=owner))
    if any(each.structure.is_joined for each in checked):
        return [[merge_runs(parts)] if parts else [] for parts in by_feature]
    return by_feature


def _axes(walked: TreeGraph, runs: Sequence[list[KeyRuns]]) -> tuple[Axis, ...]:
    categories, known = _categories(walked), _known(walked)
    return tuple(
        Axis(dtype, categories[j], _cuts(runs[j]), known[j])
        for j, dtype in enumerate(walked.dtypes)
    )


def _cuts(parts: Sequence[KeyRuns]) -> Keys:
    """Return the keys at which new cells start, so that every run is one of whole cells."""
    ends = [keys for part in parts for keys in (part.lows, part.highs)]
    cuts = np.unique(np.concatenate([*ends, np.array([MISSING])]))
    return cuts[(cuts > FIRST) & (cuts < END)]


def _lookups(walked: TreeGraph) -> Iterator[Lookup]:
    for planted in walked.trees:
        for column in planted.columns:
            if isinstance(column, Lookup):
                yield column


def _categories(walked: TreeGraph) -> list[Array | None]:
    """What the model knows of each feature that is text; None for numbers."""
    texts: list[list[Array]] = [[np.array([], dtype=object)] for _ in walked.dtypes]
    for column in _lookups(walked):
        texts[column.feature].append(column.keys)
    return [
        np.unique(np.concatenate(texts[j])) if dtype.kind == "O" else None
        for j, dtype in enumerate(walked.dtypes)
    ]


def _known(walked: TreeGraph) -> list[tuple[tuple[Keys, Keys], ...]]:
    """Runs of keys outside which the model refuses to predict, by feature."""
    categories = _categories(walked)
    known: list[dict[bytes, tuple[Keys, Keys]]] = [{} for _ in walked.dtypes]
    for column in _lookups(walked):
        if column.is_strict:
            lows, highs = known_keys(column, categories[column.feature])
            known[column.feature][lows.tobytes()] = np.sort(lows), np.sort(highs)
    return [tuple(runs.values()) for runs in known]


def _bordered(
    runs: Sequence[list[KeyRuns]], axes: Sequence[Axis], first: Indices, node_count: int
) -> CellSets:
    """Turn the ends of runs from keys to borders, and sort the runs by node."""
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
        _small(np.append(0, np.cumsum(counts))),
        _small(np.concatenate(lows)[order]),
        _small(np.concatenate(highs)[order]),
    )


def _borders(cuts: Keys, keys: Keys) -> Indices:
    borders: Indices = np.searchsorted(cuts, keys, side="right") + (keys == END)
    return borders


def _copied(truth: CellSets, checked: Sequence[_Checked]) -> CellSets:
    """Take the sets of nodes in the file for each of the nodes that were made of them."""
    starts = _starts(_file_counts(checked))
    parts = zip(starts, checked, strict=False)
    origin = np.concatenate([each.structure.origin + start for start, each in parts])
    first, counts = truth.start[origin], np.diff(truth.start)[origin]
    start = np.append(0, np.cumsum(counts))
    runs = np.arange(start[-1]) + np.repeat(first - start[:-1], counts)
    return CellSets(_small(start), _small(truth.low[runs]), _small(truth.high[runs]))


def _values(checked: Sequence[_Checked]) -> Matrix:
    """Weights of the nodes of all operators, each with its own targets: (n_nodes, n_targets)."""
    blocks = [each.values[each.structure.origin] for each in checked]
    if len(blocks) == 1:
        return blocks[0]
    values = np.zeros((sum(map(len, blocks)), sum(block.shape[1] for block in blocks)))
    row = column = 0
    for block in blocks:
        values[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    return values


def _used(values: Matrix, matrix: Matrix) -> tuple[Matrix, Matrix]:
    """Leave out the targets that no output depends on, or no leaf gives to; keep at least one."""
    used = np.flatnonzero(matrix.any(axis=0) & values.any(axis=0))
    used = used if len(used) else np.array([0])
    return np.ascontiguousarray(values[:, used]), np.ascontiguousarray(matrix[:, used])


def _linked(checked: Sequence[_Checked], name: str) -> Int32Array:
    """Positions of nodes in all operators, numbered through; -1 stays."""
    parts = []
    starts = _starts([len(each.structure.origin) for each in checked])
    for start, each in zip(starts, checked, strict=False):
        positions = getattr(each.structure, name)
        parts.append(np.where(positions < 0, -1, positions + start))
    return _small(np.concatenate(parts))


def _small(positions: Array) -> Int32Array:
    return np.ascontiguousarray(positions, dtype=np.int32)
