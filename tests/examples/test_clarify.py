"""A configuration of SageMaker Clarify becomes a request, and its answer an analysis.json."""

from __future__ import annotations

import csv
import itertools
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

ROOT = Path(__file__).parents[2]
CONVERT = ROOT / "examples/clarify/convert.py"
IRIS = ROOT / "examples/iris"
ROWS = 30
FEATURES = ("sepal_length", "sepal_width", "petal_length", "petal_width")
BASELINE = [5.8, 3.0, 4.3, 1.3]
SHAP = {"baseline": [BASELINE], "num_samples": 100, "agg_method": "mean_abs", "seed": 7}
CONFIG = {
    "version": "1.0",
    "dataset_type": "text/csv",
    "headers": [*FEATURES, "species"],
    "label": "species",
    "methods": {"shap": SHAP, "report": {"name": "report"}},
    "predictor": {"model_name": "iris", "instance_type": "ml.m5.large"},
}
Convert = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def rows(tmp_path: Path) -> list[list[str]]:
    """Write every fifth row of iris without its headers, as Clarify reads a CSV file."""
    with (IRIS / "iris.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.reader(file))[1::5][:ROWS]
    text = "".join(",".join(row) + "\n" for row in read)
    (tmp_path / "rows.csv").write_text(text, encoding="utf-8")
    return read


@pytest.fixture
def convert(tmp_path: Path) -> Convert:
    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(CONVERT), *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, encoding="utf-8"
        )

    return run


def request_of(convert: Convert, folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    (folder / "analysis_config.json").write_text(json.dumps(config), encoding="utf-8")
    done = convert("request", "analysis_config.json", "rows.csv", "converted")
    assert (done.returncode, done.stderr) == (0, "")
    made: dict[str, Any] = json.loads((folder / "converted/request.json").read_bytes())
    return made


def answer_of(folder: Path) -> None:
    command = [sys.executable, "-m", "onnxplain_server", "explain", str(IRIS / "lightgbm.onnx")]
    command += ["converted/table.csv", "--request", "converted/request.json"]
    command += ["--output", "json", "--output-file", "answer.json"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def shapley_values(rows: np.ndarray, baseline: np.ndarray) -> np.ndarray:
    """Sum over all coalitions: rows x features x classes."""
    model = onnx.load(IRIS / "lightgbm.onnx")
    # Labels as texts are none that the runtime casts to.
    del model.graph.output[0]
    for node in [node for node in model.graph.node if node.op_type == "Cast"]:
        model.graph.node.remove(node)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (name,) = (each.name for each in session.get_inputs())
    count = len(FEATURES)
    found = np.zeros((len(rows), count, 3))

    def predicted(players: tuple[int, ...]) -> np.ndarray:
        mixed = np.tile(baseline, (len(rows), 1))
        mixed[:, list(players)] = rows[:, list(players)]
        scores = session.run(None, {name: mixed.astype(np.float32)})[-1]
        return np.array([[*row.values()] for row in scores] if isinstance(scores, list) else scores)

    for j in range(count):
        others = [k for k in range(count) if k != j]
        for size in range(count):
            weight = math.factorial(size) * math.factorial(count - size - 1) / math.factorial(count)
            for players in itertools.combinations(others, size):
                found[:, j] += weight * (predicted((*players, j)) - predicted(players))
    return found


def test_an_analysis_has_the_shapley_values_of_all_coalitions(rows, convert, tmp_path) -> None:
    request_of(convert, tmp_path, CONFIG)
    answer_of(tmp_path)
    given = np.array([[float(value) for value in row[:4]] for row in rows])
    values = shapley_values(given, np.array(BASELINE))

    for agg_method, expected in {
        "mean_abs": np.abs(values).mean(axis=0),
        "median": np.median(values, axis=0),
        "mean_sq": (values**2).mean(axis=0),
    }.items():
        done = convert("analysis", "answer.json", agg_method)
        labels = json.loads(done.stdout)["explanations"]["kernel_shap"]
        assert list(labels) == ["label0", "label1", "label2"]
        for k, label in enumerate(labels.values()):
            assert tuple(label["global_shap_values"]) == FEATURES
            own = [*label["global_shap_values"].values()]
            assert own == pytest.approx(expected[:, k], rel=1e-4, abs=1e-6)
        assert sum(label["expected_value"] for label in labels.values()) == pytest.approx(1)


def test_without_a_baseline_the_rows_are_their_own_background(rows, convert, tmp_path) -> None:
    shap = {"num_samples": 100, "use_logit": True, "save_local_shap_values": True}
    request = request_of(convert, tmp_path, CONFIG | {"methods": {"shap": shap}, "label": 4})

    assert request == {
        "featureColumns": [*FEATURES],
        "scale": "MARGIN",
        "methods": [{"attributions": {"permutationCount": 17, "explainedRowCount": ROWS}}],
    }
    table = (tmp_path / "converted/table.csv").read_text(encoding="utf-8").splitlines()
    assert table == [",".join(FEATURES), *(",".join(row[:4]) for row in rows)]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param({"facet": [{"name_or_index": 0}]}, "facet", id="a facet"),
        pytest.param({"dataset_type": "application/jsonlines"}, "dataset_type", id="JSON Lines"),
        pytest.param({"methods": {"shap": SHAP, "pdp": {}}}, "methods.pdp", id="another method"),
        pytest.param({"methods": {}}, "methods.shap", id="no attributions"),
        pytest.param({"methods": {"shap": {"num_clusters": 3}}}, "num_clusters", id="clusters"),
        pytest.param({"methods": {"shap": {"text_config": {}}}}, "text_config", id="texts"),
        pytest.param({"methods": {"shap": {"agg_method": "max"}}}, "agg_method", id="a maximum"),
        pytest.param({"methods": {"shap": {"baseline": "s3://x/y"}}}, "baseline", id="an address"),
        pytest.param({"methods": {"shap": {"baseline": [[1]]}}}, "4 features", id="a short row"),
        pytest.param({"label": "price"}, "price", id="a label that is no column"),
    ],
)
def test_what_has_no_counterpart_is_refused(rows, convert, tmp_path, change, named) -> None:
    (tmp_path / "analysis_config.json").write_text(json.dumps(CONFIG | change), encoding="utf-8")
    done = convert("request", "analysis_config.json", "rows.csv", "converted")

    assert done.returncode == 1
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "converted").exists()


@pytest.mark.parametrize(
    ("attributions", "options", "named"),
    [
        pytest.param({"features": [{"names": ["a", "b"]}]}, {}, "groups", id="groups"),
        pytest.param({"values": ["NaN"]}, {}, "not finite", id="a value that is not finite"),
        pytest.param({"values": []}, {}, "no values", id="values in a file"),
        pytest.param({}, {"value": "BANZHAF"}, "Shapley", id="other values"),
    ],
)
def test_answers_that_an_analysis_cannot_hold_are_refused(
    convert, tmp_path, attributions, options, named
) -> None:
    whole = {"outputNames": ["y"], "features": [{"names": ["a"]}], "values": [1], "baseValues": [0]}
    explanation = {"attributions": whole | attributions, "options": {"attributions": options}}
    answer = json.dumps({"explanations": [explanation]})
    (tmp_path / "answer.json").write_text(answer, encoding="utf-8")
    done = convert("analysis", "answer.json")

    assert (done.returncode, done.stdout) == (1, "")
    assert named in done.stderr
