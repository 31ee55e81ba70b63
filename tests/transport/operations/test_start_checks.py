"""Starts of operations: what can be known then is refused then, as the request itself would be."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, MethodOptions
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.storage.operations.memory_operations import MemoryOperations
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.operations import OperationLimits
from onnxplain_server.wire.requests.start_check import check_start

JSON = {"Content-Type": "application/json"}
IRIS = Path(__file__).parents[3] / "examples" / "iris" / "lightgbm.onnx"
MODEL = {"content": base64.b64encode(IRIS.read_bytes()).decode()}
TABLE = {"csv": base64.b64encode(b"a\n1\n2\n3\n").decode()}
FILES = {"model": MODEL, "table": TABLE}
ICE: list[dict[str, Any]] = [{"individual_conditional_expectation": {}}]

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "model"),
    "no model": ({"table": TABLE}, "model"),
    "no model for a method": ({"table": TABLE, "methods": ICE}, "model"),
    "no table": ({"model": MODEL}, "table"),
    "no table for a method": ({"model": MODEL, "methods": ICE}, "table"),
    "a budget beyond its maximum": ({**FILES, "budget_seconds": 1e9}, "budget_seconds"),
    "a budget below its minimum": ({**FILES, "budget_seconds": 0.1}, "budget_seconds"),
    "rows beyond the maximum": (
        {**FILES, "budget_predicted_row_count": 1e30},
        "budget_predicted_row_count",
    ),
    "a row": ({**FILES, "row_count": 1}, "row_count"),
    "an option beyond its maximum": (
        {**FILES, "methods": [{"average_loss": {"group_count": 101}}]},
        "methods[0].average_loss.group_count",
    ),
    "a method without a name": ({**FILES, "methods": [{}]}, "methods[0]"),
    "columns twice": (
        {**FILES, "feature_columns": ["a"], "input_columns": [{"input": "x", "columns": ["a"]}]},
        "input_columns",
    ),
    "rows and a budget of rows": (
        {**FILES, "row_count": 5, "budget_predicted_row_count": 9},
        "budget_predicted_row_count",
    ),
    "no model file": ({"model": {"content": "AA=="}, "table": TABLE}, "model"),
    "an unknown id": ({"model": {"id": f"sha256:{0:064}"}, "table": TABLE}, "model.id"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_start_refuses_at_once_as_the_request_itself(start: Any, name: str) -> None:
    document, field = REFUSED[name]
    client = start(InProcess(1), operations=MemoryOperations(OperationLimits()))

    at_once = client.rest("POST", "/v1/explanations", json.dumps(document), JSON)
    refused = client.rest("POST", "/v1/explanations:start", json.dumps(document), JSON)

    assert refused.json["errors"][0]["field"] == field
    told = ("status", "reason", "errors")
    assert [refused.json[key] for key in told] == [at_once.json[key] for key in told]
    assert not client.rest("GET", "/v1/operations").json.get("operations")


def test_a_start_refuses_a_table_of_rows_of_other_methods() -> None:
    refused = ExplainRequest(
        methods=[MethodOptions(interactions=InteractionsOptions())],
        result_uri="s3://b/rows.parquet",
    )

    with pytest.raises(ExplainError, match="attributions") as error:
        check_start(refused.SerializeToString(), {})

    assert (error.value.reason, error.value.field) == (Reason.INVALID_OPTION, "result_uri")


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"model_name": "m" * 256}, "model_name"),
        ({"prediction": ["p"] * 101}, "prediction"),
        ({"output_indices": [0, -1]}, "output_indices"),
        ({"methods": [{"feature_vectors": {"row_indices": [0] * 10_001}}]},
         "methods[0].feature_vectors.row_indices"),
    ],
)  # fmt: skip
def test_a_start_refuses_lists_and_texts_beyond_their_limits(
    start: Any, document: dict[str, Any], field: str
) -> None:
    client = start(InProcess(1), operations=MemoryOperations(OperationLimits()))

    refused = [
        client.rest("POST", path, json.dumps({**FILES, **document}), JSON)
        for path in ("/v1/explanations", "/v1/explanations:start")
    ]

    assert [reply.status for reply in refused] == [400, 400]
    assert refused[1].json["errors"][0]["field"] == field
