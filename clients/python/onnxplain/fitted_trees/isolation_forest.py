"""IsolationForest of scikit-learn: trees that count the splits until a row is alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onnxplain.fitted_trees.split_trees import SplitTree, float32_below

_LEAF = -1
_EULER = 0.5772156649015329


class Isolation(NamedTuple):
    """Fitted forest: `decision_function` is minus exp(sum of the trees), minus the offset."""

    trees: list[SplitTree]
    offset: float


def read_isolation(model: Any) -> Isolation:
    """Read an IsolationForest.

    The score of Liu, Ting and Zhou (2008), 2 to the power of minus the mean depth over the usual
    depth, is an exponential of a sum, to which each leaf adds its part.
    """
    usual = _usual_depth(np.array([model.max_samples_]))[0]
    factor = -np.log(2) / (len(model.estimators_) * usual) if usual else 0.0
    trees = [
        _tree(own.tree_, np.asarray(features), factor)
        for own, features in zip(model.estimators_, model.estimators_features_, strict=True)
    ]
    if not usual:  # of a single row, which scikit-learn scores as 2⁻¹
        trees = [tree._replace(values=np.full(len(tree.values), -np.log(2))) for tree in trees[:1]]
    return Isolation(trees, float(model.offset_))


def _tree(tree: Any, features: Any, factor: float) -> SplitTree:
    is_leaf = tree.children_left == _LEAF
    depth = np.zeros(tree.node_count)
    for node in np.flatnonzero(~is_leaf):  # parents stand before their children
        depth[tree.children_left[node]] = depth[tree.children_right[node]] = depth[node] + 1
    missing = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count))
    return SplitTree(
        features=features[np.where(is_leaf, 0, tree.feature)].astype(np.int64),
        left=np.where(is_leaf, 0, tree.children_left).astype(np.int64),
        right=np.where(is_leaf, 0, tree.children_right).astype(np.int64),
        thresholds=float32_below(np.where(is_leaf, 0.0, tree.threshold)),
        missing_left=np.asarray(missing) != 0,
        is_leaf=is_leaf,
        values=factor * (depth + _usual_depth(tree.n_node_samples)),
        sets={},
        target=0,
    )


def _usual_depth(counts: Any) -> Any:
    """Return the mean depth of a search tree of so many rows: (n,)."""
    counts = np.asarray(counts, np.float64)
    many = np.maximum(counts, 3)
    depths = 2 * (np.log(many - 1) + _EULER) - 2 * (many - 1) / many
    return np.select([counts <= 1, counts == 2], [0.0, 1.0], depths)
