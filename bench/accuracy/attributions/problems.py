"""Problems for attributions of any model: six that are no sums of trees, on 8 to 14 features.

Their Shapley values are known from all coalitions of the features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.model import Input
from onnxplain_server.effects.attributing.games import Game, GameValue, Perturbation
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.methods.attributions.coalitions import attribute_by_coalitions
from onnxplain_server.methods.attributions.explained_rows import ExplainedRows
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVR

from bench.accuracy.coverage_problems import POOL, FunctionModel
from bench.shared import engines
from bench.shared.null_host import NullHost

_DATA = Path(__file__).parents[2] / "data"
_TRAINED, _EXPLAINED = 1_000, 5
_SHAPLEY = Game(Perturbation.INTERVENTIONAL, GameValue.SHAPLEY)

Predict = Callable[[Matrix], Vector]


@dataclass(frozen=True)
class Problem:
    """A model with a background and rows explained.

    Attributes
    ----------
    name : str
    predict : callable ((n, n_features)) -> (n,)
    background, explained : (n_rows, n_features) float32
        In random order.
    """

    name: str
    predict: Predict
    background: Matrix
    explained: Matrix

    @property
    def feature_count(self) -> int:
        """Number of features."""
        return int(self.background.shape[1])

    def on_background(self, row_count: int) -> Problem:
        """Return the problem on the first rows of the background."""
        return replace(self, background=self.background[:row_count])

    def rows(self) -> tuple[ExplainedRows, Ledger]:
        """Bind the rows to the black-box engine; the ledger counts predictions from here on."""
        count = self.feature_count
        inputs = (Input("rows", "double", count),)
        model = FunctionModel(lambda *columns: self.predict(np.stack(columns, axis=1)), inputs)
        ledger = Ledger(NullHost())
        predictor = Predictor(model, np.arange(1), ledger, BatchSize(), POOL)
        effects = BlackBox(predictor, engines.background(self.background), "RESPONSE")
        explained = engines.background(self.explained, merged=False)
        return ExplainedRows.predict(effects, explained, [(j,) for j in range(count)]), ledger


def truth_of(problem: Problem) -> Matrix:
    """Return the values from all coalitions: (n_rows, n_features)."""
    values: Matrix = attribute_by_coalitions(problem.rows()[0], _SHAPLEY).values[..., 0]
    return values


def problems() -> Iterator[Problem]:
    """Fit the models."""
    wine = pd.read_csv(_DATA / "wine_quality_white.csv.gz")
    network = MLPRegressor(hidden_layer_sizes=(64, 32), max_iter=300, random_state=0)
    yield _fitted("network, wine", network, *_split(wine, 11))
    diabetes = load_diabetes(return_X_y=True)
    yield _fitted("support vectors, diabetes", SVR(C=300.0), *diabetes)
    friedman = make_friedman1(2_000, 8, noise=0.5, random_state=0)
    kernel = RBF(2.0) + WhiteKernel(0.05)
    process = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True)
    yield _fitted("Gaussian process, Friedman's function", process, *friedman)
    tumours, is_benign = load_breast_cancer(return_X_y=True)
    boosted = GradientBoostingClassifier(random_state=0)
    yield _fitted("boosted probability, tumours", boosted, tumours[:, :12], is_benign)
    spam = pd.read_csv(_DATA / "spambase.csv.gz").sample(frac=1, random_state=0)
    chosen = spam.iloc[:, [*range(2, 14), -4, -3, -1]]  # words, characters and the target
    classifier = MLPClassifier((40,), max_iter=300, random_state=0)
    yield _fitted("network's probability, spam", classifier, *_split(chosen, 14))
    houses = KNeighborsRegressor(10, weights="distance")
    red = pd.read_csv(_DATA / "wine_quality_red.csv.gz")
    yield _fitted("nearest neighbours, wine", houses, *_split(red.iloc[:, 2:], 9))


def _split(table: pd.DataFrame, count: int) -> tuple[Matrix, Vector]:
    return table.iloc[:, :count].to_numpy(float), table.iloc[:, -1].to_numpy()


def _fitted(name: str, model: Any, rows: Matrix, target: Vector) -> Problem:
    """Fit a model on some of the standardised rows; the background is drawn from all of them."""
    random = np.random.default_rng(0)
    scaled = ((rows - rows.mean(axis=0)) / rows.std(axis=0)).astype(np.float32)
    trained = random.permutation(len(rows))[:_TRAINED]
    model.fit(scaled[trained], target[trained])
    drawn = random.permutation(np.unique(scaled, axis=0))
    return Problem(name, _predict_of(model), drawn[_EXPLAINED:], drawn[:_EXPLAINED])


def _predict_of(model: Any) -> Predict:
    if hasattr(model, "predict_proba"):
        return lambda rows: model.predict_proba(rows)[:, 1]
    predict: Predict = model.predict
    return predict
