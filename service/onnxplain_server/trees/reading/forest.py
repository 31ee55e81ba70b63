"""Forest: the trees of a model by themselves, and whether they are boosted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, NodeProto

from onnxplain_server.core.arrays import Vector
from onnxplain_server.trees.reading.ensemble import Ensemble, read_tree_sums
from onnxplain_server.trees.reading.onnx_nodes import (
    TREE_OPERATORS,
    aggregate_function,
    base_values,
    post_transform,
)
from onnxplain_server.trees.reading.refusal import Refusal

_MIN_TREES = 10
"""Fewest trees for a test of trend."""
_TREND = 5.0
"""Standard errors: chance alone exceeds them in one of a million forests."""
_OUTLIER = 10.0
"""Median distances from the median, beyond which the first tree holds the overall average."""


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Trees of a model.

    Attributes
    ----------
    ensemble : Ensemble
        Its outputs are sums of leaf values.
    is_boosted : bool
        Whether later trees correct earlier ones. Otherwise the trees are exchangeable, as in a
        random forest.
    """

    ensemble: Ensemble
    is_boosted: bool


def read_forest(model: ModelProto, width: int | None = None) -> Forest | Refusal:
    """Read the trees of a model; parameters and refusals are those of `read_tree_sums`."""
    ensemble = read_tree_sums(model, width)
    if isinstance(ensemble, Refusal):
        return ensemble
    boosted = any(_has_base_or_link(model)) or _has_trend(ensemble)
    return Forest(ensemble, boosted and not any(_averages(model)))


def _has_base_or_link(model: ModelProto) -> list[bool]:
    """Return, by tree operator, whether its sum starts from a base or ends in a link."""
    return [
        bool(base_values(node).any()) or post_transform(node) != "NONE"
        for node in _tree_nodes(model)
    ]


def _averages(model: ModelProto) -> list[bool]:
    return [aggregate_function(node) == "AVERAGE" for node in _tree_nodes(model)]


def _tree_nodes(model: ModelProto) -> list[NodeProto]:
    return [node for node in model.graph.node if node.op_type in TREE_OPERATORS]


def _has_trend(ensemble: Ensemble) -> bool:
    """Return whether leaf values have a trend along the order of the trees."""
    if len(ensemble.roots) < _MIN_TREES:
        return False
    middle, spread = _leaf_statistics(ensemble)
    ranks = spread.argsort(kind="stable").argsort(kind="stable")
    trend = np.corrcoef(ranks, np.arange(len(ranks)))[0, 1] * np.sqrt(len(ranks) - 1)
    apart = np.abs(middle - np.median(middle))
    is_first_apart = apart[0] > _OUTLIER * np.median(apart) and apart[0] > spread.max()
    return bool(np.ptp(spread) > 1e-6 * spread.max() and abs(trend) > _TREND) or bool(
        is_first_apart
    )


def _leaf_statistics(ensemble: Ensemble) -> tuple[Vector, Vector]:
    """Return mean and spread of each tree's leaf values over all targets: (n_trees,) each."""
    tree = np.searchsorted(ensemble.roots, ensemble.leaf, side="right") - 1
    counts = np.bincount(tree)
    means = np.stack([np.bincount(tree, column) / counts for column in ensemble.values.T], axis=1)
    squares = ((ensemble.values - means[tree]) ** 2).sum(axis=1)
    return means.sum(axis=1), np.sqrt(np.bincount(tree, squares) / counts)
