"""Tree nodes as parallel arrays, in one form for all three tree operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.trees.reading.onnx_nodes import Attributes
from onnxplain_server.trees.reading.refusal import RefusedError

Ids = npt.NDArray[np.int64]
"""(n,)"""


class Mode(IntEnum):
    """Comparison of a value with a node's threshold, numbered as in TreeEnsemble."""

    LEQ = 0
    LT = 1
    GTE = 2
    GT = 3
    EQ = 4
    NEQ = 5
    MEMBER = 6
    LEAF = 7


_NAMED = {b"LEAF": Mode.LEAF} | {f"BRANCH_{mode.name}".encode(): mode for mode in list(Mode)[:6]}
_UNKNOWN = 255


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """The nodes of one operator's trees, in the order of the file.

    Attributes
    ----------
    tree_ids, node_ids : (n_nodes,)
        Together the identity of a node.
    modes : (n_nodes,) uint8
        Values of `Mode`.
    columns : (n_nodes,)
        Column of the operator's input to compare; meaningless at leaves.
    thresholds : (n_nodes,) float64
    true_ids, false_ids : (n_nodes,)
        Node ids, within the tree, of the children.
    missing_is_true : (n_nodes,) bool
        Whether a missing value takes the true branch.
    members : mapping of int to (n_members,)
        Values for which a node of mode MEMBER is true, by position.
    leaf_tree_ids, leaf_node_ids, targets : (n_weights,)
        Leaf and target of each weight.
    weights : (n_weights,) float64
    """

    tree_ids: Ids
    node_ids: Ids
    modes: npt.NDArray[np.uint8]
    columns: Ids
    thresholds: Vector
    true_ids: Ids
    false_ids: Ids
    missing_is_true: npt.NDArray[np.bool_]
    members: dict[int, Vector]
    leaf_tree_ids: Ids
    leaf_node_ids: Ids
    targets: Ids
    weights: Vector


def read_nodes(attributes: Attributes, leaves: str) -> Nodes:
    """Read a TreeEnsembleRegressor or TreeEnsembleClassifier.

    Parameters
    ----------
    leaves : str
        Prefix of the attributes with weights: "target" or "class".

    Raises
    ------
    RefusedError
        Where attributes are inconsistent.
    """
    node_ids = attributes.integers("nodes_nodeids")
    missing = attributes.integers("nodes_missing_value_tracks_true")
    nodes = Nodes(
        tree_ids=attributes.integers("nodes_treeids"),
        node_ids=node_ids,
        modes=_named_modes(attributes),
        columns=attributes.integers("nodes_featureids"),
        thresholds=attributes.numbers("nodes_values", "nodes_values_as_tensor"),
        true_ids=attributes.integers("nodes_truenodeids"),
        false_ids=attributes.integers("nodes_falsenodeids"),
        missing_is_true=(missing if len(missing) else np.zeros_like(node_ids)) == 1,
        members={},
        leaf_tree_ids=attributes.integers(f"{leaves}_treeids"),
        leaf_node_ids=attributes.integers(f"{leaves}_nodeids"),
        targets=attributes.integers(f"{leaves}_ids"),
        weights=attributes.numbers(f"{leaves}_weights", f"{leaves}_weights_as_tensor"),
    )
    _check_lengths(nodes)
    return nodes


def read_nodes_5(attributes: Attributes) -> Nodes:
    """Read a TreeEnsemble (ai.onnx.ml 5), whose separate leaves become nodes after the others.

    Each reference to a leaf becomes a node of its own.
    """
    modes = to_modes(attributes.numbers("nodes_modes"))
    inner = len(modes)
    children, leaves = _children(attributes, inner)
    tree_ids = _tree_of(attributes.integers("tree_roots"), children, inner, len(leaves))
    is_root = np.isin(np.arange(len(tree_ids)), attributes.integers("tree_roots"))
    order = np.lexsort((~is_root, tree_ids))  # by tree, its root first
    filler = np.zeros(len(leaves), dtype=np.int64)
    missing = attributes.integers("nodes_missing_value_tracks_true")
    members = _members(modes, attributes.numbers("membership_values"))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    nodes = Nodes(
        tree_ids=tree_ids[order],
        node_ids=order,
        modes=np.append(modes, np.full(len(leaves), Mode.LEAF, np.uint8))[order],
        columns=np.append(attributes.integers("nodes_featureids"), filler)[order],
        thresholds=np.append(attributes.numbers("nodes_splits"), filler)[order].astype(np.float64),
        true_ids=np.append(children[0], filler)[order],
        false_ids=np.append(children[1], filler)[order],
        missing_is_true=np.append(missing if len(missing) else modes * 0, filler)[order] == 1,
        members={int(place[node]): values for node, values in members.items()},
        leaf_tree_ids=tree_ids[inner:],
        leaf_node_ids=np.arange(inner, inner + len(leaves)),
        targets=_pick(attributes.integers("leaf_targetids"), leaves, "leaf_targetids"),
        weights=_pick(attributes.numbers("leaf_weights"), leaves, "leaf_weights"),
    )
    _check_lengths(nodes)
    return nodes


def _named_modes(attributes: Attributes) -> npt.NDArray[np.uint8]:
    """Read modes given by name."""
    modes = attributes.codes("nodes_modes", _NAMED, _UNKNOWN)
    if np.any(modes == _UNKNOWN):
        names = {name.encode() for name in attributes.texts("nodes_modes")}
        unknown = min(names - set(_NAMED)).decode()
        raise RefusedError(f"its trees have nodes of the mode {unknown!r}")
    return modes


def to_modes(numbers: Vector) -> npt.NDArray[np.uint8]:
    """Check modes given by number."""
    if np.any((numbers < 0) | (numbers > Mode.MEMBER)):
        raise RefusedError(f"its trees have nodes of the mode {numbers.max():g}")
    return numbers.astype(np.uint8)


def _children(attributes: Attributes, inner: int) -> tuple[tuple[Ids, Ids], Ids]:
    """Return the children as node ids, leaves numbered after the inner nodes, and the leaves."""
    ids = [attributes.integers(f"nodes_{side}nodeids") for side in ("true", "false")]
    flags = [attributes.integers(f"nodes_{side}leafs") == 1 for side in ("true", "false")]
    if any(len(child_ids) != inner for child_ids in (*ids, *flags)):
        raise RefusedError("the lists that describe its trees differ in length")
    leaves = np.concatenate([child_ids[flag] for child_ids, flag in zip(ids, flags, strict=True)])
    first = inner
    for child_ids, flag in zip(ids, flags, strict=True):
        if np.any((child_ids[~flag] < 0) | (child_ids[~flag] >= inner)):
            raise RefusedError("its trees refer to nodes that do not exist")
        child_ids[flag] = np.arange(first, first + flag.sum())
        first += int(flag.sum())
    return (ids[0], ids[1]), leaves


def _tree_of(roots: Ids, children: tuple[Ids, Ids], inner: int, leaf_count: int) -> Ids:
    """Return the position in `tree_roots` of each node's tree, found by breadth-first search."""
    if not len(roots) or np.any((roots < 0) | (roots >= inner)):
        raise RefusedError("its tree_roots refer to nodes that do not exist")
    tree = np.full(inner + leaf_count, -1, dtype=np.int64)
    tree[roots] = np.arange(len(roots))
    front = roots
    while len(front):
        reached = np.concatenate([side[front] for side in children])
        owner = np.tile(tree[front], 2)
        fresh = tree[reached] < 0
        tree[reached] = np.where(fresh, owner, tree[reached])
        if np.any(tree[reached] != owner):
            node = int(reached[np.argmax(tree[reached] != owner)])
            raise RefusedError(f"its node {node} belongs to several of its tree_roots")
        front = np.unique(reached[fresh & (reached < inner)])
    if np.any(tree < 0):
        node = int(np.flatnonzero(tree < 0)[0])
        raise RefusedError(f"its node {node} belongs to none of its tree_roots")
    return tree


def _members(modes: Array, values: Vector) -> dict[int, Vector]:
    """Assign the lists, each ended by NaN, to the nodes of mode MEMBER."""
    nodes = np.flatnonzero(modes == Mode.MEMBER)
    ends = np.flatnonzero(np.isnan(values))
    if len(ends) < len(nodes) and len(values) and not np.isnan(values[-1]):
        ends = np.append(ends, len(values))
    if len(ends) != len(nodes):
        raise RefusedError(f"it has {len(ends)} membership lists for {len(nodes)} nodes")
    starts = np.append(0, ends + 1)[: len(ends)]
    lists = zip(nodes, starts, ends, strict=True)
    return {int(node): values[start:end] for node, start, end in lists}


def _pick(values: Array, positions: Ids, name: str) -> Array:
    if len(positions) and (positions.min() < 0 or positions.max() >= len(values)):
        raise RefusedError(f"its trees refer to leaves that {name} does not have")
    return values[positions]


def _check_lengths(nodes: Nodes) -> None:
    groups: tuple[tuple[Callable[[Nodes], Array], ...], ...] = (
        (
            *(lambda n: n.tree_ids, lambda n: n.node_ids, lambda n: n.modes),
            *(lambda n: n.columns, lambda n: n.thresholds, lambda n: n.missing_is_true),
            *(lambda n: n.true_ids, lambda n: n.false_ids),
        ),
        (
            *(lambda n: n.leaf_tree_ids, lambda n: n.leaf_node_ids),
            *(lambda n: n.targets, lambda n: n.weights),
        ),
    )
    if any(len({len(get(nodes)) for get in group}) > 1 for group in groups):
        raise RefusedError("the lists that describe its trees differ in length")
    if not len(nodes.node_ids):
        raise RefusedError("it has a tree operator without nodes")
