"""Exported models with a link: their trees give the effects that predicting gives."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.interfaces import ComputationHost
from onnxplain_server.core.rows import bind
from onnxplain_server.core.table import Table
from onnxplain_server.effects.background import merge
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.trees.linked import JointRows, Linked
from onnxplain_server.trees.reading.links import LinkedEnsemble

MODELS = Path(__file__).parents[1] / "models"
NAMES = (
    "catboost_3class",
    "catboost_binary",
    "lightgbm_3class",
    "lightgbm_3class_zipmap",
    "lightgbm_binary",
    "lightgbm_categorical_3class",
    "lightgbm_categorical_binary",
    "lightgbm_poisson",
    "sklearn_gradient_boosting_3class",
    "sklearn_gradient_boosting_binary",
    "sklearn_hist_gradient_boosting_3class",
    "sklearn_hist_gradient_boosting_binary",
    "xgboost_3class",
    "xgboost_binary",
)
N_ROWS = 40

Engines = tuple[Linked, BlackBox]


@pytest.fixture(scope="module", params=NAMES)
def engines(request: pytest.FixtureRequest, nowhere: ComputationHost) -> Iterator[Engines]:
    """Both engines on noisy weighted rows of a fixture, some of their values missing."""
    model = load((MODELS / f"{request.param}.onnx").read_bytes())
    fixture = json.loads((MODELS / f"{request.param}.json").read_text())
    random = np.random.default_rng(0)
    columns = {}
    for name, values in fixture["columns"].items():
        drawn = random.choice(np.array(values, float), N_ROWS)
        columns[name] = drawn + random.normal(size=N_ROWS) * np.nanstd(drawn)
        columns[name][random.random(N_ROWS) < 0.1] = np.nan
    table = Table(columns, N_ROWS)
    features = bind(model.inputs, table, tuple(columns), ())
    background = merge(features, random.integers(1, 4, N_ROWS).astype(float), np.arange(N_ROWS))
    with ThreadPoolExecutor(2) as threads:
        ledger, outputs = Ledger(nowhere), np.arange(len(model.output_names))
        assert isinstance(model.trees, LinkedEnsemble)
        names = model.output_names
        limits = JointRows(N_ROWS, N_ROWS)
        trees = Linked(model.trees, background, names, outputs, ledger, threads, limits)
        predictor = Predictor(model, outputs, ledger, BatchSize(), threads)
        yield trees, BlackBox(predictor, background, "RESPONSE")


def close(actual, expected) -> bool:
    return bool(actual == pytest.approx(expected, rel=1e-5, abs=1e-6))


def test_predictions_and_effects_at_the_rows(engines: Engines) -> None:
    trees, black_box = engines
    assert close(trees.outputs(), black_box.outputs())
    every = range(len(trees.background.columns))
    for actual, expected in zip(trees.single(every), black_box.single(every), strict=True):
        assert close(actual.own, expected.own)
        assert close(actual.others, expected.others)
    (ours,), (theirs,) = (engine.joint([(0, 1)]) for engine in engines)
    assert close(ours.whole, theirs.whole)
    # Both are up to a constant.
    size = np.abs(theirs.whole).max()
    pure, expected = (joint.pure - joint.pure.mean(axis=0) for joint in (ours, theirs))
    assert pure == pytest.approx(expected, rel=1e-5, abs=1e-6 * max(size, 1))


def test_curves_and_individual_curves(engines: Engines) -> None:
    trees, black_box = engines
    levels = trees.background.levels
    for j, own in enumerate(levels):
        present = own[~np.isnan(own)]
        points = np.linspace(present.min() - 1, present.max() + 1, 15).astype(own.dtype)
        points = np.append(points, own[-1])
        assert np.isnan(points[-1])
        assert close(trees.curve([j], [points]), black_box.curve([j], [points]))
        assert close(trees.individual([j], [points]), black_box.individual([j], [points]))
    grids = [
        np.quantile(own[~np.isnan(own)], [0.1, 0.5, 0.9]).astype(own.dtype) for own in levels[:2]
    ]
    assert close(trees.curve([0, 1], grids), black_box.curve([0, 1], grids))
    assert close(trees.individual([0, 1], grids), black_box.individual([0, 1], grids))
