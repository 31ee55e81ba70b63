"""Kernel models, from request to answer: the engine, its reason, its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1.table_pb2 import Column
from onnxplain_server.adapters.onnx import OnnxModel, load
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.additive.kernel_model import KernelModel
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from skl2onnx import to_onnx
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from bench.shared.null_host import NullHost

NAMES = ("a", "b", "c", "d")
ROWS = np.random.default_rng(0).normal(size=(60, len(NAMES))).astype(np.float32)
TARGET = ROWS[:, 0] * ROWS[:, 1] + np.sin(ROWS[:, 2])
METHODS = [
    {"interactions": {"pairwiseFeatureCount": 3, "threewayFeatureCount": 3, "repeatCount": 10}},
    {"partialDependence": {"features": [{"names": ["a"]}, {"names": ["a", "b"]}]}},
    {"individualConditionalExpectation": {"curveCount": 5}},
    {"accumulatedLocalEffects": {}},
    {"firm": {"repeatCount": 20}},
    {"permutationImportance": {"repeatCount": 3}},
    {"averageLoss": {}},
    {"attributions": {"explainedRowCount": 5, "order": 2}},
    {"swarm": {}},
]
REASON = "products of Gaussian functions of one feature each, so effects are exact"


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    runner = InProcess(threads=2)
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def content() -> bytes:
    fitted = make_pipeline(StandardScaler(), SVR()).fit(ROWS, TARGET)
    return bytes(to_onnx(fitted, ROWS[:1]).SerializeToString())


def explain(runner: InProcess, content: bytes, method: Any, **question: Any):
    asked = service_pb2.ExplainRequest(plots=False, target_column="y", feature_columns=NAMES)
    ParseDict({"methods": [method], **question}, asked)
    asked.model.content = content
    columns = dict(zip(NAMES, ROWS.T.astype(float), strict=True)) | {"y": TARGET.astype(float)}
    asked.table.columns.columns.extend(
        Column(name=name, numbers=values) for name, values in columns.items()
    )
    reply = runner.answer(Call(ServiceMethod.EXPLAIN, asked.SerializeToString()), NullHost())
    return service_pb2.ExplainResponse.FromString(reply.content)


def numbers(value: Any) -> list[float]:
    """Return the numbers of an answer, in their order."""
    if isinstance(value, dict):
        return [number for key in sorted(value) for number in numbers(value[key])]
    if isinstance(value, list):
        return [number for each in value for number in numbers(each)]
    return [value] if isinstance(value, float) else []


@pytest.mark.parametrize("method", METHODS, ids=lambda method: next(iter(method)))
def test_the_black_box_gives_the_same_numbers(runner: InProcess, content: bytes, method) -> None:
    exact, black_box = (
        explain(runner, content, method, engine=engine)
        for engine in ("ENGINE_UNSPECIFIED", "BLACK_BOX")
    )

    assert exact.receipt.engine == service_pb2.ExplainRequest.ADDITIVE
    assert REASON in exact.receipt.engine_reason
    ours, theirs = (numbers(MessageToDict(each.explanations[0])) for each in (exact, black_box))
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)


def test_predictions_that_are_linear_in_the_output_are_explained_alike(
    runner: InProcess, content: bytes
) -> None:
    curves: dict[str, Any] = {"partialDependence": {}}
    both = [
        explain(runner, content, curves, engine=engine, prediction=["2 * variable - 1"])
        for engine in ("ADDITIVE", "BLACK_BOX")
    ]

    ours, theirs = (numbers(MessageToDict(each.explanations[0])) for each in both)
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)
    with pytest.raises(ExplainError, match="products of Gaussian functions"):
        explain(runner, content, curves, engine="ADDITIVE", prediction=["variable ** 2"])


def test_a_wrong_weight_is_seen_and_the_model_asked(
    content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = load(content).additive
    assert isinstance(kernels, KernelModel)
    kernels.weights[:] *= 1.01
    monkeypatch.setattr(OnnxModel, "additive", kernels)

    answer = explain(InProcess(threads=1), content, METHODS[1])

    assert answer.receipt.engine == service_pb2.ExplainRequest.BLACK_BOX
    assert "its kernels add up to" in answer.receipt.engine_reason
