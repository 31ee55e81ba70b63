"""Forests of randomised trees, grown by scikit-learn until there are paths enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any, Protocol, TypeVar

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.methods.feature_vectors.encoding import Encoded
from onnxplain_server.methods.feature_vectors.options import Growth
from onnxplain_server.methods.feature_vectors.paths import Counts, Paths, of_children

_DEPTHS = (2, 3, 4, 5, 6, 8, 10, 14, 20)
"""Between which cross-validation chooses."""
_FOLDS = 3
_TRIED_TREES = 60
_TRIED_ROWS = 2_000
_BATCH = 16
"""Trees that one call grows."""

_T = TypeVar("_T")
_R = TypeVar("_R")


class Run(Protocol):
    """Runs a function on parts, side by side; results in the order of the parts."""

    def __call__(self, function: Callable[[_T], _R], parts: Iterable[_T]) -> list[_R]:
        """See `BlockPool.run`."""


@dataclass(frozen=True, slots=True, eq=False)
class LearningTask:
    """What a forest is to learn.

    Attributes
    ----------
    rows : Encoded
    target : (n_rows, n_targets), or (n_rows,) where it names classes
    weights : (n_rows,)
    is_classes : bool
    feature_count : int
    """

    rows: Encoded
    target: Array
    weights: Vector
    is_classes: bool
    feature_count: int

    def tree(self, depth: int, random: np.random.Generator) -> Any:
        """Grow a tree on rows drawn with replacement; a split looks at ⌈√d⌉ of the d columns."""
        count = len(self.weights)
        drawn = np.bincount(random.integers(0, count, count), minlength=count)
        kind = DecisionTreeClassifier if self.is_classes else DecisionTreeRegressor
        grown = kind(
            max_depth=depth,
            max_features=ceil(sqrt(self.rows.values.shape[1])),
            random_state=int(random.integers(2**31)),
        )
        return grown.fit(self.rows.values, self.target, drawn * self.weights)

    def take(self, rows: Indices) -> LearningTask:
        """Keep these rows."""
        return LearningTask(
            self.rows.take(rows),
            self.target[rows],
            self.weights[rows],
            self.is_classes,
            self.feature_count,
        )


@dataclass(frozen=True, slots=True, eq=False)
class GrownForest:
    """A forest.

    Attributes
    ----------
    paths : Paths
    visits : (n_paths,) or None
        How many of the rows asked for end each path.
    """

    paths: Paths
    visits: Counts | None


@dataclass(frozen=True, slots=True)
class Fit:
    """How deep trees are, and how well a forest of them tells the target of other rows.

    Attributes
    ----------
    depth : int
    fidelity : float
        R², the mean over targets, or the share of rows whose class is told.
    """

    depth: int
    fidelity: float


def fit(task: LearningTask, growth: Growth, run: Run) -> Fit:
    """Choose the depth that does best in cross-validation, the smaller of equals.

    Folds and trees are the same whatever the seed of a request, so that its forests compare.
    """
    random = np.random.default_rng(2)
    order = random.permutation(len(task.weights))[:_TRIED_ROWS]
    depths = (growth.depth,) if growth.depth else _DEPTHS
    n_folds = min(_FOLDS, len(order))
    fold = np.arange(len(order)) % n_folds
    halves = [(order[fold != k], order[fold == k]) for k in range(n_folds)]
    parts = [(depth, *half) for depth in depths for half in halves]
    scores = np.array(run(lambda part: _score(task, *part), parts)).reshape(-1, n_folds)
    means = scores.mean(axis=1)
    best = int(means.argmax())
    return Fit(depths[best], float(means[best]))


def _score(task: LearningTask, depth: int, train: Indices, test: Indices) -> float:
    """Grow on some rows, and ask about others."""
    learned, asked = task.take(train), task.take(test)
    random = np.random.default_rng([depth, int(train[0])])
    trees = [learned.tree(depth, random) for _ in range(_TRIED_TREES)]
    values = asked.rows.values
    if task.is_classes:
        shares = np.mean([tree.predict_proba(values) for tree in trees], axis=0)
        told = trees[0].classes_[shares.argmax(axis=1)]
        return float(np.average(told == asked.target, weights=asked.weights))
    means = np.mean([tree.predict(values) for tree in trees], axis=0)
    return _r2(asked.target, means.reshape(asked.target.shape), asked.weights)


def _r2(actual: Array, told: Array, weights: Vector) -> float:
    """R² over all targets together, each in its own unit: they are standardised."""
    center = np.average(actual, axis=0, weights=weights)
    spread = np.average((actual - center) ** 2, axis=0, weights=weights)
    missed = np.average((actual - told) ** 2, axis=0, weights=weights)
    varied = spread > 0
    return float(np.mean(1 - missed[varied] / spread[varied])) if varied.any() else 0.0


def grow(  # noqa: PLR0917 - each is something else
    task: LearningTask,
    depth: int,
    sentence_count: int,
    seed: int,
    run: Run,
    asked: Encoded | None = None,
) -> GrownForest:
    """Grow trees until there are paths enough.

    Parameters
    ----------
    asked : Encoded or None
        Rows of which the paths are wanted.
    """
    grown = [_batch(task, depth, (seed, 0), asked)]
    while (missing := sentence_count - sum(b.path_count for b in grown)) > 0:
        count = ceil(missing / grown[0].path_count)
        seeds = [(seed, len(grown) + i) for i in range(count)]
        grown += run(lambda key: _batch(task, depth, key, asked), seeds)
    return _cut(grown, sentence_count, task)


def grow_trees(  # noqa: PLR0917 - likewise
    task: LearningTask,
    depth: int,
    tree_count: int,
    seed: int,
    run: Run,
    asked: Encoded | None = None,
) -> GrownForest:
    """Grow as many trees, a multiple of 16; `asked` as in `grow`."""
    seeds = [(seed, number) for number in range(tree_count // _BATCH)]
    grown = run(lambda key: _batch(task, depth, key, asked), seeds)
    return _cut(grown, sum(batch.path_count for batch in grown), task)


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Some trees, and the rows at each of their leaves."""

    trees: list[tuple[Array, Array, Array]]
    visits: list[Counts]

    @property
    def path_count(self) -> int:
        return sum(int((left < 0).sum()) for left, _, _ in self.trees)


def _batch(task: LearningTask, depth: int, key: tuple[int, int], asked: Encoded | None) -> _Batch:
    random = np.random.default_rng(key)
    trees = [task.tree(depth, random).tree_ for _ in range(_BATCH)]
    visits = [] if asked is None else [_visits(tree, asked) for tree in trees]
    return _Batch([(t.children_left, t.children_right, t.feature) for t in trees], visits)


def _visits(tree: Any, asked: Encoded) -> Counts:
    """Count the rows that end at each leaf."""
    reached = np.bincount(tree.apply(asked.values), minlength=tree.node_count)
    counts: Counts = reached[tree.children_left < 0].astype(np.int64)
    return counts


def _cut(grown: list[_Batch], sentence_count: int, task: LearningTask) -> GrownForest:
    """Put trees together, leaving those out that were grown beyond what was asked for."""
    trees = [tree for batch in grown for tree in batch.trees]
    visits = [counts for batch in grown for counts in batch.visits]
    lengths = np.cumsum([(left < 0).sum() for left, _, _ in trees])
    kept = int(np.searchsorted(lengths, sentence_count)) + 1
    paths = of_children(trees[:kept], task.rows.column_of, task.feature_count)
    return GrownForest(paths, np.concatenate(visits[:kept]) if visits else None)
