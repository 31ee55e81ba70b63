"""The first ten minutes of a user, on ten models of usual kinds: what is shown is true and enough.

Notebooks in a browser, recipes of exports, and installing from wheels have tests of their own, in
tests/client and tests/examples.
"""

from __future__ import annotations

import re
import traceback
from pathlib import Path

import numpy as np
import onnxplain
import pandas as pd
import pytest
from sklearn import metrics

pytestmark = pytest.mark.slow

BINARY = ["cancer_lightgbm", "cancer_network", "income_logistic"]
CLASSES = ["wine_catboost", "wine_logistic", "wine_support_vectors"]
NUMBERS = [*("diabetes_gaussian_process", "diabetes_neighbours", "diabetes_xgboost", "rent_forest")]
ALL = sorted([*BINARY, *CLASSES, *NUMBERS])
EXACT_ATTRIBUTIONS = ["diabetes_xgboost", "rent_forest"]


def test_there_are_ten_models(cases) -> None:
    assert sorted(cases) == ALL


def result(answer, method: str, place: int = 0):
    return [one[method] for one in answer["explanations"] if method in one][place]


@pytest.mark.parametrize("name", ALL)
def test_an_overview_has_all_its_parts(ask, name: str) -> None:
    answer = ask(name)

    methods = [method["name"] for method in answer["receipt"]["overviewMethods"]]
    assert methods[0] == "average_loss"
    shares = ["attributions"] if name in EXACT_ATTRIBUTIONS else []
    assert methods[-3 - len(shares) :] == [
        *("permutation_importance", *shares, "interactions", "partial_dependence")
    ]
    plots = [plot["name"] for plot in answer["explanations"][-1]["plots"]]
    assert plots[0] == "shared-curves"
    titles = [plot["title"] for one in answer["explanations"] for plot in one["plots"]]
    assert all(f"{name}.onnx" in title for title in titles), titles
    codes = {warning["code"] for warning in answer["warnings"]}
    about_rows = {"ROWS_DRAWN", "OVERVIEW_REDUCED", "PROBABILITY_FLOOR", "PAIRS_SAMPLED"}
    about_columns = {"CORRELATED_FEATURES", "CURVES_EXTRAPOLATE"}
    assert codes <= about_rows | about_columns, answer["warnings"]


@pytest.mark.parametrize("name", BINARY)
def test_a_binary_classifier_is_one_output(ask, name: str) -> None:
    answer = ask(name)

    outputs = answer["model"]["outputNames"]
    assert len(outputs) == 2
    for method in ("permutationImportance", "interactions", "partialDependence"):
        assert result(answer, method)["outputNames"] == outputs[1:]


@pytest.mark.parametrize("name", ALL)
def test_losses_are_those_of_scikit_learn(ask, cases, name: str) -> None:
    case = cases[name]
    truth, predicted = case.rows["target"], case.predicted
    losses = [
        (one["options"]["averageLoss"]["loss"], one["averageLoss"]["losses"][0]["values"])
        for one in ask(name)["explanations"]
        if "averageLoss" in one
    ]

    if name in NUMBERS:
        expected = {
            "SQUARED_ERROR": metrics.mean_squared_error(truth, predicted),
            "ABSOLUTE_ERROR": metrics.mean_absolute_error(truth, predicted),
        }
    elif name in BINARY:
        is_positive = truth == sorted(truth.unique())[1]
        clipped = np.clip(predicted, 2.0**-23, 1 - 2.0**-23)
        expected = {
            "LOGLOSS": metrics.log_loss(is_positive, clipped),
            "AUC": metrics.roc_auc_score(is_positive, predicted),
            "ACCURACY": metrics.accuracy_score(is_positive, predicted > 0.5),
        }
    else:
        assert [loss for loss, _ in losses] == ["MLOGLOSS", "AUC", "ACCURACY"]
        second = metrics.roc_auc_score(truth == 1, predicted)
        assert losses[1][1][1] == pytest.approx(second, abs=2e-4)
        return
    assert dict(losses) == {
        loss: pytest.approx([value], rel=2e-3) for loss, value in expected.items()
    }


@pytest.mark.parametrize("name", ["income_logistic", "wine_catboost", "rent_forest"])
def test_a_terminal_shows_sentences_and_tables(cases, in_terminal, name: str) -> None:
    case = cases[name]

    shown = in_terminal("explain", case.model, case.table, "--target-column", "target")

    summary = " ".join(shown.split("\n\n")[0].split())
    assert summary.startswith(f"{name}.onnx predicts ")
    assert "Shuffling " in summary
    assert re.search("(is|are) the strongest interaction", summary)  # of pairs alike, several
    assert "Permutation importance" in shown
    assert max(map(len, shown.splitlines())) <= 120
    assert '"explanations"' not in shown


def test_a_class_is_chosen_by_its_name(cases, in_terminal) -> None:
    case = cases["income_logistic"]
    words = ["explain", case.model, case.table, "--target-column", "target"]
    method = ["--method", "partial_dependence", "--set", "features=age,hours"]

    for flag in ("--output-indices", "--outputs"):
        shown = in_terminal(*words, *method, flag, "<=50K")
        assert "<=50K" in shown
    with onnxplain.local() as client:
        curves = client.explain(
            case.model, case.rows, "partial_dependence", target_column="target", outputs=["<=50K"]
        ).partial_dependence
    assert curves.output_names == ("<=50K",)


def test_importance_by_scores_has_a_text_target(cases) -> None:
    case = cases["income_logistic"]
    method = onnxplain.PermutationImportance(loss="AUC")
    with onnxplain.local() as client:
        importance = client.explain(
            case.model, case.rows, method, target_column="target"
        ).permutation_importance

    truth = case.rows["target"] == ">50K"
    expected = metrics.roc_auc_score(truth, case.predicted)
    assert importance.baseline_losses == pytest.approx([expected], abs=1e-4)
    frame = importance.to_pandas()
    assert frame.sort_values("value")["features"].iloc[-1] == "education"


def test_an_answer_shows_pictures_and_is_kept(cases, tmp_path: Path) -> None:
    case = cases["cancer_lightgbm"]
    with onnxplain.local() as client:
        found = client.explain(case.model, case.rows, target_column="target")

    assert "<img" in found._repr_html_()
    picture, _ = found.plot("matrix")._repr_mimebundle_()
    assert "image/png" in picture
    found.save(tmp_path / "answer.json")
    assert onnxplain.load(tmp_path / "answer.json") == found
    assert type(found).from_json(found.to_json()) == found
    assert case.model.name in found.to_html()


def test_tracebacks_end_at_the_call_of_the_user(cases) -> None:
    case = cases["cancer_lightgbm"]
    refusal = pytest.raises(onnxplain.ExplainError, match="no column 'diagnosis'")
    with onnxplain.local() as client, refusal as refused:
        client.explain(case.model, case.rows, target_column="diagnosis")

    frames = traceback.extract_tb(refused.value.__traceback__)
    assert {Path(frame.filename).name for frame in frames} == {Path(__file__).name}


def test_files_of_usual_kinds_are_read_or_say_why_not(cases, piped, tmp_path: Path) -> None:
    case = cases["income_logistic"]
    european = tmp_path / "european.csv"
    case.rows.to_csv(european, index=False, sep=";", decimal=",")
    empty, text = tmp_path / "empty.onnx", tmp_path / "text.onnx"
    empty.write_bytes(b"")
    text.write_text("no model")
    dated = tmp_path / "dated.csv"
    dates = pd.date_range("2024-01-01", periods=len(case.rows)).astype(str)
    case.rows.assign(age=dates).to_csv(dated, index=False)
    method = ["--method", "average_loss", "--target-column", "target"]

    plain = piped("explain", case.model, case.table, *method, "--row-count", "all").stdout
    semicolons = piped("explain", case.model, european, *method).stdout
    values = re.compile(r'"values": \[\s*([^\s\]]+)')
    assert values.findall(plain) == values.findall(semicolons)
    assert "is empty" in piped("describe", empty, code=1).stderr
    assert "no ONNX model" in piped("describe", text, code=1).stderr
    refusal = piped("explain", case.model, dated, *method, code=1).stderr
    assert "date" in refusal
    assert len(refusal.strip().splitlines()[-1]) <= 350


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (["--target-column", "diagnosis"], "--target-column"),
        (["--outputs", "rich"], "--outputs"),
        (["--method", "average_loss", "--set", "loss=gini"], "loss"),
        (["--method", "partial_dependence", "--set", "features=size"], "features"),
    ],
)
def test_the_last_line_of_an_error_is_short_and_names_the_flag(
    cases, piped, words, flag: str
) -> None:
    case = cases["income_logistic"]
    target = [] if "--target-column" in words else ["--target-column", "target"]
    command = [*map(str, ["explain", case.model, case.table]), *target, *words]

    last = piped(*command, code=1).stderr.strip().splitlines()[-1]

    assert flag in last
    assert "UNSPECIFIED" not in last
    assert len(last) <= 350
