"""Forged addresses of remote models: none leaves the prefixes that an operator lists."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

import pytest
from onnxplain_server.adapters.remote_server.entry_policies import resolve
from onnxplain_server.adapters.remote_server.remote_list import (
    RemoteEntry,
    RemoteList,
    remote_prefix,
)
from onnxplain_server.core.errors import ExplainError, Reason

PREFIXES = (
    "https://models.example.com/team",
    "https://models.example.com:8443",
    "http://predictor.ml.svc:8080/base",
    "grpc://predictor.ml.svc:8081",
    "grpcs://[2001:db8::7]:443",
)
LISTED = RemoteList(tuple(RemoteEntry(remote_prefix(prefix)) for prefix in PREFIXES))

ALLOWED = {
    "https://models.example.com/team": "https://models.example.com/team",
    "https://models.example.com/team/": "https://models.example.com/team",
    "https://models.example.com:443/team/churn": "https://models.example.com/team/churn",
    "HTTPS://MODELS.EXAMPLE.COM/team/a%20b": "https://models.example.com/team/a%20b",
    "https://models.example.com:8443": "https://models.example.com:8443",
    "https://models.example.com:8443/any/path": "https://models.example.com:8443/any/path",
    "http://predictor.ml.svc:8080/base/x": "http://predictor.ml.svc:8080/base/x",
    "grpc://predictor.ml.svc:8081": "grpc://predictor.ml.svc:8081",
    "grpcs://[2001:DB8::7]:443": "grpcs://[2001:db8::7]:443",
}

FORGED = (
    # Neighbours of a prefix, and names that begin like it.
    "https://models.example.com",
    "https://models.example.com/",
    "https://models.example.com/team2",
    "https://models.example.com/Team",
    "https://models.example.com/other/team",
    "https://models.example.com.evil.test/team",
    "https://models.example.com./team",
    "https://xmodels.example.com/team",
    "https://evil.test/models.example.com/team",
    "https://models.example.com:8444",
    "https://models.example.com:08443",
    "https://models.example.com:65536",
    "https://models.example.com:/team",
    "http://models.example.com/team",
    "http://models.example.com:8443",
    "http://predictor.ml.svc:8080",
    "http://predictor.ml.svc/base",
    "http://predictor:8080/base",
    "https://predictor.ml.svc:8080/base",
    "grpc://predictor.ml.svc:8080",
    "grpc://predictor.ml.svc",
    "grpcs://predictor.ml.svc:8081",
    "grpc://[2001:db8::7]:443",
    "grpcs://[2001:db8::8]:443",
    "grpcs://2001:db8::7:443",
    # Dots, plain, encoded and encoded twice.
    "https://models.example.com/team/..",
    "https://models.example.com/team/../admin",
    "https://models.example.com/team/./x/../../admin",
    "https://models.example.com/team/%2e%2e/admin",
    "https://models.example.com/team/.%2E/admin",
    "https://models.example.com/team/%252e%252e/admin",
    "https://models.example.com/team/..%2fadmin",
    "https://models.example.com/team/%2f../admin",
    "https://models.example.com/team/..%5cadmin",
    "https://models.example.com/team/..\\admin",
    "https://models.example.com/team/..;/admin",
    "https://models.example.com/team/%3b/../admin",
    "https://models.example.com/team/%c0%ae%c0%ae/admin",
    "https://models.example.com/team/%zz",
    "https://models.example.com/team/a%",
    "https://models.example.com//team",
    "https://models.example.com/team//x",
    # Characters that parsers read differently.
    "https://models.example.com/team\r\nHost: evil.test",
    "https://models.example.com/team%0d%0aX: y",
    "https://models.example.com/team%00",
    "https://models.example.com\t/team",
    "https://models.example.com\\@evil.test/team",
    "https:\\\\models.example.com\\team",
    "https:/models.example.com/team",
    "https:models.example.com/team",
    "https:///models.example.com/team",
    "//models.example.com/team",
    " https://models.example.com/team",
    "https://models。example.com/team",
    "https://ｍodels.example.com/team",
    "https://xn--models-x.example.com/team",
    # User-info, queries, fragments.
    "https://models.example.com@evil.test/team",
    "https://user:secret@models.example.com/team",
    "https://models.example.com:8443@evil.test",
    "grpc://user:secret@predictor.ml.svc:8081",
    "https://models.example.com/team?x=/../admin",
    "https://models.example.com/team#/../admin",
    "https://evil.test#models.example.com/team",
    "https://evil.test?models.example.com/team",
    "grpc://predictor.ml.svc:8081?x=1",
    # Addresses of the inside, in all their forms.
    "http://169.254.169.254/latest/meta-data",
    "http://169.254.170.2/v2/credentials",
    "http://metadata.google.internal/computeMetadata/v1",
    "http://[fd00:ec2::254]/latest",
    "http://127.0.0.1:8080/base",
    "http://127.1:8080/base",
    "http://2130706433:8080/base",
    "http://0x7f000001:8080/base",
    "http://0x7f.0.0.1:8080/base",
    "http://0177.0.0.1:8080/base",
    "http://017700000001:8080/base",
    "http://127.0.0.1.nip.io:8080/base",
    "http://[::1]:8080/base",
    "http://[::ffff:169.254.169.254]/latest",
    "http://[::ffff:a9fe:a9fe]/latest",
    "http://[64:ff9b::a9fe:a9fe]/latest",
    "http://[2002:a9fe:a9fe::]/latest",
    "http://[fe80::1%25eth0]:8080/base",
    "http://localhost:8080/base",
    # Other schemes.
    "file:///etc/passwd",
    "ftp://models.example.com/team",
    "gopher://models.example.com/team",
    "ws://models.example.com/team",
    "unix:///run/docker.sock",
    "dns:///predictor.ml.svc:8081",
    "ipv4:10.0.0.1:8081",
    "xds:///predictor.ml.svc:8081",
    "data:application/json,{}",
    "s3://models/churn/model.onnx",
    "models:/churn/3",
    "/etc/passwd",
    "",
    "https://models.example.com/team/" + "a" * 3_000,
)

FORGED_PARTS = (
    *(".", "..", "../../admin", "a/b", "..\\admin", "a;b", "%2e%2e", "a%2fb", "a%00", "a\nb"),
    "a\u202eb",
)


@pytest.mark.parametrize("uri", ALLOWED)
def test_addresses_below_a_prefix_may_be_asked(uri: Any) -> None:
    found, _ = LISTED.find(uri, "churn", "3")

    assert found == ALLOWED[uri]


@pytest.mark.parametrize("uri", FORGED)
def test_forged_addresses_are_refused(uri: Any) -> None:
    with pytest.raises(ExplainError) as refused:
        LISTED.find(uri)

    assert refused.value.reason in {Reason.INVALID_REQUEST, Reason.REMOTE_MODEL_NOT_LISTED}
    assert refused.value.field == "model.remote.uri"
    assert "secret@" not in refused.value.message


def test_there_are_many_forged_addresses() -> None:
    assert len(set(FORGED)) == len(FORGED) >= 60


@pytest.mark.parametrize("part", FORGED_PARTS)
@pytest.mark.parametrize("field", ["name", "version"])
def test_names_that_lead_elsewhere_in_a_path_are_refused(part: Any, field: Any) -> None:
    with pytest.raises(ExplainError) as refused:
        LISTED.find("grpc://predictor.ml.svc:8081", **{field: part})

    assert refused.value.reason is Reason.INVALID_REQUEST
    assert refused.value.field == f"model.remote.{field}"


def test_the_longest_prefix_holds() -> None:
    prefixes = {"https://h.test": 1, "https://h.test/a": 2, "https://h.test/a/b": 3}
    listed = RemoteList(
        tuple(
            RemoteEntry(remote_prefix(prefix), row_limit=rows) for prefix, rows in prefixes.items()
        )
    )

    assert listed.find("https://h.test/a/c")[1].row_limit == 2
    assert listed.find("https://h.test/a/b/c")[1].row_limit == 3
    assert listed.find("https://h.test/c")[1].row_limit == 1


PRIVATE = ("10.1.2.3", "192.168.0.1", "127.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254")


def entry(host: str, *networks: str) -> RemoteEntry:
    prefix = remote_prefix(f"http://{host}:8080")
    return RemoteEntry(prefix, networks=tuple(map(ipaddress.ip_network, networks)))


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What names lead to, as a resolver of the test tells; each answer is told once."""
    answers: dict[str, list[str]] = {}

    def resolver(host: str, port: int, **_options: object) -> list[Any]:
        address = answers[host].pop(0)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    return answers


@pytest.mark.parametrize("address", PRIVATE)
def test_a_name_may_not_lead_to_a_private_address(address: Any, names: Any) -> None:
    names["h.test"] = [address]

    with pytest.raises(ExplainError) as refused:
        resolve(entry("h.test"), "h.test", 8080)

    assert refused.value.reason is Reason.REMOTE_MODEL_FORBIDDEN
    assert address in refused.value.message


def test_an_answer_of_dns_that_changes_is_checked_again(names: Any) -> None:
    names["h.test"] = ["10.1.2.3", "10.2.0.1", "169.254.169.254"]
    listed = entry("h.test", "10.1.0.0/16")

    assert resolve(listed, "h.test", 8080) == "10.1.2.3"
    for _ in range(2):
        with pytest.raises(ExplainError) as refused:
            resolve(listed, "h.test", 8080)
        assert refused.value.reason is Reason.REMOTE_MODEL_FORBIDDEN


def test_loopback_is_reached_where_the_operator_names_it() -> None:
    assert resolve(entry("127.0.0.1"), "127.0.0.1", 8080) == "127.0.0.1"
    assert resolve(entry("h.test", "127.0.0.0/8"), "127.0.0.9", 8080) == "127.0.0.9"
