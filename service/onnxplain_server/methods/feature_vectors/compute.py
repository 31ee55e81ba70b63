"""Feature vectors from a model's own trees, or from a forest grown for the purpose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.methods.feature_vectors import knockoff_test, knockoffs
from onnxplain_server.methods.feature_vectors.cooccurrence import (
    Cooccurrence,
    count,
    counted_paths,
)
from onnxplain_server.methods.feature_vectors.encoding import Encoded, encode
from onnxplain_server.methods.feature_vectors.forest_counts import (
    Cache,
    ForestCounts,
    ForestGrower,
    uncached,
)
from onnxplain_server.methods.feature_vectors.geometry import important
from onnxplain_server.methods.feature_vectors.growing import Fit, LearningTask, Run
from onnxplain_server.methods.feature_vectors.interchange import split_pairs
from onnxplain_server.methods.feature_vectors.options import Knockoffs, Options, positions
from onnxplain_server.methods.feature_vectors.paths import Counts, of_ensemble
from onnxplain_server.methods.feature_vectors.result import (
    PathCounts,
    Repetition,
    Result,
    embed_counts,
    finish,
    repetition,
)
from onnxplain_server.trees.reading.forest import Forest

_BOOSTED = Note(
    "BOOSTED_TREES",
    "The model's trees are boosted: they were not grown with random subsets of the features, so "
    "of features that say the same only the best is split on. Neither angles nor counts show that "
    "they could stand in for each other, and no pair is told. The source SURROGATE can show it.",
)


def from_forest(
    options: Options,
    names: Sequence[str],
    forest: Forest,
    visits: Counts | None,
    *,
    seed: int,
    run: Run,
) -> Result:
    """Compute vectors from the model's own trees.

    Parameters
    ----------
    options : Options
        Resolved.
    names : sequence of str
        Of all features of the model.
    visits : (n_leaves,) or None
        How often each path counts; None: once.
    """
    paths = of_ensemble(forest.ensemble).of_features(positions(options, names))
    weights = np.ones(len(paths), dtype=np.int64) if visits is None else visits

    def read(visits: Counts) -> PathCounts:
        return PathCounts(
            count(paths, options.rule, visits),
            split_pairs(paths, options.rule, visits),
            *counted_paths(paths, options.rule, visits),
            is_boosted=forest.is_boosted,
        )

    trunk = read(weights)
    embedding = embed_counts(trunk.counted, options)
    chosen = important(embedding.vectors, options.reading.importance_floor)

    def repeat(key: int) -> Repetition:
        """Draw as many trees as there are, with replacement."""
        random = np.random.default_rng([seed, 5, key])
        drawn = random.multinomial(paths.tree_count, [1 / paths.tree_count] * paths.tree_count)
        return repetition(options, read(weights * drawn[paths.tree]), chosen)

    repeats = run(repeat, range(options.repeat_count))
    notes = (_BOOSTED,) * forest.is_boosted
    return finish(options, trunk, embedding, repeats=repeats, notes=notes)


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """What a forest is grown on.

    Attributes
    ----------
    columns : tuple of (n_rows,)
        The features asked for, numbers or text.
    asked : tuple of (n_asked,), or None
        The same of the rows of which the paths are wanted.
    target : (n_rows, n_targets), or (n_rows,) where it names classes
        Not constant.
    weights : (n_rows,)
    """

    columns: tuple[Array, ...]
    asked: tuple[Array, ...] | None
    target: Array
    is_classes: bool
    weights: Vector

    def task(self) -> tuple[LearningTask, Encoded | None]:
        """Encode rows and, in the same way, those asked for."""
        count, features = len(self.weights), len(self.columns)
        together = self.columns if self.asked is None else _joined(self.columns, self.asked)
        encoded = encode(together)
        rows = encoded.take(np.arange(count))
        target = self.target if self.is_classes else _standard(self.target, self.weights)
        task = LearningTask(rows, target, self.weights, self.is_classes, features)
        asked = None if self.asked is None else encoded.take(np.arange(count, len(encoded.values)))
        return task, asked


def from_training_data(
    options: Options, lesson: TrainingData, seed: int, run: Run, keep: Cache = uncached
) -> Result:
    """Grow a forest, and compute vectors from its paths; `options` are resolved.

    Parameters
    ----------
    keep : Cache
        Where forests grown before may be found.
    """
    task, asked = lesson.task()
    field = ForestGrower(task, asked, options.growth, options.rule, run, keep)
    fitted = field.fit()

    def forest(key: int) -> PathCounts:
        one = _seed(seed, key)
        return _trunk(field.forest(fitted.depth, one), field.split_pairs(fitted.depth, one), fitted)

    trunk = forest(0)
    embedding = embed_counts(trunk.counted, options)
    chosen = important(embedding.vectors, options.reading.importance_floor)
    # One after the other: each is grown side by side already.
    repeats = [repetition(options, forest(key + 1), chosen) for key in range(options.repeat_count)]
    check = None
    if options.knockoffs is not None:
        check = _check(options, options.knockoffs, lesson, fitted.depth, seed, run, keep)
    return finish(options, trunk, embedding, repeats=repeats, check=check)


def _trunk(grown: ForestCounts, pairs: Cooccurrence, fitted: Fit) -> PathCounts:
    return PathCounts(grown.counted, pairs, grown.sentence_count, grown.tree_count, fitted)


def _check(  # noqa: PLR0917 - all of one kind
    options: Options,
    wanted: Knockoffs,
    lesson: TrainingData,
    depth: int,
    seed: int,
    run: Run,
    keep: Cache,
) -> knockoff_test.KnockoffCheck:
    """Grow a forest on features and knockoffs, and compare their angles."""
    values = np.stack(lesson.columns, axis=1).astype(np.float64)
    fakes = knockoffs.draw(values, wanted.component_count, seed)
    both = TrainingData(
        (*lesson.columns, *fakes.T), None, lesson.target, lesson.is_classes, lesson.weights
    )
    task, _ = both.task()
    grown = ForestGrower(task, None, options.growth, options.rule, run, keep).forest(
        depth, _seed(seed, -1)
    )
    vectors = embed_counts(grown.counted, options).vectors
    feature_count = len(lesson.columns)
    return knockoff_test.check(
        vectors[:feature_count], vectors[feature_count:], wanted.permutation_count, seed
    )


def _seed(seed: int, key: int) -> int:
    """Make a seed for one forest of several."""
    return int(np.random.SeedSequence([seed, key + 1]).generate_state(1)[0])


def _joined(first: tuple[Array, ...], second: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(np.concatenate(pair) for pair in zip(first, second, strict=True))


def _standard(target: Matrix, weights: Vector) -> Matrix:
    """Bring targets to variance 1, so that each counts alike in a split; constant ones go."""
    center = np.average(target, axis=0, weights=weights)
    spread = np.sqrt(np.average((target - center) ** 2, axis=0, weights=weights))
    varied: Indices = np.flatnonzero(spread > 1e-9 * np.maximum(np.abs(center), 1e-300))
    standard: Matrix = (target[:, varied] - center[varied]) / spread[varied]
    return standard
