"""Requests that need scikit-learn: answered by workers of their own, started when first needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hostile.base import model, node
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
    MethodOptions,
)
from onnxplain.v1.feature_vectors_pb2 import FeatureVectorsOptions
from onnxplain.v1.firm_pb2 import FirmOptions
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceOptions
from onnxplain_server.adapters.workers.isolated import Isolated
from onnxplain_server.adapters.workers.worker_client import WorkerClient
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

GOOD = model([node("Neg", "X")]).SerializeToString()
ROWS = b"a,b,c\n" + b"".join(b"%d,%d,%d\n" % (i % 7, i * 5 % 11, i * i % 13) for i in range(60))
CURVES = MethodOptions(partial_dependence=PartialDependenceOptions(grid_size=2))
LEARNED = MethodOptions(
    feature_vectors=FeatureVectorsOptions(
        source=FeatureVectorsOptions.SURROGATE, sentence_count=100, depth=3
    )
)

SHRUNKEN = MethodOptions(
    firm=FirmOptions(estimator=FirmOptions.TAYLOR, covariance=FirmOptions.LEDOIT_WOLF)
)


def libraries(pid: int) -> bool:
    """Whether a process has mapped a library of scikit-learn."""
    with open(f"/proc/{pid}/maps") as maps:  # noqa: PTH123 - a line at a time
        return any("/sklearn/" in line for line in maps)


class Learning(NamedTuple):
    """A runner that has been asked for curves, and then for what needs scikit-learn."""

    runner: Isolated
    asked: list[str]
    began_without: bool
    request: bytes
    answer: ExplainResponse


@pytest.fixture(scope="module")
def learning(lasting) -> Iterator[Learning]:
    """Workers with scikit-learn take seconds to start: all tests ask the same."""
    asked = []
    ask = WorkerClient.ask
    runner = lasting(surrogate_seconds=1e-9)

    def counted(client, *given):
        asked.append("other" if client is runner._client else "learning")
        return ask(client, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorkerClient, "ask", counted)
        began_without = not any(libraries(worker.pid) for worker in runner._pool._spares)
        curves = lasting.request(GOOD, ROWS, CURVES)
        runner.answer(Call(ServiceMethod.EXPLAIN, curves), lasting.call())
        began_without &= runner._learning is None
        request = lasting.request(GOOD, ROWS, CURVES, LEARNED, engine="BLACK_BOX")
        reply = runner.answer(Call(ServiceMethod.EXPLAIN, request), lasting.call())
        answer = ExplainResponse.FromString(reply.content)
        yield Learning(runner, asked, began_without, request, answer)


def test_a_request_that_needs_scikit_learn_goes_to_a_worker_that_has_it(
    lasting, learning, reference
) -> None:
    """Workers of both pools are counted, and the rows that either predicted."""
    expected = ExplainResponse.FromString(
        reference.runner.answer(
            Call(ServiceMethod.EXPLAIN, learning.request), lasting.call()
        ).content
    )

    assert learning.began_without
    pool = learning.runner._learning[0]
    assert {libraries(worker.pid) for worker in pool._warm} == {True}
    assert learning.answer.receipt.predicted_row_count >= 60
    counts = learning.runner.counts()
    assert len(counts.own_bytes["warm"]) >= 2
    assert counts.start_count >= 2
    assert len(learning.answer.explanations) == 2
    for one, other in zip(learning.answer.explanations, expected.explanations, strict=True):
        assert lasting.same(one, other)


def test_only_the_first_of_such_requests_is_asked_twice(lasting, learning) -> None:
    learning.asked.clear()
    for seed in (1, 2):
        request = lasting.request(GOOD, ROWS, SHRUNKEN, engine="BLACK_BOX", seed=seed)
        learning.runner.answer(Call(ServiceMethod.EXPLAIN, request), lasting.call(model_key="good"))
    learning.runner.answer(
        Call(ServiceMethod.EXPLAIN, lasting.request(GOOD, ROWS, CURVES)),
        lasting.call(model_key="good"),
    )

    assert learning.asked == ["other", "learning", "learning", "other"]


@pytest.mark.slow
def test_the_receipt_counts_the_rows_of_such_a_request(own) -> None:
    """Whatever worker has it first."""
    found = own().answer(
        Call(ServiceMethod.EXPLAIN, own.request(GOOD, ROWS, SHRUNKEN, engine="BLACK_BOX")),
        own.call(),
    )

    assert ExplainResponse.FromString(found.content).receipt.predicted_row_count >= 60


@pytest.mark.slow
def test_waiting_for_the_first_such_worker_ends_with_the_deadline(own) -> None:
    """Its zygote takes a second or more to load."""
    runner = own()
    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD, ROWS, CURVES)), own.call())

    with pytest.raises(ExplainError) as caught:
        runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD, ROWS, LEARNED)), own.call(0.3))

    assert caught.value.reason is Reason.DEADLINE_EXCEEDED


def test_a_surrogate_is_fitted_in_a_confined_worker_where_predictions_take_too_long(
    lasting, learning, reference
) -> None:
    """A worker without scikit-learn finds that out, and another one answers."""
    largest = model([node("ReduceMax", "X", axes=[1])]).SerializeToString()
    rows = b"a,b,c\n" + b"".join(b"%d,%d,%d\n" % (i, i * 7 % 120, i * 11 % 120) for i in range(120))
    interactions = MethodOptions(interactions=InteractionsOptions())

    chosen, asked = (
        ExplainResponse.FromString(
            each.answer(Call(ServiceMethod.EXPLAIN, sent), lasting.call()).content
        )
        for each, sent in (
            (learning.runner, lasting.request(largest, rows, interactions)),
            (reference.runner, lasting.request(largest, rows, interactions, engine="SURROGATE")),
        )
    )

    assert chosen.receipt.engine == asked.receipt.engine == ExplainRequest.SURROGATE
    first, second = (answer.explanations[0].interactions for answer in (chosen, asked))
    assert lasting.same(first, second)
    assert first.total.values[0] > 0
