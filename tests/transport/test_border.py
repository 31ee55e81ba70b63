"""Malformed REST requests: each gets a reply, and its connection is closed."""

from __future__ import annotations

import json
import re

import pytest
from onnxplain_server.transport.rest.connections.request_parser import RequestParser

JSON = "Content-Type: application/json"


def sent(client, raw: bytes) -> bytes:
    """All that comes back until the server closes."""
    with client.connect() as connection:
        connection.sendall(raw)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize(
    "line",
    [
        b"POST /v1/explanations and more HTTP/1.1",
        b"post /v1/explanations HTTP/1.1",
        b"PO\x1b[31mST /v1/explanations HTTP/1.1",
        b"GET http://[::1 HTTP/1.1",
        b"GET",
    ],
)
def test_a_first_line_that_cannot_be_read_is_answered(start, make_runner, line: bytes) -> None:
    found = sent(start(make_runner()), line + b"\r\nHost: localhost\r\n\r\n")

    assert b" 400 Bad Request\r\n" in found
    assert json.loads(found.partition(b"\r\n\r\n")[2])["reason"] == "BAD_REQUEST"


@pytest.mark.parametrize("header", [b"X-Request-Id: a\x1b[1mb", b"A\x00: b", b"no colon", b" : a"])
def test_a_header_that_cannot_be_read_is_answered(start, make_runner, header: bytes) -> None:
    start_line = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"

    found = sent(start(make_runner()), start_line + header + b"\r\n\r\n")

    assert b" 400 Bad Request\r\n" in found


def test_unreadable_requests_leave_no_connection_behind(start, make_runner) -> None:
    client = start(make_runner())

    for _ in range(300):  # more than there are connections
        sent(client, b"nonsense\r\n\r\n")

    assert client.rest("GET", "/livez").status == 200


def test_a_body_with_two_lengths_is_refused(start, make_runner) -> None:
    runner = make_runner()
    head = f"POST /v1/explanations HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\n"
    both = "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"

    found = sent(start(runner), (head + both).encode())

    assert b"not both" in found
    assert runner.requests == []


@pytest.mark.parametrize("path", ["/v1/models", "/v1/tables"])
def test_an_upload_in_chunks_over_the_limit_is_refused_whole(start, make_runner, path: str) -> None:
    client = start(make_runner(), max_model_bytes=2**16, max_table_bytes=2**16)
    kind = {"/v1/models": "application/onnx", "/v1/tables": "text/csv"}[path]
    head = f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
    chunk = b"1000\r\n" + b"1" * 4096 + b"\r\n"

    raw = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk * 17 + b"0\r\n\r\n"
    with client.connect() as connection:
        connection.sendall(raw)
        found = connection.recv(65536)

    assert found.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("first", ["1", "1;name=", "1\r\na\r\n0\r\nName: "])
def test_lines_between_chunks_are_short(start, make_runner, first: str) -> None:
    """The line of a length, and the fields behind the last chunk: neither counts as a body."""
    head = f"POST /v1/explanations HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\n"
    raw = f"{head}Transfer-Encoding: chunked\r\n\r\n{first}".encode() + b"1" * 2**17

    found = sent(start(make_runner()), raw)

    assert found.startswith(b"HTTP/1.1 400 ")
    assert b"between the chunks" in found


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\x00b", "\x1b[31mred", "a\u202eb"])
def test_names_of_files_are_names_only(start, make_runner, name: str) -> None:
    runner = make_runner()
    part = f'--B\r\nContent-Disposition: form-data; name="model"; filename="{name}"\r\n\r\nm\r\n'
    last = '--B\r\nContent-Disposition: form-data; name="request"\r\n\r\n{}\r\n--B--\r\n'
    kind = {"Content-Type": "multipart/form-data; boundary=B"}

    answer = start(runner).rest("POST", "/v1/explanations", (part + last).encode(), kind)

    assert answer.status == 200
    assert [request.model.content for request in runner.requests] == [b"m"]


def test_no_text_of_a_caller_breaks_a_line_of_the_log(start, make_runner, caplog) -> None:
    caplog.set_level("INFO")
    client = start(make_runner())

    client.rest("GET", "/v1/models/a%0D%0AFORGED%1B%5B31m%E2%80%AE%00", headers={})
    client.post('{"\\u0000\\n\\u001b[31m": 1}', X_Request_Id="a b")
    client.server.drain(0)

    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) >= 2
    assert all(line.isprintable() for line in lines), lines


def test_a_request_that_cannot_be_read_has_an_empty_path() -> None:
    """Waitress asks for it where the client leaves before it has the refusal."""
    assert RequestParser.path == ""


def head(seconds: float, length: int) -> bytes:
    timeout = f"X-Request-Timeout-Ms: {1000 * seconds:.0f}\r\n"
    return (
        f"POST /v1/explanations HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\n{timeout}"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


def test_a_body_that_comes_too_slowly_for_its_deadline_is_answered_before_its_end(
    start, make_runner
) -> None:
    runner = make_runner()

    found = sent(start(runner), head(0.3, 1_000) + b'{"seed": ')

    assert found.startswith(b"HTTP/1.1 504 ")
    assert json.loads(found.partition(b"\r\n\r\n")[2])["reason"] == "DEADLINE_EXCEEDED"
    assert runner.requests == []


def test_the_server_s_own_limit_covers_the_body_too(start, make_runner) -> None:
    late = head(600, 1_000)

    found = sent(start(make_runner(), max_seconds=0.3), late)

    assert json.loads(found.partition(b"\r\n\r\n")[2])["reason"] == "DEADLINE_EXCEEDED"


def test_a_late_body_does_not_overtake_the_answer_before_it(start, make_runner) -> None:
    client = start(make_runner())
    first = head(600, 11) + b'{"seed": 5}'

    found = sent(client, first + head(0.3, 1_000) + b"{")

    assert re.findall(rb"HTTP/1\.1 (\d+)", found) == [b"200", b"504"]
