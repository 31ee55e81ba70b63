"""Category features: features that trees only look up, or test for equality or membership."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto

from onnxplain_server.trees.reading.nodes import Mode
from onnxplain_server.trees.reading.refusal import RefusedError
from onnxplain_server.trees.reading.tensor_columns import Lookup
from onnxplain_server.trees.reading.walk import TreeGraph, walk_to_trees


def read_categories(model: ModelProto, width: int | None = None) -> frozenset[int]:
    """Return the features that are only looked up, or tested for equality or membership.

    Parameters are those of `read_ensemble`. Empty where the trees cannot be read.
    """
    try:
        return tested_categories(walk_to_trees(model, width))
    except RefusedError:
        return frozenset()


def tested_categories(graph: TreeGraph) -> frozenset[int]:
    """Return the features that are only looked up, or tested for equality or membership."""
    others = set(graph.others)
    looked_up = {c.feature for c in graph.linear.columns if isinstance(c, Lookup)}
    for bound in graph.trees:
        nodes = bound.operator.nodes
        is_order = nodes.modes < Mode.EQ
        is_category = ~is_order & (nodes.modes != Mode.LEAF)
        for used, chosen in ((looked_up, is_category), (others, is_order)):
            for number in np.flatnonzero(np.bincount(nodes.columns[chosen])):
                column = bound.columns[number]
                (looked_up if isinstance(column, Lookup) else used).add(column.feature)
    return frozenset(looked_up - others)
