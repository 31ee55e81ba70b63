"""Native tree files on the command line, where other JSON begins like a table."""

import json
from pathlib import Path

import pytest
from onnxplain_server import __main__ as program
from onnxplain_server import cli
from typer.testing import CliRunner

NATIVE = Path(__file__).parents[1] / "models/native"
MODELS = {
    "xgboost/3.2.0/regression.json": ("XGBoost", "3.2.0"),
    "lightgbm/4.6.0/regression.txt": ("LightGBM", "(format v4)"),
    "catboost/1.2.10/regression.json": ("CatBoost", "1.2.10"),
}


def onnxplain(*words: str):
    parts = program._runner, program._cache, program._serve, program._local_sources
    result = CliRunner().invoke(cli.app, words, obj=cli.ServiceParts(*parts))
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", MODELS)
def test_a_native_file_is_explained_and_described_as_a_model(tmp_path, name):
    table = tmp_path / "rows.csv"
    table.write_text("a,b,c,d,price\n" + "".join(f"{i},{i % 3},1,2,{i}\n" for i in range(9)))

    described = onnxplain("describe", str(NATIVE / name))
    method = ("--method", "average_loss")
    explained = onnxplain(
        "explain", str(NATIVE / name), str(table), "--target-column", "price", *method
    )

    model = described["model"]
    assert (model["producer"], model["producerVersion"]) == MODELS[name]
    assert explained["receipt"]["modelDigest"] == described["model"]["digest"]
