"""Trees beside linear functions, from request to answer: the engine, its reason, its numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1.table_pb2 import Column
from onnxplain_server.adapters.onnx import load
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.trees.reading.linear.with_trees import EnsembleWithLinear
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl

MODELS = Path(__file__).parents[1] / "models"
NAMES = ("sklearn_bagged_votes", "sklearn_votes_of_columns")
METHODS = [
    {"interactions": {"pairwiseFeatureCount": 3, "threewiseFeatureCount": 3}},
    {"partialDependence": {}},
    {"individualConditionalExpectation": {"curveCount": 5}},
    {"firm": {"replicateCount": 20}},
    {"permutationImportance": {"repeatCount": 3}},
    {"averageLoss": {}},
]


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    runner = InProcess(threads=2)
    yield runner
    runner.close()


def explain(runner: InProcess, name: str, methods, missing: str = "", **question):
    """Explain a fixture on its rows, weighted, with targets of its answers and noise."""
    known = json.loads((MODELS / f"{name}.json").read_text())
    asked = service_pb2.ExplainRequest(plots=False, target_column="y", weight_column="w")
    ParseDict({"methods": methods, **question}, asked)
    asked.model.content = (MODELS / f"{name}.onnx").read_bytes()
    random = np.random.default_rng(0)
    columns: dict[str, Any] = dict(known["columns"])
    count = len(known["response"])
    columns["y"] = np.array(known["response"])[:, 0] + random.normal(size=count)
    columns["w"] = random.integers(1, 4, count).astype(float)
    for column, values in columns.items():
        made = Column(name=column)
        if isinstance(values[0], str):
            made.strings.values.extend(values) if hasattr(made.strings, "values") else None
        else:
            numbers = np.array(values, float)
            numbers[:1] = np.nan if column == missing else numbers[:1]
            made = Column(name=column, numbers=numbers)
        asked.table.columns.columns.append(
            Column(name=column, strings=values) if isinstance(values[0], str) else made
        )
    call = RequestContext(
        RequestControl(600), MemoryCache(2**20, Signer(b"a secret of the tests")), ""
    )
    reply = runner.explain(asked.SerializeToString(), {}, call).content
    return service_pb2.ExplainResponse.FromString(reply)
