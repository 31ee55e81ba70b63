"""Measure what speed costs in accuracy: slow models on 500 rows, beside all predictions.

Usage: python -m bench.accuracy.budgets [SECONDS]

Ways: a budget of 10 seconds on the black box, and the engine that is chosen by default. The models
are nearest neighbours and Gaussian processes on 30 and on 8 features. The error of a statistic is
its difference to that of the black box without a budget, over the largest one of its kind. All
predictions take minutes, and come last.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnxplain
from skl2onnx import to_onnx
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.neighbors import KNeighborsRegressor

_ROWS, _TRAINING_ROWS = 500, 2_000
_FEATURES = (30, 8)
_METHODS = (onnxplain.Interactions(),)


def models() -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    """Yield the name, ONNX file and table of each model."""
    random = np.random.default_rng(7)
    for count in _FEATURES:
        x = random.normal(size=(_TRAINING_ROWS, count)).astype(np.float32)
        y = x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + 0.3 * x[:, 3:8].sum(axis=1)
        table = {f"x{j}": x[:_ROWS, j].astype(float) for j in range(count)}
        kinds = {
            "nearest neighbours": KNeighborsRegressor(10),
            "Gaussian process": GaussianProcessRegressor(RBF(count**0.5), optimizer=None),
        }
        for kind, model in kinds.items():
            file = to_onnx(model.fit(x, y), x[:1]).SerializeToString()
            yield f"{kind}, {count} features", file, table


def _timed(client: Any, model: bytes, table: dict[str, Any], **arguments: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    answer = client.explain(model, table, *_METHODS, plots=False, **arguments)
    return answer, time.perf_counter() - start


def _errors(answer: Any, full: Any) -> dict[str, float]:
    """Return the largest errors of the importances, of H² of the features and of the curves."""
    few, many = answer.interactions, full.interactions
    errors = {}
    for kind in ("importance", "overall", "pairwise"):
        values = {tuple(s.features): np.array(s.values) for s in getattr(many, kind)}
        pairs = [(np.array(s.values), values.get(tuple(s.features))) for s in getattr(few, kind)]
        shared = [(a, b) for a, b in pairs if b is not None]
        largest = max(np.max(np.abs(b)) for _, b in shared)
        errors[kind] = float(max(np.max(np.abs(a - b)) for a, b in shared) / largest)
    return errors


def main() -> None:
    """Print a line per model and way: time, rows and predictions, and largest errors in %."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    ways: dict[str, dict[str, Any]] = {
        f"{seconds:g} s": {"engine": "BLACK_BOX", "budget_seconds": seconds},
        "default": {},
    }
    cases, found = list(models()), {}
    for name, model, table in cases:
        for way, arguments in ways.items():
            with onnxplain.local() as client:
                found[name, way] = _timed(client, model, table, **arguments)
    print(
        "| Model | Way | Engine | Seconds | Rows | Predictions | Importance | Overall H² "
        "| Pairwise H² |",
        flush=True,
    )
    for name, model, table in cases:
        with onnxplain.local() as client:
            full, whole = _timed(client, model, table, engine="BLACK_BOX")
        print(_line(name, "all", full, whole, ["-"] * 3), flush=True)
        for way in ways:
            answer, taken = found[name, way]
            errors = [f"{100 * error:.1f}" for error in _errors(answer, full).values()]
            print(_line(name, way, answer, taken, errors), flush=True)


def _line(name: str, way: str, answer: Any, seconds: float, errors: list[str]) -> str:
    receipt = answer.receipt
    counts = [str(receipt.row_count), f"{receipt.predicted_row_count:,.0f}"]
    cells = [name, way, receipt.engine, f"{seconds:.1f}", *counts, *errors]
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    main()
