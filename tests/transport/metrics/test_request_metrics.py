"""Metrics of requests, as a scraper reads them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    ExplainRequest,
    ExplainResponse,
    ExplainStreamRequest,
    MethodOptions,
)
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceOptions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import Reply, ServiceMethod, Work
from onnxplain_server.telemetry.spans import current, span
from onnxplain_server.wire.reply import encode
from prometheus_client.parser import text_string_to_metric_families

EXPLAIN = {
    "grpc_type": "unary",
    "grpc_service": "onnxplain.v1.ExplanationService",
    "grpc_method": "Explain",
}
ROUTE = {"http_request_method": "POST", "http_route": "/v1/explanations"}
PATIENCE = 120.0
INTERACTIONS = MethodOptions(interactions=InteractionsOptions())
CURVES = MethodOptions(partial_dependence=PartialDependenceOptions())


class Page:
    """The samples of a page of metrics."""

    def __init__(self, text: str) -> None:
        self.families = list(text_string_to_metric_families(text))
        self.samples = [sample for family in self.families for sample in family.samples]

    def __call__(self, name: str, **labels: str) -> float | None:
        """Return the value of one sample; None where it is not shown."""
        found = [s.value for s in self.samples if s.name == name and s.labels == labels]
        assert len(found) <= 1
        return found[0] if found else None


def scrape(client) -> Page:
    reply = client.metrics()
    assert reply.status == 200
    assert reply.headers["Content-Type"].startswith("text/plain")
    return Page(reply.body.decode())


def scrape_until(client, true: Callable[[Page], bool]) -> Page:
    """Scrape again while counts of what just ended are on their way."""
    end = time.monotonic() + PATIENCE
    while not true(page := scrape(client)):
        assert time.monotonic() < end, page.samples
        time.sleep(0.01)
    return page


def test_calls_on_grpc_are_counted_by_method_and_code(start, make_runner) -> None:
    runner = make_runner()
    client = start(runner)
    client.stub.Explain(ExplainRequest())
    client.stub.Explain(ExplainRequest())
    runner.work = raising(Reason.NON_FINITE_PREDICTION)
    with pytest.raises(grpc.RpcError):
        client.stub.Explain(ExplainRequest())

    page = scrape_until(
        client, lambda page: page("grpc_server_handling_seconds_count", **EXPLAIN) == 3
    )

    assert page("grpc_server_started_total", **EXPLAIN) == 3
    assert page("grpc_server_handled_total", **EXPLAIN, grpc_code="OK") == 2
    assert page("grpc_server_handled_total", **EXPLAIN, grpc_code="FAILED_PRECONDITION") == 1
    assert page("onnxplain_rejected_total", reason="NON_FINITE_PREDICTION") == 1


def test_streams_are_counted_when_they_end(start, make_runner) -> None:
    client = start(make_runner(lambda _host: time.sleep(0.15)))
    begin = time.monotonic()
    stream = {**EXPLAIN, "grpc_type": "server_stream", "grpc_method": "ExplainStream"}

    list(client.stub.ExplainStream(ExplainStreamRequest(request=ExplainRequest())))

    page = scrape_until(
        client, lambda page: page("grpc_server_handled_total", **stream, grpc_code="OK") == 1
    )
    elapsed = time.monotonic() - begin
    assert 0.15 < (page("grpc_server_handling_seconds_sum", **stream) or 0) < elapsed


def test_a_caller_that_leaves_a_stream_is_counted(start, make_runner, endless) -> None:
    client = start(make_runner(endless))
    stream = {**EXPLAIN, "grpc_type": "server_stream", "grpc_method": "ExplainStream"}
    call = client.stub.ExplainStream(ExplainStreamRequest(request=ExplainRequest()))
    next(call)

    call.cancel()

    scrape_until(
        client, lambda page: page("grpc_server_handled_total", **stream, grpc_code="CANCELLED") == 1
    )


def test_requests_on_rest_are_counted_by_route_and_status(start, make_runner) -> None:
    client = start(make_runner())
    client.post({})
    client.post({}, Accept="text/event-stream")
    client.post("no JSON")
    client.rest("GET", "/v1/somewhere/else")
    client.rest("BREW", "/v1/explanations")
    client.rest("GET", "/readyz")

    name = "http_server_request_duration_seconds_count"
    nowhere = {"http_route": "", "http_response_status_code": "405"}
    page = scrape_until(
        client, lambda page: page(name, http_request_method="_OTHER", **nowhere) == 1
    )

    assert page(name, **ROUTE, http_response_status_code="200") == 2
    assert page(name, **ROUTE, http_response_status_code="400") == 1
    assert page("onnxplain_rejected_total", reason="INVALID_REQUEST") == 1
    assert page("onnxplain_rejected_total", reason="NOT_FOUND") == 1
    routes = {s.labels["http_route"] for s in page.samples if s.name == name}
    assert routes == {"/v1/explanations", ""}


def test_an_error_among_events_is_counted(start, make_runner) -> None:
    client = start(make_runner(raising(Reason.INVALID_MODEL)))

    client.post({}, Accept="text/event-stream")

    scrape_until(client, lambda page: page("onnxplain_rejected_total", reason="INVALID_MODEL") == 1)


def test_what_http_itself_refuses_is_counted(start, make_runner) -> None:
    client = start(make_runner(), max_message_bytes="64KiB")

    client.post(b"x" * 70_000)

    scrape_until(
        client, lambda page: page("onnxplain_rejected_total", reason="REQUEST_TOO_LARGE") == 1
    )


def test_bytes_that_are_no_message_are_counted(start, make_runner) -> None:
    client = start(make_runner())
    explain = client.channel.unary_unary("/onnxplain.v1.ExplanationService/Explain")

    with pytest.raises(grpc.RpcError):
        explain(b"\xff")

    scrape_until(
        client,
        lambda page: (
            page("grpc_server_handled_total", **EXPLAIN, grpc_code="INVALID_ARGUMENT") == 1
        ),
    )


def test_answers_are_timed_by_method_and_their_rows_added(start, make_runner) -> None:
    client = start(Predicting(make_runner(lambda _host: time.sleep(0.02)), rows=1_000))
    begin = time.monotonic()
    for methods in ([INTERACTIONS], [INTERACTIONS, CURVES], [CURVES], [CURVES]):
        client.stub.Explain(ExplainRequest(methods=methods))

    name = "onnxplain_explain_duration_seconds_count"
    page = scrape_until(client, lambda page: page(name, method="partial_dependence") == 2)

    assert page(name, method="interactions") == 1
    assert page(name, method="several") == 1
    assert page(name, method="partial_dependence") == 2
    seconds = page("onnxplain_explain_duration_seconds_sum", method="partial_dependence")
    assert 0.04 <= (seconds or 0) < time.monotonic() - begin
    assert page("onnxplain_predicted_rows_total") == 4_000


def test_the_page_answers_while_every_worker_is_busy(start, make_runner, endless) -> None:
    runner = make_runner(endless)
    client = start(runner, running_count=1, waiting_count=2)
    calls = [client.stub.Explain.future(ExplainRequest()) for _ in range(3)]
    assert runner.started.acquire(timeout=PATIENCE)

    page = scrape_until(client, lambda page: page("onnxplain_waiting_requests") == 2)
    with pytest.raises(grpc.RpcError):
        client.stub.Explain(ExplainRequest())
    after = scrape(client)

    assert page("onnxplain_running_requests") == 1
    assert page("onnxplain_in_flight_requests") == 3
    assert after("onnxplain_rejected_total", reason="OVERLOADED") == 1
    for call in calls:
        call.cancel()
    scrape_until(client, lambda page: page("onnxplain_in_flight_requests") == 0)


def test_the_cache_is_counted(start, make_runner) -> None:
    def work(host) -> None:
        host.cache_get(["a", "b"])
        host.cache_put({"a": bytes(1000)})
        host.cache_get(["a"])

    client = start(make_runner(work))
    client.stub.Explain(ExplainRequest())

    page = scrape(client)

    results = {r: page("onnxplain_cache_requests_total", result=r) for r in ("hit", "miss")}
    assert results == {"hit": 1, "miss": 2}
    assert page("onnxplain_cache_requests_total", result="error") == 0
    assert 1_000 < (page("onnxplain_cache_bytes") or 0) < 2_000


def test_work_that_another_request_does_is_counted(start, make_runner) -> None:
    go_on = threading.Event()

    def work(host) -> None:
        with host.single_flight("a") as first:
            if first:
                assert go_on.wait(PATIENCE)

    runner = make_runner(work)
    client = start(runner)
    calls = [client.stub.Explain.future(ExplainRequest()) for _ in range(2)]
    assert all(runner.started.acquire(timeout=PATIENCE) for _ in calls)
    assert scrape(client)("onnxplain_coalesced_total") == 0
    # The other one stands aside.
    end = time.monotonic() + PATIENCE
    while client.server._scheduler.counts().running_count > 1:
        assert time.monotonic() < end
        time.sleep(0.01)

    go_on.set()

    assert all(call.result(timeout=PATIENCE) for call in calls)
    assert scrape(client)("onnxplain_coalesced_total") == 1


def test_what_runs_is_told(start, make_runner) -> None:
    (sample,) = [s for s in scrape(start(make_runner())).samples if "build_info" in s.name]

    assert (sample.name, sample.value) == ("onnxplain_build_info", 1)
    assert sample.labels.keys() == {"version", "python", "onnxruntime"}
    assert all(sample.labels.values())


def test_nothing_that_has_not_happened_is_missing(start, make_runner) -> None:
    """Otherwise the first error of its kind would be no increase."""
    page = scrape(start(make_runner()))

    for reason in Reason:
        assert page("onnxplain_rejected_total", reason=reason.name) == 0
    assert page("grpc_server_handled_total", **EXPLAIN, grpc_code="INTERNAL") == 0


def test_nothing_that_a_caller_names_becomes_a_label(start, make_runner) -> None:
    client = start(make_runner(raising(Reason.UNKNOWN_FEATURE)))
    request = ExplainRequest(model=Model(content=b"secret"), feature_columns=["secret"])
    with pytest.raises(grpc.RpcError):
        client.stub.Explain(request, metadata=[("x-request-id", "secret")])
    client.rest("SECRET", "/v1/secret?secret=secret", headers={"X-Request-Id": "secret"})
    with pytest.raises(grpc.RpcError):
        client.stub.DescribeModel(DescribeModelRequest(model=Model(content=b"secret")))

    assert b"secret" not in client.metrics().body.lower()


def test_servers_of_one_process_count_for_themselves(start, make_runner) -> None:
    one, other = start(make_runner()), start(make_runner())
    one.stub.Explain(ExplainRequest())

    assert scrape(one)("grpc_server_started_total", **EXPLAIN) == 1
    assert scrape(other)("grpc_server_started_total", **EXPLAIN) == 0


def test_every_metric_has_one_name_and_says_what_it_is(start, make_runner) -> None:
    page = scrape(start(make_runner()))
    names = [family.name for family in page.families]

    assert len(names) == len(set(names))
    assert all(family.documentation for family in page.families)
    assert not [name for name in names if name.endswith("_created")]
    prefixes = ("grpc_server_", "http_server_", "onnxplain_", "process_")
    assert [name for name in names if not name.startswith(prefixes)] == []


def test_the_page_speaks_openmetrics_where_asked(start, make_runner) -> None:
    reply = start(make_runner()).metrics(Accept="application/openmetrics-text; version=1.0.0")

    assert reply.headers["Content-Type"].startswith("application/openmetrics-text")
    assert reply.body.endswith(b"# EOF\n")


def test_nothing_else_is_on_the_port_of_metrics(start, make_runner) -> None:
    client = start(make_runner())

    assert client.metrics("/").status == 404
    assert client.metrics("/v1/explanations", "POST").status == 404
    assert client.rest("GET", "/metrics").status == 404


def test_the_page_is_there_until_the_last_request_has_ended(start, make_runner) -> None:
    runner = make_runner()
    client = start(runner)
    pages = []

    def work(_host) -> None:
        while client.rest("GET", "/readyz").status == 200:
            time.sleep(0.01)
        pages.append(scrape(client))

    runner.work = work
    running = client.stub.Explain.future(ExplainRequest())
    assert runner.started.acquire(timeout=PATIENCE)

    client.server.drain(PATIENCE)

    assert running.result(timeout=PATIENCE)
    assert pages[0]("onnxplain_running_requests") == 1


class Predicting:
    """A runner whose receipts tell of predicted rows."""

    def __init__(self, runner, rows: int) -> None:
        self._runner = runner
        self._rows = rows

    def answer(self, call: Call, host) -> Reply:
        reply: Reply = self._runner.answer(call, host)
        if call.method is ServiceMethod.DESCRIBE:
            return reply
        work = Work(predicted_row_count=self._rows)
        return encode(ExplainResponse(), call.reply_format, math.inf, work)


def raising(reason: Reason) -> Callable[[Any], None]:
    def work(_host) -> None:
        raise ExplainError(reason, "no")

    return work


def test_waiting_for_a_turn_is_timed_of_those_too_that_give_up(start, make_runner, endless) -> None:
    runner = make_runner(endless)
    client = start(runner, running_count=1, extra_count=0)
    first = client.stub.Explain.future(ExplainRequest())
    assert runner.started.acquire(timeout=PATIENCE)
    second = client.stub.Explain.future(ExplainRequest())
    scrape_until(client, lambda page: page("onnxplain_waiting_requests") == 1)
    begin = time.monotonic()
    time.sleep(0.1)
    waited = time.monotonic() - begin
    second.cancel()
    scrape_until(client, lambda page: page("onnxplain_in_flight_requests") == 1)
    first.cancel()

    page = scrape_until(client, lambda page: page("onnxplain_queue_wait_seconds_count") == 2)

    assert (page("onnxplain_queue_wait_seconds_sum") or 0) >= waited
    # Not the second; on a busy machine the first neither.
    assert (page("onnxplain_queue_wait_seconds_bucket", le="0.05") or 0) <= 1


def test_time_of_predicting_is_that_of_all_calls_of_a_request(start, make_runner) -> None:
    def work(_host) -> None:
        now = time.monotonic()
        for seconds in (1, 2):
            current().count("predict", now - seconds, 10)

    client = start(make_runner(work))
    begin = time.monotonic()
    client.stub.Explain(ExplainRequest())

    page = scrape_until(client, lambda page: page("onnxplain_predict_seconds_count") == 1)
    elapsed = time.monotonic() - begin
    assert 3 <= (page("onnxplain_predict_seconds_sum") or 0) < 3 + 2 * elapsed


def test_models_loaded_and_those_that_could_not_be_are_counted(start, make_runner) -> None:
    def refuse(_host) -> None:
        with span("load"):
            raise ExplainError(Reason.INVALID_MODEL, "why")

    def load(_host) -> None:
        with span("load"):
            pass

    runner = make_runner(load)
    client = start(runner)
    client.stub.Explain(ExplainRequest())
    runner.work = refuse
    for _ in range(2):
        with pytest.raises(grpc.RpcError):
            client.stub.DescribeModel(DescribeModelRequest())

    page = scrape_until(
        client, lambda page: page("onnxplain_model_loads_total", result="failed") == 2
    )
    assert page("onnxplain_model_loads_total", result="loaded") == 1
