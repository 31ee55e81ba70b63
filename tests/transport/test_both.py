"""Behaviour that gRPC and REST share."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import ParseDict
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RequestInfo, RetryInfo
from grpc_status import rpc_status
from onnxplain.v1.explanation_service_pb2 import (
    CheckModelRequest,
    DescribeModelRequest,
    DescribeTableRequest,
    ExplainRequest,
    ExplainStreamRequest,
    PredictRequest,
)
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.status import STATUS

from tools.waiting import until

PATIENCE = 120.0


JSON = {"Content-Type": "application/json"}


def details(error) -> dict[Any, Any]:
    """Return the details of a gRPC error by type."""
    found = {}
    for packed in rpc_status.from_call(error).details:
        for kind in (ErrorInfo, BadRequest, RequestInfo, RetryInfo):
            if packed.Is(kind.DESCRIPTOR):
                found[kind] = kind.FromString(packed.value)
    return found


def raising(error) -> Callable[[Any], None]:
    def work(host) -> None:
        raise error

    return work


def test_every_reason_has_a_status() -> None:
    assert set(STATUS) == set(Reason)


def test_a_reason_reaches_the_caller_with_its_field(start, make_runner) -> None:
    runner = make_runner()
    client = start(runner)
    for reason in Reason:
        if reason is not Reason.INTERNAL:
            runner.work = raising(ExplainError(reason, "a is b", "methods[0].row_count"))
            check_reason(client, reason)


def check_reason(client, reason: Reason) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        client.stub.Explain(ExplainRequest())
    answer = client.post({})

    assert caught.value.code() is STATUS[reason].grpc
    assert caught.value.details() == "a is b"
    found = details(caught.value)
    assert (found[ErrorInfo].reason, found[ErrorInfo].domain) == (reason.name, "onnxplain")
    assert found[BadRequest].field_violations[0].field == "methods[0].row_count"
    assert answer.status == answer.json["status"] == STATUS[reason].http
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json["reason"] == reason.name
    assert answer.json["error"] == answer.json["detail"] == "a is b"
    assert answer.json["errors"] == [
        {"pointer": "#/methods/0/rowCount", "field": "methods[0].row_count", "detail": "a is b"}
    ]


@pytest.mark.parametrize(
    "error", [ValueError("/etc/secret"), ExplainError(Reason.INTERNAL, "/etc/secret")]
)
def test_unexpected_errors_are_logged_and_hidden(start, make_runner, caplog, error) -> None:
    client = start(make_runner(raising(error)))

    with pytest.raises(grpc.RpcError) as caught:
        client.stub.Explain(ExplainRequest())
    answer = client.post({})

    assert caught.value.code() is grpc.StatusCode.INTERNAL
    assert answer.status == 500
    for told in (str(rpc_status.from_call(caught.value)), answer.body.decode()):
        assert "secret" not in told
        assert "Traceback" not in told
    ids = {details(caught.value)[RequestInfo].request_id, answer.json["request_id"]}
    logged = [record for record in caplog.records if record.exc_info]
    assert all(record.exc_info[1] is error for record in logged)
    assert ids == {record.args[1] for record in logged}


def test_a_request_id_is_kept(start, make_runner) -> None:
    client = start(make_runner())

    _, call = client.stub.Explain.with_call(ExplainRequest(), metadata=[("x-request-id", "a-1")])
    answer = client.post({}, X_Request_Id="a-1")

    assert dict(call.initial_metadata())["x-request-id"] == "a-1"
    assert answer.headers["X-Request-Id"] == "a-1"


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_has_the_request_id_in_its_metadata(start, make_runner, stream: bool) -> None:
    client = start(make_runner(raising(ExplainError(Reason.INVALID_TABLE, "no table"))))
    metadata = [("x-request-id", "a-1")]
    ask = {
        False: lambda: client.stub.Explain(ExplainRequest(), metadata=metadata),
        True: lambda: next(client.stub.ExplainStream(ExplainStreamRequest(), metadata=metadata)),
    }

    with pytest.raises(grpc.RpcError) as caught:
        ask[stream]()

    assert dict(caught.value.initial_metadata())["x-request-id"] == "a-1"


def test_headers_come_with_the_answer_so_that_a_proxy_can_still_say_that_a_server_died(
    start, make_runner
) -> None:
    over = threading.Event()
    runner = make_runner(lambda _host: over.wait(PATIENCE))
    call = start(runner).stub.Explain.future(ExplainRequest())
    headers: list[Any] = []
    reader = threading.Thread(target=lambda: headers.append(call.initial_metadata()))

    reader.start()
    assert runner.started.acquire(timeout=PATIENCE)
    reader.join(0.5)
    assert headers == []
    over.set()
    reader.join()

    assert "x-request-id" in dict(headers[0])


def test_a_request_id_that_could_forge_a_log_line_is_replaced(start, make_runner) -> None:
    client = start(make_runner())

    answer = client.post({}, X_Request_Id="a b\tc")

    assert len(answer.headers["X-Request-Id"]) == 32


def test_the_same_request_arrives_by_both(start, make_runner) -> None:
    runner = make_runner()
    client = start(runner)
    request = ExplainRequest(
        model=Model(content=b"model"), table=Table(csv=b"a\n1\n"), seed=7, feature_columns=["a"]
    )

    reply = client.stub.Explain(request)
    answer = client.post(
        {
            "model": {"content": "bW9kZWw="},
            "table": {"csv": "YQoxCg=="},
            "seed": 7,
            "feature_columns": ["a"],
        }
    )

    assert reply.receipt.seed == answer.json["receipt"]["seed"] == 7
    assert runner.requests == [request, request]


def test_explanations_are_planned(start, make_runner) -> None:
    client = start(make_runner())

    plan = client.stub.PlanExplanation(ExplainRequest(row_count=12, model=Model(content=b"1")))
    headers = {"Content-Type": "application/json"}
    answer = client.rest("POST", "/v1/explanations:plan", '{"rowCount": 12}', headers)

    assert plan.methods[0].row_count == 12
    assert answer.json["methods"][0]["rowCount"] == 12


def test_models_are_described(start, make_runner) -> None:
    client = start(make_runner())

    reply = client.stub.DescribeModel(DescribeModelRequest(model=Model(content=b"12345")))
    answer = client.rest(
        "POST", "/v1/models:describe", b"12345", {"Content-Type": "application/octet-stream"}
    )

    assert reply.model.digest == answer.json["model"]["digest"] == "5 bytes"


def test_rows_are_predicted(start, make_runner) -> None:
    client = start(make_runner())

    reply = client.stub.Predict(PredictRequest(row_indices=[3, 1]))
    answer = client.rest("POST", "/v1/predictions", '{"rowIndices": [3, 1]}', JSON)

    assert list(reply.row_indices) == answer.json["rowIndices"] == [3, 1]


def test_models_are_checked(start, make_runner) -> None:
    client = start(make_runner())

    reply = client.stub.CheckModel(CheckModelRequest(expected_prediction_columns=["p", "q"]))
    body = '{"expectedPredictionColumns": ["p", "q"]}'
    answer = client.rest("POST", "/v1/models:check", body, JSON)

    assert reply.comparison.row_count == answer.json["comparison"]["rowCount"] == 2


def test_tables_are_described(start, make_runner) -> None:
    client = start(make_runner())
    table = {"columns": {"columns": [{"name": "age", "numbers": [1]}]}}

    reply = client.stub.DescribeTable(DescribeTableRequest(table=ParseDict(table, Table())))
    answer = client.rest("POST", "/v1/tables:describe", json.dumps({"table": table}), JSON)
    split = json.dumps({"dataframe_split": {"columns": ["age"], "data": [[1]]}})
    rows = client.rest("POST", "/v1/tables:describe", split, JSON)

    assert [column.name for column in reply.table.columns] == ["age"]
    assert answer.json == rows.json
    assert [column["name"] for column in answer.json["table"]["columns"]] == ["age"]


@pytest.mark.parametrize("path", ["/v1/predictions", "/v1/tables:describe", "/v1/models:check"])
def test_other_bodies_than_json_and_forms_are_refused(start, make_runner, path: str) -> None:
    answer = start(make_runner()).rest("POST", path, b"1", {"Content-Type": "text/csv"})

    assert answer.status == 415


@pytest.mark.parametrize(
    ("setting", "reason", "request_"),
    [
        ("max_model_bytes", "MODEL_TOO_LARGE", ExplainRequest(model=Model(content=b"x" * 11))),
        ("max_table_bytes", "TABLE_TOO_LARGE", ExplainRequest(table=Table(csv=b"x" * 11))),
    ],
)
def test_large_models_and_tables_are_refused(
    start, make_runner, setting: str, reason: str, request_
) -> None:
    runner = make_runner()
    client = start(runner, **{setting: 10})

    with pytest.raises(grpc.RpcError) as caught:
        client.stub.Explain(request_)

    assert details(caught.value)[ErrorInfo].reason == reason
    told = f"has 11 bytes; this server takes at most 10, also as an upload (setting {setting})"
    assert told in caught.value.details()
    assert runner.requests == []


def test_models_and_tables_of_exactly_the_limit_are_taken(start, make_runner) -> None:
    client = start(make_runner(), max_model_bytes=10, max_table_bytes=10)

    client.stub.Explain(
        ExplainRequest(model=Model(content=b"x" * 10), table=Table(csv=b"x" * 10), seed=5)
    )


def test_the_server_caps_the_time_for_a_request(start, make_runner, endless) -> None:
    client = start(make_runner(endless), max_seconds=0.1)

    with pytest.raises(grpc.RpcError) as caught:
        client.stub.Explain(ExplainRequest())
    answer = client.post({}, X_Request_Timeout_Ms="60000")

    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert answer.json["reason"] == "DEADLINE_EXCEEDED"
    assert answer.status == 504


def test_the_caller_sets_less_time(start, make_runner, endless) -> None:
    client = start(make_runner(endless))

    with pytest.raises(grpc.RpcError) as caught:
        client.stub.Explain(ExplainRequest(), timeout=0.1)
    answer = client.post({}, X_Request_Timeout_Ms="100")

    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert (answer.status, answer.json["reason"]) == (504, "DEADLINE_EXCEEDED")
    # Work that has begun is over; a deadline may pass before it begins.
    assert client.server._scheduler.wait_idle(PATIENCE)


def test_a_time_that_is_none_is_refused(start, make_runner) -> None:
    client = start(make_runner())

    for given in ("0", "-1", "1.5", "soon", "9" * 400):
        assert client.post({}, X_Request_Timeout_Ms=given).json["reason"] == "INVALID_REQUEST"


def leave_grpc(client):
    return client.stub.Explain.future(ExplainRequest()).cancel


def leave_grpc_stream(client):
    return client.stub.ExplainStream(ExplainStreamRequest()).cancel


def leave_rest(client, accept: bytes = b"application/json"):
    connection = client.connect()
    connection.sendall(
        b"POST /v1/explanations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Accept: " + accept + b"\r\nContent-Length: 2\r\n\r\n{}"
    )
    return connection.close


def leave_rest_stream(client):
    return leave_rest(client, b"text/event-stream")


@pytest.mark.parametrize("ask", [leave_grpc, leave_grpc_stream, leave_rest, leave_rest_stream])
def test_leaving_frees_the_server_at_the_next_step(start, make_runner, ask) -> None:
    hosts: list[Any] = []
    may_step = threading.Semaphore(0)

    def work(host) -> None:
        hosts.append(host)
        for step in range(100):
            assert may_step.acquire(timeout=PATIENCE)
            host.advance(step, 100)

    runner = make_runner(work)
    client = start(runner)
    leave = ask(client)
    assert runner.started.acquire(timeout=PATIENCE)
    may_step.release()

    leave()

    until(lambda: is_over(hosts[0]))
    may_step.release()
    assert runner.ended.acquire(timeout=PATIENCE)
    assert client.server._scheduler.wait_idle(PATIENCE)


def is_over(host) -> bool:
    """Whether the next step of a computation will end it."""
    try:
        host.advance(0, 0)
    except ExplainError:
        return True
    return False


@pytest.mark.parametrize("ask", [leave_grpc, leave_grpc_stream, leave_rest, leave_rest_stream])
def test_leaving_gives_up_a_waiting_place(start, make_runner, endless, ask) -> None:
    runner = make_runner(endless)
    client = start(runner, running_count=1)
    running = client.stub.Explain.future(ExplainRequest())
    assert runner.started.acquire(timeout=PATIENCE)
    leave = ask(client)
    until(lambda: client.server._scheduler.counts().waiting_count == 1)

    leave()

    until(lambda: client.server._scheduler.counts().in_flight_count == 1)
    running.cancel()


def test_nobody_waits_for_a_place_beyond_the_limit(start, make_runner, endless) -> None:
    runner = make_runner(endless)
    client = start(runner, running_count=1, waiting_count=1)
    calls = [client.stub.Explain.future(ExplainRequest()) for _ in range(2)]
    assert runner.started.acquire(timeout=PATIENCE)
    until(lambda: client.server._scheduler.counts().in_flight_count == 2)

    with pytest.raises(grpc.RpcError) as caught:
        client.stub.Explain(ExplainRequest())
    answer = client.post({})

    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert details(caught.value)[RetryInfo].retry_delay.seconds == 1
    assert (answer.status, answer.json["reason"]) == (429, "OVERLOADED")
    assert answer.headers["Retry-After"] == "1"
    for call in calls:
        call.cancel()


@pytest.mark.parametrize("surface", ["gRPC", "REST"])
def test_many_callers_wait_at_the_same_time_by_the_default_settings(
    start, make_runner, surface
) -> None:
    release = threading.Event()
    client = start(make_runner(lambda _host: release.wait(PATIENCE)))

    def ask(seed: int) -> int:
        if surface == "REST":
            return int(client.post({"seed": seed}).status)
        client.stub.Explain(ExplainRequest(seed=seed))
        return 200

    with ThreadPoolExecutor(40) as callers:
        asked = [callers.submit(ask, seed) for seed in range(40)]
        until(
            lambda: (
                client.server._scheduler.counts().in_flight_count == 40
                or any(one.done() for one in asked)
            )
        )
        release.set()
        found = [one.result() for one in asked]

    assert found == [200] * 40


def test_those_who_wait_come_first_in_first_out(start, make_runner) -> None:
    release = threading.Semaphore(0)
    runner = make_runner(lambda _host: release.acquire(timeout=PATIENCE))
    client = start(runner, running_count=1)
    calls = []
    for seed in range(4):
        calls.append(client.stub.Explain.future(ExplainRequest(seed=seed)))
        until(lambda: admitted(client) == len(calls))

    release.release(4)

    assert [call.result(timeout=PATIENCE).receipt.seed for call in calls] == [0, 1, 2, 3]
    assert [request.seed for request in runner.requests] == [0, 1, 2, 3]


def test_descriptions_wait_for_their_turn_too(start, make_runner, endless) -> None:
    runner = make_runner(endless)
    client = start(runner, running_count=1)
    calls = [client.stub.DescribeModel.future(DescribeModelRequest()) for _ in range(2)]

    until(lambda: admitted(client) == 2)

    assert client.server._scheduler.counts().waiting_count == 1
    for call in calls:
        call.cancel()


def test_requests_that_wait_for_the_same_work_keep_no_other_from_running(
    start, make_runner
) -> None:
    release = threading.Event()

    def work(host) -> None:
        if runner.requests[-1].seed == 0:
            with host.single_flight("method"):
                release.wait(2 * PATIENCE)

    runner = make_runner(work)
    client = start(runner, running_count=2)
    same = [client.stub.Explain.future(ExplainRequest()) for _ in range(5)]
    assert all(runner.started.acquire(timeout=PATIENCE) for _ in range(5))

    assert client.stub.Explain(ExplainRequest(seed=1), timeout=PATIENCE).receipt.seed == 1

    assert not any(call.done() for call in same)
    release.set()
    assert all(call.result(timeout=PATIENCE) is not None for call in same)


def admitted(client) -> int:
    counts = client.server._scheduler.counts()
    return int(counts.running_count + counts.waiting_count)
