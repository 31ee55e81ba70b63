"""Splits of LightGBM as comparisons of one column each: where zeros and missing values go.

A numeric value goes left where it is at most the threshold, in float64; the library takes values up
to ±1e-35 for zeros before it compares them. A missing value counts as zero, or goes a default way.
Where a feature's missing type is Zero, zeros go that way too, which may be apart from the values
around them: such a split becomes two, the second for zeros, with a copy of the child that both
lead to. Below, the feature is known to be zero or not, so no path has a feature's zeros twice.

The code of a category goes left where the node's set has it, without its fraction; missing and
negative codes go right. So do numbers between -1 and 0 here, which LightGBM takes for 0.

Source: `NumericalDecision` and `CategoricalDecision` in include/LightGBM/tree.h, and
`RowFunctionFromDenseMatrix` in src/c_api.cpp, of LightGBM 4.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from onnxplain_server.adapters.native.faults import unsupported
from onnxplain_server.adapters.native.lightgbm.parts import (
    CATEGORICAL,
    DEFAULT_LEFT,
    MISSING_NONE,
    MISSING_ZERO,
    LightGBMTree,
)
from onnxplain_server.core.arrays import Array, Flags, Indices, Vector
from onnxplain_server.trees.reading.nodes import Mode

_ZERO = float(np.float32(1e-35))
"""Greatest absolute value that counts as zero."""
_GROWTH = 16
"""Most nodes of a tree with copies, for each node without."""
_LEAST = 1_000
"""Number of nodes that any tree may have with copies."""


class Splits(NamedTuple):
    """Comparisons of a tree and its leaves.

    Attributes
    ----------
    origin : (n_splits,)
        Inner node that each comparison comes from.
    modes, thresholds, missing_is_true : (n_splits,)
    is_zero_test : (n_splits,) bool
        Comparisons that are true for zeros of the feature, whatever their mode says.
    true, false : (n_splits,)
        Child: a comparison, or the complement of a leaf.
    leaves : (n_leaves,)
        Leaf that each one comes from.
    """

    origin: Indices
    modes: Array
    thresholds: Vector
    missing_is_true: Flags
    is_zero_test: Flags
    true: Indices
    false: Indices
    leaves: Indices


class _Kinds(NamedTuple):
    """Inner nodes by their decision types, each (n_inner,)."""

    is_code: Flags
    is_zero: Flags
    default_left: Flags
    is_apart: Flags


def split(tree: LightGBMTree, number: int) -> Splits:
    """Return the comparisons of a tree, whose children and features are checked.

    Raises
    ------
    ExplainError
        UNSUPPORTED_MODEL where zeros need too many copies.
    """
    kinds = _kinds(tree)
    plain = _plain(tree, kinds)
    if not kinds.is_apart.any():
        return plain
    return _Expansion(tree, number, kinds, plain).splits()


def _kinds(tree: LightGBMTree) -> _Kinds:
    is_code = (tree.decisions & CATEGORICAL) != 0
    is_zero = (tree.decisions >> 2 == MISSING_ZERO) & ~is_code
    default_left = (tree.decisions & DEFAULT_LEFT) != 0
    beyond = np.where(default_left, tree.thresholds < -_ZERO, tree.thresholds > _ZERO)
    return _Kinds(is_code, is_zero, default_left, is_zero & beyond)


def _plain(tree: LightGBMTree, kinds: _Kinds) -> Splits:
    """Return one comparison for each node; zeros that are apart are left to it as numbers."""
    thresholds, count = tree.thresholds, len(tree.features)
    zero_is_left = np.where(kinds.is_zero, kinds.default_left, thresholds >= 0)
    among_zeros = np.abs(thresholds) <= _ZERO
    modes = np.full(count, Mode.LEQ)
    modes[among_zeros & ~zero_is_left] = Mode.LT
    modes[kinds.is_code] = Mode.MEMBER
    borders = np.where(among_zeros, np.where(zero_is_left, _ZERO, -_ZERO), thresholds)
    is_none = tree.decisions >> 2 == MISSING_NONE
    missing_is_left = np.where(is_none, thresholds >= 0, kinds.default_left)
    return Splits(
        np.arange(count),
        modes,
        np.where(kinds.is_code, 0.0, borders),
        missing_is_left & ~kinds.is_code,
        np.zeros(count, dtype=bool),
        tree.left,
        tree.right,
        np.arange(len(tree.values)),
    )


class _Todo(NamedTuple):
    """Node to expand: where it hangs, and features that are known to be zero, or not."""

    node: int
    parent: int
    is_true: bool
    known: dict[int, bool]


class _Expansion:
    """Comparisons of a tree whose zeros are apart from other values."""

    def __init__(self, tree: LightGBMTree, number: int, kinds: _Kinds, plain: Splits) -> None:
        self._tree, self._number = tree, number
        self._kinds, self._plain = kinds, plain
        self._rows: list[tuple[int, int, float, bool, bool]] = []
        self._children: list[list[int]] = []
        self._leaves: list[int] = []

    def splits(self) -> Splits:
        limit = max(_LEAST, _GROWTH * len(self._tree.features))
        stack = [_Todo(0, -1, False, {})]
        while stack:
            stack.extend(self._expand(stack.pop()))
            if len(self._rows) > limit:
                raise unsupported(
                    f"The model's tree {self._number:,} gives zeros a way of their own "
                    f"(zero_as_missing) in so many places that it needs more than {limit:,} nodes."
                )
        origin, modes, thresholds, missing, zero_test = zip(*self._rows, strict=True)
        ends = np.array(self._children)
        return Splits(
            np.array(origin),
            np.array(modes),
            np.array(thresholds),
            np.array(missing),
            np.array(zero_test),
            ends[:, 1],
            ends[:, 0],
            np.array(self._leaves),
        )

    def _expand(self, todo: _Todo) -> Iterator[_Todo]:
        """Add a node, and yield its children."""
        node = self._skip(todo.node, todo.known)
        if node < 0:
            self._leaves.append(~node)
            self._hang(~(len(self._leaves) - 1), todo.parent, is_true=todo.is_true)
            return
        feature = int(self._tree.features[node])
        left, right = int(self._tree.left[node]), int(self._tree.right[node])
        if not self._kinds.is_apart[node] or feature in todo.known:
            place = self._add(node, todo, int(self._plain.modes[node]))
            yield _Todo(right, place, False, todo.known)
            yield _Todo(left, place, True, todo.known)
            return
        other, zero = todo.known | {feature: False}, todo.known | {feature: True}
        # The child of zeros is that of missing values, and the first comparison's true one.
        is_left = bool(self._kinds.default_left[node])
        near, far = (left, right) if is_left else (right, left)
        first = self._add(node, todo, Mode.LEQ if is_left else Mode.GT, missing_is_true=True)
        test = _Todo(node, first, False, todo.known)
        second = self._add(node, test, Mode.EQ, is_zero_test=True)
        yield _Todo(far, second, False, other)
        yield _Todo(near, second, True, zero)
        yield _Todo(near, first, True, other)

    def _skip(self, node: int, known: dict[int, bool]) -> int:
        """Follow the default way of nodes whose feature is known to be zero."""
        tree, kinds = self._tree, self._kinds
        while node >= 0 and kinds.is_zero[node] and known.get(int(tree.features[node])):
            node = int((tree.left if kinds.default_left[node] else tree.right)[node])
        return node

    def _add(
        self,
        node: int,
        todo: _Todo,
        mode: int,
        *,
        missing_is_true: bool | None = None,
        is_zero_test: bool = False,
    ) -> int:
        """Add a comparison; return its position."""
        missing = self._plain.missing_is_true[node] if missing_is_true is None else missing_is_true
        threshold = 0.0 if is_zero_test else float(self._plain.thresholds[node])
        place = len(self._rows)
        self._rows.append((node, mode, threshold, bool(missing) and not is_zero_test, is_zero_test))
        self._children.append([0, 0])
        self._hang(place, todo.parent, is_true=todo.is_true)
        return place

    def _hang(self, place: int, parent: int, *, is_true: bool) -> None:
        if parent >= 0:
            self._children[parent][is_true] = place
