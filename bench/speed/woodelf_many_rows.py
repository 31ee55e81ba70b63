"""Trees engine against WOODELF over 400,000 rows: curves, surfaces, and H² with all pairs.

The rows are those of Miami's houses, drawn with replacement and moved a little, so that few are
equal. Both sides start from a matrix, with the model in their own form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from itertools import combinations

import numpy as np
import pandas as pd
from onnxplain_server.methods import interactions
from onnxplain_server.trees.exact import Exact
from threadpoolctl import threadpool_limits
from woodelf import pdp
from xgboost import XGBRegressor

from bench.shared import engines
from bench.speed.woodelf_miami import TABLE, Vector, exported, fitted, theirs
from bench.speed_table.row import RUNS, Row, Unit, in_turn, lines, seconds

ROW_COUNT = 400_000
JITTER = 0.01
"""In standard deviations."""
TRIM = (0.05, 0.95)
"""Quantiles between which WOODELF's grids run."""
CURVE_POINTS, SURFACE_POINTS = 100, 20
WOODELF = f"WOODELF {version('woodelf_explainer')}"
CURVES_WANTED, SURFACES_WANTED = 7.3 / 1.4, 7.6 / 1.5


class Work:
    """Work on many rows, by both sides.

    Parameters
    ----------
    model : XGBRegressor
    frame : DataFrame
        The rows that are drawn from.
    threads : ThreadPoolExecutor
    """

    def __init__(
        self, model: XGBRegressor, frame: pd.DataFrame, threads: ThreadPoolExecutor
    ) -> None:
        rng = np.random.default_rng(0)
        own = frame.to_numpy(np.float64)
        moved = own[rng.integers(len(own), size=ROW_COUNT)]
        moved += rng.normal(size=moved.shape) * JITTER * own.std(axis=0)
        self.rows = moved.astype(np.float32)
        self.model = model
        self.names = list(frame.columns)
        self.frame = pd.DataFrame(self.rows, columns=self.names)
        self.engine = engines.trees(exported(model, len(self.names)), threads)
        self.features = range(len(self.names))

    def curves(self) -> None:
        grids = [self._grid(j, CURVE_POINTS) for j in self.features]
        list(self._effects().curves([([j], [grid]) for j, grid in enumerate(grids)]))

    def steps(self) -> None:
        effects = self._effects()
        grids = [effects.breakpoints(j) for j in self.features]
        list(effects.curves([([j], [grid]) for j, grid in enumerate(grids)]))

    def surfaces(self) -> None:
        size = SURFACE_POINTS
        grids = [self._grid(j, size) for j in self.features]
        points = [
            ([j, k], [np.repeat(grids[j], size), np.tile(grids[k], size)])
            for j, k in combinations(self.features, 2)
        ]
        list(self._effects().curves(points))

    def interactions(self) -> None:
        options = interactions.Options(pairwise_feature_count=len(self.names))
        with threadpool_limits(1):  # as in a worker of the server
            engines.interacting(self.engine, self.rows, options, self.names)

    def woodelf_curves(self) -> None:
        pdp.woodelf_pdp(self.model, self.frame, k=CURVE_POINTS, verbose=False)

    def woodelf_steps(self) -> None:
        pdp.woodelf_pdp(self.model, self.frame, full_pdp=True, verbose=False)

    def woodelf_surfaces(self) -> None:
        pdp.woodelf_pdp_joint(self.model, self.frame, k=SURFACE_POINTS, verbose=False)

    def woodelf_effects(self) -> None:
        theirs(self.model, self.frame)

    def _effects(self) -> Exact:
        return self.engine.on(engines.background(self.rows, self.names))

    def _grid(self, j: int, size: int) -> Vector:
        low, high = np.quantile(self.rows[:, j], TRIM)
        return np.linspace(float(low), float(high), size)


def rows() -> Iterator[Row]:
    """Measure both sides; WOODELF's effects at all rows once, as they take minutes."""
    table = pd.read_csv(TABLE)
    frame = table.drop(columns=["SALE_PRC", "PARCELNO"]).astype(np.float32)
    model = fitted(frame, table["SALE_PRC"])
    with ThreadPoolExecutor(engines.THREADS) as threads:
        work = Work(model, frame, threads)
        curve, square = f"{CURVE_POINTS} points", f"{SURFACE_POINTS} x {SURFACE_POINTS} points"
        yield _row(f"15 curves at {curve}", work.curves, work.woodelf_curves, CURVES_WANTED)
        yield _row("15 curves at all steps", work.steps, work.woodelf_steps, CURVES_WANTED)
        surfaces = work.surfaces, work.woodelf_surfaces, SURFACES_WANTED
        yield _row(f"105 surfaces at {square}", *surfaces)
        work.interactions()
        yield Row(
            _named("H², 15 H²_j and 105 pairs"),
            Unit.SECONDS,
            [seconds(work.interactions) for _ in range(RUNS)],
            f"{WOODELF}, F_j and pair terms",
            [seconds(work.woodelf_effects)],
            note=r"WOODELF gives neither F_\j nor the statistics: it does a part of the work",
        )


def _row(work: str, ours: Callable[[], object], others: Callable[[], object], wanted: float) -> Row:
    ours()
    own, other = in_turn(partial(seconds, ours), partial(seconds, others))
    return Row(_named(work), Unit.SECONDS, own, WOODELF, other, wanted)


def _named(work: str) -> str:
    return f"{work}, {ROW_COUNT:,} rows, XGBoost of 100 trees of depth 6"


def main() -> None:
    print(*lines(rows()), sep="\n")


if __name__ == "__main__":
    main()
