"""Native tree files on the command line, where other JSON begins like a table."""

import json
from pathlib import Path

MODEL = Path(__file__).parents[1] / "models/native/xgboost/3.2.0/regression.json"


def test_a_native_file_is_explained_and_described_as_a_model(run, tmp_path):
    table = tmp_path / "rows.csv"
    table.write_text("a,b,c,d,price\n" + "".join(f"{i},{i % 3},1,2,{i}\n" for i in range(9)))

    described = run("describe", str(MODEL))
    explained = run("explain", str(MODEL), str(table), "--target-column", "price")

    assert json.loads(described.stdout)["model"]["producer"] == "XGBoost 3.2.0"
    assert explained.exit_code == 0
    assert json.loads(explained.stdout)["receipt"]["modelDigest"].startswith("sha256:")
