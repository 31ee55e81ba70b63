"""Results equal those of R's hstats 1.2.2 on the same models and rows.

`hstats/README.md` says how they were made and within which tolerances they hold.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Json = dict[str, Any]
Explain = Callable[[Path, Json], Json]

TREELESS = ("case_additive_linear", "case_iris_logistic_3class")
CASES = sorted((Path(__file__).parent / "hstats").glob("case_*"))
ORDERS = {
    "overall": "h2_overall",
    "pairwise": "h2_pairwise",
    "threeway": "h2_threeway",
    "importance": "pd_importance",
}


def expected(case: Path) -> Json:
    loaded: Json = json.loads((case / "expected.json").read_text())
    return loaded


def engines(case: Path) -> tuple[str, ...]:
    """Both must agree with hstats, where both apply."""
    return ("BLACK_BOX",) if case.name in TREELESS else ("TREES", "BLACK_BOX")


def runs(kind: str) -> Iterator[Any]:
    """All runs of a kind, over all cases and the engines that apply."""
    for case, engine in [(each, engine) for each in CASES for engine in engines(each)]:
        for key, value in expected(case).items():
            if key in (kind, f"{kind}_second_run"):
                several = value if isinstance(value, list) else [value]
                for i, run in enumerate(several):
                    yield pytest.param(case, engine, run, id=f"{case.name}-{engine}-{key}-{i}")


def request(case: Path, engine: str, method: Json, *, weighted: bool) -> Json:
    golden = expected(case)
    asked = {
        "engine": engine,
        "featureColumns": golden["data"]["features"],
        "outputIndices": golden["model"]["output_columns"],
        "plots": False,
        "methods": [method],
    }
    return asked | ({"weightColumn": golden["data"]["weight"]} if weighted else {})


def interactions(options: Json) -> Json:
    bins = options["grid_size"] if options["approx"] else 0
    return {
        "interactions": {
            "features": options["v"],
            "pairwiseFeatureCount": options["pairwise_m"],
            "threewayFeatureCount": options["threeway_m"],
            "quantileBinCount": bins,
        }
    }


@pytest.mark.parametrize(
    ("case", "engine", "golden", "threshold"),
    [
        pytest.param(
            *run.values, threshold, id=f"{run.id}-{'own' if threshold is None else 'their'}"
        )
        for run in runs("hstats")
        for threshold in ((None, 1e-10) if run.values[1] == "TREES" else (1e-10,))
    ],
)
def test_interaction_statistics(
    explain: Explain, case: Path, engine: str, golden: Json, threshold: float | None
) -> None:
    method = interactions(golden["options"])
    if threshold is not None:
        method["interactions"]["absoluteThreshold"] = threshold
    weighted = golden["options"]["weighted"]

    answer = explain(case, request(case, engine, method, weighted=weighted))

    found = answer["explanations"][0]["interactions"]
    squares = {"rel": 1e-4, "abs": 1e-6 * max(1.0, *golden["mean_f2"])}
    assert found["meanSquares"] == pytest.approx(golden["mean_f2"], **squares)
    assert found["total"]["numerators"] == pytest.approx(golden["h2"]["num"][0], **squares)
    for order, statistic in ORDERS.items():
        compare(found[order], golden[statistic], squares)


def compare(found: list[Json], golden: Json | None, squares: Json) -> None:
    rows = golden["rows"] if golden else []
    assert [":".join(statistic["features"]) for statistic in found] == rows
    for i, statistic in enumerate(found):
        assert golden is not None
        denominators = np.atleast_1d(golden["denom"])
        denominator = denominators[i] if denominators.ndim == 2 else denominators
        numerators = golden["num"][i]
        assert statistic["numerators"] == pytest.approx(numerators, **squares)
        assert statistic["denominators"] == pytest.approx(denominator, **squares)
        shares = golden["normalized_squared"][i]
        assert statistic["values"] == pytest.approx(shares, rel=1e-4, abs=1e-6)
        assert [n == 0 for n in statistic["numerators"]] == [n == 0 for n in numerators]


def partial_dependence(options: Json) -> Json:
    method = {
        "features": [{"names": options["v"]}],
        "gridSize": options["grid_size"],
        "strategy": options["strategy"].upper(),
        "trimLower": options["trim"][0],
        "trimUpper": options["trim"][1],
        "groupCount": options["by_size"],
        "includeMissing": not options["na_rm"],
    }
    if options["BY"]:
        method["groupColumn"] = options["BY"]
    if options["grid"]:
        (name,) = options["v"]
        method["grids"] = [{"columns": [{"name": name, "numbers": options["grid"]}]}]
    return {"partialDependence": method}


@pytest.mark.parametrize(("case", "engine", "golden"), list(runs("partial_dep")))
def test_partial_dependence(explain: Explain, case: Path, engine: str, golden: Json) -> None:
    options = golden["options"]

    answer = explain(
        case, request(case, engine, partial_dependence(options), weighted=options["weighted"])
    )

    curves = answer["explanations"][0]["partialDependence"]["curves"]
    rows = np.array([[np.nan if v is None else v for v in row] for row in numbers(golden)], float)
    largest = np.abs(expected(case)["predictions"]).max()
    if options["BY"]:
        # hstats gives groups in order of first appearance; ours ascend, however they are met.
        theirs = list(dict.fromkeys(str(row[0]) for row in golden["rows"]))
        ours = [curve["group"] for curve in curves]
        assert ours == sorted(theirs, key=starts_at)
        curves = [curves[ours.index(group)] for group in theirs]
    found = np.vstack([points(curve, rows.shape[1]) for curve in curves])
    np.testing.assert_allclose(found, rows, rtol=1e-5, atol=1e-5 * largest)


def starts_at(group: str) -> float:
    """Read where a group like "(2,4]" or "2" starts."""
    return float(group.strip("[(]").split(",")[0])


def numbers(golden: Json) -> list[list[float | None]]:
    """Rows without the group."""
    return [row[1:] for row in golden["rows"]] if golden["options"]["BY"] else golden["rows"]


def points(curve: Json, n_columns: int) -> np.ndarray[Any, Any]:
    """Grid and values of a curve side by side, as in the golden rows."""
    grid = np.array([column["numbers"] for column in curve["grid"]], float).T
    values = np.array(curve["values"], float).reshape(len(grid), n_columns - grid.shape[1])
    return np.hstack([grid, values])


@pytest.mark.slow
def test_sampled_rows_give_the_same_statistics_on_average(explain: Explain) -> None:
    case = next(case for case in CASES if "hstats_subsample" in expected(case))
    golden = expected(case)["hstats_subsample"]
    options = golden["options"] | {"v": expected(case)["data"]["features"]}
    options |= {"pairwise_m": 0, "threeway_m": 0, "grid_size": 0}
    draws = []
    for seed in range(options["repeats"]):
        asked = request(case, "BLACK_BOX", interactions(options), weighted=False)
        answer = explain(case, asked | {"rowCount": options["n_max"], "seed": seed})
        found = answer["explanations"][0]["interactions"]
        draws.append([found["total"]["values"][0], *(s["values"][0] for s in found["overall"])])

    assert golden["rows"] == ["total", *expected(case)["data"]["features"]]
    spread = np.array(golden["sd_normalized_squared"])
    bound = 5 * spread * np.sqrt(2 / options["repeats"])
    assert np.all(np.abs(np.mean(draws, axis=0) - golden["mean_normalized_squared"]) <= bound)


@pytest.mark.parametrize(("case", "engine", "golden"), list(runs("ice")))
def test_individual_conditional_expectation(
    explain: Explain, case: Path, engine: str, golden: Json, tmp_path: Path
) -> None:
    options = golden["options"]
    (name,) = options["v"]
    method = {
        "features": [name],
        "gridSize": options["grid_size"],
        "strategy": options["strategy"].upper(),
        "includeMissing": not options["na_rm"],
    }
    if options["grid"]:
        method["grids"] = [{"columns": [{"name": name, "numbers": options["grid"]}]}]
    first = head(case, options["first_rows_used"], tmp_path)

    answer = explain(
        first, request(case, engine, {"individualConditionalExpectation": method}, weighted=False)
    )

    (curves,) = answer["explanations"][0]["individualConditionalExpectation"]["curves"]
    rows = np.array(golden["rows"], float)
    n_rows, grid = options["first_rows_used"], np.array(curves["grid"][0]["numbers"])
    assert curves["rowIndices"] == list(range(n_rows))
    assert rows[::n_rows, 1] == pytest.approx(grid)
    # Theirs has rows innermost, ours grid points.
    theirs = rows[:, 2:].reshape(len(grid), n_rows, -1).transpose(1, 0, 2)
    largest = np.abs(expected(case)["predictions"]).max()
    assert curves["values"] == pytest.approx(theirs.ravel(), rel=1e-5, abs=1e-5 * largest)


def head(case: Path, n_rows: int, folder: Path) -> Path:
    """The case with only the first rows of its table."""
    shutil.copy(case / "model.onnx", folder)
    lines = (case / "data.csv").read_text().splitlines(keepends=True)
    (folder / "data.csv").write_text("".join(lines[: n_rows + 1]))
    return folder


def comparison(case: Path, options: Json) -> Json:
    """What average loss and permutation importance share."""
    return {
        "loss": options["loss"].upper(),
        "targetColumns": expected(case)["data"]["target"],
        "sumOutputs": options["agg_cols"],
        **({"oneHotTarget": True} if options["one_hot_target"] else {}),
    }


@pytest.mark.parametrize(("case", "engine", "golden"), list(runs("average_loss")))
def test_average_loss(explain: Explain, case: Path, engine: str, golden: Json) -> None:
    options = golden["options"]
    method = comparison(case, options) | {"groupCount": options["by_size"]}
    if options["BY"]:
        method["groupColumn"] = options["BY"]

    answer = explain(
        case, request(case, engine, {"averageLoss": method}, weighted=options["weighted"])
    )

    losses = answer["explanations"][0]["averageLoss"]["losses"]
    assert [loss["group"] for loss in losses] == (golden["groups"] or [""])
    for loss, values in zip(losses, golden["values"], strict=True):
        assert loss["values"] == pytest.approx(values, rel=1e-5)


IMPORTANCES = [
    run for run in runs("perm_importance") if "BLACK_BOX" in run.values or "xgb" in str(run.id)
]
"""Both engines predict the same shuffled rows: trees once."""


@pytest.mark.parametrize(("case", "engine", "golden"), IMPORTANCES)
def test_permutation_importance(explain: Explain, case: Path, engine: str, golden: Json) -> None:
    options, names = golden["options"], expected(case)["data"]["features"]
    groups = options["groups"] or {name: [name] for name in names}
    method = comparison(case, options) | {
        "features": [{"names": groups[row]} for row in golden["rows"]],
        "repeatCount": options["m_rep"],
        "normalize": options["normalize"],
    }

    answer = explain(
        case, request(case, engine, {"permutationImportance": method}, weighted=options["weighted"])
    )

    found = answer["explanations"][0]["permutationImportance"]["importances"]
    values = np.array([importance["values"] for importance in found])
    errors = np.array([importance["standardErrors"] for importance in found])
    theirs = np.hypot(errors, golden["standard_errors"])
    assert np.all(np.abs(values - golden["values"]) <= 5 * theirs + 1e-9)
    assert np.all(errors <= 2 * np.array(golden["standard_errors"]) + 1e-9)
