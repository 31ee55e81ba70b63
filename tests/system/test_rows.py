"""Predictions and descriptions of tables by a real server, whose workers are confined."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import onnxplain
import onnxruntime
import pytest

CASE = Path(__file__).parents[1] / "golden" / "hstats" / "case_friedman1_gbr"
MODEL, TABLE = CASE / "model.onnx", CASE / "data.csv"
JSON, FORM = "application/json", "multipart/form-data; boundary=b"
ROWS = [7, 0, 3]


def own_predictions() -> np.ndarray[Any, Any]:
    session = onnxruntime.InferenceSession(MODEL.read_bytes())
    header = TABLE.read_text(encoding="utf-8").partition("\n")[0].split(",")
    values = np.loadtxt(TABLE, delimiter=",", skiprows=1, dtype=np.float32)
    features = [j for j, name in enumerate(header) if name != "y"]
    (given,) = session.get_inputs()
    return np.asarray(session.run(None, {given.name: values[np.ix_(ROWS, features)]})[0])


def post(url: str, path: str, body: bytes, content_type: str = JSON) -> dict[str, Any]:
    request = Request(f"{url}{path}", body, {"Content-Type": content_type})  # noqa: S310 - our own server
    with urlopen(request, timeout=600) as reply:  # noqa: S310 - likewise
        return dict(json.load(reply))


def document(**asked: Any) -> bytes:
    header, *lines = [line.split(",") for line in TABLE.read_text(encoding="utf-8").splitlines()]
    table = {"columns": header, "data": [[float(cell) for cell in line] for line in lines]}
    model = {"content": b64encode(MODEL.read_bytes()).decode()}
    return json.dumps({"model": model, "dataframe_split": table, **asked}).encode()


def form(**asked: Any) -> bytes:
    parts = [(name, path.name, path.read_bytes()) for name, path in FILES.items()]
    parts.append(("request", "", json.dumps(asked).encode()))
    body = b"".join(
        b'--b\r\nContent-Disposition: form-data; name="%b"; filename="%b"\r\n\r\n%b\r\n'
        % (name.encode(), file.encode(), content)
        for name, file, content in parts
    )
    return body + b"--b--\r\n"


FILES = {"model": MODEL, "table": TABLE}


def test_predictions_are_those_of_onnxruntime_on_each_surface(lasting_server: Any) -> None:
    asked = {"targetColumn": "y", "rowIndices": ROWS}
    with onnxplain.connect(lasting_server.endpoint) as client:
        by_grpc = client.predict(MODEL, TABLE, rows=ROWS, target_column="y")
    by_json = post(lasting_server.url, "/v1/predictions", document(**asked))
    by_form = post(lasting_server.url, "/v1/predictions", form(**asked), FORM)

    np.testing.assert_allclose(np.asarray(by_grpc), own_predictions(), rtol=1e-6)
    assert by_grpc.row_indices == tuple(ROWS)
    assert by_json == by_form
    assert by_json["values"] == by_grpc.values.ravel().tolist()


def test_a_table_is_described_alike_on_each_surface(lasting_server: Any) -> None:
    asked = {"targetColumn": "y", "near": {"columns": [{"name": "x1", "numbers": [0.5]}]}}
    with onnxplain.connect(lasting_server.endpoint) as client:
        by_grpc = client.describe_table(TABLE, MODEL, target_column="y", near={"x1": 0.5})
    by_json = post(lasting_server.url, "/v1/tables:describe", document(**asked))
    by_form = post(lasting_server.url, "/v1/tables:describe", form(**asked), FORM)

    assert json.loads(by_grpc.to_json()) == by_json == by_form
    assert by_grpc.row_count == len(np.loadtxt(TABLE, delimiter=",", skiprows=1))
    assert by_grpc.matching is not None
    assert by_grpc.matching.target_column == "y"
    assert "y" not in by_grpc.matching.feature_columns


def test_a_row_that_the_table_lacks_is_refused_with_its_field(lasting_server: Any) -> None:
    with pytest.raises(HTTPError) as refusal:
        post(lasting_server.url, "/v1/predictions", document(targetColumn="y", rowIndices=[10**6]))

    problem = json.load(refusal.value)
    assert (problem["status"], problem["errors"][0]["field"]) == (400, "row_indices")
