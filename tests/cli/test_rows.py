"""Commands `predict` and `describe` of a table, computed in this process."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from onnxplain_server import cli
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.cli import ServiceParts
from typer.testing import CliRunner, Result

TESTS = Path(__file__).parents[1]
MODEL = TESTS / "models" / "sklearn_random_forest_3class.onnx"
TABLE = TESTS / "conformance" / "files" / "iris.csv"
FEATURES = ["--feature-columns", "sepal_length,sepal_width,petal_length,petal_width"]


def run(*words: object) -> Result:
    parts = ServiceParts(
        runner=lambda _workers: InProcess(1),
        cache=lambda: MemoryCache(2**20, Signer(b"key")),
        serve=lambda _flags, _began: None,
    )
    return CliRunner().invoke(cli.app, [str(word) for word in words], obj=parts)


def test_chosen_rows_are_predicted_as_csv() -> None:
    done = run("predict", MODEL, TABLE, *FEATURES, "--rows", "5,0", "--output", "csv")

    header, *rows = csv.reader(io.StringIO(done.output))
    assert header == ["row", "setosa", "versicolor", "virginica"]
    assert [row[0] for row in rows] == ["5", "0"]
    assert sum(map(float, rows[0][1:])) == pytest.approx(1)


def test_all_rows_are_predicted_as_json_by_default() -> None:
    answer = json.loads(run("predict", MODEL, TABLE, *FEATURES).output)

    assert answer["rowIndices"] == list(range(24))
    assert np.shape(answer["values"]) == (24 * 3,)


def test_people_get_a_table() -> None:
    done = run("predict", MODEL, TABLE, *FEATURES, "--rows", "0", "--output", "table")

    assert "setosa" in done.output
    assert done.output.split()[-4:] == ["0", "1", "0", "0"]


@pytest.mark.parametrize(("rows", "code"), [("24", 1), ("x", 2), ("-1", 2), ("99999999999", 2)])
def test_a_row_that_is_none_is_refused_by_its_flag(rows: str, code: int) -> None:
    done = run("predict", MODEL, TABLE, *FEATURES, f"--rows={rows}")

    assert done.exit_code == code
    assert "--rows" in done.stderr


def test_a_table_alone_is_described() -> None:
    answer = json.loads(run("describe", TABLE).output)

    assert answer["table"]["rowCount"] == 24
    assert "matching" not in answer["table"]


def test_a_model_and_a_table_are_matched() -> None:
    answer = json.loads(run("describe", MODEL, TABLE).output)
    shown = run("describe", MODEL, TABLE, "--output", "table").output

    refusal = answer["table"]["matching"]["refusal"]
    assert refusal.startswith("the model takes 4 columns")
    assert "24 rows, 7 columns" in shown
    assert "The model cannot be fed: the model takes 4 columns" in shown


def test_a_model_alone_is_described_as_before() -> None:
    assert "outputNames" in json.loads(run("describe", MODEL).output)["model"]


def test_chosen_and_nearest_rows_of_a_table_are_shown() -> None:
    chosen = json.loads(run("describe", TABLE, "--rows", "5,0").output)["table"]
    near = ("--near", "petal_length=4.5", "--near", "species=virginica", "--row-count", "2")
    nearest = json.loads(run("describe", TABLE, *near).output)["table"]
    none = json.loads(run("describe", TABLE, "--row-count", "0").output)["table"]

    assert chosen["rows"]["rowIndices"] == [5, 0]
    assert len(nearest["rows"]["rowIndices"]) == len(nearest["rows"]["distances"]) == 2
    assert nearest["rows"]["distances"] == sorted(nearest["rows"]["distances"])
    assert not none["rows"].get("rowIndices")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((TABLE, "--near", "age"), 2, "'age' is no NAME=VALUE"),
        ((TABLE, "--near", "age=4"), 1, "--near"),
        ((TABLE, "--rows", "99"), 1, "--rows"),
        ((TABLE, "--rows", "1", "--row-count", "3"), 1, "--row"),
        ((TABLE, "--row-count", "-1"), 2, "--row-count"),
        ((MODEL, "--rows", "1"), 2, "only a model is given"),
    ],
)
def test_flags_of_a_table_are_refused_by_name(
    words: tuple[object, ...], code: int, told: str
) -> None:
    done = run("describe", *words)

    assert (done.exit_code, told in done.stderr) == (code, True), done.stderr
