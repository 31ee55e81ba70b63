"""Sums of terms, from request to answer: the engine, its reason, its numbers.

Trees beside linear functions, and terms of one or two features.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1.table_pb2 import Column
from onnxplain_server.adapters.onnx import OnnxModel, load
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl
from onnxplain_server.trees.reading.sums.with_trees import EnsembleWithLinear

MODELS = Path(__file__).parents[1] / "models"
NAMES = ("sklearn_bagged_votes", "sklearn_votes_of_columns")
METHODS = [
    {"interactions": {"pairwiseFeatureCount": 3, "threewayFeatureCount": 3, "repeatCount": 10}},
    {"partialDependence": {}},
    {"individualConditionalExpectation": {"curveCount": 5}},
    {"firm": {"repeatCount": 20}},
    {"permutationImportance": {"repeatCount": 3}},
    {"averageLoss": {}},
]
VALUES = {"attributions": {"explainedRowCount": 5, "order": 2}}
TREES = "sums over trees and linear functions of features"
TERMS = "sums of one term for each feature"
REASONS = dict.fromkeys(NAMES, TREES) | {
    "interpret_regressor": f"{TERMS} and 3 of two features, so effects are exact",
    "interpret_binary": f"{TERMS} and 3 of two features",
}


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
    noise = random.normal(size=count)
    columns["y"] = np.array(known["response"])[:, 0] + noise
    if len(known["output_names"]) == 2 and known["margin"]:
        columns["y"] = (np.array(known["margin"])[:, 1] + noise > 0).astype(float)
    columns["w"] = random.integers(1, 4, count).astype(float)
    columns |= {column: [np.nan, *columns[column][1:]] for column in [missing] if missing}
    asked.table.columns.columns.extend(
        Column(name=name, strings=values)
        if isinstance(values[0], str)
        else Column(name=name, numbers=np.array(values, float))
        for name, values in columns.items()
    )
    call = RequestContext(
        RequestControl(600), MemoryCache(2**20, Signer(b"a secret of the tests")), ""
    )
    reply = runner.answer(Call(ServiceMethod.EXPLAIN, asked.SerializeToString()), call).content
    return service_pb2.ExplainResponse.FromString(reply)


def same(ours: Any, theirs: Any, path: str = "") -> None:
    """Compare answers: numbers by their size, all else exactly."""
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys(), path
        for key in ours:
            same(ours[key], theirs[key], f"{path}.{key}")
    elif isinstance(ours, list) and ours and not isinstance(ours[0], float):
        assert len(ours) == len(theirs), path
        for i, pair in enumerate(zip(ours, theirs, strict=True)):
            same(*pair, f"{path}[{i}]")
    elif isinstance(ours, list | float):
        size = np.abs(theirs).max(initial=1e-3)
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4 * size, err_msg=path)
    else:
        assert ours == theirs, path


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *product(REASONS, METHODS),
        *product(["interpret_regressor", "interpret_binary"], [VALUES]),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_the_black_box_gives_the_same_numbers(runner: InProcess, name: str, method) -> None:
    exact, black_box = (
        explain(runner, name, [method], engine=engine)
        for engine in ("ENGINE_UNSPECIFIED", "BLACK_BOX")
    )

    assert REASONS[name] in exact.receipt.engine_reason
    assert exact.receipt.predicted_row_count == 0
    ours, theirs = (MessageToDict(each.explanations[0]) for each in (exact, black_box))
    same(ours, theirs)


def test_predictions_that_are_linear_in_the_output_are_explained_alike(runner: InProcess) -> None:
    curves: list[dict[str, Any]] = [{"partialDependence": {}}]
    trees, black_box = (
        explain(runner, NAMES[0], curves, engine=engine, prediction=["2 * variable - 1"])
        for engine in ("TREES", "BLACK_BOX")
    )

    same(MessageToDict(trees.explanations[0]), MessageToDict(black_box.explanations[0]))
    with pytest.raises(ExplainError, match="which are sums over trees and linear functions"):
        explain(runner, NAMES[0], curves, engine="TREES", prediction=["variable ** 2"])


def test_rows_without_a_number_for_a_linear_function_are_left_to_the_model(
    runner: InProcess,
) -> None:
    with pytest.raises(ExplainError, match="takes 'bmi', which has missing or infinite values"):
        explain(runner, NAMES[0], METHODS[:1], missing="bmi", engine="TREES")
    with pytest.raises(ExplainError, match="'bmi' has no value"):
        explain(runner, NAMES[0], METHODS[:1], missing="bmi")


def test_steps_are_refused_for_a_feature_that_has_none(runner: InProcess) -> None:
    steps = {"features": [{"names": ["bmi"]}], "strategy": "STEPS"}
    with pytest.raises(ExplainError, match="a linear function of 'bmi' is added to the trees"):
        explain(runner, NAMES[0], [{"partialDependence": steps}])


def test_a_wrong_coefficient_is_seen_and_the_model_asked(
    runner: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load((MODELS / f"{NAMES[0]}.onnx").read_bytes())
    assert isinstance(model.trees, EnsembleWithLinear)
    model.trees.linear.coefficients[:, 2] *= 1.01
    monkeypatch.setattr(OnnxModel, "trees", model.trees)

    answer = explain(InProcess(threads=1), NAMES[0], METHODS[1:2])

    assert answer.receipt.engine == service_pb2.ExplainRequest.BLACK_BOX
    assert "TREES_DISAGREE" in [warning.code for warning in answer.warnings]
