"""Scores before a link, as onnxruntime computes them: where they are affine in sums of leaves.

ONNX leaves open what a target or class without a leaf on a row's path gets. onnxruntime

- adds no base value to such a target of a regressor, and answers 0;
- answers 1 - s and s, or -s and s, where a row reaches no leaf of the second of two classes;
- takes one of two base values for both classes, and no score of the second class;
- ignores every link but PROBIT behind a single column;
- gives a class whose score is 0 no share of a SOFTMAX_ZERO.

So a score is affine only where each row reaches a leaf of the target, or where it does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Flags, Indices, Matrix, Vector, sorted_distinct
from onnxplain_server.trees.reading.nodes import Mode, Nodes
from onnxplain_server.trees.reading.refusal import RefusedError

_NEAR_ZERO = 1e-6
"""Above the 1e-7 within which the runtime takes a score for 0, by more than rounding."""
_MAX_SUMS = 65_536
"""Most sums that are told apart; of more, only the ends are known."""
_VARIES = "the runtime treats its two classes differently from row to row"


class Scoring(NamedTuple):
    """Affine map from sums of leaves to scores, and the link behind them.

    Attributes
    ----------
    matrix : (n_columns, n_targets)
    offset : (n_columns,)
    link : str
        NONE, LOGISTIC or SOFTMAX.
    """

    matrix: Matrix
    offset: Vector
    link: str


@dataclass(frozen=True)
class LeafWeights:
    """Weights of the leaves of an operator, by target.

    Attributes
    ----------
    nodes : Nodes
    positions : (n_weights,)
        Node that has each weight.
    count : int
        Number of targets, or classes.
    """

    nodes: Nodes
    positions: Indices
    count: int

    @cached_property
    def values(self) -> Matrix:
        """Values of the nodes: (n_nodes, count); 0 where a leaf has no weight for a target.

        Of a single target, the runtime takes the first weight of a leaf, or the threshold of a
        leaf without one.
        """
        if self.count == 1:
            is_leaf = self.nodes.modes == Mode.LEAF
            values = np.where(is_leaf, self.nodes.thresholds, 0.0)
            values[self.positions[::-1]] = self.nodes.weights[::-1]  # the first is written last
            return values[:, np.newaxis]
        cells = self.positions * self.count + self.nodes.targets
        size = len(self.nodes.node_ids) * self.count
        values = np.bincount(cells, self.nodes.weights, size).astype(np.float64, copy=False)
        return values.reshape(-1, self.count)

    @cached_property
    def _leaf_counts(self) -> Indices:
        """Number of leaves by tree: (n_trees,)."""
        return np.bincount(self._tree[self.nodes.modes == Mode.LEAF])

    @cached_property
    def _tree(self) -> Indices:
        return np.unique(self.nodes.tree_ids, return_inverse=True)[1]

    @cached_property
    def _cells(self) -> Indices:
        """Distinct leaves and targets that have a weight, as leaf * count + target."""
        is_leaf = self.nodes.modes[self.positions] == Mode.LEAF
        return sorted_distinct((self.positions * self.count + self.nodes.targets)[is_leaf])

    @cached_property
    def reached(self) -> Flags:
        """Targets of which each row reaches a leaf, because some tree has no other: (count,)."""
        tree, target = self._tree[self._cells // self.count], self._cells % self.count
        size = len(self._leaf_counts) * self.count
        counts = np.bincount(tree * self.count + target, minlength=size).reshape(-1, self.count)
        reached: Flags = (counts == self._leaf_counts[:, np.newaxis]).any(axis=0)
        return reached

    @cached_property
    def known(self) -> Flags:
        """Targets of which any leaf has a weight: (count,)."""
        return np.bincount(self._cells % self.count, minlength=self.count) > 0

    @property
    def always_any(self) -> bool:
        """True if each row reaches a leaf with a weight."""
        leaves = sorted_distinct(self._cells // self.count)
        counts = np.bincount(self._tree[leaves], minlength=len(self._leaf_counts))
        return bool((counts == self._leaf_counts).any())

    @property
    def have_one_weight_each(self) -> bool:
        """True if each leaf has one weight, for any target."""
        leaf_count = int(self._leaf_counts.sum())
        return len(self.positions) == leaf_count == len(sorted_distinct(self.positions))

    def possible_sums(self) -> list[tuple[Vector, Vector]]:
        """Return the ends of intervals that hold every sum, by target; some hold no sum."""
        is_leaf = self.nodes.modes == Mode.LEAF
        order = np.argsort(self._tree[is_leaf], kind="stable")
        values = self.values[is_leaf][order]
        by_tree = np.split(values, np.cumsum(self._leaf_counts)[:-1])
        return [_sums([leaves[:, k] for leaves in by_tree]) for k in range(self.count)]


def _sums(values: Sequence[Vector]) -> tuple[Vector, Vector]:
    """Return the ends of intervals that hold every sum of one value of each array."""
    low = high = np.zeros(1)
    for own in values:
        distinct = np.unique(own)
        if len(low) * len(distinct) > _MAX_SUMS:
            low, high = low.min(keepdims=True), high.max(keepdims=True)
            low, high = low + distinct[0], high + distinct[-1]
        else:
            low, high = (np.add.outer(ends, distinct).ravel() for ends in (low, high))
    return low, high


def regressor_scoring(leaves: LeafWeights, share: float, base: Vector, link: str) -> Scoring:
    """Return the scores of a TreeEnsembleRegressor or TreeEnsemble.

    Parameters
    ----------
    share : float
        Factor of the sums.
    base : (0,) or (count,)
    link : str

    Raises
    ------
    RefusedError
        Where a score is not affine.
    """
    count = leaves.count
    if len(base) not in {0, count}:
        raise RefusedError(f"it has {len(base)} base_values for {count} columns")
    offset = base if len(base) else np.zeros(count)
    if count > 1 and offset.any():
        if np.any(leaves.known & ~leaves.reached & (offset != 0)):
            raise RefusedError(
                "the runtime adds a base value to a target only in rows that reach a leaf of it"
            )
        offset = np.where(leaves.known, offset, 0.0)
    return _linked(leaves, share, Scoring(np.eye(count), offset, link))


def classifier_scoring(leaves: LeafWeights, base: Vector, link: str) -> Scoring:
    """Return the scores of a TreeEnsembleClassifier; parameters and errors as of a regressor."""
    count = leaves.count
    if count == 2:
        return _linked(leaves, 1.0, _two_classes(leaves, base, link))
    if len(base) not in {0, count}:
        raise RefusedError(f"it has {len(base)} base_values for {count} classes")
    if count > 2 and not len(base) and not leaves.always_any:
        raise RefusedError("the runtime fails in rows that reach no leaf with a weight")
    offset = base if len(base) else np.zeros(count)
    return _linked(leaves, 1.0, Scoring(np.eye(count), offset, link))


def _two_classes(leaves: LeafWeights, base: Vector, link: str) -> Scoring:
    if len(base) == 2:
        return _two_base_values(leaves, base, link)
    if not leaves.known[1]:
        return _first_class_only(leaves, base, link)
    if not leaves.reached[1]:
        # Rows without the second class get s and -s, or 1 - s, of the first, or probabilities.
        is_zero = not leaves.known[0] and not np.all(leaves.nodes.weights >= 0)
        if leaves.known[0] or not (link == "LOGISTIC" or (link == "NONE" and is_zero)):
            raise RefusedError(_VARIES)
    first = float(base.sum()) if leaves.known[0] else 0.0
    if first and not leaves.reached[0]:
        raise RefusedError(_VARIES)
    return Scoring(np.eye(2), np.array([first, 0.0]), link)


def _first_class_only(leaves: LeafWeights, base: Vector, link: str) -> Scoring:
    """Return the scores where the weights of the first class are those of the second."""
    score = float(base.sum())
    if score and not leaves.reached[0]:
        raise RefusedError(_VARIES)
    link = "NONE" if link.startswith("SOFTMAX") else link  # a single score has no softmax
    rest = 1.0 if np.all(leaves.nodes.weights >= 0) and link == "NONE" else 0.0
    return Scoring(np.array([[-1.0, 0], [1, 0]]), np.array([rest - score, score]), link)


def _two_base_values(leaves: LeafWeights, base: Vector, link: str) -> Scoring:
    """Return the scores of two classes with a base value each."""
    if not leaves.reached.all():
        raise RefusedError(_VARIES)
    return Scoring(np.array([[-1.0, 0], [1, 0]]), np.array([-base[1], base[1]]), link)


def _linked(leaves: LeafWeights, share: float, scoring: Scoring) -> Scoring:
    """Resolve SOFTMAX_ZERO, and refuse links that are none here."""
    if scoring.link == "SOFTMAX_ZERO":
        _refuse_zeros(leaves, share, scoring)
        return scoring._replace(link="SOFTMAX")
    if scoring.link not in {"NONE", "LOGISTIC", "SOFTMAX"}:
        raise RefusedError(f"the sum over its trees goes through {scoring.link}")
    return scoring


def _refuse_zeros(leaves: LeafWeights, share: float, scoring: Scoring) -> None:
    """Refuse scores that may be 0, which get no share of a SOFTMAX_ZERO."""
    sums = leaves.possible_sums()
    for row, offset in zip(scoring.matrix, scoring.offset, strict=True):
        target = int(np.abs(row).argmax())
        low, high = sums[target]
        ends = np.sort(row[target] * share * np.stack([low, high]), axis=0) + offset
        margin = _NEAR_ZERO * (1 + np.abs(ends).max())
        if np.any((ends[0] <= margin) & (ends[1] >= -margin)):
            raise RefusedError(
                "the sum over its trees goes through SOFTMAX_ZERO, where a score of 0 gets no share"
            )
