"""Native tree files on the command line, where other JSON begins like a table."""

import json
import subprocess
import sys
from pathlib import Path

MODEL = Path(__file__).parents[1] / "models/native/xgboost/3.2.0/regression.json"


def onnxplain(*words: str):
    command = [sys.executable, "-m", "onnxplain_server", *words]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def test_a_native_file_is_explained_and_described_as_a_model(tmp_path):
    table = tmp_path / "rows.csv"
    table.write_text("a,b,c,d,price\n" + "".join(f"{i},{i % 3},1,2,{i}\n" for i in range(9)))

    described = onnxplain("describe", str(MODEL))
    method = ("--method", "average_loss")
    explained = onnxplain("explain", str(MODEL), str(table), "--target-column", "price", *method)

    model = described["model"]
    assert (model["producer"], model["producerVersion"]) == ("XGBoost", "3.2.0")
    assert explained["receipt"]["modelDigest"] == described["model"]["digest"]
