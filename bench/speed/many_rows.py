"""Trees engine beside WOODELF on 400,000 rows: curves, curves at all steps, surfaces, interactions.

python -m bench.speed.many_rows

The rows are the houses of Miami, drawn again and jittered: 15 columns. Ours are whole calls from a
data frame and the bytes of the model, by a client that has seen neither; WOODELF's begin with the
fitted model and the data frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
import onnxplain
import pandas as pd
from woodelf.pdp import (
    PDIVOrder1Or2,
    load_decision_tree_ensemble_model,
    woodelf_for_high_depth,
    woodelf_pdp,
    woodelf_pdp_joint,
)
from xgboost import XGBRegressor

from bench.speed.woodelf_miami import TABLE, exported, fitted
from bench.speed_table.row import Row, Unit, in_turn, lines, seconds

ROWS = 400_000
JITTER = 0.05
"""Standard deviation of the noise, in standard deviations of its column."""
GRID, SIDE, TRIM = 100, 20, (0.01, 0.99)
_SILENT = {"percentiles": TRIM, "verbose": False}


class Work(NamedTuple):
    """What both sides are asked: our method, and their call."""

    name: str
    ours: onnxplain.PartialDependence | onnxplain.Interactions
    counterpart: str
    theirs: Callable[[], object]
    wanted: float
    headline: str = ""


def jittered(table: pd.DataFrame) -> pd.DataFrame:
    """Draw rows with replacement, and add noise to each column."""
    random = np.random.default_rng(0)
    drawn = table.iloc[random.integers(0, len(table), ROWS)].reset_index(drop=True)
    noise = random.normal(size=drawn.shape) * (JITTER * table.std().to_numpy())
    return (drawn + noise).astype(np.float32)


def works(model: XGBRegressor, rows: pd.DataFrame) -> Iterator[Work]:
    """All that is asked."""
    doubles = rows.astype(np.float64)
    names = list(rows.columns)
    pairs = list(combinations(names, 2))
    yield Work(
        f"curves of {len(names)} features at {GRID} points",
        onnxplain.PartialDependence(grid_size=GRID),
        "WOODELF: the same",
        lambda: woodelf_pdp(model, doubles, k=GRID, **_SILENT),
        5.2,
        "Curves of 15 features, 400,000 rows",
    )
    yield Work(
        f"curves of {len(names)} features at all steps",
        onnxplain.PartialDependence(strategy="STEPS"),
        "WOODELF: the same, also at steps beyond the quantiles",
        lambda: woodelf_pdp(model, doubles, full_pdp=True, **_SILENT),
        5.2,
    )
    yield Work(
        f"surfaces of all {len(pairs)} pairs, {SIDE} × {SIDE} points",
        onnxplain.PartialDependence(features=pairs, grid_size=SIDE * SIDE),
        "WOODELF: the same",
        lambda: woodelf_pdp_joint(model, doubles, k=SIDE, **_SILENT),
        5.1,
        "Surfaces of all 105 pairs, 400,000 rows",
    )
    yield Work(
        f"H², H²_j and H²_jk of all {len(pairs)} pairs",
        onnxplain.Interactions(pairwise_feature_count=len(names)),
        "WOODELF: F_j and all pair terms at all rows, without those of H² and H²_j",
        lambda: _terms(model, doubles),
        2.5,
        "Interactions of all 105 pairs, 400,000 rows",
    )


def _terms(model: XGBRegressor, rows: pd.DataFrame) -> object:
    return woodelf_for_high_depth(
        load_decision_tree_ensemble_model(model, list(rows.columns)),
        consumer_data=rows,
        background_data=rows,
        metric=PDIVOrder1Or2(),
        GPU=False,
        model_was_loaded=True,
        verbose=False,
    )


def explaining(
    model: bytes, rows: pd.DataFrame, method: onnxplain.PartialDependence | onnxplain.Interactions
) -> float:
    """Return the seconds of a whole call by a new client."""

    def call() -> None:
        with onnxplain.local() as client:
            client.explain(
                model, rows, method, feature_columns=[*rows.columns], engine="TREES", plots=False
            )

    return seconds(call)


def rows() -> Iterator[Row]:
    """Measure."""
    table = pd.read_csv(TABLE)
    frame = table.drop(columns=["SALE_PRC", "PARCELNO"])
    model = fitted(frame.astype(np.float32), table["SALE_PRC"])
    content = exported(model, frame.shape[1]).SerializeToString()
    many = jittered(frame)
    for work in works(model, many):
        explaining(content, many.head(1_000), work.ours)  # loads the loops
        ours, theirs = in_turn(
            partial(explaining, content, many, work.ours),
            partial(seconds, work.theirs),
        )
        yield Row(
            f"{work.name}, {ROWS:,} rows, XGBoost, 100 trees of depth 6",
            Unit.SECONDS,
            ours,
            work.counterpart,
            theirs,
            work.wanted,
            headline=work.headline,
        )


def main() -> None:
    for line in lines(rows()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
