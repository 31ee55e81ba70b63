"""Paths of all sources have the types that the counting kernels are compiled for."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxplain_server.methods.feature_vectors.cooccurrence import CountingUnit, Rule, count
from onnxplain_server.methods.feature_vectors.paths import (
    Paths,
    of_children,
    of_ensemble,
    of_sentences,
)
from onnxplain_server.trees.reading.forest import Forest, read_forest

FOREST = Path(__file__).parents[2] / "golden/featurevectors/diabetes_rf/model.onnx"


def of_model() -> Paths:
    forest = read_forest(onnx.load(FOREST))
    assert isinstance(forest, Forest)
    return of_ensemble(forest.ensemble)


def of_tree() -> Paths:
    left, right = np.array([1, 3, -1, -1, -1]), np.array([2, 4, -1, -1, -1])
    tree = left, right, np.array([0, 1, -2, -2, -2])
    return of_children([tree], np.arange(2), 2)


def of_text() -> Paths:
    return of_sentences([[0, 1, 2]], 3)


@pytest.mark.parametrize("source", [of_model, of_tree, of_text])
@pytest.mark.parametrize("rule", [Rule(), Rule(2, CountingUnit.PER_PATH, True)])
@pytest.mark.parametrize("is_restricted", [False, True])
def test_paths_of_any_source_are_counted(source, rule: Rule, is_restricted: bool) -> None:
    paths = source().of_features(np.arange(2)) if is_restricted else source()

    once = count(paths, rule)
    twice = count(paths, rule, np.full(len(paths), 2, dtype=np.int64))

    assert once.sum() > 0
    assert (twice != 2 * once).nnz == 0
