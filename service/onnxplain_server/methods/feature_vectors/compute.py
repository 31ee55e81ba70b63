"""Computation of feature vectors: from the model's own trees, or from a surrogate forest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Counts, Indices, Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.core.warnings import MethodWarning
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
from onnxplain_server.methods.feature_vectors.options import (
    Knockoffs,
    Options,
    player_numbers,
    positions,
)
from onnxplain_server.methods.feature_vectors.paths import of_ensemble
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
    MethodWarning.BOOSTED_TREES,
    "The model's trees are boosted, without random subsets of the features, so of redundant "
    "features only the best is split on. Neither angles nor counts show that features are "
    "interchangeable, and no pair is reported. Use the source SURROGATE for that.",
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
    """Compute vectors from the model's own trees; `options` are resolved.

    `names` are all features of the model; `visits`, (n_leaves,), counts paths (None: 1 each).
    """
    paths = of_ensemble(forest.ensemble).of_features(
        positions(options, names), player_numbers(options)
    )
    weights = np.ones(len(paths), dtype=np.int64) if visits is None else visits

    def read(visits: Counts) -> PathCounts:
        return PathCounts(
            count(paths, options.rule, visits),
            split_pairs(paths, options.rule, visits),
            *counted_paths(paths, options.rule, visits),
            is_boosted=forest.is_boosted,
        )

    counts = read(weights)
    embedding = embed_counts(counts.counted, options)
    chosen = important(embedding.vectors, options.reading.importance_floor)

    def repeat(key: int) -> Repetition:
        """Draw a bootstrap sample of the trees."""
        random = np.random.default_rng([seed, 5, key])
        repeats = random.multinomial(paths.tree_count, [1 / paths.tree_count] * paths.tree_count)
        return repetition(options, read(weights * repeats[paths.tree]), chosen)

    repeats = run(repeat, range(options.repeat_count))
    notes = (_BOOSTED,) * forest.is_boosted
    return finish(options, counts, embedding, repeats=repeats, notes=notes)


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """Training data of a surrogate forest.

    Attributes
    ----------
    columns : tuple of (n_rows,)
        Requested features, numbers or text.
    selected : tuple of (n_selected,), or None
        The same for the selected rows, whose paths count; None: all paths count.
    target : (n_rows, n_targets), or (n_rows,) class labels
        Not constant.
    weights : (n_rows,)
    numbers : (n_features,) or None
        What each feature counts as, from 0; None: each counts singly.
    """

    columns: tuple[Array, ...]
    selected: tuple[Array, ...] | None
    target: Array
    is_classes: bool
    weights: Vector
    numbers: Indices | None = None

    def task(self) -> tuple[LearningTask, Encoded | None]:
        """Encode the rows, and the selected rows in the same way."""
        count, features = len(self.weights), len(self.columns)
        if self.numbers is not None:
            features = int(self.numbers.max()) + 1
        columns = self.columns if self.selected is None else _joined(self.columns, self.selected)
        encoded = encode(columns, self.numbers)
        rows = encoded.take(np.arange(count))
        target = self.target if self.is_classes else _standard(self.target, self.weights)
        task = LearningTask(rows, target, self.weights, self.is_classes, features)
        selected = (
            None if self.selected is None else encoded.take(np.arange(count, len(encoded.values)))
        )
        return task, selected


def from_training_data(
    options: Options, data: TrainingData, seed: int, run: Run, cache: Cache = uncached
) -> Result:
    """Grow a forest and compute vectors from its paths; `options` are resolved.

    Parameters
    ----------
    cache : Cache
        Cache of forests.
    """
    task, selected = data.task()
    grower = ForestGrower(task, selected, options.growth, options.rule, run, cache)
    fitted = grower.fit()

    def forest(key: int) -> PathCounts:
        own = _seed(seed, key)
        grown, pairs = grower.forest(fitted.depth, own), grower.split_pairs(fitted.depth, own)
        return PathCounts(grown.counted, pairs, grown.sentence_count, grown.tree_count, fitted)

    counts = forest(0)
    embedding = embed_counts(counts.counted, options)
    chosen = important(embedding.vectors, options.reading.importance_floor)
    # Sequentially, since each forest is grown in parallel.
    repeats = [repetition(options, forest(key + 1), chosen) for key in range(options.repeat_count)]
    check = None
    if options.knockoffs is not None:
        check = _check(options, options.knockoffs, data, fitted.depth, seed, run, cache)
    return finish(options, counts, embedding, repeats=repeats, check=check)


def _trunk(grown: ForestCounts, pairs: Cooccurrence, fitted: Fit) -> PathCounts:
    return PathCounts(grown.counted, pairs, grown.sentence_count, grown.tree_count, fitted)


def _check(  # noqa: PLR0917 - as `from_training_data`
    options: Options,
    settings: Knockoffs,
    data: TrainingData,
    depth: int,
    seed: int,
    run: Run,
    cache: Cache,
) -> knockoff_test.KnockoffCheck:
    """Grow a forest on features and knockoffs, and test their angles."""
    values = np.stack(data.columns, axis=1).astype(np.float64)
    copies = knockoffs.draw(values, settings.component_count, seed)
    joined = TrainingData(
        (*data.columns, *copies.T),
        None,
        data.target,
        data.is_classes,
        data.weights,
    )
    task, _ = joined.task()
    grown = ForestGrower(task, None, options.growth, options.rule, run, cache).forest(
        depth, _seed(seed, -1)
    )
    vectors = embed_counts(grown.counted, options).vectors
    feature_count = len(data.columns)
    return knockoff_test.check(
        vectors[:feature_count], vectors[feature_count:], settings.permutation_count, seed
    )


def _seed(seed: int, key: int) -> int:
    """Derive the seed of one forest of several."""
    return int(np.random.SeedSequence([seed, key + 1]).generate_state(1)[0])


def _joined(first: tuple[Array, ...], second: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(np.concatenate(pair) for pair in zip(first, second, strict=True))


def _standard(target: Matrix, weights: Vector) -> Matrix:
    """Scale targets to variance 1, so that each has equal weight in splits; drop constant ones."""
    center = np.average(target, axis=0, weights=weights)
    spread = np.sqrt(np.average((target - center) ** 2, axis=0, weights=weights))
    varied: Indices = np.flatnonzero(spread > 1e-9 * np.maximum(np.abs(center), 1e-300))
    standard: Matrix = (target[:, varied] - center[varied]) / spread[varied]
    return standard
