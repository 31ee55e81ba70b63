"""Every client authenticates itself and verifies the server."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from authority import Authority
from harness import CASES, Runner, Server, ask, fault, serving

TOKEN = "Zm9yIHRlc3Rz-only_0123456789"  # noqa: S105 - of a server that runs for these tests only
NAMES = ("interactions", "stream", "describe", "upload", "error-unknown-feature")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def by_token(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server by TLS that wants a token."""
    tokens = tmp_path_factory.mktemp("tokens") / "tokens"
    tokens.write_text(f"tests {hashlib.sha256(TOKEN.encode()).hexdigest()}\n")
    with serving(**authority.serve(), tokens_file=tokens) as running:
        yield running


@pytest.fixture(scope="module")
def by_certificate(authority: Authority) -> Iterator[Server]:
    """A server by TLS that wants a certificate."""
    with serving(**authority.serve(), tls_client_ca_file=authority.file) as running:
        yield running


@pytest.fixture
def trusting(monkeypatch: pytest.MonkeyPatch, authority: Authority) -> pytest.MonkeyPatch:
    """Runners trust the authority."""
    monkeypatch.setenv("ONNXPLAIN_CA_FILE", str(authority.file))
    return monkeypatch


def reasons(answers: Mapping[str, Any]) -> set[str]:
    return {found.get("error", {}).get("reason", "none") for found in answers.values()}


def test_a_token_by_tls_opens_the_server(
    by_token: Server, trusting: pytest.MonkeyPatch, client: Runner, tmp_path: Path
) -> None:
    trusting.setenv("ONNXPLAIN_TOKEN", TOKEN)

    found = ask(client, by_token, tmp_path, NAMES)

    assert {name: fault(found[name], CASES[name]) for name in NAMES} == dict.fromkeys(NAMES)


@pytest.mark.parametrize("token", ["", TOKEN[::-1]], ids=["no token", "a wrong one"])
def test_without_the_token_it_stays_shut(
    by_token: Server,
    trusting: pytest.MonkeyPatch,
    client: Runner,
    tmp_path: Path,
    token: str,
) -> None:
    trusting.setenv("ONNXPLAIN_TOKEN", token)

    assert reasons(ask(client, by_token, tmp_path, NAMES)) == {"UNAUTHENTICATED"}


def test_a_certificate_opens_the_server(
    by_certificate: Server,
    trusting: pytest.MonkeyPatch,
    authority: Authority,
    client: Runner,
    tmp_path: Path,
) -> None:
    certificate, key = authority.issue("tests")
    trusting.setenv("ONNXPLAIN_CERTIFICATE_FILE", str(certificate))
    trusting.setenv("ONNXPLAIN_KEY_FILE", str(key))

    found = ask(client, by_certificate, tmp_path, NAMES)

    assert {name: fault(found[name], CASES[name]) for name in NAMES} == dict.fromkeys(NAMES)


def test_nobody_is_asked_who_cannot_be_trusted(
    by_token: Server,
    monkeypatch: pytest.MonkeyPatch,
    client: Runner,
    tmp_path: Path,
) -> None:
    """The token is shown to no server of another authority."""
    (tmp_path / "stranger").mkdir()
    monkeypatch.setenv("ONNXPLAIN_CA_FILE", str(Authority(tmp_path / "stranger").file))
    monkeypatch.setenv("ONNXPLAIN_TOKEN", TOKEN)

    assert reasons(ask(client, by_token, tmp_path, ["describe"])) == {"UNAVAILABLE"}
