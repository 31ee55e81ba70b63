"""R models: what clients/r writes predicts what R predicts, and is read by the trees engine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxplain
import pandas as pd
import pytest
from onnx import checker
from onnxplain_server.adapters.onnx import load
from onnxplain_server.trees.reading.ensemble import Ensemble, read_tree_sums

from tools.missing_programs import DEMAND
from tools.programs import advice

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "clients" / "r"
FEATURES = ("size", "age", "rooms", "slope", "town", "grade")
PACKAGES = ("ranger", "gbm", "randomForest", "caret")
LOCALE = {**os.environ, "LC_ALL": "C.UTF-8"}
TOLERANCE = 1e-6
"""Relative to the largest prediction; R computes in float64, tree operators give float32."""

Program = Callable[[str], str]


@pytest.fixture(scope="module")
def rscript(program: Program) -> str:
    """Path of Rscript; the test is left out where it or a package is not installed."""
    path = program("Rscript")
    wanted = ", ".join(f'"{name}"' for name in PACKAGES)
    asked = f"cat(setdiff(c({wanted}), rownames(installed.packages())))"
    answer = subprocess.run([path, "-e", asked], capture_output=True, text=True, check=True)
    if answer.stdout and os.environ.get(DEMAND):
        pytest.fail(f"R has no {answer.stdout}; {advice('Rscript')}", pytrace=False)
    if answer.stdout:
        pytest.skip("program not found: Rscript")
    return path


@pytest.fixture(scope="module")
def forests(rscript: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of ranger's models and R's predictions."""
    folder = tmp_path_factory.mktemp("ranger")
    run(rscript, "ranger.R", folder)
    return folder


@pytest.fixture(scope="module")
def statistics(rscript: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of models, and of their statistics computed in R."""
    folder = tmp_path_factory.mktemp("statistics")
    run(rscript, "statistics.R", folder)
    return folder


def run(rscript: str, script: str, folder: Path) -> None:
    """Run a script beside this file, which writes into a folder."""
    command = [rscript, script, str(PACKAGE), str(folder)]
    done = subprocess.run(
        command, cwd=HERE, env=LOCALE, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def errors(folder: Path) -> dict[str, float]:
    """Compare each model with R's predictions: the largest difference, in parts of the largest."""
    return {path.stem: error(path) for path in sorted(folder.glob("*.onnx"))}


def error(path: Path) -> float:
    expected = pd.read_csv(path.with_suffix(".csv")).to_numpy(float)
    predicted = predict(path.read_bytes(), rows_of(path))
    assert predicted.shape == expected.shape
    return float(np.abs(predicted - expected).max() / np.abs(expected).max())


def rows_of(path: Path) -> pd.DataFrame:
    own = path.with_name(f"rows_{path.stem}.csv")
    shared = path.with_name("holes.csv" if "holes" in path.stem else "rows.csv")
    return pd.read_csv(own if own.exists() else shared)


def predict(content: bytes, rows: pd.DataFrame) -> Any:
    model = load(content)
    return model.predict({each.name: column(rows[each.name], each.type) for each in model.inputs})


def column(values: pd.Series[Any], kind: str) -> Any:
    array = values.fillna("").to_numpy(object) if kind == "string" else values.to_numpy(float)
    return array.reshape(-1, 1)


def refused(folder: Path) -> list[str]:
    return (folder / "messages.txt").read_text(encoding="utf-8").splitlines()


def within(found: Mapping[str, float], count: int) -> bool:
    return len(found) == count and max(found.values()) < TOLERANCE


def are_read_as_trees(folder: Path) -> bool:
    models = [onnx.load(path) for path in folder.glob("*.onnx")]
    for model in models:
        checker.check_model(model, full_check=True)
    return all(isinstance(read_tree_sums(model), Ensemble) for model in models)


def test_forests_of_ranger_predict_what_r_predicts(forests: Path) -> None:
    assert within(found := errors(forests), 13), found
    assert are_read_as_trees(forests)
    assert refused(forests) == [
        "ranger keeps no levels of town: give the training rows as `data`",
        "ranger kept no forest: fit with write.forest = TRUE",
        "`data` has no column size, which the model uses",
        "write_onnx() has no argument n.trees",
    ]


def test_boosting_of_gbm_predicts_what_r_predicts(rscript: str, tmp_path: Path) -> None:
    run(rscript, "gbm.R", tmp_path)

    assert within(found := errors(tmp_path), 11), found
    assert are_read_as_trees(tmp_path)
    assert refused(tmp_path) == [
        "give n.trees, for example gbm.perf(model): the model has errors to choose it by",
        "n.trees is a number from 1 to 50",
    ]


def test_forests_of_random_forest_predict_what_r_predicts(rscript: str, tmp_path: Path) -> None:
    run(rscript, "random_forest.R", tmp_path)

    assert within(found := errors(tmp_path), 5), found
    assert are_read_as_trees(tmp_path)
    assert refused(tmp_path) == [
        "the forest's cutoff differs by class; fit with the default",
        "randomForest kept no forest: fit with keep.forest = TRUE",
    ]


def test_linear_models_predict_what_r_predicts(rscript: str, tmp_path: Path) -> None:
    run(rscript, "linear.R", tmp_path)

    assert within(found := errors(tmp_path), 6), found
    rows = pd.read_csv(tmp_path / "rows.csv")[:2].assign(town=["moon", ""])
    assert np.isnan(predict((tmp_path / "lm.onnx").read_bytes(), rows)).all()
    messages = refused(tmp_path)
    assert messages[0] == messages[1]
    assert messages[0].startswith("only plain columns are supported")
    assert messages[2] == "the link probit is not one of identity, logit and log"
    assert messages[3].startswith("write_onnx() takes forests and boosting of ranger")


def test_models_inside_other_objects_are_found(rscript: str, tmp_path: Path) -> None:
    run(rscript, "containers.R", tmp_path)

    assert within(found := errors(tmp_path), 9), found
    steps, recipe, xgboost, untrained = refused(tmp_path)
    assert steps.startswith("caret's preProcess prepares the columns (scale)")
    assert recipe.startswith("the recipe prepares the columns (step_normalize)")
    assert xgboost.startswith("xgboost has a file format of its own")
    assert untrained == "the learner is not trained"


def test_exact_statistics_are_those_by_definition(statistics: Path) -> None:
    """H², H²_j and a pair, computed in R from predict() on all pairs of 40 rows."""
    options = onnxplain.Interactions(pairwise_feature_count=6)

    with onnxplain.local() as client:
        for name in ("forest", "boosted"):
            answer = client.explain(statistics / f"{name}.onnx", statistics / "few.csv", options)
            result = answer.interactions
            every = [result.total, *result.overall, *result.pairwise]
            value = {frozenset(one.features): one.values[0] for one in every}
            wanted = [(), *((name,) for name in FEATURES), ("size", "age")]
            expected = pd.read_csv(statistics / f"statistics_{name}.csv")["value"]

            assert answer.receipt.engine == "TREES"
            found = [value[frozenset(names)] for names in wanted]
            assert found == pytest.approx(expected.tolist(), rel=1e-6)


def test_gbm_s_own_statistics_are_ours_where_features_are_independent(statistics: Path) -> None:
    expected = pd.read_csv(statistics / "interact_gbm.csv")
    options = onnxplain.Interactions(pairwise_feature_count=3)

    with onnxplain.local() as client:
        answer = client.explain(statistics / "independent.onnx", statistics / "design.csv", options)

    found = {one.features: one.values[0] for one in answer.interactions.pairwise}
    pairs = zip(expected["first"], expected["second"], strict=True)
    assert [found[pair] for pair in pairs] == pytest.approx(expected["value"].tolist(), rel=1e-6)
    assert expected["value"].min() > 1e-4


def test_classes_and_features_keep_their_names(forests: Path) -> None:
    model = load((forests / "probability.onnx").read_bytes())
    odd = load((forests / "names.onnx").read_bytes())

    assert model.output_names == ("cheap", "dear", "fair")
    assert tuple(each.name for each in model.inputs) == FEATURES
    assert [each.type for each in model.inputs] == ["double"] * 4 + ["string"] * 2
    assert [each.name for each in odd.inputs] == [
        *("size", '"age"', "the rooms", "é\t", "prediction", "matrix")
    ]
    assert odd.output_names == ("prediction_1",)


def test_the_package_installs(rscript: str, tmp_path: Path) -> None:
    subprocess.run(
        [Path(rscript).with_name("R"), "CMD", "INSTALL", f"--library={tmp_path}", PACKAGE],
        capture_output=True,
        check=True,
    )
    command = [
        rscript,
        "-e",
        f'library(onnxplain, lib.loc = "{tmp_path}"); cat(ls("package:onnxplain"))',
    ]

    answer = subprocess.run(command, capture_output=True, text=True, check=True)

    assert answer.stdout == "write_onnx"
