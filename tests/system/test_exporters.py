"""Models of every exporter are explained end to end, on both scales where they have both."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1.table_pb2 import Column
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl

MODELS = sorted((Path(__file__).parent.parent / "models").glob("*.onnx"))


def table(columns: dict[str, list[Any]]) -> list[Column]:
    return [
        Column(name=name, strings=values)
        if isinstance(values[0], str)
        else Column(name=name, numbers=[np.nan if v is None else v for v in values])
        for name, values in columns.items()
    ]


def scales() -> list[Any]:
    return [
        pytest.param(path, scale, id=f"{path.stem}-{scale.lower()}")
        for path in MODELS
        for scale in ("RESPONSE", "MARGIN")
        if json.loads(path.with_suffix(".json").read_text())[scale.lower()] is not None
    ]


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    runner = InProcess(threads=2)
    yield runner
    runner.close()


@pytest.mark.parametrize(("path", "scale"), scales())
def test_moving_all_features_together_gives_the_training_librarys_predictions(
    runner: InProcess, path: Path, scale: str
) -> None:
    """A surface over all features at the rows' own values has nothing left to average over."""
    known = json.loads(path.with_suffix(".json").read_text())
    columns = table(known["columns"])
    request = service_pb2.ExplainRequest(scale=scale, plots=False)
    request.model.content = path.read_bytes()
    request.table.columns.columns.extend(columns)
    request.output_indices.extend(range(len(known["output_names"])))  # both of a binary classifier
    curve = request.methods.add().partial_dependence
    curve.features.add(names=known["columns"])
    curve.grids.add(columns=columns)
    call = RequestContext(
        RequestControl(600), MemoryCache(2**20, Signer(b"a secret of the tests")), ""
    )

    response = service_pb2.ExplainResponse.FromString(
        runner.answer(Call(ServiceMethod.EXPLAIN, request.SerializeToString()), call).content
    )

    result = response.explanations[0].partial_dependence
    assert list(result.output_names) == known["output_names"]
    expected = np.array(known[scale.lower()], float)
    found = np.array(result.curves[0].values).reshape(len(expected), -1)
    np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_every_method_answers(runner: InProcess, path: Path) -> None:
    known = json.loads(path.with_suffix(".json").read_text())
    request = service_pb2.ExplainRequest()
    request.model.content = path.read_bytes()
    request.table.columns.columns.extend(table(known["columns"]))
    for method in ("interactions", "partial_dependence", "individual_conditional_expectation"):
        getattr(request.methods.add(), method).SetInParent()
    call = RequestContext(
        RequestControl(600), MemoryCache(2**20, Signer(b"a secret of the tests")), ""
    )

    response = service_pb2.ExplainResponse.FromString(
        runner.answer(Call(ServiceMethod.EXPLAIN, request.SerializeToString()), call).content
    )

    shares = [s.values[0] for s in response.explanations[0].interactions.overall]
    assert np.isfinite(shares).all()
    assert all(explanation.plots for explanation in response.explanations[:2])
