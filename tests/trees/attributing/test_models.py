"""Attributions on models of all libraries, beside all coalitions of the same engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.attributing.games import Game, GameValue, Perturbation
from onnxplain_server.effects.background import Background, unmerged
from onnxplain_server.methods.attributions.coalitions import attribute_by_coalitions
from onnxplain_server.methods.attributions.explained_rows import ExplainedRows
from onnxplain_server.trees.exact import Exact
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.reading.ensemble import Ensemble, read_tree_sums

MODELS = Path(__file__).parents[2] / "models"
NAMES = [
    "catboost_3class",
    "catboost_regressor",
    "lightgbm_3class",
    "lightgbm_categorical_regressor",
    "lightgbm_poisson",
    "sklearn_tree_int64",
    "sklearn_votes_of_columns",
    "sklearn_gradient_boosting_binary",
    "sklearn_random_forest_3class",
    "sklearn_random_forest_two_targets",
    "xgboost_3class",
]
"""Sums of leaves, also those before a link; with categories, encoders and missing values."""
_MOST_PLAYERS = 7


def values_of(ensemble: Ensemble, feature: int, count: int, rng: np.random.Generator) -> Array:
    """Values of a feature: on its thresholds, between them, missing; or its categories."""
    axis = ensemble.axes[feature]
    if axis.dtype == object:
        known = [*([] if axis.categories is None else axis.categories), "none of these"]
        return rng.choice(np.array(known, dtype=object), count)
    cuts = axis.breakpoints()
    known = [*cuts.tolist(), -1.0, 0.0, 1.0, 2.0]
    known += [] if axis.dtype.kind in "iub" or axis.accepted else [np.nan]
    return rng.choice(np.array(known), count).astype(axis.dtype)


def rows(ensemble: Ensemble, count: int, seed: int) -> Background:
    rng = np.random.default_rng(seed)
    features = range(len(ensemble.axes))
    columns = tuple(values_of(ensemble, j, count, rng) for j in features)
    dtypes = tuple(axis.dtype for axis in ensemble.axes)
    names = tuple(f"x{j}" for j in features)
    own = Features(names, columns, dtypes, "")
    return unmerged(own, rng.integers(1, 4, count).astype(float), np.arange(count))


@pytest.mark.parametrize("value", GameValue)
@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_all_coalitions(name: str, value: GameValue, threads, ledger) -> None:
    ensemble = read_tree_sums(onnx.load(MODELS / f"{name}.onnx"))
    assert isinstance(ensemble, Ensemble)
    count = len(ensemble.offset)
    outputs = tuple(f"y{k}" for k in range(count))
    leaves, background = Leaves(ensemble), rows(ensemble, 12, 0)
    exact = Exact(ensemble, leaves, background, outputs, np.arange(count), ledger, threads)
    explained = rows(ensemble, 3, 1)
    width = len(ensemble.axes)
    single = min(width, _MOST_PLAYERS) - 1
    players = (*((j,) for j in range(single)), tuple(range(single, width)))
    game = Game(Perturbation.INTERVENTIONAL, value, 2)

    found = exact.attribute(explained, players, game)

    expected = attribute_by_coalitions(ExplainedRows.predict(exact, explained, players), game)
    size = np.abs(ensemble.values).sum()
    assert found.values == pytest.approx(expected.values, abs=1e-12 * size)
    assert found.interactions == pytest.approx(expected.interactions, abs=1e-12 * size)
    assert np.ptp(found.values) > 0
