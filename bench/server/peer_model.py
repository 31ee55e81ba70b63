"""Model of the served peer: a forest of scikit-learn, as ONNX and as MLServer serves it.

.venv-peer/bin/python bench/server/peer_model.py TABLE.csv TARGET FOLDER HTTP GRPC METRICS

Writes model.onnx, and the folder that `mlserver start` takes, for these ports: an explainer of
alibi, TreePartialDependence.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import joblib
import pandas as pd
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.ensemble import RandomForestRegressor

TREES, DEPTH = 100, 8
WORKERS = 2


def main(table: str, target: str, folder: str, *ports: str) -> None:
    """Fit, and write both."""
    rows, place = pd.read_csv(table), Path(folder)
    y, x = rows.pop(target), rows
    forest = RandomForestRegressor(TREES, max_depth=DEPTH, random_state=0, n_jobs=2)
    forest.fit(x.to_numpy("float32"), y)
    written = to_onnx(forest, initial_types=[("rows", FloatTensorType([None, x.shape[1]]))])
    (place / "model.onnx").write_bytes(written.SerializeToString())
    forest.n_jobs = 1  # MLServer's processes are side by side
    joblib.dump(forest, place / "forest.joblib")
    explained = {
        "explainer_type": "tree_partial_dependence",
        "infer_uri": str(place / "forest.joblib"),
        "init_parameters": {"feature_names": list(x.columns)},
    }
    _write(
        place / "model-settings.json",
        name="curves",
        implementation="mlserver_alibi_explain.AlibiExplainRuntime",
        parameters={"extra": explained},
    )
    names = ("http_port", "grpc_port", "metrics_port")
    _write(
        place / "settings.json",
        host="127.0.0.1",
        parallel_workers=WORKERS,
        **dict(zip(names, map(int, ports), strict=True)),
    )


def _write(path: Path, **content: object) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
