"""Attributes of the tree operators of ai.onnx.ml for a forest."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxplain_server.adapters.native.forest import Forest, Nodes
from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.trees.reading.nodes import Mode

_MODES = np.array([f"BRANCH_{mode.name}" for mode in list(Mode)[: Mode.LEAF]] + ["LEAF"])


def named_trees(forest: Forest, leaves: str) -> dict[str, Any]:
    """Return the attributes of a TreeEnsembleRegressor or -Classifier (ai.onnx.ml 3).

    Parameters
    ----------
    leaves : str
        Prefix of the attributes with values of leaves: "target" or "class".
    """
    nodes = forest.nodes
    tree, number = _numbers(nodes)
    values = forest.leaves
    owner, targets, weights = values.nodes, values.targets, values.values
    return {
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": number.tolist(),
        "nodes_featureids": np.where(nodes.modes == Mode.LEAF, 0, nodes.features).tolist(),
        "nodes_modes": _MODES[nodes.modes].tolist(),
        "nodes_values": np.where(nodes.modes == Mode.LEAF, 0.0, nodes.thresholds).tolist(),
        "nodes_truenodeids": _local(nodes.true, number),
        "nodes_falsenodeids": _local(nodes.false, number),
        "nodes_missing_value_tracks_true": nodes.missing_is_true.astype(np.int64).tolist(),
        f"{leaves}_treeids": tree[owner].tolist(),
        f"{leaves}_nodeids": number[owner].tolist(),
        f"{leaves}_ids": targets.tolist(),
        f"{leaves}_weights": weights.tolist(),
        **({"base_values": forest.base.tolist()} if forest.base.any() else {}),
    }


def _numbers(nodes: Nodes) -> tuple[Indices, Indices]:
    """Return the tree of each node and its number within the tree."""
    sizes = np.diff(np.append(nodes.roots, len(nodes.modes)))
    tree = np.repeat(np.arange(len(sizes)), sizes)
    return tree, np.arange(len(nodes.modes)) - nodes.roots[tree]


def _local(children: Indices, number: Indices) -> list[int]:
    """Return children as numbers within their tree; 0 at leaves."""
    local: Array = np.where(children < 0, 0, number[children])
    return list(local.tolist())
