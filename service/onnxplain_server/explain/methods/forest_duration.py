"""Duration of growing the forest of feature vectors, from the time of a few trees on its rows."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.methods.feature_vectors import Options, TrainingData, positions
from onnxplain_server.methods.feature_vectors.growing import (
    LearningTask,
    validation_tree_count,
)

_DEPTH, _TREES = 8, 8
_ROWS = 2_000
"""Most rows of a trial, and of the cross-validation."""
_TRAINING_SHARE = 2 / 3
"""Part of the rows that trees of the cross-validation are grown on."""
_PATH_SECONDS = 5e-6
"""Reading a path of a tree: it does not depend on the rows."""


def forest_seconds(request: BoundRequest, options: Options, row_count: int) -> float:
    """Return the seconds of choosing the depth, and of growing all forests.

    Parameters
    ----------
    options : Options
        After defaults.
    row_count : int
        Rows that the forest is grown on.
    """
    sample = request.sample
    rows = sample.rows[: min(row_count, _ROWS)]
    names = positions(options, sample.features.names)
    columns = tuple(sample.features.columns[j][rows] for j in names)
    is_classes = bool(options.growth.one_hot_target)
    response = _response(columns, is_classes=is_classes)
    data = TrainingData(columns, None, response, is_classes, np.ones(len(rows)))
    task, _ = data.task()
    depth, random = options.growth.depth or _DEPTH, np.random.default_rng(0)
    task.tree(1, random)  # loads what the first tree needs
    seeds = random.integers(2**31, size=_TREES)
    start = time.perf_counter()
    leaves = request.block_pool.run(lambda seed: _leaf_count(task, depth, seed), seeds)
    row_seconds = (time.perf_counter() - start) / _TREES / len(rows)
    forests = 1 + options.repeat_count + (options.knockoffs is not None)
    sentences = options.growth.sentence_count * forests
    grown = sentences / float(np.mean(leaves)) * row_count
    validated = validation_tree_count(options.growth) * min(row_count, _ROWS) * _TRAINING_SHARE
    return (grown + validated) * row_seconds + sentences * _PATH_SECONDS


def _leaf_count(task: LearningTask, depth: int, seed: int) -> int:
    return int(task.tree(depth, np.random.default_rng(seed)).get_n_leaves())


def _response(columns: Sequence[Array], *, is_classes: bool) -> Array:
    """Return a response that depends on all columns: numbers (n, 1), or two classes (n,)."""
    codes = [
        np.unique(c.astype(str), return_inverse=True)[1] if c.dtype == object else c
        for c in columns
    ]
    total: Array = np.nan_to_num(np.stack(codes, axis=1).astype(np.float64)).sum(axis=1)
    classes: Array = (total > np.median(total)).astype(str)
    return classes if is_classes else total[:, None]
