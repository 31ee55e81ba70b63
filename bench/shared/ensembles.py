"""Tree ensembles of scikit-learn as ONNX, written attribute by attribute, and rows for them."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, TensorProto, helper
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestRegressor,
)

Rows = npt.NDArray[np.float32]
Fitted: TypeAlias = (
    GradientBoostingRegressor
    | GradientBoostingClassifier
    | HistGradientBoostingClassifier
    | RandomForestRegressor
    | ExtraTreesRegressor
)


class Nodes(NamedTuple):
    """Nodes of trees: per tree, an array of each attribute. Leaves have no children: -1."""

    feature: list[npt.NDArray[np.int64]]
    threshold: list[npt.NDArray[np.float64]]
    left: list[npt.NDArray[np.int64]]
    right: list[npt.NDArray[np.int64]]
    value: list[npt.NDArray[np.float64]]


def rows(count: int, width: int, seed: int = 0) -> Rows:
    """Draw rows: every second feature follows the one before it."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=(count, width))
    drawn[:, 1::2] += drawn[:, : width - 1 : 2]
    return drawn.astype(np.float32)


def target(drawn: Rows) -> npt.NDArray[np.float64]:
    """Interactions of two and three features, and plain effects of all."""
    x = drawn.astype(np.float64).T
    noise = np.random.default_rng(1).normal(size=len(drawn)) / 2
    score: npt.NDArray[np.float64] = (
        np.sin(x[0] * x[1]) + x[2] * (x[3] > 0) * (x[4] > 0) + x.sum(axis=0) / 10 + noise
    )
    return score


def boosting(trees: int, depth: int, width: int) -> GradientBoostingRegressor:
    """Gradient boosting."""
    drawn = rows(4_000, width)
    return GradientBoostingRegressor(
        n_estimators=trees, max_depth=depth, subsample=0.5, random_state=0
    ).fit(drawn, target(drawn))


def forest(trees: int, width: int, training_rows: int) -> RandomForestRegressor:
    """A random forest of trees grown until every leaf is pure."""
    drawn = rows(training_rows, width)
    fitted = RandomForestRegressor(trees, random_state=0, n_jobs=-1, max_features=0.5)
    return fitted.fit(drawn, target(drawn))


def many_small(trees: int, leaves: int, width: int) -> ExtraTreesRegressor:
    """Randomised trees of few leaves; all their thresholds differ."""
    drawn = rows(5_000, width)
    fitted = ExtraTreesRegressor(trees, max_leaf_nodes=leaves, random_state=0, n_jobs=-1)
    return fitted.fit(drawn, target(drawn))


def to_onnx(fitted: Fitted) -> ModelProto:
    """Write the trees of an ensemble; what boosting starts from is left out."""
    if isinstance(fitted, HistGradientBoostingClassifier):
        return _write(_binned_trees(fitted), fitted.n_features_in_)
    trees = [grown.tree_ for grown in np.ravel(fitted.estimators_)]
    boosted = isinstance(fitted, GradientBoostingRegressor | GradientBoostingClassifier)
    factor = fitted.learning_rate if boosted else 1 / len(trees)
    columns = (
        [getattr(tree, name).reshape(tree.node_count, -1)[:, 0] for tree in trees]
        for name in ("feature", "threshold", "children_left", "children_right", "value")
    )
    nodes = Nodes(*columns)
    scaled = nodes._replace(value=[factor * value for value in nodes.value])
    return _write(scaled, fitted.n_features_in_)


def _binned_trees(fitted: HistGradientBoostingClassifier) -> Nodes:
    """Return the trees of a binary classifier, whose sum is the log-odds up to a constant."""
    trees = [grown.nodes for (grown,) in fitted._predictors]  # noqa: SLF001 - no public access
    feature, threshold, left, right, value = (
        [tree[name] for tree in trees]
        for name in ("feature_idx", "num_threshold", "left", "right", "value")
    )
    is_leaf = [tree["is_leaf"] for tree in trees]
    left, right = (
        [np.where(end, -1, side.astype(np.int64)) for end, side in zip(is_leaf, sides, strict=True)]
        for sides in (left, right)
    )
    return Nodes(feature, threshold, left, right, value)


def _write(trees: Nodes, width: int) -> ModelProto:
    sizes = [len(feature) for feature in trees.feature]
    tree_ids = np.repeat(np.arange(len(sizes)), sizes)
    node_ids = np.concatenate([np.arange(size) for size in sizes])
    feature, threshold, left, right, value = (np.concatenate(column) for column in trees)
    is_leaf = left < 0
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["rows"],
        ["prediction"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=tree_ids.tolist(),
        nodes_nodeids=node_ids.tolist(),
        nodes_featureids=np.where(is_leaf, 0, feature).tolist(),
        nodes_values=rounded_down(np.where(is_leaf, 0, threshold)).tolist(),
        nodes_modes=np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_truenodeids=np.where(is_leaf, 0, left).tolist(),
        nodes_falsenodeids=np.where(is_leaf, 0, right).tolist(),
        nodes_missing_value_tracks_true=[0] * len(is_leaf),
        target_treeids=tree_ids[is_leaf].tolist(),
        target_nodeids=node_ids[is_leaf].tolist(),
        target_ids=[0] * int(is_leaf.sum()),
        target_weights=value[is_leaf].tolist(),
    )
    graph = helper.make_graph(
        [node],
        "ensemble",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, width])],
        [helper.make_tensor_value_info("prediction", TensorProto.FLOAT, [None, 1])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def rounded_down(thresholds: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Largest float32 that is not above: x ≤ t is the same for every float32 x."""
    near = thresholds.astype(np.float32)
    return np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near)
