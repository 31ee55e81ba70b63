"""JSON form of a LightGBM model: `Booster.dump_model`, in which nodes hold their children."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from onnxplain_server.adapters.native.faults import unsupported
from onnxplain_server.adapters.native.fields import Fields
from onnxplain_server.adapters.native.lightgbm.parts import (
    CATEGORICAL,
    DEFAULT_LEFT,
    LINEAR,
    MISSING_NAN,
    MISSING_NONE,
    MISSING_ZERO,
    Header,
    LightGBMTree,
    Range,
)
from onnxplain_server.core.arrays import Vector

_MISSING = {"None": MISSING_NONE, "Zero": MISSING_ZERO, "NaN": MISSING_NAN}
_CODES = 2**31


def read_header(document: Fields) -> Header:
    """Read what stands beside the trees.

    Raises
    ------
    ExplainError
        INVALID_MODEL
    """
    names = document.texts("feature_names")
    count = document.integer("max_feature_idx") + 1
    if len(names) != count:
        raise document.fault("feature_names", f"has {len(names):,} names for {count:,} features")
    infos = document.child("feature_infos") if "feature_infos" in document else Fields({})
    present = {i: infos.child(name) for i, name in enumerate(names) if name in infos}
    codes = {i: info.integers("values") for i, info in present.items() if info.items("values")}
    return Header(
        version=document.text("version"),
        tree_per_iteration=document.integer("num_tree_per_iteration", low=1),
        objective=document.text("objective", ""),
        is_average=document.truth("average_output") if "average_output" in document else None,
        names=names,
        ranges={i: _range(info) for i, info in present.items() if i not in codes},
        code_counts={i: int(values.max()) + 1 for i, values in codes.items()},
        pandas_categories=document.items("pandas_categorical")
        if document.has_value("pandas_categorical")
        else (),
    )


def _range(info: Fields) -> Range:
    return Range(info.number("min_value"), info.number("max_value"))


class _Node(NamedTuple):
    """Inner node."""

    feature: int
    decision: int
    threshold: float
    members: Vector | None


def read_tree(tree: Fields) -> LightGBMTree:
    """Read a tree; nodes are numbered from the root on, each before its children.

    Raises
    ------
    ExplainError
        UNSUPPORTED_MODEL for leaves with linear functions, else INVALID_MODEL.
    """
    nodes: list[_Node] = []
    children: list[list[int]] = []
    values: list[float] = []
    stack = [(tree.child("tree_structure"), -1, 0)]
    while stack:
        node, parent, side = stack.pop()
        if "left_child" in node:
            place = len(nodes)
            nodes.append(_inner(node))
            children.append([0, 0])
            path = f"{tree.path_of('node')} {place}"  # not one that grows with the depth
            for number, name in enumerate(("left_child", "right_child")):
                stack.append((node.child(name, f"{path} {name}"), place, number))
        else:
            place = ~len(values)
            values.append(_leaf(node))
        if parent >= 0:
            children[parent][side] = place
    ends = np.array(children, dtype=np.int64).reshape(-1, 2)
    return LightGBMTree(
        np.array([node.feature for node in nodes], dtype=np.int64),
        np.array([node.decision for node in nodes], dtype=np.int64),
        np.array([node.threshold for node in nodes], dtype=np.float64),
        ends[:, 0],
        ends[:, 1],
        dict(_members(nodes)),
        np.array(values),
    )


def _leaf(node: Fields) -> float:
    if "leaf_const" in node:
        raise unsupported(LINEAR)
    return node.number("leaf_value")


def _inner(node: Fields) -> _Node:
    feature, kind = node.integer("split_feature"), node.text("decision_type")
    if kind == "==":
        return _Node(feature, CATEGORICAL, 0.0, _codes(node))
    if kind != "<=":
        raise node.fault("decision_type", "is neither '<=' nor '=='")
    missing = node.text("missing_type")
    if missing not in _MISSING:
        raise node.fault("missing_type", "is none of None, Zero and NaN")
    decision = _MISSING[missing] << 2 | DEFAULT_LEFT * node.truth("default_left")
    return _Node(feature, decision, node.number("threshold"), None)


def _codes(node: Fields) -> Vector:
    """Read the codes that go left, like "0||2"."""
    words = node.text("threshold").split("||")
    if not all(word.isascii() and word.isdigit() and len(word) < 11 for word in words):
        raise node.fault("threshold", "is no list of codes")
    codes = np.unique([int(word) for word in words])
    if codes[-1] >= _CODES:
        raise node.fault("threshold", "has a code that is not below 2³¹")
    return codes.astype(np.float64)


def _members(nodes: list[_Node]) -> Iterator[tuple[int, Vector]]:
    for place, node in enumerate(nodes):
        if node.members is not None:
            yield place, node.members
