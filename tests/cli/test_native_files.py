"""Native tree files on the command line, where other JSON begins like a table."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[1] / "models/native"
MODELS = {
    "xgboost/3.2.0/regression.json": ("XGBoost", "3.2.0"),
    "lightgbm/4.6.0/regression.txt": ("LightGBM", "(format v4)"),
    "catboost/1.2.10/regression.json": ("CatBoost", "1.2.10"),
}


def onnxplain(*words: str):
    command = [sys.executable, "-m", "onnxplain_server", *words]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


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
