"""Rows that a remote is asked for: the law of all pairs of 10 features on 500 rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from onnxplain.v1 import model_pb2
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, MethodOptions
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.plan_pb2 import ExplanationPlan
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.runner.remote.call_slots import CallSlots
from onnxplain_server.adapters.runner.remote.model import RemoteModel
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote.models import RemoteDescription
from onnxplain_server.core.request import ServiceMethod

NAMES = tuple("abcdefghij")


class Calls:
    """Remote calls as a server would answer them: the sum of all products of two features."""

    call_count, row_limit = 4, 2_000

    def __init__(self) -> None:
        self.rows: list[int] = []

    def describe(self) -> RemoteDescription:
        return RemoteDescription((Input("x", "double", len(NAMES), NAMES),), ("y",))

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        rows: Array = feeds["x"]
        self.rows.append(len(rows))
        answers: Array = rows.sum(axis=1) ** 2 - (rows**2).sum(axis=1)
        return answers[:, None] / 2


def request(row_count: int, pairs: int, **given: Any) -> bytes:
    values = np.random.default_rng(7).normal(size=(row_count, len(NAMES))).round(4)
    lines = [",".join(NAMES), *(",".join(map(str, row)) for row in values)]
    options = InteractionsOptions(pairwise_feature_count=pairs)
    return ExplainRequest(
        model=model_pb2.Model(
            remote=model_pb2.RemoteModel(uri="http://host", protocol="OIP_REST", name="m")
        ),
        table=Table(csv="\n".join(lines).encode()),
        methods=[MethodOptions(interactions=options)],
        row_count=row_count,
        plots=False,
        **given,
    ).SerializeToString()


@pytest.mark.parametrize(
    "row_count", [100, pytest.param(500, marks=pytest.mark.slow)], ids=lambda rows: f"{rows} rows"
)
def test_all_pairs_take_no_more_rows_than_the_law_and_the_plan(make: Any, row_count: int) -> None:
    """n² (p + p (p - 1) / 2), less rows that are those of the table: n for each sweep but once."""
    calls, p = Calls(), len(NAMES)
    runner = InProcess(1, remotes=lambda _address, _control: calls)
    asked = request(row_count, p)
    plan = ExplanationPlan.FromString(
        runner.answer(Call(ServiceMethod.PLAN, asked), make.host()).content
    )
    calls.rows.clear()

    reply = runner.answer(Call(ServiceMethod.EXPLAIN, asked), make.host())
    runner.close()

    answer, sweeps = ExplainResponse.FromString(reply.content), p + p * (p - 1) // 2
    assert len(answer.explanations[0].interactions.pairwise) == p * (p - 1) // 2
    assert sum(calls.rows) == answer.receipt.predicted_row_count
    assert sum(calls.rows) <= row_count**2 * sweeps
    assert sum(calls.rows) <= plan.predicted_row_count
    assert max(calls.rows) <= calls.row_limit


@pytest.mark.parametrize("budget", [60_000, 100_000])
def test_a_budget_is_kept(make: Any, budget: int) -> None:
    calls = Calls()
    runner = InProcess(1, remotes=lambda _address, _control: calls)
    asked = request(100, len(NAMES), budget_predicted_row_count=budget)

    reply = runner.answer(Call(ServiceMethod.EXPLAIN, asked), make.host())
    runner.close()

    answer, checks = ExplainResponse.FromString(reply.content), 16 * 4
    assert sum(calls.rows) == answer.receipt.predicted_row_count
    assert budget / 4 < sum(calls.rows) <= budget + checks


def test_each_row_of_a_call_has_its_own_answer_whatever_is_known() -> None:
    calls = Calls()
    model = RemoteModel(calls, CallSlots(calls.call_count), calls.describe().inputs)
    model.named(("y",), has_class_scores=False)
    random = np.random.default_rng(2)
    known = random.normal(size=(40, len(NAMES)))
    model.predict({"x": known})
    mixed = np.concatenate([known[:10], random.normal(size=(20, len(NAMES)))])
    mixed = mixed[random.integers(0, len(mixed), 100)]
    expected = Calls().predict({"x": mixed})
    first_known = set(known[:, 0])
    fresh = len({row[0] for row in mixed.tolist()} - first_known)

    answers = model.predict({"x": mixed})

    np.testing.assert_array_equal(answers, expected)
    assert calls.rows == [40, fresh]
    model.unremembered.predict({"x": mixed})
    assert calls.rows == [40, fresh, 100]
    assert model.asked_row_count == sum(calls.rows)
