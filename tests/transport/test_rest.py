"""Behaviour of REST alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, MethodOptions
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Column, Columns, Table

METHODS = [MethodOptions(interactions=InteractionsOptions())]


def multipart(*parts: tuple[str, str, bytes]) -> tuple[bytes, dict[str, str]]:
    """Write a form of parts, each (name, further header lines, content)."""
    written = b"".join(
        f'--AaB03x\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'.encode()
        + content
        + b"\r\n"
        for name, more, content in parts
    )
    return written + b"--AaB03x--\r\n", {"Content-Type": "multipart/form-data; boundary=AaB03x"}


MODEL = ("model", '; filename="m.onnx"', b"model")
REQUEST = ("request", "", b'{"methods": [{"interactions": {}}]}')


@pytest.mark.parametrize(
    ("more", "table"),
    [
        ('; filename="t.csv"', Table(csv=b"rows")),
        ('; filename="T.PARQUET"', Table(parquet=b"rows")),
        ('; filename="t.arrow"', Table(arrow=b"rows")),
        ('; filename="t"\r\nContent-Type: text/csv; charset=utf-8', Table(csv=b"rows")),
        ('; filename="t.csv"\r\nContent-Type: application/octet-stream', Table(csv=b"rows")),
        (
            '; filename="t"\r\nContent-Type: application/vnd.apache.arrow.stream',
            Table(arrow=b"rows"),
        ),
    ],
)
def test_files_are_taken_by_content_type_or_name(
    start, make_runner, more: str, table: Table
) -> None:
    runner = make_runner()
    body, headers = multipart(MODEL, ("table", more, b"rows"), REQUEST)

    answer = start(runner).rest("POST", "/v1/explanations", body, headers)

    assert answer.status == 200
    expected = ExplainRequest(
        model=Model(content=b"model"), table=table, methods=METHODS, model_name="m.onnx"
    )
    assert runner.requests == [expected]


def test_a_table_in_the_json_may_stand_beside_a_model_file(start, make_runner) -> None:
    runner = make_runner()
    body, headers = multipart(MODEL, ("request", "", b'{"inputs": {"a": [1]}}'))

    start(runner).rest("POST", "/v1/explanations", body, headers)

    columns = Columns(columns=[Column(name="a", numbers=[1])])
    assert runner.requests[0].table == Table(columns=columns)


@pytest.mark.parametrize(
    ("parts", "status", "told"),
    [
        ([MODEL, MODEL, REQUEST], 400, "2 times"),
        ([MODEL, REQUEST, ("tables", '; filename="t.csv"', b"")], 400, 'unknown part "tables"'),
        ([("model", "", b"model"), REQUEST], 400, "send it as a file"),
        ([MODEL, REQUEST, ("table", '; filename="t.xls"', b"")], 400, "CSV, Parquet or Arrow"),
        ([MODEL, ("request", "", b'{"model": {"content": ""}}')], 400, "send it once"),
        ([MODEL, ("request", "", b"[]")], 400, "must be an object"),
    ],
)
def test_a_form_that_is_not_understood_is_refused(
    start, make_runner, parts, status: int, told: str
) -> None:
    runner = make_runner()
    body, headers = multipart(*parts)

    answer = start(runner).rest("POST", "/v1/explanations", body, headers)

    assert answer.status == status
    assert told in answer.json["detail"]
    assert runner.requests == []


def test_a_form_without_a_request_asks_for_an_overview(start, make_runner) -> None:
    runner = make_runner()
    body, headers = multipart(MODEL)

    answer = start(runner).rest("POST", "/v1/explanations", body, headers)

    assert answer.status == 200
    [request] = runner.requests
    assert list(request.methods) == []


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "reason"),
    [
        ("GET", "/nowhere", {}, 404, "NOT_FOUND"),
        ("GET", "/v1/explanations", {}, 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/v1/explanations", {"Content-Type": "text/xml"}, 415, "UNSUPPORTED_MEDIA_TYPE"),
        (
            "POST",
            "/v1/explanations",
            {"Content-Type": "application/json", "Content-Encoding": "br"},
            415,
            "UNSUPPORTED_MEDIA_TYPE",
        ),
        (
            "POST",
            "/v1/explanations",
            {"Content-Type": "application/json", "Accept": "image/png"},
            406,
            "NOT_ACCEPTABLE",
        ),
        ("POST", "/v1/models:describe", {"Content-Type": "a/b"}, 415, "UNSUPPORTED_MEDIA_TYPE"),
    ],
)
def test_errors_of_http_are_problems_too(
    start, make_runner, method: str, path: str, headers, status: int, reason: str
) -> None:
    answer = start(make_runner()).rest(method, path, b"{}" if method == "POST" else None, headers)

    assert (answer.status, answer.json["reason"]) == (status, reason)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Request-Id"] == answer.json["request_id"]
    assert answer.json["error"] == answer.json["detail"]


def test_a_body_without_length_is_refused(start, make_runner) -> None:
    found = raw(start(make_runner()), b"Content-Type: application/json\r\n\r\n")

    assert found.startswith(b"HTTP/1.1 411 ")


def test_a_body_of_exactly_the_limit_passes_and_one_more_byte_does_not(start, make_runner) -> None:
    client = start(make_runner(), max_message_bytes=2**16)

    passed = client.post("{}".ljust(2**16))
    refused = client.post("{}".ljust(2**16 + 1))

    assert passed.status == 200
    assert (refused.status, refused.json["reason"]) == (413, "REQUEST_TOO_LARGE")


def test_a_body_far_over_the_limit_is_read_and_forgotten(start, make_runner) -> None:
    """A reset would take the answer away from a client that is still sending."""
    client = start(make_runner(), max_message_bytes=2**16)

    refused = client.post(b"x" * 2**26)

    assert (refused.status, refused.json["reason"]) == (413, "REQUEST_TOO_LARGE")


def test_chunked_bodies_are_whole_or_refused(start, make_runner) -> None:
    runner = make_runner()
    client = start(runner, max_message_bytes=2**16)
    head = b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"2\r\n{ \r\n" + b"400\r\n" + b" " * 1024 + b"\r\n"

    passed = raw(client, head + chunk + b'9\r\n"seed":7}\r\n0\r\n\r\n')
    refused = raw(client, head + chunk + (b"400\r\n" + b" " * 1024 + b"\r\n") * 64)

    assert passed.startswith(b"HTTP/1.1 200 ")
    assert [request.seed for request in runner.requests] == [7]
    assert refused.startswith(b"HTTP/1.1 413 ")
    assert b'"reason": "REQUEST_TOO_LARGE"' in refused


def test_large_headers_are_refused(start, make_runner) -> None:
    found = raw(start(make_runner()), b"A: " + b"x" * 20_000 + b"\r\n\r\n")

    assert found.startswith(b"HTTP/1.0 431 ")
    assert b"application/problem+json" in found


def raw(client, rest: bytes) -> bytes:
    """Send what follows the first lines, and return all that comes back."""
    with client.connect() as connection:
        connection.sendall(
            b"POST /v1/explanations HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + rest
        )
        found = b""
        while more := connection.recv(65536):
            found += more
        return found


@pytest.mark.parametrize(
    "path", ["/livez", "/healthz", "/v2/health/live", "/readyz", "/ping", "/v2/health/ready"]
)
def test_probes_are_answered_while_all_are_busy(start, make_runner, endless, path: str) -> None:
    client = start(make_runner(endless), running_count=1, waiting_count=3)
    connections = [occupy(client) for _ in range(8)]

    # Their work never ends: the answer does not wait for it.
    assert client.rest("GET", path).status == 200
    for connection in connections:
        connection.close()


def occupy(client):
    connection = client.connect()
    connection.sendall(
        b"POST /v1/explanations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 2\r\n\r\n{}"
    )
    return connection


def test_the_version_is_told(start, make_runner) -> None:
    assert set(start(make_runner()).rest("GET", "/version").json) == {"version"}


def events(answer) -> list[tuple[str, Any]]:
    found = []
    for block in answer.body.decode().strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_progress_is_streamed_before_the_response(start, make_runner, looks) -> None:
    def work(host) -> None:
        for done, planned in ((1, 9), (3, 8), (2, 9), (8, 8)):
            host.advance(done, planned)
            looks()

    answer = start(make_runner(work)).post({"seed": 3}, Accept="text/event-stream")

    *steps, (last, response) = events(answer)
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert [name for name, _ in steps] == ["progress"] * len(steps)
    told = [(step["done"], step["planned"]) for _, step in steps]
    assert told == [(1, 9), (3, 8), (3, 8), (8, 8)]
    assert last == "response"
    assert response["receipt"]["seed"] == 3


def test_an_error_on_the_way_is_the_last_event(start, make_runner) -> None:
    def work(host) -> None:
        host.advance(1, 2)
        raise ValueError("secret")

    answer = start(make_runner(work)).post({}, Accept="text/event-stream")

    (progress, _), (name, told) = events(answer)
    assert (progress, name) == ("progress", "error")
    assert told["reason"] == "INTERNAL"
    assert told["request_id"] == answer.headers["X-Request-Id"]
    assert "secret" not in answer.body.decode()


def test_what_is_refused_at_once_is_no_stream(start, make_runner) -> None:
    client = start(make_runner(), max_model_bytes=1)

    answer = client.post({"model": {"content": "AAAA"}}, Accept="text/event-stream")

    assert (answer.status, answer.json["reason"]) == (413, "MODEL_TOO_LARGE")


def test_each_request_is_one_line_in_the_log_without_its_content(
    start, make_runner, caplog
) -> None:
    caplog.set_level("INFO")

    client = start(make_runner())
    client.post({"target_column": "salary"}, X_Request_Id="id-7")
    # The line is written after the reply.
    client.server.drain(0)

    (line,) = [r.getMessage() for r in caplog.records if "id-7" in r.getMessage()]
    assert line.startswith("POST /v1/explanations 200 ")
    assert "salary" not in caplog.text


def test_probes_fill_no_log(start, make_runner, caplog) -> None:
    caplog.set_level("INFO")

    client = start(make_runner())
    client.rest("GET", "/readyz", headers={"X-Request-Id": "id-8"})
    client.server.drain(0)

    assert "id-8" not in caplog.text
