"""What good callers ask: every method of the contract, of models of several kinds.

Models and rows are those of tests/models. Each question is asked with several seeds, so that
some answers are in a cache and some are not.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from google.protobuf.json_format import ParseDict
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, MethodOptions
from onnxplain.v1.table_pb2 import Column, Columns, Table

_MODELS = Path(__file__).parents[2] / "models"
_SEEDS = range(4)
_TARGET, _WEIGHT = "the_target", "the_weight"

_PAIRS = {"pairwiseFeatureCount": 2}
_QUESTIONS: tuple[tuple[str, str, str, Mapping[str, Any], Mapping[str, Any]], ...] = (
    # model, form of the table, method, its options, other fields of the request
    ("xgboost_regressor", "csv", "interactions", _PAIRS, {}),
    ("xgboost_regressor", "parquet", "permutationImportance", {"repeatCount": 3}, {}),
    ("xgboost_regressor", "arrow", "firm", {"repeatCount": 10}, {"weightColumn": _WEIGHT}),
    ("lightgbm_3class", "arrow", "partialDependence", {"strategy": "STEPS"}, {"scale": "MARGIN"}),
    ("lightgbm_3class", "columns", "swarm", {"search": "EXACT"}, {}),
    ("lightgbm_3class", "csv", "interactions", _PAIRS, {"engine": "BLACK_BOX"}),
    ("catboost_binary", "parquet", "interactions", _PAIRS, {"plots": True}),
    ("catboost_binary", "csv", "averageLoss", {"loss": "SQUARED_ERROR", "oneHotTarget": True}, {}),
    ("sklearn_random_forest_binary", "csv", "featureVectors", {"sentenceCount": 2000}, {}),
    ("sklearn_random_forest_binary", "arrow", "partialDependence", {}, {}),
    ("sklearn_random_forest_binary", "columns", "swarm", {"search": "EXACT"}, {}),
    ("sklearn_linear", "csv", "interactions", _PAIRS, {}),
    ("sklearn_linear", "columns", "averageLoss", {"loss": "ABSOLUTE_ERROR"}, {}),
    ("sklearn_linear", "parquet", "firm", {}, {}),
    ("sklearn_logistic_3class", "csv", "individualConditionalExpectation", {"gridSize": 9}, {}),
    ("sklearn_logistic_3class", "arrow", "interactions", _PAIRS, {"scale": "MARGIN"}),
    ("network_float", "arrow", "interactions", _PAIRS, {}),
    ("network_float", "csv", "partialDependence", {"gridSize": 9}, {"plots": True}),
    ("network_float", "columns", "individualConditionalExpectation", {"gridSize": 5}, {}),
    ("network_float", "parquet", "permutationImportance", {"repeatCount": 2}, {}),
    ("sklearn_columns_ignore", "csv", "partialDependence", {"gridSize": 5}, {}),
    ("sklearn_columns_ignore", "parquet", "averageLoss", {"groupColumn": "Gender"}, {}),
    ("two_outputs", "arrow", "interactions", _PAIRS, {"outputIndices": [0, 2]}),
    ("two_outputs", "columns", "firm", {}, {}),
)
_WITH_TARGET = {"permutationImportance", "averageLoss"}


@dataclass(frozen=True)
class Case:
    """A question to which there is one right answer."""

    name: str
    request: ExplainRequest


@cache
def good() -> Mapping[str, Case]:
    """All good questions by their names."""
    return {case.name: case for case in _made()}


@cache
def long() -> Case:
    """A question that takes seconds: to be left half-way, or not to be done in time."""
    columns = {f"x{j}": np.random.default_rng(j).normal(size=2_500) for j in range(10)}
    request = ExplainRequest(row_count=1_200, plots=False)
    request.model.content = (_MODELS / "network_float.onnx").read_bytes()
    request.table.CopyFrom(_table(columns, "arrow"))
    request.methods.add().interactions.SetInParent()
    return Case("long", request)


@cache
def bulky() -> Case:
    """A question whose table, as JSON, is larger than what a server holds in memory."""
    columns = {f"x{j}": np.random.default_rng(j).normal(size=6_000) for j in range(10)}
    request = ExplainRequest(row_count=50, plots=False)
    request.model.content = (_MODELS / "network_float.onnx").read_bytes()
    request.table.CopyFrom(_table(columns, "columns"))
    request.methods.add().partial_dependence.grid_size = 3
    return Case("bulky", request)


def model_names() -> list[str]:
    """Models that are asked about."""
    return sorted({model for model, *_ in _QUESTIONS})


def model(name: str) -> bytes:
    """The bytes of a model."""
    return (_MODELS / f"{name}.onnx").read_bytes()


def _made() -> Iterator[Case]:
    for seed in _SEEDS:
        for number, (name, form, method, options, others) in enumerate(_QUESTIONS):
            known = json.loads((_MODELS / f"{name}.json").read_text(encoding="utf-8"))
            request = ExplainRequest(seed=seed, row_count=30, plots=False)
            ParseDict(dict(others), request)
            request.model.content = model(name)
            columns = dict(known["columns"])
            request.feature_columns.extend(columns)
            if method in _WITH_TARGET or method == "swarm":
                columns[_TARGET] = _target(known)
                request.target_column = _TARGET
            if request.weight_column:
                columns[_WEIGHT] = [1.0 + i % 3 for i in range(len(known["response"]))]
            request.table.CopyFrom(_table(columns, form))
            request.methods.append(ParseDict({method: dict(options)}, MethodOptions()))
            yield Case(f"{number:02}-{name}-{method}-{seed}", request)
    yield bulky()


def _target(known: Mapping[str, Any]) -> list[Any]:
    """True values near the predictions: numbers, or the names of classes, some of them wrong."""
    response = np.array(known["response"])
    if response.shape[1] == 1:
        return [float(value) + i % 5 for i, value in enumerate(response[:, 0])]
    best = response.argmax(axis=1)
    best[::7] = (best[::7] + 1) % response.shape[1]
    names = known["output_names"]
    return [_class(names[k]) for k in best]


def _class(name: str):
    return float(name) if name.isdigit() else name


def _table(columns: Mapping[str, Any], form: str) -> Table:
    if form == "columns":
        return Table(columns=Columns(columns=[_column(*item) for item in columns.items()]))
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    sink = io.BytesIO()
    if form == "csv":
        pa.csv.write_csv(table, sink)
    elif form == "parquet":
        pa.parquet.write_table(table, sink)
    else:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    content: dict[str, Any] = {form: sink.getvalue()}
    return Table(**content)


def _column(name: str, values) -> Column:
    texts = isinstance(values[0], str)
    return Column(name=name, strings=values) if texts else Column(name=name, numbers=values)
