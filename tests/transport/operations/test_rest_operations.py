"""Operations over REST: started, followed, listed, cancelled, and their answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import pytest
from onnxplain_server.adapters.storage.operations.memory_operations import MemoryOperations
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.operations import OperationLimits

from tools.waiting import until

JSON = {"Content-Type": "application/json"}
FIRM: list[dict[str, Any]] = [{"firm": {}}]
"""A method that may need neither model nor table."""


@pytest.fixture
def serve(start, make_runner) -> Callable[..., Any]:
    """Start a server over some work, with operations."""

    def begin(work=lambda _host: None) -> Any:
        store = MemoryOperations(OperationLimits(lease_seconds=0.5))
        return start(make_runner(work), operations=store)

    return begin


def started(client: Any, query: str = "", seed: int = 3) -> str:
    body = json.dumps({"seed": seed, "methods": FIRM})
    reply = client.rest("POST", f"/v1/explanations:start{query}", body, JSON)
    assert reply.status == 202
    assert reply.headers["Location"] == f"/v1/{reply.json['name']}"
    return str(reply.headers["Location"])


def ended(client: Any, path: str) -> dict[str, Any]:
    operation: dict[str, Any] = {"done": False}
    while not operation["done"]:
        operation = client.rest("GET", f"{path}?wait=30s").json
    return operation


def test_an_operation_is_started_awaited_and_has_its_answer(serve) -> None:
    client = serve()
    path = started(client, "?request_id=a&label=team=risk&label=run=1%3D2")
    operation = ended(client, path)
    result = client.rest("GET", f"{path}/result")

    assert operation["metadata"]["state"] == "SUCCEEDED"
    assert operation["metadata"]["labels"] == {"team": "risk", "run": "1=2"}
    assert operation["metadata"]["requestId"] == "a"
    assert operation["metadata"]["@type"].endswith("onnxplain.v1.OperationMetadata")
    assert "response" not in operation
    assert (result.status, result.json["receipt"]["seed"]) == (200, 3)
    assert client.post({"seed": 3}).json["receipt"]["seed"] == 3


def test_an_explanation_may_be_preferred_as_an_operation(serve) -> None:
    client = serve()
    reply = client.post({"seed": 4, "methods": FIRM}, Prefer="wait=1, Respond-Async")
    path = reply.headers["Location"]

    assert reply.status == 202
    assert reply.headers["Preference-Applied"] == "respond-async"
    ended(client, path)
    assert client.rest("GET", f"{path}/result").json["receipt"]["seed"] == 4


def test_events_tell_each_change_and_the_end(serve) -> None:
    go = threading.Event()

    def work(host) -> None:
        host.advance(5, 10)
        assert go.wait(120)

    client = serve(work)
    path = started(client)
    connection = HTTPConnection("127.0.0.1", client.server.rest_port, timeout=120)
    with closing(connection):
        connection.request("GET", path, headers={"Accept": "text/event-stream"})
        reply = connection.getresponse()
        first = b"".join(iter(reply.readline, b"\n"))
        go.set()
        events = [each.strip() for each in (first + b"\n" + reply.read()).decode().split("\n\n")]
    events = [event for event in events if event]
    states = [json.loads(event.partition("data: ")[2])["metadata"]["state"] for event in events]

    assert all(event.startswith("event: operation\n") for event in events)
    assert states[-1] == "SUCCEEDED"
    assert set(states) <= {"PENDING", "RUNNING", "SUCCEEDED"}
    assert len(set(events)) == len(events) > 1


def test_an_operation_that_runs_has_no_answer_and_can_be_cancelled(serve, endless) -> None:
    client = serve(endless)
    path = started(client)
    early = client.rest("GET", f"{path}/result")
    cancelled = client.rest("POST", f"{path}:cancel")
    operation = ended(client, path)
    late = client.rest("GET", f"{path}/result")

    assert (early.status, early.json["reason"]) == (409, "OPERATION_NOT_DONE")
    assert (cancelled.status, cancelled.json) == (200, {})
    assert operation["metadata"]["state"] == "CANCELLED"
    assert operation["error"]["code"] == 1
    assert (late.status, late.json["reason"]) == (499, "CANCELLED")


def test_the_result_of_a_failed_operation_is_its_problem(serve) -> None:
    def work(_host) -> None:
        raise ExplainError(Reason.MISSING_COLUMN, "no x", "table")

    client = serve(work)
    path = started(client)
    operation = ended(client, path)
    result = client.rest("GET", f"{path}/result")

    assert operation["error"]["message"] == "no x"
    assert (result.status, result.json["reason"]) == (400, "MISSING_COLUMN")
    assert result.json["errors"][0]["field"] == "table"


def test_a_list_has_pages_of_what_its_filter_matches(serve) -> None:
    client = serve()
    paths = [started(client, f"?label=even={seed % 2 == 0}", seed) for seed in range(5)]
    query = "/v1/operations?filter=labels.even%20%3D%20True&page_size=2"
    first = client.rest("GET", query).json
    second = client.rest("GET", f"{query}&page_token={first['nextPageToken']}").json
    names = [each["name"] for page in (first, second) for each in page["operations"]]

    assert [f"/v1/{name}" for name in names] == [paths[4], paths[2], paths[0]]
    assert second["nextPageToken"] == ""


def test_an_operation_without_parts_has_none(serve) -> None:
    client = serve()
    path = started(client)
    ended(client, path)
    reply = client.rest("GET", f"{path}/partials")

    assert (reply.status, reply.json) == (200, {"partials": []})


def test_a_deleted_operation_does_not_exist(serve) -> None:
    client = serve()
    path = started(client)

    assert client.rest("DELETE", path).status == 200
    for method, place in (
        ("GET", path),
        ("GET", f"{path}/result"),
        ("GET", f"{path}/partials"),
        ("DELETE", path),
        ("POST", f"{path}:cancel"),
    ):
        reply = client.rest(method, place)
        assert (reply.status, reply.json["reason"]) == (404, "OPERATION_NOT_FOUND")
    events = client.rest("GET", path, headers={"Accept": "text/event-stream"})
    assert events.status == 404


@pytest.mark.parametrize(
    ("method", "path", "field"),
    [
        ("GET", "/v1/operations?filter=x", "filter"),
        ("GET", "/v1/operations?page_size=x", "page_size"),
        ("GET", "/v1/operations?page_token=x", "page_token"),
        ("GET", "/v1/operations?page_token=1", "page_token"),
        ("GET", "/v1/operations?pageToken=1", "page_token"),
        ("GET", "/v1/operations?page_size=-1", "page_size"),
        ("GET", "/v1/operations?pageSize=-1", "page_size"),
        ("GET", "/v1/operations?page_size=1&pageSize=1", "page_size"),
        ("GET", "/v1/operations?page_size=1&page_size=-1", "page_size"),
        ("GET", "/v1/operations?pagesize=-1", "pagesize"),
        ("GET", "/v1/operations/1?seconds=1", "seconds"),
        ("DELETE", "/v1/operations/1?force=true", "force"),
        ("POST", "/v1/explanations?request_id=a", "request_id"),
        ("POST", "/v1/explanations:plan?seed=1", "seed"),
        ("POST", "/v1/models:describe?deep=1", "deep"),
        ("GET", "/v1/operations/1?wait=soon", "wait"),
        ("POST", "/v1/explanations:start?label=x", "label"),
        ("POST", "/v1/explanations:start?label=a=1&label=a=2", "label"),
        ("POST", "/v1/explanations:start?request_id=a%20b", "request_id"),
    ],
)
def test_malformed_parameters_are_refused(serve, method: str, path: str, field: str) -> None:
    client = serve()
    reply = client.rest(method, path, "{}" if method == "POST" else None, JSON)

    assert (reply.status, reply.json["reason"]) == (400, "INVALID_REQUEST")
    assert reply.json["errors"][0]["field"] == field


@pytest.mark.parametrize("size", ["page_size=0", "page_size=999999999", "pageSize=0", ""])
def test_a_page_of_any_other_size_has_what_there_is(serve, size: str) -> None:
    client = serve()
    path = started(client)

    listed = client.rest("GET", f"/v1/operations?{size}").json["operations"]

    assert [f"/v1/{each['name']}" for each in listed] == [path]


def test_a_page_token_holds_for_its_filter_also_once_its_operation_is_deleted(serve) -> None:
    client = serve()
    paths = [started(client) for _ in range(3)]
    query = "/v1/operations?page_size=1"
    first = client.rest("GET", query).json
    token = f"&page_token={first['nextPageToken']}"
    client.rest("DELETE", paths[2])

    second = client.rest("GET", query + token)
    other = client.rest("GET", f"{query}&filter=done%20%3D%20true{token}")

    assert [each["name"] for each in second.json["operations"]] == [paths[1][len("/v1/") :]]
    assert (other.status, other.json["errors"][0]["field"]) == (400, "page_token")


def test_a_request_id_names_one_operation(serve) -> None:
    client = serve()
    first, again = (started(client, "?request_id=a") for _ in range(2))
    other = client.rest(
        "POST",
        "/v1/explanations:start?request_id=a",
        json.dumps({"seed": 4, "methods": FIRM}),
        JSON,
    )

    assert first == again
    assert (other.status, other.json["reason"]) == (409, "REQUEST_ID_IN_USE")


def test_a_server_without_a_store_names_the_setting(start, make_runner) -> None:
    client = start(make_runner())
    for method, path in (
        ("POST", "/v1/explanations:start"),
        ("GET", "/v1/operations"),
        ("GET", "/v1/operations/1"),
        ("GET", "/v1/operations/1/partials"),
    ):
        reply = client.rest(method, path, "{}" if method == "POST" else None, JSON)
        assert (reply.status, reply.json["reason"]) == (501, "OPERATIONS_DISABLED")
        assert "redis_url" in reply.json["detail"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/operations/1:cancel", "POST"),
        ("DELETE", "/v1/operations/1:cancel", "POST"),
        ("POST", "/v1/operations/1", "DELETE, GET, HEAD"),
        ("PUT", "/v1/operations", "GET, HEAD"),
        ("POST", "/v1/operations/1/result", "GET, HEAD"),
        ("POST", "/v1/operations/1/partials", "GET, HEAD"),
        ("GET", "/v1/explanations", "POST"),
        ("GET", "/v1/explanations:start", "POST"),
        ("GET", "/v1/explanations:plan", "POST"),
        ("GET", "/v1/models:describe", "POST"),
        ("GET", "/v1/tables:describe", "POST"),
        ("GET", "/v1/predictions", "POST"),
        ("POST", "/v1/models", "PUT"),
        ("POST", "/v1/tables", "PUT"),
        ("DELETE", f"/v1/models/sha256:{0:064}", "GET, HEAD"),
        ("POST", "/version", "GET, HEAD"),
        ("POST", "/readyz", "GET, HEAD"),
    ],
)
def test_a_wrong_verb_is_refused_with_those_that_are_right(
    serve, method: str, path: str, allowed: str
) -> None:
    refused = serve().rest(method, path, "{}" if method != "GET" else None, JSON)

    assert (refused.status, refused.json["reason"]) == (405, "METHOD_NOT_ALLOWED")
    verbs = sorted(set(refused.headers["Allow"].split(", ")) - {"OPTIONS"})
    assert ", ".join(verbs) == allowed


def test_metrics_show_routes_without_the_kinds_of_their_parts(serve) -> None:
    client = serve()
    client.rest("GET", "/v1/operations/1")
    counted = 'http_route="/v1/operations/<operation_id>"'
    until(lambda: counted in client.metrics().body.decode())
