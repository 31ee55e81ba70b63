"""A model behind an address has the numbers of its ONNX file, by all methods that predict."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import json_format
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    DescribeModelResponse,
    ExplainRequest,
    ExplainResponse,
    MethodOptions,
)
from onnxplain.v1.model_pb2 import Model, RemoteModel
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.adapters.remote.open_remote import open_remote
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

from tools.stores.model_server import NAME

pytestmark = pytest.mark.usefixtures("few_trees")

ROOT = Path(__file__).parents[4]
MODELS = ROOT / "tests/models"
METHODS: dict[str, list[dict[str, Any]]] = {
    "interactions": [{"interactions": {"pairwiseFeatureCount": 3, "threewayFeatureCount": 3}}],
    "curves": [{"partialDependence": {}}, {"individualConditionalExpectation": {}}],
    "importance": [
        {"averageLoss": {}},
        {"permutationImportance": {"repeatCount": 3}},
    ],
    "firm": [{"firm": {}}, {"firm": {"estimator": "SLOPE"}}],
    "swarm": [{"swarm": {"loss": "SQUARED_ERROR"}}],
    "feature vectors": [{"featureVectors": {"source": "SURROGATE"}}],
}

LONG = {"feature vectors", "firm", "swarm"}


@contextmanager
def served(name: str) -> Iterator[str]:
    """Serve a model by a process of its own."""
    command = [sys.executable, "-m", "tools.stores.model_server", str(MODELS / f"{name}.onnx")]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


@pytest.fixture(scope="module", params=["network_double", "sklearn_network_3class"])
def models(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    with served(request.param) as url:
        yield request.param, url


def table_of(name: str, classes: Sequence[str]) -> Table:
    """Rows of a model's fixture with noise, and a target that depends on two of them."""
    known = json.loads((MODELS / f"{name}.json").read_text())["columns"]
    random, rows = np.random.default_rng(5), 60
    values = {
        column: random.choice(np.array(given, float), rows) + random.normal(size=rows) / 4
        for column, given in known.items()
    }
    first, second = list(values.values())[:2]
    target: Any = first + second
    if classes:
        target = np.array(classes)[np.argsort(np.argsort(target)) * len(classes) // rows]
    lines = [",".join([*values, "target"])]
    lines += [",".join(map(str, row)) for row in zip(*values.values(), target, strict=True)]
    return Table(csv="\n".join(lines).encode())


def numbers(answer: ExplainResponse) -> list[Any]:
    """Texts and numbers of all results, in their order."""
    found: list[Any] = []

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            for key in sorted(value):
                found.append(key)
                collect(value[key])
        elif isinstance(value, list):
            for each in value:
                collect(each)
        else:
            found.append(value)

    for explanation in answer.explanations:
        collect(json_format.MessageToDict(explanation))
    return found


@pytest.mark.parametrize(
    "methods",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG), id=name) for name in METHODS],
)
def test_a_remote_has_the_numbers_of_its_onnx_file(
    make: Any, models: tuple[str, str], methods: str
) -> None:
    name, url = models
    runner = InProcess(2, remotes=lambda address, c: open_remote(address, RemotePolicy(), c))
    file = Model(content=(MODELS / f"{name}.onnx").read_bytes())
    described = runner.answer(
        Call(ServiceMethod.DESCRIBE, DescribeModelRequest(model=file).SerializeToString()),
        make.host(),
    )
    told = DescribeModelResponse.FromString(described.content).model
    asked = ExplainRequest(
        table=table_of(name, told.output_names if told.has_class_scores else ()),
        methods=[json_format.ParseDict(each, MethodOptions()) for each in METHODS[methods]],
        target_column="target",
        engine="BLACK_BOX",
        plots=False,
        seed=3,
        row_count=40,
    )
    remote = Model(
        remote=RemoteModel(uri=url, protocol="OIP_REST", name=NAME, output_names=told.output_names)
    )

    answers = []
    for model in (file, remote):
        request = ExplainRequest()
        request.CopyFrom(asked)
        request.model.CopyFrom(model)
        reply = runner.answer(Call(ServiceMethod.EXPLAIN, request.SerializeToString()), make.host())
        answers.append(ExplainResponse.FromString(reply.content))
    runner.close()

    of_file, of_remote = map(numbers, answers)
    assert len(of_remote) == len(of_file) > 0
    for expected, found in zip(of_file, of_remote, strict=True):
        if isinstance(expected, float | int):
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)
        else:
            assert found == expected
