"""An explainer whose model and background lie in S3."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import onnxruntime
import pytest

from tools.stores import s3_storage

NAMES = [f"x{index}" for index in range(1, 7)]
ROW = [0.1 * position for position in range(1, 7)]


@pytest.mark.slow
def test_curves_are_predictions_of_the_model(
    serve: Callable[..., Any],
    s3: s3_storage.S3,
    settings: Any,
    case: tuple[bytes, bytes],
) -> None:
    server = serve(
        explainer_name="boosted",
        explainer_model="s3://models/model.onnx",
        explainer_background="s3://rows/csv/year=2026/rows.csv",
        explainer_target_column="y",
        explainer_feature_columns=",".join(NAMES),
        **settings,
    )
    server.wait_for_explainer("boosted")
    options = {"features": ["x4"], "gridSize": 5}
    parameters = {"methods": [{"individualConditionalExpectation": options}]}
    answer = ask(server, {"instances": [ROW], "parameters": parameters})

    assert [source["uri"] for source in answer["receipt"]["sources"]] == ["s3://models/model.onnx"]
    ((curve,),) = [e["individualConditionalExpectation"]["curves"] for e in answer["explanations"]]
    moved = np.repeat(np.array([ROW], np.float32), 5, axis=0)
    moved[:, 3] = curve["grid"][0]["numbers"]
    session = onnxruntime.InferenceSession(case[0])
    (expected,) = session.run(None, {session.get_inputs()[0].name: moved})
    assert len(set(curve["values"])) > 1
    assert curve["values"] == pytest.approx(expected[:, 0].tolist(), rel=1e-5)


def ask(server: Any, document: Any) -> Any:
    address = f"{server.url}/v1/models/boosted:explain"
    headers = {"Content-Type": "application/json"}
    request = Request(address, json.dumps(document).encode(), headers)  # noqa: S310 - of this host
    with urlopen(request, timeout=600) as answer:  # noqa: S310 - of this host
        return json.loads(answer.read())
