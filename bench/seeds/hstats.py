"""Results beside the README of hstats: losses, importances, statistics, curves.

python -m bench.seeds.hstats [KEY ...]

The models are those of examples/, trained with the rows and settings of the README.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Literal, TypeAlias

import numpy as np
import onnxplain
import pandas as pd

from bench.seeds.drawing import draw
from bench.seeds.hstats_curves import (
    curves_by_ocean,
    individual_curves,
    individual_curves_of_forest,
    surface,
)
from bench.seeds.hstats_models import EXAMPLES, MODELS, flowers, houses
from bench.seeds.kept import Result, keep

_REPEATS = 100

Loss: TypeAlias = Literal["SQUARED_ERROR", "MLOGLOSS"]


def statistics(model: str, form: str, statistic: str) -> Result:
    """Return shares, or sizes in the unit of the output, of every group of features."""
    found = _interactions(model)
    groups = [found.total] if statistic == "total" else getattr(found, statistic)
    values = {}
    for group in groups:
        numbers = group.values if form == "share" else np.sqrt(group.numerators)
        label = " × ".join(group.features)
        for i, number in enumerate(numbers, 1):
            values[f"{label} ({i})".strip() if len(numbers) > 1 else label] = float(number)
    return Result(values, rows=_told(model))


@cache
def _interactions(model: str) -> onnxplain.InteractionsResult:
    path, rows, features, triples = MODELS[model]
    with onnxplain.local() as client:
        asked = onnxplain.Interactions(threeway_feature_count=triples)
        return client.explain(path, rows, asked, feature_columns=features).interactions


def _told(model: str) -> str:
    return f"{MODELS[model][0].relative_to(EXAMPLES)}, {MODELS[model][1].name}"


def seconds() -> Result:
    """Return the time of the statistics of the houses, the fastest of three after a first."""
    path, rows, features, _ = MODELS["miami-published"]
    taken = []
    with onnxplain.local() as client:
        for _ in range(4):
            begin = time.perf_counter()
            client.explain(path, rows, onnxplain.Interactions(), feature_columns=features)
            taken.append(time.perf_counter() - begin)
    return Result({"seconds": min(taken[1:])}, rows="500 houses, in process, two cores shared")


def loss(model: str, table: pd.DataFrame, target: str, name: Loss) -> Result:
    path, _, features, _ = MODELS[model]
    with onnxplain.local() as client:
        asked = onnxplain.AverageLoss(loss=name)
        found = client.explain(path, table, asked, feature_columns=features, target_column=target)
    (value,) = found.average_loss.losses[0].values
    return Result({name: float(value)}, rows=f"{path.name}, {len(table)} rows")


def permutation(
    model: str, table: pd.DataFrame, target: str, loss_name: Loss, theirs: int
) -> Result:
    """Return importances, with standard errors of their difference from `theirs` repetitions."""
    path, _, features, _ = MODELS[model]
    asked = onnxplain.PermutationImportance(
        loss=loss_name,
        repeat_count=_REPEATS,
    )
    with onnxplain.local() as client:
        found = client.explain(
            path, table, asked, feature_columns=features, target_column=target, seed=1
        )
    draw(found, found.plots[0].name, f"seeds-{model}-permutation.png")
    importances = found.permutation_importance.importances
    # Of one repetition, the spread is √100 times the error of our mean.
    widen = np.sqrt(1 + _REPEATS / theirs)
    values = {one.features[0]: float(one.values[0]) for one in importances}
    errors = {one.features[0]: float(one.standard_errors[0] * widen) for one in importances}
    claims = {"order": _order(values) == _order(statistics(model, "share", "importance").values)}
    rows = f"{path.name}, {len(table)} rows, {_REPEATS} repetitions"
    return Result(values, errors, claims, seed=1, rows=rows)


def _order(values: Mapping[str, float]) -> list[str]:
    return sorted(values, key=lambda name: -values[name])


def predictions() -> Result:
    """Return the predictions of the first two irises: a curve's value at the own petal length."""
    path, _, features, _ = MODELS["iris-xgboost"]
    rows = flowers(held_out=False)[:2]
    lengths = sorted(set(rows["petal_length"]))
    asked = onnxplain.IndividualConditionalExpectation(features=["petal_length"], grids=[lengths])
    with onnxplain.local() as client:
        found = client.explain(path, rows, asked, feature_columns=features)
    (curves,) = found.individual_conditional_expectation.curves
    values = {}
    for row, curve in zip(curves.row_indices, curves.values, strict=True):
        point = lengths.index(rows["petal_length"].iloc[row])
        for k, number in enumerate(curve[point], 1):
            values[f"[{row + 1}, {k}]"] = float(number)
    return Result(values, rows="xgboost.onnx, the first two rows")


def drawn(model: str, method: Any, picture: str) -> Result:
    """Draw curves of a model of irises; true where all points are numbers, of a line on a line."""
    path, _, features, _ = MODELS[model]
    table = pd.read_csv(MODELS[model][1])
    with onnxplain.local() as client:
        found = client.explain(path, table, method, feature_columns=features)
    draw(found, found.plots[0].name, picture)
    averages = isinstance(method, onnxplain.PartialDependence)
    result = found.partial_dependence if averages else found.individual_conditional_expectation
    curves = result.curves[0]
    whole = bool(np.isfinite(curves.values).all())
    if model == "iris-linear":  # a line: the slope between any two points is the same
        slopes = np.diff(curves.values[..., 0]) / np.diff(curves.grid[0])
        whole = bool(np.ptp(slopes) < 1e-4 * np.abs(slopes).max())
    return Result(claims={"drawn": whole}, rows=_told(model))


def landscape() -> Result:
    """Read how far the packages of R are from our statistics of one model."""
    path = EXAMPLES.parent / "bench" / "speed" / "r_packages.json"
    packages = json.loads(path.read_text(encoding="utf-8"))["packages"]
    values = {f"{one['package']}, {one['asked']}": float(one["difference"]) for one in packages}
    same = {name: far < 1e-9 for name, far in values.items()}
    claims = {
        "same": all(holds for name, holds in same.items() if not name.startswith("gbm")),
        "gbm": all(holds for name, holds in same.items() if name.startswith("gbm")),
    }
    return Result(values, claims=claims, rows="bench/speed/r_packages.json, by r_packages.py")


def _of_r() -> dict[str, Callable[[], Result]]:
    """Makers for the forests of ranger, which clients/r writes as ONNX files."""
    iris = pd.read_csv(EXAMPLES / "r" / "iris.csv")
    held_out = pd.read_csv(EXAMPLES / "r" / "iris_valid.csv")
    both = onnxplain.PartialDependence(features=[("Sepal.Width", "Petal.Width")], grid_size=200)
    permutations = {
        f"{name}-permutation": partial(permutation, name, iris, "Sepal.Length", "SQUARED_ERROR", 4)
        for name in ("r-forest", "r-linear")
    }
    return {
        **permutations,
        "r-forest-curve": partial(
            drawn, "r-forest", onnxplain.PartialDependence(
                features=["Sepal.Width"], group_column="Petal.Width"), "seeds-r-forest-curve.png",
        ),
        "r-forest-surface": partial(drawn, "r-forest", both, "seeds-r-forest-surface.png"),
        "r-forest-individual": partial(
            individual_curves_of_forest, "r-forest", "Sepal.Width", 0, "dalex_ice"
        ),
        "r-mlr3-total": partial(statistics, "r-mlr3", "share", "total"),
        "r-species-loss": partial(loss, "r-species", held_out, "Species", "MLOGLOSS"),
        "r-species-individual": partial(
            individual_curves_of_forest, "r-species", "Petal.Length", 1,
            "multivariate_ice versicolor",
        ),
    }  # fmt: skip


def makers() -> Mapping[str, Callable[[], Result]]:
    published = json.loads((EXAMPLES / "hstats.json").read_text(encoding="utf-8"))
    found: dict[str, Callable[[], Result]] = {
        f"{model}-{form}-{statistic}": partial(statistics, model, form, statistic)
        for model, forms in published.items()
        if model in MODELS
        for form, known in forms.items()
        for statistic in known
    }
    iris = pd.read_csv(EXAMPLES / "iris" / "iris.csv")
    held_out = flowers(held_out=True)
    for name in ("iris-lightgbm", "iris-xgboost"):
        found[f"{name}-loss"] = partial(loss, name, held_out, "species", "MLOGLOSS")
        found[f"{name}-permutation"] = partial(
            permutation, name, held_out, "species", "MLOGLOSS", 100
        )
        found[f"{name}-curve"] = partial(
            drawn, name, onnxplain.PartialDependence(features=["petal_length"]),
            f"seeds-{name}-curve.png",
        )  # fmt: skip
        found[f"{name}-individual"] = partial(
            drawn, name, onnxplain.IndividualConditionalExpectation(features=["petal_length"]),
            f"seeds-{name}-individual.png",
        )  # fmt: skip
    found["iris-linear-curve"] = partial(
        drawn, "iris-linear", onnxplain.PartialDependence(features=["petal_width"]),
        "seeds-iris-linear-curve.png",
    )  # fmt: skip
    centered = onnxplain.IndividualConditionalExpectation(features=["petal_width"], centered=True)
    found["iris-linear-individual"] = partial(
        drawn, "iris-linear", centered, "seeds-iris-linear-individual.png"
    )
    found["iris-linear-permutation"] = partial(
        permutation, "iris-linear", iris, "sepal_length", "SQUARED_ERROR", 4
    )  # fmt: skip
    found["miami-loss"] = lambda: loss("miami-published", houses()[1], "log_price", "SQUARED_ERROR")
    found["miami-permutation"] = lambda: permutation(
        "miami-published", houses()[1], "log_price", "SQUARED_ERROR", 4
    )  # fmt: skip
    found |= _of_r()
    return {
        **found,
        "landscape": landscape,
        "miami-seconds": seconds,
        "miami-curves-by-ocean": curves_by_ocean,
        "miami-surface": surface,
        "miami-individual-curves": individual_curves,
        "iris-xgboost-predictions": predictions,
    }


if __name__ == "__main__":
    keep("hstats", makers())
