"""Host and Origin: which requests of web pages and of rebound names are refused, and CORS."""

from __future__ import annotations

import json
import socket
from itertools import product

import pytest

JSON = {"Content-Type": "application/json"}
PAGE = "https://app.example.com"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - what is tested is who may ask there


@pytest.fixture
def origin_of():
    return lambda client: f"http://127.0.0.1:{client.server.rest_port}"


def sent(client, raw: str, port: int | None = None) -> bytes:
    """All that comes back until the server closes."""
    address = ("127.0.0.1", port or client.server.rest_port)
    with socket.create_connection(address, timeout=120) as connection:
        connection.sendall(raw.encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


HEADS_WITHOUT_ONE_HOST = [
    "GET /livez HTTP/1.1\r\n",
    "GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n",
    "GET /livez HTTP/1.1\r\nHost: localhost\r\nhost: evil.example\r\n",
    "GET /livez HTTP/1.0\r\nHost: localhost\r\nHost: localhost\r\n",
    "GET /livez HTTP/1.1\r\nHost: local host\r\n",
    "GET /livez HTTP/1.1\r\nHost: a,b\r\n",
    "GET /livez HTTP/1.1\r\nHost: me@localhost\r\n",
    "GET /livez HTTP/1.1\r\nHost: localhost/path\r\n",
    "GET /livez HTTP/1.1\r\nHost: localhost:80:80\r\n",
    "GET http://me@localhost/livez HTTP/1.1\r\nHost: localhost\r\n",
    "POST /v1/explanations HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n",
]


def test_a_request_needs_one_valid_host(start, make_runner) -> None:
    runner = make_runner()
    client = start(runner, host=EVERYWHERE)

    for head, port in product(HEADS_WITHOUT_ONE_HOST, ("rest_port", "metrics_port")):
        answer = sent(client, f"{head}\r\n", getattr(client.server, port))

        assert b" 400 Bad Request\r\n" in answer, (head, port)
        problem = json.loads(answer.partition(b"\r\n\r\n")[2])
        assert problem["reason"] == "BAD_REQUEST"
        assert "Host" in problem["detail"]
    assert runner.requests == []


def test_a_request_of_http_1_0_needs_no_host(start, make_runner) -> None:
    """Health checks of proxies send none."""
    answer = sent(start(make_runner()), "GET /readyz HTTP/1.0\r\n\r\n")

    assert b" 200 OK\r\n" in answer


ALWAYS = ("localhost", "LocalHost:8080", "127.0.0.1:1", "10.2.3.4:8080", "[::1]", "[fd00::2]:80")
RULES = [
    # host, allowed_hosts, accepted, refused
    ("127.0.0.1", None, (), ("evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "")),
    ("localhost", None, (), ("evil.example", "127.0.0.1.nip.io:80")),
    (EVERYWHERE, None, ("evil.example", "my_service:8080", "a.b.c:1"), ()),
    ("127.0.0.1", "*", ("evil.example", "a.b.c:1"), ()),
    ("127.0.0.1", "App.example.com", ("app.example.com:8080",), ("b.app.example.com", "other")),
    (EVERYWHERE, "a.example", ("a.example", "A.EXAMPLE:80"), ("evil.example", "xa.example")),
    (
        EVERYWHERE,
        ".a.example, b",
        ("a.example", "c.a.example", "d.c.a.example:8", "b"),
        ("xa.example", "c.b", "example"),
    ),
]


@pytest.mark.parametrize(("host", "allowed", "accepted", "refused"), RULES)
def test_host_names_are_accepted_by_address_and_setting(
    start, make_runner, host: str, allowed: str | None, accepted, refused
) -> None:
    client = start(make_runner(), host=host, allowed_hosts=allowed)

    for name in (*ALWAYS, *accepted):
        assert client.post("{}", Host=name).status == 200, name
        assert client.metrics(Host=name).status == 200, name
        assert client.rest("GET", "/livez", None, {"Host": name}).status == 200, name
    for name in refused:
        for answer in (
            client.post("{}", Host=name),
            client.metrics(Host=name),
            client.rest("GET", "/livez", None, {"Host": name}),
        ):
            assert (answer.status, answer.json["reason"]) == (421, "MISDIRECTED_REQUEST"), name
            assert "ONNXPLAIN_ALLOWED_HOSTS" in answer.json["detail"]


def test_rest_and_metrics_may_listen_on_different_addresses(start, make_runner) -> None:
    client = start(make_runner(), host=EVERYWHERE, rest_host="127.0.0.1")

    assert client.metrics(Host="scraped.example").status == 200
    assert client.post("{}", Host="scraped.example").status == 421


def test_the_host_of_an_absolute_target_counts(start, make_runner) -> None:
    client = start(make_runner())

    refused = sent(client, "GET http://evil.example/livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
    passed = sent(
        client,
        "GET http://localhost/livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    )

    assert b" 421 Misdirected Request\r\n" in refused
    assert b" 200 OK\r\n" in passed


FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},  # another port
    {"Origin": "http://localhost"},
    {"Origin": "https://app.example.com.evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Origin": "https://evil.example"},
]


CALLS = [("/v1/explanations", "POST"), ("/v1/models", "PUT"), ("/x", "DELETE")]
CONTENT_TYPES = ["application/json", "text/plain", "multipart/form-data"]


@pytest.mark.parametrize("origins", [None, PAGE])
def test_no_page_of_another_origin_makes_the_server_compute(
    start, make_runner, origins: str | None
) -> None:
    runner = make_runner()
    client = start(runner, allowed_origins=origins)

    for headers, content_type, (path, method) in product(FOREIGN, CONTENT_TYPES, CALLS):
        asked = headers | {"Content-Type": content_type}
        answer = client.rest(method, path, "{}", asked)

        assert (answer.status, answer.json["reason"]) == (403, "FORBIDDEN"), (path, asked)
        assert "ONNXPLAIN_ALLOWED_ORIGINS" in answer.json["detail"]
        assert "Access-Control-Allow-Origin" not in answer.headers
    assert runner.requests == []


def test_pages_of_the_own_origin_and_other_programs_pass(start, make_runner, origin_of) -> None:
    client = start(make_runner())

    for headers in (
        {},
        {"Origin": origin_of(client)},
        {"Origin": "https://proxy.example", "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": ""},
        {"Origin": "http://localhost", "Host": "localhost:80"},
        {"Origin": "https://localhost", "Host": "localhost"},
        {"Origin": "https://localhost:8443", "Host": "localhost:8443"},
    ):
        assert client.rest("POST", "/v1/explanations", "{}", headers | JSON).status == 200


def test_a_foreign_page_may_open_what_computes_nothing_but_not_read_it(start, make_runner) -> None:
    client = start(make_runner())

    answer = client.rest("GET", "/version", None, {"Origin": "https://evil.example"})

    assert answer.status == 200
    assert not any(name.startswith("Access-Control") for name in answer.headers)


def test_a_preflight_of_a_listed_origin_needs_no_token(start, make_runner, tmp_path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"ann {'0' * 64}\n")
    client = start(make_runner(), tokens_file=tokens, allowed_origins=f"https://b.c, {PAGE}")
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }

    listed = client.rest("OPTIONS", "/v1/explanations", None, asked | {"Origin": PAGE})
    other = client.rest("OPTIONS", "/v1/explanations", None, asked | {"Origin": PAGE + ".evil"})

    assert listed.status == 204
    assert listed.headers["Access-Control-Allow-Origin"] == PAGE
    assert {"POST", "PUT"} <= set(listed.headers["Access-Control-Allow-Methods"].split(", "))
    allowed = listed.headers["Access-Control-Allow-Headers"].replace(" ", "").split(",")
    assert set(allowed) == {"authorization", "content-type"}
    assert "Access-Control-Allow-Credentials" not in listed.headers
    assert other.status == 401
    assert other.headers["Vary"] == "Origin"
    assert not any(name.startswith("Access-Control") for name in other.headers)


def test_a_page_of_a_listed_origin_reads_answers_and_refusals(start, make_runner) -> None:
    client = start(make_runner(), allowed_origins=PAGE, max_message_bytes=2**16)
    headers = JSON | {"Origin": PAGE, "Sec-Fetch-Site": "cross-site"}
    answers = {
        200: client.rest("POST", "/v1/explanations", "{}", headers),
        400: client.rest("POST", "/v1/explanations", "{", headers),
        404: client.rest("GET", "/nothing", None, headers),
        413: client.rest("POST", "/v1/explanations", bytes(2**17), headers),
        421: client.rest("POST", "/v1/explanations", "{}", headers | {"Host": "evil.example"}),
    }
    stream = client.rest(
        "POST", "/v1/explanations", "{}", headers | {"Accept": "text/event-stream"}
    )

    assert {status: answer.status for status, answer in answers.items()} == {s: s for s in answers}
    for answer in (*answers.values(), stream):
        assert answer.headers["Access-Control-Allow-Origin"] == PAGE
        assert "X-Request-Id" in answer.headers["Access-Control-Expose-Headers"]
        assert answer.headers["Vary"] == "Origin"
