"""Content of responses and logs, and what must never be in them."""

from __future__ import annotations

import logging

import grpc
import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain_server.transport.admission.authentication import Credentials
from onnxplain_server.transport.request_log import RequestRecord

from tools.waiting import until

SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def client(start, make_runner, tokens):
    return start(make_runner(), tokens_file=tokens.write("ann"), max_model_bytes=2**16)


def test_every_answer_has_the_headers_of_security_and_none_of_cors(client, tokens) -> None:
    good = {"Authorization": f"Bearer {tokens.of('ann')}"}
    foreign = {"Origin": "https://evil.example"}
    asked = {"Access-Control-Request-Method": "POST"}
    answers = {
        200: client.rest("POST", "/v1/explanations", "{}", good | JSON),
        400: client.rest("POST", "/v1/explanations", "{", good | JSON),
        401: client.rest("POST", "/v1/explanations", "{}", JSON),
        403: client.rest("POST", "/v1/explanations", "{}", good | JSON | foreign),
        404: client.rest("GET", "/nothing", None, good | foreign),
        405: client.rest("DELETE", "/version", None, good),
        413: client.rest("PUT", "/v1/models", bytes(2**17), good),
        415: client.rest("POST", "/v1/explanations", "{}", good),
        421: client.rest("GET", "/livez", None, {"Host": "evil.example"}),
    }
    others = [
        client.rest("GET", "/readyz", None, foreign),
        client.rest("OPTIONS", "/v1/explanations", None, good | foreign | asked),
        client.rest(
            "POST", "/v1/explanations", "{}", good | JSON | {"Accept": "text/event-stream"}
        ),
    ]

    assert {status: answer.status for status, answer in answers.items()} == {s: s for s in answers}
    for answer in (*answers.values(), *others):
        found = {name.lower(): value for name, value in answer.headers.items()}
        assert {name: found.get(name.lower()) for name in SECURITY} == SECURITY
        assert not any(name.startswith("access-control") for name in found)


def test_logs_say_who_called_and_hold_no_token_and_no_content(
    client, tokens, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    good = tokens.of("ann") + "very-secret"

    for token in (tokens.of("ann"), good):
        client.post({"seed": 4711, "table": {"csv": "c2VjcmV0"}}, Authorization=f"Bearer {token}")
        with pytest.raises(grpc.RpcError):
            client.stub.Explain(ExplainRequest(), metadata=[("authorization", f"Basic {token}")])

    def callers() -> list[str]:
        lines = [r.getMessage() for r in caplog.records if r.name == "onnxplain_server.requests"]
        return sorted(line.split()[-1] for line in lines)

    until(lambda: callers() == ["-", "-", "-", "token:ann"])
    for secret in ("very-secret", f"Bearer {tokens.of('ann')}", "c2VjcmV0", "4711"):
        assert secret not in caplog.text


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a\x1b[31mb", "a\x00b", "a\u2028b", "a\ud800b"])
def test_a_name_with_control_characters_stays_within_its_line(
    caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.INFO, "onnxplain_server.requests")

    RequestRecord(f"GET /{name}", None).close("200", f"token:{name}")

    (record,) = caplog.records
    assert record.getMessage().isascii()
    assert record.getMessage().isprintable()


def test_a_path_with_a_line_end_stays_within_its_line(
    client, tokens, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "onnxplain_server.requests")

    client.rest(
        "GET", "/v1/models/a%0aforged", headers={"Authorization": f"Bearer {tokens.of('ann')}"}
    )
    client.rest("GET", "/%1b%0aforged")

    until(lambda: len(caplog.records) == 2)
    assert all(record.getMessage().isprintable() for record in caplog.records)


def test_credentials_are_not_shown_by_accident() -> None:
    assert "secret" not in repr(Credentials(["Bearer secret"]))


def test_refusals_are_counted(client) -> None:
    client.post({})
    with pytest.raises(grpc.RpcError):
        client.stub.Explain(ExplainRequest())

    counted = 'onnxplain_rejected_total{reason="UNAUTHENTICATED"} 2.0'
    until(lambda: counted in client.metrics().body.decode())
    until(lambda: 'grpc_code="UNAUTHENTICATED"' in client.metrics().body.decode())
