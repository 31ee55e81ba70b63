"""Trees engine against WOODELF: F_j and all pair terms of the houses of Miami, at all rows.

WOODELF (Nadel and Wettenstein, AAAI 2026) is the one other library that computes them without
predicting. Where the two differ, the model's own predictions decide.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
import pandas as pd
from onnx import ModelProto
from onnxmltools import convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from woodelf.pdp import (
    PDIVOrder1Or2,
    load_decision_tree_ensemble_model,
    woodelf_for_high_depth,
)
from xgboost import XGBRegressor

from bench.shared import engines

TABLE = Path(__file__).parents[2] / "examples" / "miami" / "miami_housing.csv.gz"
RUNS = 3
SHOWN = 10
"""Rows that are judged of each feature."""
TOLERANCE = 1e-4
"""Of differences that rounding explains; the predictions are logarithms of prices."""

Vector = npt.NDArray[np.float64]
Terms = Mapping[tuple[str, ...], Vector]


def fitted(rows: pd.DataFrame, prices: pd.Series) -> XGBRegressor:
    model = XGBRegressor(n_estimators=100, max_depth=6, learning_rate=0.1, n_jobs=2)
    return model.fit(rows.to_numpy(), np.log(prices))


def exported(model: XGBRegressor, width: int) -> ModelProto:
    converted: ModelProto = convert_xgboost(
        model, initial_types=[("rows", FloatTensorType([None, width]))]
    )
    return converted


def theirs(model: XGBRegressor, rows: pd.DataFrame) -> Terms:
    """All F_j and pair terms, centred, by the fastest of WOODELF's ways."""
    rows = rows.astype(np.float64)
    loaded = load_decision_tree_ensemble_model(model, list(rows.columns))
    found: Terms = woodelf_for_high_depth(
        loaded,
        consumer_data=rows,
        background_data=rows,
        metric=PDIVOrder1Or2(),
        GPU=False,
        model_was_loaded=True,
        verbose=False,
    )
    return found


def ours(engine: engines.Trees, rows: engines.Rows, names: list[str]) -> Terms:
    """The same, and all F_not-j with them."""
    effects = engine.on(engines.background(rows, merged=False))
    found: dict[tuple[str, ...], Vector] = {}
    for single in effects.single(range(len(names))):
        found[names[single.feature],] = single.own[:, 0]
    for joint in effects.joint(list(combinations(range(len(names)), 2))):
        j, k = joint.features
        found[names[j], names[k]] = joint.pure[:, 0]
    return found


def judged(model: ModelProto, rows: engines.Rows, j: int, at: Sequence[int]) -> Vector:
    """F_j at some rows by predicting."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found = []
    for row in at:
        fed = rows.copy()
        fed[:, j] = rows[row, j]
        found.append(session.run(None, {"rows": fed})[0].astype(np.float64).mean())
    return np.array(found)


def compare(
    mine: Terms, other: Terms, model: ModelProto, rows: engines.Rows, names: list[str]
) -> None:
    """Print the largest difference, and who is right where it is no rounding."""
    for j, name in enumerate(names):
        own = mine[name,]
        given = other[name,] - other[name,].mean() + own.mean()
        apart = np.flatnonzero(np.abs(own - given) > TOLERANCE).tolist()
        if not apart:
            continue
        right = judged(model, rows, j, apart[:SHOWN])
        ours_off = np.abs(own[apart[:SHOWN]] - right).max()
        theirs_off = np.abs(given[apart[:SHOWN]] - right).max()
        print(
            f"  {name}: {len(apart)} rows differ; from the model's own predictions "
            f"WOODELF is off by up to {theirs_off:.1e}, the trees engine by {ours_off:.1e}"
        )


def main() -> None:
    table = pd.read_csv(TABLE)
    frame = table.drop(columns=["SALE_PRC", "PARCELNO"]).astype(np.float32)
    rows, names = frame.to_numpy(), list(frame.columns)
    model = fitted(frame, table["SALE_PRC"])
    onnx_model = exported(model, len(names))
    with ThreadPoolExecutor(engines.THREADS) as threads:
        engine = engines.trees(onnx_model, threads)
        mine, other = ours(engine, rows, names), theirs(model, frame)
        ratios = []
        for _ in range(RUNS):
            slow = engines.seconds(lambda: theirs(model, frame))
            fast = engines.seconds(lambda: ours(engine, rows, names))
            ratios.append(slow / fast)
            print(f"  WOODELF {slow:.2f} s, trees engine {fast:.2f} s")
    print(f"WOODELF / trees engine: median {statistics.median(ratios):.0f} (wanted: 10)")
    compare(mine, other, onnx_model, rows, names)


if __name__ == "__main__":
    main()
