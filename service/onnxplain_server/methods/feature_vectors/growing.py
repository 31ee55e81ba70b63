"""Surrogate forests: randomised trees grown by scikit-learn up to a number of paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any, Protocol, TypeVar

import numpy as np

from onnxplain_server.core.arrays import Array, Counts, Indices, Vector
from onnxplain_server.methods.feature_vectors.encoding import Encoded
from onnxplain_server.methods.feature_vectors.options import Growth
from onnxplain_server.methods.feature_vectors.paths import Paths, of_children

_DEPTHS = (2, 3, 4, 5, 6, 8, 10, 14, 20)
"""Candidate depths of cross-validation."""
_FOLDS = 3
_VALIDATION_TREES = 60
_VALIDATION_ROWS = 2_000
_BATCH = 16
"""Trees per task."""

_T = TypeVar("_T")
_R = TypeVar("_R")


class Run(Protocol):
    """Parallel map: applies a function to parts; results in the order of the parts."""

    def __call__(self, function: Callable[[_T], _R], parts: Iterable[_T]) -> list[_R]:
        """Apply a function to parts, in parallel; return results in the order of the parts."""


@dataclass(frozen=True, slots=True, eq=False)
class LearningTask:
    """Learning task of a forest: encoded rows, target and weights.

    Attributes
    ----------
    rows : Encoded
    target : (n_rows, n_targets), or (n_rows,) class labels
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
        """Grow a tree on a bootstrap sample, with ⌈√d⌉ of the d columns per split."""
        from sklearn import tree  # noqa: PLC0415 - only some workers have it

        count = len(self.weights)
        repeats = np.bincount(random.integers(0, count, count), minlength=count)
        kind = tree.DecisionTreeClassifier if self.is_classes else tree.DecisionTreeRegressor
        grown = kind(
            max_depth=depth,
            max_features=ceil(sqrt(self.rows.values.shape[1])),
            random_state=int(random.integers(2**31)),
        )
        return grown.fit(self.rows.values, self.target, repeats * self.weights)

    def take(self, rows: Indices) -> LearningTask:
        """Select rows."""
        return LearningTask(
            self.rows.take(rows),
            self.target[rows],
            self.weights[rows],
            self.is_classes,
            self.feature_count,
        )


@dataclass(frozen=True, slots=True, eq=False)
class GrownForest:
    """Paths of a grown forest.

    Attributes
    ----------
    paths : Paths
    visits : (n_paths,) or None
        Number of selected rows at the end of each path; None without a selection.
    """

    paths: Paths
    visits: Counts | None


@dataclass(frozen=True, slots=True)
class Fit:
    """Depth of trees, and fidelity of a forest of them on held-out rows.

    Attributes
    ----------
    depth : int
    fidelity : float
        R², averaged over targets, or accuracy for classes.
    """

    depth: int
    fidelity: float


def fit(task: LearningTask, growth: Growth, run: Run) -> Fit:
    """Choose the depth by cross-validation, the smallest among equals.

    Folds and trees do not depend on the request's seed, so that its forests are comparable.
    """
    random = np.random.default_rng(2)
    order = random.permutation(len(task.weights))[:_VALIDATION_ROWS]
    depths = (growth.depth,) if growth.depth else _DEPTHS
    n_folds = min(_FOLDS, len(order))
    fold = np.arange(len(order)) % n_folds
    splits = [(order[fold != k], order[fold == k]) for k in range(n_folds)]
    parts = [(depth, *split) for depth in depths for split in splits]
    scores = np.array(run(lambda part: _score(task, *part), parts)).reshape(-1, n_folds)
    means = scores.mean(axis=1)
    best = int(means.argmax())
    return Fit(depths[best], float(means[best]))


def validation_tree_count(growth: Growth) -> int:
    """Return the number of trees that `fit` grows."""
    return (1 if growth.depth else len(_DEPTHS)) * _FOLDS * _VALIDATION_TREES


def _score(task: LearningTask, depth: int, train: Indices, test: Indices) -> float:
    """Train on some rows, and score on others."""
    training, held_out = task.take(train), task.take(test)
    random = np.random.default_rng([depth, int(train[0])])
    trees = [training.tree(depth, random) for _ in range(_VALIDATION_TREES)]
    values = held_out.rows.values
    if task.is_classes:
        shares = np.mean([tree.predict_proba(values) for tree in trees], axis=0)
        predicted = trees[0].classes_[shares.argmax(axis=1)]
        return float(np.average(predicted == held_out.target, weights=held_out.weights))
    means = np.mean([tree.predict(values) for tree in trees], axis=0)
    return _r2(held_out.target, means.reshape(held_out.target.shape), held_out.weights)


def _r2(actual: Array, predicted: Array, weights: Vector) -> float:
    """Return the mean R² over targets; constant ones are left out."""
    center = np.average(actual, axis=0, weights=weights)
    spread = np.average((actual - center) ** 2, axis=0, weights=weights)
    residual = np.average((actual - predicted) ** 2, axis=0, weights=weights)
    varied = spread > 0
    return float(np.mean(1 - residual[varied] / spread[varied])) if varied.any() else 0.0


def grow(  # noqa: PLR0917 - task, size, seed and parallel map
    task: LearningTask,
    depth: int,
    sentence_count: int,
    seed: int,
    run: Run,
    selected: Encoded | None = None,
) -> GrownForest:
    """Grow trees until they have `sentence_count` paths.

    Parameters
    ----------
    selected : Encoded or None
        Selected rows, whose paths count.
    """
    grown = [_batch(task, depth, (seed, 0), selected)]
    while (missing := sentence_count - sum(b.path_count for b in grown)) > 0:
        count = ceil(missing / grown[0].path_count)
        seeds = [(seed, len(grown) + i) for i in range(count)]
        grown += run(lambda key: _batch(task, depth, key, selected), seeds)
    return _cut(grown, sentence_count, task)


def grow_trees(  # noqa: PLR0917 - likewise
    task: LearningTask,
    depth: int,
    tree_count: int,
    seed: int,
    run: Run,
    selected: Encoded | None = None,
) -> GrownForest:
    """Grow `tree_count` trees, a multiple of 16; `selected` as in `grow`."""
    seeds = [(seed, number) for number in range(tree_count // _BATCH)]
    grown = run(lambda key: _batch(task, depth, key, selected), seeds)
    return _cut(grown, sum(batch.path_count for batch in grown), task)


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Trees of a task, and the row counts of their leaves."""

    trees: list[tuple[Array, Array, Array]]
    visits: list[Counts]

    @property
    def path_count(self) -> int:
        return sum(int((left < 0).sum()) for left, _, _ in self.trees)


def _batch(
    task: LearningTask, depth: int, key: tuple[int, int], selected: Encoded | None
) -> _Batch:
    random = np.random.default_rng(key)
    trees = [task.tree(depth, random).tree_ for _ in range(_BATCH)]
    visits = [] if selected is None else [_visits(tree, selected) for tree in trees]
    return _Batch([(t.children_left, t.children_right, t.feature) for t in trees], visits)


def _visits(tree: Any, selected: Encoded) -> Counts:
    """Count the rows at each leaf."""
    reached = np.bincount(tree.apply(selected.values), minlength=tree.node_count)
    counts: Counts = reached[tree.children_left < 0].astype(np.int64)
    return counts


def _cut(grown: list[_Batch], sentence_count: int, task: LearningTask) -> GrownForest:
    """Concatenate trees up to `sentence_count` paths, dropping surplus ones."""
    trees = [tree for batch in grown for tree in batch.trees]
    visits = [counts for batch in grown for counts in batch.visits]
    lengths = np.cumsum([(left < 0).sum() for left, _, _ in trees])
    tree_count = int(np.searchsorted(lengths, sentence_count)) + 1
    paths = of_children(trees[:tree_count], task.rows.column_of, task.feature_count)
    return GrownForest(paths, np.concatenate(visits[:tree_count]) if visits else None)
