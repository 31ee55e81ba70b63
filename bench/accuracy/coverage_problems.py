"""Problems with known truth for coverage: functions of three features, as models on normal rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.model import Input, Note
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.predictor import Predictor
from scipy.stats import norm, qmc

from bench.shared import engines
from bench.shared.null_host import NullHost

FEATURES = ("a", "b", "c")

Function = Callable[[Vector, Vector, Vector], Vector]
FUNCTIONS: dict[str, Function] = {
    "waves": lambda a, b, c: np.sin(a * b) + np.cos(2 * c) + 0.5 * a * (c > 0),
    "steps": lambda a, b, c: ((a > 0) & (b > 0.3)) + 0.6 * (c > 0) + 0.5 * ((c > 1) & (a < 0.5)),
    "products": lambda a, b, c: a * b + np.sin(3 * c) + np.maximum(a, c),
    "weak": lambda a, b, c: a + b + c + 0.15 * a * b + 0.1 * np.abs(b) * c,
    "heavy": lambda a, b, c: np.exp(0.5 * (a + b)) + c + 0.3 * b * c,
}
HELD_OUT: dict[str, Function] = {
    "ratio": lambda a, b, c: a / (1 + b**2) + c,
    "distance": lambda a, b, c: np.sqrt(a**2 + b**2 + c**2),
    "probability": lambda a, b, c: 1 / (1 + np.exp(-(a + b * c))),
}
"""Functions held out while the intervals were developed."""


@dataclass(frozen=True)
class FunctionModel:
    """A function of three features as a model."""

    function: Function
    inputs: tuple[Input, ...] = (Input("rows", "double", 3),)
    output_names: tuple[str, ...] = ("y",)
    notes: tuple[Note, ...] = ()
    has_class_scores = False
    is_binary = False

    @property
    def roundings(self) -> Vector:
        return np.array([2.0**-53])

    def unused(self, n_features: int, outputs: Indices) -> frozenset[int]:  # noqa: ARG002
        return frozenset()

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        values: Array = self.function(*feeds["rows"].T).astype(np.float64)[:, None]
        return values

    def on_buffers(self, buffers: Mapping[str, Array]) -> Callable[[slice], Array]:
        return lambda rows: self.predict({name: buffers[name][rows] for name in buffers})


POOL = ThreadPoolExecutor(1)
_BATCH_SIZE = BatchSize()


def run(function: Callable[[Any], Any], parts: Any) -> list[Any]:
    return [function(part) for part in parts]


def effects(function: Function, rows: Matrix) -> BlackBox:
    predictor = Predictor(
        FunctionModel(function), np.arange(1), Ledger(NullHost()), _BATCH_SIZE, POOL
    )
    return BlackBox(
        predictor, engines.background(rows.astype(np.float32), FEATURES, merged=False), "RESPONSE"
    )


def drawn(row_count: int, seed: int) -> Matrix:
    return np.random.default_rng([row_count, seed]).normal(size=(row_count, 3))


def even(row_count: int) -> Matrix:
    """Rows that fill the normal distribution more evenly than chance does: the truth."""
    points = qmc.Sobol(3, seed=0).random(row_count)
    normal: Matrix = norm.ppf(np.clip(points, 1e-9, 1 - 1e-9))
    return normal
