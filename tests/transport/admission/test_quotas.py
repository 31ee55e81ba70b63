"""Quotas of callers: refused with the time when there is room, on every surface."""

from __future__ import annotations

import json
import re
import threading

import grpc
import onnxplain
import pytest
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    ExplainRequest,
    ExplainStreamRequest,
    PredictRequest,
)
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.plan_pb2 import RemainingQuota
from onnxplain_server.adapters.storage.memory_quotas import MemoryQuotas
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.admission import Caller
from onnxplain_server.transport.admission.quotas import NO_QUOTAS, QuotaLimits, Quotas

PATIENCE = 120.0
JSON = {"Content-Type": "application/json"}


class Working:
    """Work of so many planned rows and seconds."""

    def __init__(self, row_count: float = 0, seconds: float = 0) -> None:
        self.row_count = row_count
        self.seconds = seconds
        self.failure: Reason | None = None

    def __call__(self, host) -> None:
        host.count_processor(self.seconds)
        host.advance(0, self.row_count)
        host.advance(self.row_count, self.row_count)
        if self.failure is not None:
            raise ExplainError(self.failure, "no")


def details(error: grpc.RpcError) -> tuple[str, int]:
    """Reason of an error, and its delay in seconds; -1 without one."""
    (packed,) = (v for k, v in error.trailing_metadata() if k == "grpc-status-details-bin")
    info, retry = ErrorInfo(), RetryInfo()
    for detail in Status.FromString(packed).details:
        detail.Unpack(info)
        detail.Unpack(retry)
    has_delay = retry.HasField("retry_delay")
    return info.reason, retry.retry_delay.seconds if has_delay else -1


def fail(call) -> tuple[str, int]:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return details(caught.value)


def test_processor_time_is_refused_once_it_is_used_up(start, make_runner) -> None:
    client = start(make_runner(Working(seconds=6)), quota_processor_seconds=10)
    for _ in range(2):  # the second one goes beyond: its cost is known afterwards
        client.stub.Explain(ExplainRequest())

    for call in (
        lambda: client.stub.Explain(ExplainRequest()),
        lambda: list(client.stub.ExplainStream(ExplainStreamRequest())),
        lambda: client.stub.DescribeModel(DescribeModelRequest(model=Model(content=b"a"))),
    ):
        reason, seconds = fail(call)
        assert reason == "QUOTA_EXCEEDED"
        assert 3_000 < seconds <= 3_660


def test_rest_tells_the_delay_in_its_header(start, make_runner) -> None:
    client = start(make_runner(Working(seconds=6)), quota_processor_seconds=5)
    assert client.post({}).status == 200
    reply = client.post({})

    assert reply.status == 429
    assert reply.json["reason"] == "QUOTA_EXCEEDED"
    assert 3_000 < int(reply.headers["Retry-After"]) <= 3_660
    assert re.search(r"used 6\.0 of 5 processor seconds.*in 6\d min", reply.json["detail"])


def test_other_refusals_of_the_same_status_keep_their_delay(start, make_runner) -> None:
    def overloaded(_host) -> None:
        raise ExplainError(Reason.OVERLOADED, "no")

    def kept(_host) -> None:
        raise ExplainError(Reason.QUOTA_EXCEEDED, "no room for operations")

    assert start(make_runner(overloaded)).post({}).headers["Retry-After"] == "1"
    assert "Retry-After" not in start(make_runner(kept)).post({}).headers


def test_rows_are_reserved_by_plan_and_refused_before_they_are_predicted(
    start, make_runner
) -> None:
    work = Working(row_count=60)
    work.failure = Reason.PREDICTION_FAILED  # then they count as predicted
    client = start(make_runner(work), quota_predicted_rows=100)
    assert fail(lambda: client.stub.Explain(ExplainRequest())) == ("PREDICTION_FAILED", -1)

    reason, seconds = fail(lambda: client.stub.Explain(ExplainRequest()))
    assert (reason, seconds > 3_000) == ("QUOTA_EXCEEDED", True)
    work.row_count = 40
    assert fail(lambda: client.stub.Explain(ExplainRequest())) == ("PREDICTION_FAILED", -1)


def test_rows_that_were_not_predicted_are_given_back(start, make_runner) -> None:
    client = start(make_runner(Working(row_count=60)), quota_predicted_rows=100)

    for _ in range(5):
        client.stub.Explain(ExplainRequest())


def test_predicted_rows_of_predictions_count(start, make_runner) -> None:
    client = start(make_runner(), quota_predicted_rows=10)
    request = PredictRequest(row_indices=range(6))
    client.stub.Predict(request)

    assert fail(lambda: client.stub.Predict(request))[0] == "QUOTA_EXCEEDED"
    assert (
        client.rest("POST", "/v1/predictions", '{"rowIndices": [0, 1, 2, 3]}', JSON).status == 200
    )


def test_a_plan_above_the_whole_quota_has_no_delay(start, make_runner) -> None:
    client = start(make_runner(Working(row_count=101)), quota_predicted_rows=100)

    assert fail(lambda: client.stub.Explain(ExplainRequest())) == ("QUOTA_EXCEEDED", -1)


def test_reservations_of_running_requests_count(start, make_runner) -> None:
    is_reserved, may_end = threading.Event(), threading.Event()

    def work(host) -> None:
        host.advance(0, 60)
        is_reserved.set()
        assert may_end.wait(PATIENCE)

    client = start(make_runner(work), quota_predicted_rows=100)
    running = client.stub.Explain.future(ExplainRequest())
    assert is_reserved.wait(PATIENCE)
    try:
        assert fail(lambda: client.stub.Explain(ExplainRequest()))[0] == "QUOTA_EXCEEDED"
    finally:
        may_end.set()
    running.result()
    client.stub.Explain(ExplainRequest())


def test_a_stream_of_events_ends_with_the_refusal(start, make_runner) -> None:
    client = start(make_runner(Working(row_count=200)), quota_predicted_rows=100)
    body = client.post({}, accept="text/event-stream").body.decode()
    error = json.loads(body.split("event: error\ndata: ")[1])

    assert (error["status"], error["reason"]) == (429, "QUOTA_EXCEEDED")


def test_the_python_client_tells_the_delay_and_does_not_wait(start, make_runner) -> None:
    client = start(make_runner(Working(seconds=6)), quota_processor_seconds=5)
    client.stub.Explain(ExplainRequest())

    with (
        onnxplain.connect(f"127.0.0.1:{client.server.grpc_port}") as connected,
        pytest.raises(onnxplain.ExplainError) as caught,
    ):
        connected.explain(b"a model", {"x": [1.0]}, onnxplain.Interactions())

    assert caught.value.reason == "QUOTA_EXCEEDED"
    assert caught.value.retry_seconds is not None
    assert caught.value.retry_seconds > 3_000


def test_callers_have_quotas_of_their_own_and_see_what_is_left() -> None:
    quotas = Quotas(QuotaLimits(100, 10), MemoryQuotas())
    ada, bob = (Caller(name, 1, lambda: False) for name in ("ada", "bob"))
    with quotas.charged(ada) as charge:
        charge.plan(60)
        assert quotas.remaining(ada).row_count == 40
        ada.usage.predicted_row_count, ada.usage.processor_seconds = 25, 2.5

    assert quotas.remaining(ada) == QuotaLimits(75, 7.5)
    assert quotas.remaining(bob) == QuotaLimits(100, 10)
    assert NO_QUOTAS.remaining(ada) == QuotaLimits(None, None)


def test_without_quotas_nothing_is_refused(start, make_runner) -> None:
    client = start(make_runner(Working(row_count=1e9, seconds=1e6)))

    for _ in range(3):
        client.stub.Explain(ExplainRequest())


def plan_over_rest(client):
    headers = {"Content-Type": "application/json"}
    return client.rest("POST", "/v1/explanations:plan", '{"rowCount": 12}', headers).json


def test_a_plan_tells_what_the_caller_may_still_use(start, make_runner) -> None:
    limits = {"quota_predicted_rows": 100, "quota_processor_seconds": 10}
    work = Working(60, 1.25)
    work.failure = Reason.PREDICTION_FAILED  # then they count as predicted
    client = start(make_runner(work), **limits)
    assert fail(lambda: client.stub.Explain(ExplainRequest()))[0] == "PREDICTION_FAILED"
    work.row_count, work.failure = 0, None
    plan = client.stub.PlanExplanation(ExplainRequest(row_count=12))
    document = plan_over_rest(client)

    # Each plan takes time too.
    assert plan.remaining_quota == RemainingQuota(predicted_row_count=40, processor_seconds=7.5)
    assert document["remainingQuota"] == {"predictedRowCount": 40.0, "processorSeconds": 6.25}
    assert plan.methods[0].row_count == document["methods"][0]["rowCount"] == 12


def test_a_plan_tells_a_limit_alone(start, make_runner) -> None:
    client = start(make_runner(), quota_predicted_rows=100)
    with onnxplain.connect(f"127.0.0.1:{client.server.grpc_port}") as connected:
        plan = connected.plan(b"a model", {"x": [1.0]}, onnxplain.Interactions())

    assert plan.remaining_quota == onnxplain.RemainingQuota(100, None)
    assert plan_over_rest(client)["remainingQuota"] == {"predictedRowCount": 100.0}


def test_without_quotas_a_plan_tells_none(start, make_runner) -> None:
    client = start(make_runner())

    assert not client.stub.PlanExplanation(ExplainRequest()).HasField("remaining_quota")
    assert "remainingQuota" not in plan_over_rest(client)
