"""Attributions by trees beside WOODELF, shap and XGBoost: values and pairs, both games.

python -m bench.speed.attributions [SIDE DEPTH]

With a side, "ours" or "woodelf", it does its work on deep trees once and prints the seconds.

The rows are the houses of Miami, drawn again and jittered: 15 columns. Ours are whole calls from a
data frame and the bytes of the model, by a client that has seen neither; the others' begin with the
fitted model and the data frame. Deep trees are a random forest's, in a process for each side; its
peak of memory has the libraries in it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import onnxplain
import pandas as pd
import shap
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestRegressor
from woodelf import WoodelfExplainer
from xgboost import DMatrix, XGBRegressor

from bench.shared.processes import run
from bench.speed.many_rows import jittered
from bench.speed.woodelf_miami import TABLE, exported, fitted
from bench.speed_table.row import Row, Unit, in_turn, lines, seconds

RUNS = 3
DEPTHS = (12, 16)
DEEP_TREES, DEEP_ROWS = 5, 1_000


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


@dataclass(frozen=True)
class Peers:
    """The others' calls on the first rows of a table, which some take as doubles."""

    model: XGBRegressor
    rows: pd.DataFrame
    doubles: pd.DataFrame

    def woodelf(self, explained: int, background: int, *, order: int = 1) -> Any:
        """WOODELF: values, or interactions."""
        explainer = WoodelfExplainer(self.model, self.doubles.head(background))
        asked = explainer.shap_values if order == 1 else explainer.shap_interaction_values
        return asked(self.doubles.head(explained), verbose=False)

    def tree_explainer(self, count: int) -> Any:
        """Call shap's TreeExplainer for interventional values."""
        own = self.doubles.head(count)
        few = shap.maskers.Independent(own, max_samples=count)
        explainer = shap.TreeExplainer(self.model, few, feature_perturbation="interventional")
        return explainer.shap_values(own)

    def booster(self, count: int, **asked: bool) -> Any:
        """Call XGBoost's own path-dependent values or interactions."""
        own = DMatrix(self.rows.head(count).to_numpy())
        return self.model.get_booster().predict(own, **asked)


def interventional(peers: Peers) -> Iterator[Work]:
    """Values and interactions against a background."""
    for count, runs in ((10_000, RUNS), (400_000, 1)):
        yield Work(
            f"interventional values, {count:,} rows against {count:,}",
            *(count, count, {}, "WOODELF: the same"),
            partial(peers.woodelf, count, count),
            5,
            runs,
        )
    yield Work(
        "interventional interactions, 10,000 rows against 400,000",
        *(10_000, 400_000, {"order": 2}, "WOODELF: the same"),
        partial(peers.woodelf, 10_000, 400_000, order=2),
        5,
    )
    yield Work(
        "interventional values, 1,000 rows against 1,000",
        *(1_000, 1_000, {}, "shap's TreeExplainer: the same"),
        partial(peers.tree_explainer, 1_000),
        30,
    )


def path_dependent(peers: Peers) -> Iterator[Work]:
    """Values and interactions by the shares of the paths."""
    asked = {"perturbation": "PATH_DEPENDENT"}
    yield Work(
        "path-dependent values, 100,000 rows",
        *(100_000, 100_000, asked),
        "XGBoost's pred_contribs, with the shares of its training",
        partial(peers.booster, 100_000, pred_contribs=True),
        15,
        1,
    )
    yield Work(
        "path-dependent interactions, 5,000 rows",
        *(5_000, 5_000, asked | {"order": 2}),
        "XGBoost's pred_interactions, likewise",
        partial(peers.booster, 5_000, pred_interactions=True),
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
    peers = Peers(model, many, many.astype(np.float64))
    for work in (*interventional(peers), *path_dependent(peers)):
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
        )


def deep_rows() -> Iterator[Row]:
    """Measure deep trees: seconds, and the peak of memory of a process."""
    for depth in DEPTHS:
        sides = {side: _measured(side, depth) for side in SIDES}
        for k, unit in enumerate((Unit.SECONDS, Unit.MEGABYTES)):
            yield Row(
                f"interventional values, {DEEP_ROWS:,} rows against {DEEP_ROWS:,}, random forest, "
                f"{DEEP_TREES} trees of depth {depth}, 15 columns",
                unit,
                [sides["ours"][k]],
                "WOODELF, in the form for deep trees that it chooses",
                [sides["woodelf"][k]],
            )


def _measured(side: str, depth: int) -> tuple[float, float]:
    """Return seconds and MB of one side in a process of its own."""
    command = [sys.executable, "-m", "bench.speed.attributions", side, str(depth)]
    done = run(command, {"ONNXPLAIN_ISOLATION": "none"})
    return float(done.printed), done.megabytes


def _ours(forest: RandomForestRegressor, rows: pd.DataFrame) -> Callable[[], Any]:
    content = to_onnx(forest, rows.to_numpy()[:1]).SerializeToString()
    work = Work("", DEEP_ROWS, DEEP_ROWS, {}, "", lambda: None, 0)
    call = explaining(content, rows, work)
    explaining(content, rows, work._replace(explained=50, background=50))()  # loads the loops
    return call


def _woodelf(forest: RandomForestRegressor, rows: pd.DataFrame) -> Callable[[], Any]:
    doubles = rows.astype(np.float64)
    WoodelfExplainer(forest, doubles.head(2)).shap_values(doubles.head(2), verbose=False)
    return lambda: WoodelfExplainer(forest, doubles).shap_values(doubles, verbose=False)


SIDES: Mapping[str, Callable[[RandomForestRegressor, pd.DataFrame], Callable[[], Any]]] = {
    "ours": _ours,
    "woodelf": _woodelf,
}


def _one_side(side: str, depth: int) -> None:
    """Do one side's work on deep trees, and print its seconds."""
    table = pd.read_csv(TABLE)
    frame = table.drop(columns=["SALE_PRC", "PARCELNO"]).astype(np.float32)
    forest = RandomForestRegressor(DEEP_TREES, max_depth=depth, n_jobs=2, random_state=0)
    forest.fit(frame.to_numpy(), np.log(table["SALE_PRC"]))
    print(seconds(SIDES[side](forest, jittered(frame).head(DEEP_ROWS))))


def main() -> None:
    """Measure and print."""
    if sys.argv[1:]:
        side, depth = sys.argv[1:]
        _one_side(side, int(depth))
        return
    for line in lines(deep_rows()):
        print(line, flush=True)
    for line in lines(rows()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
