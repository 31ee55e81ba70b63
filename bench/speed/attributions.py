"""Attributions by trees beside WOODELF, shap and XGBoost: values and pairs, both games.

python -m bench.speed.attributions

The rows are the houses of Miami, drawn again and jittered: 15 columns. Ours are whole calls from a
data frame and the bytes of the model, by a client that has seen neither; the others' begin with the
fitted model and the data frame. What is compared is the largest difference of values too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import onnxplain
import pandas as pd
import shap
from woodelf import WoodelfExplainer
from xgboost import DMatrix, XGBRegressor

from bench.speed.many_rows import jittered
from bench.speed.woodelf_miami import TABLE, exported, fitted
from bench.speed_table.row import Row, Unit, in_turn, lines, seconds

RUNS = 3


class Work(NamedTuple):
    """What both sides are asked: rows explained and of the background, our method, their call."""

    name: str
    explained: int
    background: int
    options: dict[str, Any]
    counterpart: str
    theirs: Callable[[], Any]
    wanted: float
    runs: int = RUNS
    headline: str = ""


def works(model: XGBRegressor, rows: pd.DataFrame) -> Iterator[Work]:
    """All that is asked."""
    doubles = rows.astype(np.float64)

    def woodelf(background: int) -> WoodelfExplainer:
        return WoodelfExplainer(model, doubles.head(background))

    def values(count: int) -> Any:
        return woodelf(count).shap_values(doubles.head(count), verbose=False)

    def booster(count: int, **asked: bool) -> Any:
        return model.get_booster().predict(DMatrix(rows.head(count).to_numpy()), **asked)

    for count, runs, headline in (
        (10_000, RUNS, "Shapley values, 10,000 rows against 10,000"),
        (400_000, 1, ""),
    ):
        yield Work(
            f"interventional values, {count:,} rows against {count:,}",
            count,
            count,
            {},
            "WOODELF: the same",
            partial(values, count),
            5,
            runs,
            headline,
        )
    yield Work(
        "interventional interactions, 10,000 rows against 400,000",
        10_000,
        400_000,
        {"order": 2},
        "WOODELF: the same",
        lambda: woodelf(400_000).shap_interaction_values(doubles.head(10_000), verbose=False),
        5,
    )
    few = shap.maskers.Independent(doubles.head(1_000), max_samples=1_000)
    yield Work(
        "interventional values, 1,000 rows against 1,000",
        1_000,
        1_000,
        {},
        "shap's TreeExplainer: the same",
        lambda: shap.TreeExplainer(model, few, feature_perturbation="interventional").shap_values(
            doubles.head(1_000)
        ),
        30,
    )
    yield Work(
        "path-dependent values, 100,000 rows",
        100_000,
        100_000,
        {"perturbation": "PATH_DEPENDENT"},
        "XGBoost's pred_contribs, with the shares of its training",
        lambda: booster(100_000, pred_contribs=True),
        15,
        1,
    )
    yield Work(
        "path-dependent interactions, 5,000 rows",
        5_000,
        5_000,
        {"perturbation": "PATH_DEPENDENT", "order": 2},
        "XGBoost's pred_interactions, likewise",
        lambda: booster(5_000, pred_interactions=True),
        30,
        1,
    )


def explaining(model: bytes, rows: pd.DataFrame, work: Work) -> Callable[[], Any]:
    """Return a whole call by a new client."""
    many = max(work.explained, work.background)
    asked = onnxplain.Attributions(explained_row_count=work.explained, **work.options)
    if work.explained < work.background:
        asked = onnxplain.Attributions(row_indices=[*range(work.explained)], **work.options)

    def call() -> Any:
        with onnxplain.local() as client:
            return client.explain(
                model, rows.head(many), asked, feature_columns=[*rows.columns], plots=False
            ).attributions

    return call


def rows() -> Iterator[Row]:
    """Measure."""
    table = pd.read_csv(TABLE)
    frame = table.drop(columns=["SALE_PRC", "PARCELNO"])
    model = fitted(frame.astype(np.float32), table["SALE_PRC"])
    content = exported(model, frame.shape[1]).SerializeToString()
    many = jittered(frame)
    for work in works(model, many):
        ours = explaining(content, many, work)
        small = work._replace(explained=500, background=500)
        explaining(content, many, small)()  # loads the loops
        figures = in_turn(partial(seconds, ours), partial(seconds, work.theirs), work.runs)
        yield Row(
            f"{work.name}, XGBoost, 100 trees of depth 6, 15 columns",
            Unit.SECONDS,
            figures[0],
            work.counterpart,
            figures[1],
            work.wanted,
            headline=work.headline,
        )


def main() -> None:
    for line in lines(rows()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
