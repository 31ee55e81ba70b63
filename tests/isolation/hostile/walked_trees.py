"""Predictions of a forest by walking its trees in Python, node by node: slow and obvious."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple

import numpy as np
from onnxplain_server.adapters.native.forest import Derivation, Link, NativeForest
from onnxplain_server.trees.reading.nodes import Mode

_HOLDS = {
    Mode.LEQ: lambda value, threshold: value <= threshold,
    Mode.LT: lambda value, threshold: value < threshold,
    Mode.GTE: lambda value, threshold: value >= threshold,
    Mode.GT: lambda value, threshold: value > threshold,
    Mode.EQ: lambda value, threshold: value == threshold,
    Mode.NEQ: lambda value, threshold: value != threshold,
}


def predict(forest: NativeForest, rows: np.ndarray) -> np.ndarray:
    """Predict rows of numbers and codes: (n_rows, n_features) to (n_rows, n_outputs)."""
    with np.errstate(over="ignore"):
        return np.array([_LINKS[forest.link](_scores(forest, row)) for row in rows])


def _scores(forest: NativeForest, row: np.ndarray) -> np.ndarray:
    scores = forest.base.astype(np.float64).copy()
    leaves = forest.leaves
    for root in forest.nodes.roots:
        own = leaves.nodes == _leaf(forest, int(root), row)
        np.add.at(scores, leaves.targets[own], leaves.values[own])
    return scores


def _leaf(forest: NativeForest, node: int, row: np.ndarray) -> int:
    nodes = forest.nodes
    while (mode := nodes.modes[node]) != Mode.LEAF:
        value = _value(forest, row, int(nodes.features[node]))
        if np.isnan(value):
            is_true = bool(nodes.missing_is_true[node])
        elif mode == Mode.MEMBER:
            is_true = value in nodes.members[node]
        else:
            is_true = _HOLDS[Mode(mode)](value, nodes.thresholds[node])
        node = int((nodes.true if is_true else nodes.false)[node])
    return node


def _value(forest: NativeForest, row: np.ndarray, column: int) -> float:
    """Return the value of a feature, or of a derived column."""
    if column < len(row):
        return float(row[column])
    derivation, feature = astuple(forest.derived[column - len(row)])
    value = float(row[feature])
    if derivation is Derivation.FLOOR:
        return float(np.floor(value))
    return 0.0 if abs(value) <= np.float32(1e-35) else 1.0


def _two_classes(scores: np.ndarray) -> np.ndarray:
    second = _LINKS[Link.LOGISTIC](scores)
    return np.concatenate([1 - second, second])


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers: np.ndarray = np.exp(scores - scores.max())
    shares: np.ndarray = powers / powers.sum()
    return shares


_LINKS: dict[Link, Callable[[np.ndarray], np.ndarray]] = {
    Link.IDENTITY: lambda scores: scores,
    Link.EXPONENTIAL: np.exp,
    Link.LOGISTIC: lambda scores: 1 / (1 + np.exp(-scores)),
    Link.TWO_CLASSES: _two_classes,
    Link.SOFTMAX: _softmax,
    Link.ONE_VERSUS_REST: lambda scores: 1 / (1 + np.exp(-scores)),
    Link.SIGNED_SQUARE: lambda scores: scores * np.abs(scores),
    Link.SOFTPLUS: lambda scores: np.log1p(np.exp(scores)),
    Link.SIGN: lambda scores: (scores > 0).astype(np.float64),
    Link.SORTED: np.sort,
}
