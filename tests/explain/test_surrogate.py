"""The engine SURROGATE: estimates beside the black box, and what it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1.explanation_service_pb2 import MethodOptions
from onnxplain.v1.plan_pb2 import ExplanationPlan
from onnxplain.v1.table_pb2 import Column
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ReplyFormat, ServiceMethod
from onnxplain_server.explain.methods.support import surrogate_interactions
from onnxplain_server.transport.admission.follower import NOBODY, Follower
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl

MODELS = Path(__file__).parents[1] / "models"
SURROGATE = service_pb2.ExplainRequest.SURROGATE
BUDGET = 6_000


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    runner = InProcess(threads=2)
    yield runner
    runner.close()


def ask(
    runner: InProcess,
    service=ServiceMethod.EXPLAIN,
    method="interactions",
    count=1,
    options=None,
    follower=NOBODY,
    **request,
):
    """Ask about a network by a method, so many times, on 100 rows that are its own with noise."""
    known = json.loads((MODELS / "network_float.json").read_text())
    asked = service_pb2.ExplainRequest(plots=False, **{"row_count": 100} | request)
    asked.model.content = (MODELS / "network_float.onnx").read_bytes()
    random = np.random.default_rng(0)
    for column, values in known["columns"].items():
        numbers = np.resize(np.array(values, float), 100)
        noisy = numbers + random.normal(size=100) * np.nanstd(numbers)
        asked.table.columns.columns.append(Column(name=column, numbers=noisy))
    for _ in range(count):
        asked.methods.append(MethodOptions(**{method: options or {}}))
    call = RequestContext(
        RequestControl(600), MemoryCache(2**20, Signer(b"a secret of the tests")), "", follower
    )
    form = ReplyFormat.EVENT if asked.partial else ReplyFormat.PROTOBUF
    reply = runner.answer(Call(service, asked.SerializeToString(), reply_format=form), call).content
    if asked.partial:
        return service_pb2.ExplainStreamResponse.FromString(reply).response
    kind = ExplanationPlan if service is ServiceMethod.PLAN else service_pb2.ExplainResponse
    return kind.FromString(reply)


@pytest.fixture(scope="module")
def estimated(runner: InProcess):
    return ask(runner, engine=SURROGATE, budget_predicted_row_count=BUDGET)


def test_estimates_are_near_the_answer_of_the_black_box(runner: InProcess, estimated) -> None:
    exact = ask(runner, engine=service_pb2.ExplainRequest.BLACK_BOX)
    found, true = (answer.explanations[0].interactions for answer in (estimated, exact))

    assert found.mean_squares == pytest.approx(true.mean_squares)
    assert any(each.biases[0] for each in (*found.overall, *found.pairwise))  # they are shrunk
    for order in ("overall", "importance"):
        pairs = zip(getattr(found, order), getattr(true, order), strict=True)
        for one, other in pairs:
            assert one.features == other.features
            assert one.values[0] == pytest.approx(other.values[0], abs=5 * one.standard_errors[0])
            assert one.lower[0] <= one.values[0] <= one.upper[0]
            assert one.lower[0] <= one.values[0] - one.biases[0] <= one.upper[0]
    known = {tuple(pair.features): pair for pair in true.pairwise}
    shared = [pair for pair in found.pairwise if tuple(pair.features) in known]
    assert shared
    for pair in shared:
        share = np.array([pair.numerators[0], known[*pair.features,].numerators[0]])
        assert np.diff(share) / true.mean_squares[0] == pytest.approx([0], abs=0.02)


def test_the_receipt_and_a_warning_tell_of_the_estimate(estimated) -> None:
    receipt, (warning,) = (
        estimated.receipt,
        [one for one in estimated.warnings if one.code == "ESTIMATED_BY_SURROGATE"],
    )

    assert receipt.engine == SURROGATE
    assert "surrogate" in receipt.engine_reason
    assert BUDGET / 2 < receipt.predicted_row_count <= BUDGET
    assert estimated.explanations[0].interactions.confidence_level == pytest.approx(0.95)
    assert "hybrid rows that they have not seen" in warning.message


def test_an_answer_is_the_same_with_other_threads(estimated) -> None:
    alone = InProcess(threads=1)
    try:
        again = ask(alone, engine=SURROGATE, budget_predicted_row_count=BUDGET)
    finally:
        alone.close()

    assert again.explanations == estimated.explanations


REFUSED = {
    "another method": ({"method": "partial_dependence"}, "does not estimate partial_dependence"),
    "a small budget": ({"budget_predicted_row_count": 150}, "budget_predicted_row_count to"),
    "a time": ({"budget_seconds": 5}, "leave budget_seconds out"),
}


@pytest.mark.parametrize(("request_", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_it_does_not_estimate_is_refused(runner: InProcess, request_, reason) -> None:
    with pytest.raises(ExplainError, match=reason) as raised:
        ask(runner, engine=SURROGATE, **request_)

    assert raised.value.reason is Reason.INVALID_OPTION


def test_the_budget_that_a_refusal_names_is_enough_and_one_row_less_is_not(
    runner: InProcess,
) -> None:
    """Of two methods, which share it."""
    with pytest.raises(ExplainError) as raised:
        ask(runner, engine=SURROGATE, budget_predicted_row_count=150, count=2)
    found = re.search(r"budget_predicted_row_count to ([\d,]+)", raised.value.message)
    assert found is not None
    needed = int(found[1].replace(",", ""))

    with pytest.raises(ExplainError):
        ask(runner, engine=SURROGATE, budget_predicted_row_count=needed - 1, count=2)
    answer = ask(runner, engine=SURROGATE, budget_predicted_row_count=needed, count=2)
    assert len(answer.explanations) == 2


def test_a_plan_tells_the_rows_of_an_estimate_and_its_engine(
    runner: InProcess, estimated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without growing trees, which takes most of the time of an answer."""
    monkeypatch.setattr(surrogate_interactions, "compute_by_surrogate", None)
    (plan,) = ask(
        runner, ServiceMethod.PLAN, engine=SURROGATE, budget_predicted_row_count=BUDGET
    ).methods

    assert plan.engine == "SURROGATE"
    assert estimated.receipt.predicted_row_count <= plan.predicted_row_count <= BUDGET
    assert 0 < plan.seconds.low < plan.seconds.high


@pytest.mark.parametrize(("options", "count"), [({}, 10_000), ({"target_error": 0.1}, 100_000)])
def test_rows_that_are_predicted_without_a_budget(runner: InProcess, options, count) -> None:
    plan = ask(runner, ServiceMethod.PLAN, engine=SURROGATE, options=options)

    assert plan.methods[0].predicted_row_count == count


@pytest.fixture(scope="module")
def impatient() -> Iterator[InProcess]:
    """A runner for which any prediction takes too long."""
    runner = InProcess(threads=2, surrogate_seconds=1e-9)
    yield runner
    runner.close()


def test_estimates_are_chosen_where_predictions_take_too_long(impatient, runner) -> None:
    chosen, plan = ask(impatient), ask(impatient, ServiceMethod.PLAN)
    asked = ask(runner, engine=SURROGATE)

    assert (chosen.receipt.engine, plan.methods[0].engine) == (SURROGATE, "SURROGATE")
    assert chosen.explanations == asked.explanations
    (warning,) = [one for one in chosen.warnings if one.code == "ESTIMATED_BY_SURROGATE"]
    assert "ask for the engine SURROGATE with a larger budget" in warning.message
    why = r"predicting [\d,]+ rows may take 0 s, by a coarse count from the size of the model"
    for told in (warning.message, chosen.receipt.engine_reason, plan.methods[0].engine_reason):
        assert re.search(why, told)


KEPT = {
    "short predictions": {"seconds": 3_600.0, "options": {"pairwise_feature_count": 10}},
    "off": {"seconds": 0.0},
    "another engine": {"engine": service_pb2.ExplainRequest.BLACK_BOX},
    "a budget": {"budget_predicted_row_count": 50_000},
    "another method": {"method": "partial_dependence"},
    "an option": {"options": {"knot_count": 5}},
    "fewer predictions than thrice an estimate": {"row_count": 20},
}


@pytest.mark.parametrize("request_", KEPT.values(), ids=KEPT)
def test_other_requests_are_answered_by_the_black_box(request_) -> None:
    given = {"seconds": 1e-9} | request_
    runner = InProcess(threads=2, surrogate_seconds=given.pop("seconds"))
    try:
        answer = ask(runner, **given)
    finally:
        runner.close()

    assert answer.receipt.engine == service_pb2.ExplainRequest.BLACK_BOX
    assert "ESTIMATED_BY_SURROGATE" not in {one.code for one in answer.warnings}


def in_rounds(runner: InProcess, target: float) -> list[service_pb2.PartialExplanation]:
    """Ask for an estimate with a target error; return what it tells, the answer at last."""
    parts: list[bytes] = []
    options = {"features": ["x0", "x3", "x7"], "target_error": target}
    asked = {"engine": SURROGATE, "budget_predicted_row_count": 9_500, "partial": True}
    answer = ask(runner, options=options, follower=Follower(publish=parts.append), **asked)

    told = [service_pb2.ExplainStreamResponse.FromString(part).partial for part in parts]
    assert told[-1].explanation.interactions == answer.explanations[0].interactions
    assert [part.is_final for part in told] == [False] * (len(told) - 1) + [True]
    return told


def test_an_estimate_ends_with_the_round_that_reaches_its_target_error(runner: InProcess) -> None:
    every = in_rounds(runner, 1e-9)
    messages = [
        warning.message
        for part in every
        for warning in part.warnings
        if warning.code == "ESTIMATED_BY_SURROGATE"
    ]
    found = [re.search(r"error of a numerator is ([\d.e-]+) of", text) for text in messages]
    errors = [float(one[1]) for one in found if one]
    target = 1.1 * min(errors[:2])
    ended = in_rounds(runner, target)

    assert len(errors) == len(messages) == 3
    assert errors[-1] < errors[0]
    for part, error in zip(every, errors, strict=True):
        result = part.explanation.interactions
        of_all = [one.standard_errors[0] for one in (result.total, *result.overall)]
        assert max(of_all) <= 1.05 * error  # told with two digits; pairs may err more
    assert all("and more rows are predicted" in text for text in messages[:-1])
    assert "and the budget was spent before it was reached" in messages[-1]
    count = 1 + next(place for place, error in enumerate(errors) if error <= target)
    assert [part.explanation.interactions for part in ended] == [
        part.explanation.interactions for part in every[:count]
    ]
    assert f"target_error is {target:.2g}. " in ended[-1].warnings[-1].message
