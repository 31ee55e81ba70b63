"""Requests that can be sent as they stand, from the page or by a machine."""

from __future__ import annotations

from typing import Any

# risk = age · bmi, each of them an input, as onnx.helper writes it.
MODEL = (
    "CAgSCW9ubnhwbGFpbjpgChUKA2FnZQoDYm1pEgRyaXNrIgNNdWwSB3Byb2R1Y3RaEwoDYWdlEgwKCggB"
    "EgYKAAoCCAFaEwoDYm1pEgwKCggBEgYKAAoCCAFiFAoEcmlzaxIMCgoIARIGCgAKAggBQgQKABAR"
)

_METHODS: list[dict[str, Any]] = [
    {"interactions": {"pairwiseFeatureCount": 2}},
    {"partialDependence": {"features": [{"names": ["age"]}], "gridSize": 5}},
]

_COLUMNS: list[dict[str, Any]] = [
    {"name": "age", "numbers": [19, 33, 46, 62]},
    {"name": "bmi", "numbers": [27.9, 22.7, 33.4, 26.3]},
]

_SPLIT = {
    "columns": ["age", "bmi"],
    "data": [[19, 27.9], [33, 22.7], [46, 33.4], [62, 26.3]],
}

_REQUEST: dict[str, Any] = {"model": {"content": MODEL}, "methods": _METHODS}


def _example(summary: str, value: object) -> dict[str, Any]:
    return {"summary": summary, "value": value}


EXPLAIN = {
    "columns": _example(
        "Everything in the JSON", {**_REQUEST, "table": {"columns": {"columns": _COLUMNS}}}
    )
}

EXPLAIN_ROWS = {
    "rows": _example(
        "With a table as MLflow's servers take it", {**_REQUEST, "dataframe_split": _SPLIT}
    )
}

FILES_REQUEST = {
    "request": _example(
        "Beside two files", {"request": {"targetColumn": "charges", "methods": _METHODS}}
    )
}

DESCRIBE = {"content": _example("A model in the JSON", {"model": {"content": MODEL}})}

_TABLE: dict[str, Any] = {"columns": {"columns": _COLUMNS}}

DESCRIBE_TABLE = {
    "columns": _example(
        "A table in the JSON, and the rows nearest to one",
        {
            "model": {"content": MODEL},
            "table": _TABLE,
            "near": {"columns": [{"name": "age", "numbers": [40]}]},
        },
    )
}

DESCRIBE_TABLE_FILES = {"request": _example("Beside a file", {"request": {"rowCount": 5}})}

PREDICT = {
    "columns": _example(
        "Everything in the JSON",
        {"model": {"content": MODEL}, "table": _TABLE, "rowIndices": [0, 2]},
    )
}

PREDICT_FILES = {"request": _example("Beside two files", {"request": {"rowIndices": [0, 5, 7]}})}

CHECK = {
    "columns": _example(
        "Everything in the JSON",
        {"model": {"content": MODEL}, "table": _TABLE, "expectedPredictionColumns": ["price"]},
    )
}

CHECK_FILES = {
    "request": _example(
        "Beside two files", {"request": {"expectedPredictionColumns": ["expected"]}}
    )
}
