"""Cases (g): tree ensembles that are inconsistent, attribute by attribute, or too deep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from hostile.base import BROKEN, COMPLEX, ML, Hostile, hostile, model, node
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper
from onnxplain_server.core.errors import Reason

# A root, a second split below it, and three leaves.
_NODES: Mapping[str, Any] = {
    "nodes_treeids": [0, 0, 0, 0, 0],
    "nodes_nodeids": [0, 1, 2, 3, 4],
    "nodes_featureids": [0, 1, 0, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"],
    "nodes_values": [0.5, 0.5, 0.0, 0.0, 0.0],
    "nodes_truenodeids": [1, 3, 0, 0, 0],
    "nodes_falsenodeids": [2, 4, 0, 0, 0],
    "nodes_hitrates": [1.0] * 5,
    "nodes_missing_value_tracks_true": [0] * 5,
}
REGRESSOR = {
    **_NODES,
    "target_treeids": [0, 0, 0],
    "target_nodeids": [2, 3, 4],
    "target_ids": [0, 0, 0],
    "target_weights": [1.0, 2.0, 4.0],
    "n_targets": 1,
}
CLASSIFIER = {
    **_NODES,
    "class_treeids": [0, 0, 0],
    "class_nodeids": [2, 3, 4],
    "class_ids": [0, 1, 2],
    "class_weights": [1.0, 1.0, 1.0],
    "classlabels_int64s": [0, 1, 2],
    "post_transform": "SOFTMAX",
}
FIFTH: Mapping[str, Any] = {
    "tree_roots": [0],
    "nodes_featureids": [0, 1],
    "nodes_modes": np.array([0, 0], np.uint8),
    "nodes_splits": np.array([0.5, 0.5], np.float32),
    "nodes_truenodeids": [1, 0],
    "nodes_trueleafs": [0, 1],
    "nodes_falsenodeids": [2, 1],
    "nodes_falseleafs": [1, 1],
    "leaf_targetids": [0, 0, 0],
    "leaf_weights": np.array([1.0, 2.0, 4.0], np.float32),
    "n_targets": 1,
}
_OPERATORS = {
    "TreeEnsembleRegressor": REGRESSOR,
    "TreeEnsembleClassifier": CLASSIFIER,
    "TreeEnsemble": FIFTH,
}
_UNREAD: Mapping[str, Any] = {
    "nodes_modes": ["BRANCH_EQ", "BRANCH_EQ", "LEAF", "LEAF", "LEAF"],
    "nodes_featureids": [0, 0, 0, 0, 0],
    "nodes_values": [3.0, 2.0, 0.0, 0.0, 0.0],
    "nodes_truenodeids": [2, 3, 0, 0, 0],
    "nodes_falsenodeids": [1, 4, 0, 0, 0],
    "target_treeids": [0],
    "target_nodeids": [2],
    "target_ids": [0],
    "target_weights": [1.0],
}
"""Two equalities on a feature, of which the second has leaves behind the only weight."""

_EMPTY = {
    **dict.fromkeys(("nodes_values", "nodes_hitrates"), AttributeProto.FLOATS),
    **dict.fromkeys(("target_weights", "class_weights", "base_values"), AttributeProto.FLOATS),
    "nodes_modes": AttributeProto.STRINGS,
}
"""Types of lists that are written empty, where they are not whole numbers."""

_UNSUPPORTED = frozenset({Reason.UNSUPPORTED_MODEL})
_MAY_BE_EMPTY = {"nodes_hitrates", "nodes_missing_value_tracks_true"}


def forest(operator: str, attributes: Mapping[str, Any]) -> ModelProto:
    """Make a model of one tree ensemble; arrays become tensors."""
    outputs = {"y": TensorProto.FLOAT}
    names = "y"
    if operator == "TreeEnsembleClassifier":
        names, outputs = "label y", {"label": TensorProto.INT64, **outputs}
    ensemble = node(operator, "X", names, domain=ML)
    ensemble.attribute.extend(_attribute(name, value) for name, value in attributes.items())
    return model([ensemble], outputs=outputs, ml=5 if operator == "TreeEnsemble" else 3)


def _attribute(name: str, value) -> AttributeProto:
    if isinstance(value, np.ndarray):
        return helper.make_attribute(name, numpy_helper.from_array(value, name))
    kind = AttributeProto.INTS if isinstance(value, list) and not value else None
    return helper.make_attribute(name, value, attr_type=_EMPTY.get(name, kind) if kind else None)


def chain(depth: int) -> ModelProto:
    """Make a tree that is a chain: every split has a leaf and the next split."""
    splits, leaves = range(depth), range(depth, 2 * depth + 1)
    n = 2 * depth + 1
    below = [*range(1, depth), 2 * depth]
    return forest(
        "TreeEnsembleRegressor",
        {
            "nodes_treeids": [0] * n,
            "nodes_nodeids": list(range(n)),
            "nodes_featureids": [0] * n,
            "nodes_modes": ["BRANCH_LEQ"] * depth + ["LEAF"] * (depth + 1),
            "nodes_values": [float(i) for i in range(n)],
            "nodes_truenodeids": [leaf for _, leaf in zip(splits, leaves, strict=False)]
            + [0] * (depth + 1),
            "nodes_falsenodeids": below + [0] * (depth + 1),
            "target_treeids": [0] * (depth + 1),
            "target_nodeids": list(leaves),
            "target_ids": [0] * (depth + 1),
            "target_weights": [float(i) for i in leaves],
            "n_targets": 1,
        },
    )


def hostiles() -> Iterator[Hostile]:
    for operator, attributes in _OPERATORS.items():
        for name, values in attributes.items():
            for how, changed in _changes(name, values):
                spoiled = forest(operator, {**attributes, name: changed})
                yield hostile(f"g-{operator}-{name}-{how}", spoiled, _reasons(how))
    yield from _special()
    unread = forest("TreeEnsembleRegressor", {**REGRESSOR, **_UNREAD})
    yield hostile("g-equalities-behind-all-weights", unread, _UNSUPPORTED)
    for depth in (1_025, 5_000, 20_000):
        yield hostile(f"g-chain-{depth}", chain(depth), COMPLEX)


def _reasons(how: str) -> frozenset[Reason]:
    return BROKEN | COMPLEX | {Reason.UNSUPPORTED_MODEL} if how == "huge" else BROKEN


def _changes(name: str, values) -> Iterator[tuple[str, Any]]:
    """Ways in which a list contradicts the others."""
    if not isinstance(values, list | np.ndarray):
        if isinstance(values, int):
            yield "huge", 2**40
        return
    if name == "classlabels_int64s":
        yield "short", values[:2]
        return
    if name == "tree_roots":
        yield from (("empty", []), ("negative", [-1]), ("outside", [2]), ("huge", [2**40]))
        return
    yield "short", values[:-1]
    yield (
        "long",
        np.append(values, values[-1:]) if isinstance(values, np.ndarray) else [*values, values[-1]],
    )
    if name not in _MAY_BE_EMPTY:
        yield "empty", values[:0]
    if isinstance(values, list) and isinstance(values[0], int) and name not in _MAY_BE_EMPTY:
        yield "negative", [-1, *values[1:]]
        if name != "nodes_nodeids":  # nothing refers to the root, so it may have any number
            yield "outside", [7, *values[1:]]
        yield "huge", [2**40, *values[1:]]


def _special() -> Iterator[Hostile]:
    special: dict[str, dict[str, dict[str, Any]]] = {
        "TreeEnsembleRegressor": {
            "self-cycle": {"nodes_truenodeids": [0, 3, 0, 0, 0]},
            "two-cycle": {"nodes_truenodeids": [1, 0, 0, 0, 0]},
            "unknown-mode": {"nodes_modes": ["BRANCH_XOR", *_NODES["nodes_modes"][1:]]},
            "no-text-mode": {"nodes_modes": [b"\xff\xfe", *_NODES["nodes_modes"][1:]]},
            "duplicate-node": {"nodes_nodeids": [0, 1, 2, 3, 3]},
            "nan-threshold": {"nodes_values": [float("nan"), 0.5, 0.0, 0.0, 0.0]},
            "weight-of-a-split": {"target_nodeids": [1, 3, 4]},
            "target-outside": {"target_ids": [0, 0, 1]},
            "no-targets": {"n_targets": 0},
            "negative-targets": {"n_targets": -1},
            "no-such-tree": {"target_treeids": [0, 0, 9]},
            "two-base-values-for-one-target": {"base_values": [1.0, 2.0]},
        },
        "TreeEnsembleClassifier": {
            "self-cycle": {"nodes_falsenodeids": [0, 4, 0, 0, 0]},
            "no-labels": {"classlabels_int64s": []},
            "nan-threshold": {"nodes_values": [float("nan"), 0.5, 0.0, 0.0, 0.0]},
            "duplicate-node": {"nodes_nodeids": [0, 1, 2, 2, 4]},
        },
        "TreeEnsemble": {
            "self-cycle": {"nodes_truenodeids": [0, 0]},
            "two-cycle": {"nodes_falsenodeids": [2, 0], "nodes_falseleafs": [1, 0]},
            "unknown-mode": {"nodes_modes": np.array([9, 0], np.uint8)},
            "members-without-values": {"nodes_modes": np.array([6, 0], np.uint8)},
            "values-without-members": {"membership_values": np.array([1, np.nan], np.float32)},
            "nan-split": {"nodes_splits": np.array([np.nan, 0.5], np.float32)},
            "leaf-outside": {"nodes_truenodeids": [1, 3]},
        },
    }
    for operator, changes in special.items():
        for name, change in changes.items():
            spoiled = forest(operator, {**_OPERATORS[operator], **change})
            yield hostile(f"g-{operator}-{name}", spoiled, BROKEN)
