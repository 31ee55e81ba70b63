"""Triton, a server of C++: the statistics of a model are those of the same ONNX file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import onnxplain
import pytest
from google.protobuf.json_format import MessageToDict

from tools.remote.servers import ModelServer

pytestmark = pytest.mark.slow

CASE = Path(__file__).parents[2] / "golden" / "hstats" / "case_friedman1_gbr"
MODEL = (CASE / "model.onnx").read_bytes()
ASKED: dict[str, Any] = {
    "target_column": "y",
    "feature_columns": [f"x{index}" for index in range(1, 7)],
    "row_count": 60,
    "plots": False,
}
METHODS = (
    onnxplain.Interactions(),
    onnxplain.PartialDependence(features=["x1", "x4"]),
    onnxplain.AverageLoss(),
)


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for each in value for number in numbers(each)]
    return [float(value)] if isinstance(value, (int, float)) else []


def explanations(model: Any, **options: Any) -> list[Any]:
    with onnxplain.local() as client:
        answer = client.explain(model, CASE / "data.csv", *METHODS, **ASKED, **options)
    return [
        {key: value for key, value in MessageToDict(each).items() if key != "options"}
        for each in answer.message.explanations
    ]


@pytest.mark.parametrize(("protocol", "url"), [("OIP_REST", "url"), ("OIP_GRPC", "grpc_url")])
def test_statistics_are_those_of_the_file(triton: ModelServer, protocol: Any, url: str) -> None:
    expected = numbers(explanations(MODEL, engine="BLACK_BOX"))
    model = onnxplain.RemoteModel(getattr(triton, url), "boosted", protocol=protocol)

    assert numbers(explanations(model)) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert len(expected) > 100


def test_its_metadata_are_those_of_the_file(triton: ModelServer) -> None:
    with onnxplain.local() as client:
        described = client.describe(onnxplain.RemoteModel(triton.url, "boosted"))

    (given,) = onnx.load_from_string(MODEL).graph.input
    (told,) = described.inputs
    assert (told.name, told.width) == (given.name, 6)
