"""Curves of the README of hstats, at the rows that it draws, against its pictures.

Its calls stand in one session after `set.seed(782)`: statistics, curves by quarters of the distance
to the ocean, a surface, individual curves. R's random numbers give the rows of each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxplain
import pandas as pd

from bench.seeds.drawing import draw
from bench.seeds.hstats_models import HOUSES, MODELS, houses
from bench.seeds.kept import Result
from bench.seeds.pictures import PUBLISHED
from examples.miami.published.r_sample import RSample

# Of a picture's positions: a hundredth of a point is about 0.00003 of the logarithm of a price.
_READING = 2e-4

Matrix = npt.NDArray[np.float64]


def _drawn() -> Iterator[pd.DataFrame]:
    """Yield the rows of hstats' calls, in the order of its session."""
    trained, _ = houses()
    random = RSample(782)
    random.draw(len(trained), 500)  # of hstats()
    group = _quarters(trained["OCEAN_DIST"].to_numpy())
    by_quarter = [
        trained[group == quarter].iloc[random.draw((group == quarter).sum(), 1000)]
        for quarter in dict.fromkeys(group)
    ]
    yield from sorted(by_quarter, key=lambda rows: rows["OCEAN_DIST"].min())
    yield trained.iloc[random.draw(len(trained), 1000)]
    yield trained.iloc[random.draw(len(trained), 100)]


def _quarters(values: Matrix) -> npt.NDArray[np.int64]:
    """Number quantile groups as R's cut does: closed on the right, the lowest included."""
    edges = np.quantile(values, [0.25, 0.5, 0.75], method="inverted_cdf")
    return np.searchsorted(edges, values, side="left")


def _ages(trained: pd.DataFrame, count: int) -> list[float]:
    low, high = _ends(trained["age"].to_numpy())
    return [float(age) for age in np.linspace(low, high, count)]


def _ends(values: Matrix) -> tuple[float, float]:
    low, high = np.quantile(values, [0.01, 0.99], method="inverted_cdf")
    return float(low), float(high)


def _distances(ours: Matrix, picture: str) -> Result:
    """Compare curves, one per row, with those of a picture, in its order."""
    theirs = np.array(json.loads(PUBLISHED.read_text("utf-8"))["curves"][picture]["y"])
    furthest = float(np.abs(ours - theirs).max())
    claims = {"points": furthest < _READING}
    name = f"largest distance of {theirs.size:,} points"
    return Result({name: furthest}, claims=claims, seed=782, rows=f"rows of hstats; {picture}.svg")


def curves_by_ocean() -> Result:
    grid = _ages(houses()[0], 49)
    asked = onnxplain.PartialDependence(features=["age"], grids=[grid])
    with onnxplain.local() as client:
        answers = [
            client.explain(MODELS["miami-published"][0], rows[HOUSES], asked)
            for rows in [*_drawn()][:4]
        ]
    ours = [found.partial_dependence.curves[0].values[:, 0] for found in answers]
    return _distances(np.array(ours), "pdp_ocean_age")


def surface() -> Result:
    trained, _ = houses()
    low, high = _ends(np.log(trained["OCEAN_DIST"].to_numpy()))
    ages, oceans = _ages(trained, 32), np.exp(np.linspace(low, high, 32))
    points = {"age": np.tile(ages, 32), "OCEAN_DIST": np.repeat(oceans, 32)}
    asked = onnxplain.PartialDependence(features=[("age", "OCEAN_DIST")], grids=[points])
    with onnxplain.local() as client:
        found = client.explain(MODELS["miami-published"][0], [*_drawn()][4][HOUSES], asked)
    ours = found.partial_dependence.curves[0].values.reshape(32, 32)
    return _distances(ours, "pdp_2d_line")


def individual_curves() -> Result:
    """Return how far 100 curves are from those of the picture, in their order."""
    rows = [*_drawn()][5]
    asked = onnxplain.IndividualConditionalExpectation(
        features=["age"],
        grids=[_ages(houses()[0], 49)],
        centered=True,
        group_columns=["OCEAN_DIST"],
    )
    ours = _individual("miami-published", rows, asked, "seeds-miami-individual-curves.png")
    return _distances(ours[:, :, 0], "ice")


def individual_curves_of_forest(model: str, feature: str, output: int, picture: str) -> Result:
    """Return how far the curves of a picture are from the nearest of those of 150 irises.

    R's forests leave its random numbers in an unknown state, so the 100 irises that hstats draws
    are unknown too.
    """
    rows = pd.read_csv(MODELS[model][1])
    asked = onnxplain.IndividualConditionalExpectation(
        features=[feature], curve_count=len(rows), centered=True, group_columns=["Petal.Width"]
    )
    ours = _individual(model, rows, asked, f"seeds-{model}-individual.png")[:, :, output]
    theirs = np.array(json.loads(PUBLISHED.read_text("utf-8"))["curves"][picture]["y"])
    furthest = float(np.abs(ours[:, None] - theirs[None]).max(axis=2).min(axis=0).max())
    name = f"largest distance of {theirs.size:,} points"
    claims = {"points": furthest < _READING}
    return Result({name: furthest}, claims=claims, rows=f"150 irises; {picture}")


def _individual(model: str, rows: pd.DataFrame, asked: Any, picture: str) -> Matrix:
    """Draw individual curves, and return them in the order of the rows."""
    path, _, features, _ = MODELS[model]
    with onnxplain.local() as client:
        found = client.explain(path, rows, asked, feature_columns=features)
    draw(found, found.plots[0].name, picture)
    (curves,) = found.individual_conditional_expectation.curves
    return np.array(curves.values)[np.argsort(curves.row_indices)]
