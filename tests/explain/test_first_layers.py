"""First layers of networks in requests: used where they save time and agree, and told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from google.protobuf.json_format import ParseDict
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain.v1.table_pb2 import Column
from onnxplain_server.adapters.onnx.session import OnnxModel
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

from bench.shared.null_host import NullHost
from bench.speed.additive import Case
from bench.speed.networks.first_layers import behind_one_hots, dense_alone

BY_PARTS = "the first layers of the model are computed once for each value of a feature"
METHODS = [
    {"interactions": {"pairwise_feature_count": 3}},
    {"partial_dependence": {"grid_size": 5}},
    {"individual_conditional_expectation": {"grid_size": 3}},
]


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    runner = InProcess(threads=2)
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def adult() -> Case:
    case = behind_one_hots((16, 8))
    return case._replace(columns={name: own[:60] for name, own in case.columns.items()})


def explained(runner: InProcess, case: Case, **asked) -> ExplainResponse:
    request = ExplainRequest(plots=False)
    ParseDict({"methods": METHODS, **asked}, request)
    request.model.content = case.model
    request.table.columns.columns.extend(
        Column(name=name, strings=own.tolist())
        if own.dtype == object
        else Column(name=name, numbers=own.astype(float))
        for name, own in case.columns.items()
    )
    reply = runner.answer(
        Call(ServiceMethod.EXPLAIN, request.SerializeToString()), NullHost()
    ).content
    return ExplainResponse.FromString(reply)


def numbers(answer: ExplainResponse) -> list[float]:
    pairs, curves, single = answer.explanations
    found = list(pairs.interactions.mean_squares)
    for curve in curves.partial_dependence.curves:
        found += curve.values
    for rows in single.individual_conditional_expectation.curves:
        found += rows.values
    return found


def test_answers_by_parts_are_those_by_whole_rows(runner: InProcess, adult: Case) -> None:
    ours = explained(runner, adult)
    theirs = explained(runner, adult, engine="BLACK_BOX")

    assert BY_PARTS in ours.receipt.engine_reason
    assert BY_PARTS not in theirs.receipt.engine_reason
    assert ours.receipt.predicted_row_count == theirs.receipt.predicted_row_count
    assert len(numbers(ours)) > 30
    np.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=1e-4, atol=1e-6)


def test_expressions_that_are_no_sums_of_outputs_take_whole_rows(
    runner: InProcess, adult: Case
) -> None:
    output = explained(runner, adult).model.output_names[0]
    linear = explained(runner, adult, prediction=[f"2 * {output}"])
    stepped = explained(runner, adult, prediction=[f"abs({output} - 0.5)"])

    assert BY_PARTS in linear.receipt.engine_reason
    assert BY_PARTS not in stepped.receipt.engine_reason


def test_small_networks_of_numbers_take_whole_rows(runner: InProcess) -> None:
    case = dense_alone(10, (32,))
    few = case._replace(columns={name: own[:40] for name, own in case.columns.items()})

    assert BY_PARTS not in explained(runner, few).receipt.engine_reason


def test_what_is_not_finite_is_told(runner: InProcess) -> None:
    case = dense_alone(1_000, (1,))
    columns = {name: own[:40].copy() for name, own in case.columns.items()}
    columns["x7"][3] = np.inf  # which a sigmoid makes finite
    asked = {"partial_dependence": {"features": [{"names": ["x1"]}]}}
    answer = explained(runner, case._replace(columns=columns), methods=[asked])

    assert "whole rows are predicted, because a term of 'x7'" in answer.receipt.engine_reason


@pytest.mark.parametrize("fault", ["rest", "sums"])
def test_parts_that_disagree_are_not_used(
    runner: InProcess, adult: Case, monkeypatch, fault: str
) -> None:
    read = vars(OnnxModel)["first_layers"].func

    class Doubled:
        def __init__(self, model) -> None:
            self._model = model

        def __getattr__(self, name: str):
            return getattr(self._model, name)

        def predict(self, feeds):
            return self._model.predict(feeds) * 1.001

    def wrong(model: OnnxModel):
        first = read(model)
        if fault == "rest":
            return replace(first, rest=Doubled(first.rest))
        (tensor,) = first.tensors
        source = replace(tensor.source, offset=tensor.source.offset * 1.001)
        return replace(first, tensors=(replace(tensor, source=source),))

    monkeypatch.setattr(OnnxModel, "first_layers", property(wrong))
    answer = explained(runner, adult, methods=[METHODS[1]])

    assert BY_PARTS not in answer.receipt.engine_reason
    assert "gives" in answer.receipt.engine_reason or "give other" in answer.receipt.engine_reason
