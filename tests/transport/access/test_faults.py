"""Faults of authentication while the server runs: files, providers, keys."""

from __future__ import annotations

import threading
import time

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from onnxplain_server.adapters.access.jwks_client import Provider, ProviderError

from tools.waiting import until

FIRST = "/.well-known/openid-configuration"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are looked at with each request; who waits for keys does so however long it takes."""
    monkeypatch.setattr("onnxplain_server.adapters.access.watched_files.LOOK_SECONDS", 0.0)
    monkeypatch.setattr("onnxplain_server.adapters.access.jwks_cache._WAIT_SECONDS", 300.0)
    monkeypatch.setattr("onnxplain_server.adapters.access.jwks_client._TIMEOUT_SECONDS", 300.0)


def status_of(client, token: str) -> int:
    return int(client.post({}, Authorization=f"Bearer {token}").status)


def test_tokens_come_and_go_without_a_restart(start, make_runner, tokens) -> None:
    client = start(make_runner(), tokens_file=tokens.write("ann"))

    tokens.write("bob")

    assert status_of(client, tokens.of("ann")) == 401
    assert status_of(client, tokens.of("bob")) == 200


def test_a_file_of_tokens_that_is_broken_or_gone_leaves_the_last_good_one(
    start, make_runner, tokens, caplog: pytest.LogCaptureFixture
) -> None:
    client = start(make_runner(), tokens_file=tokens.write("ann"))

    tokens.path.write_text("ann hunter2\n")
    assert status_of(client, tokens.of("ann")) == 200
    tokens.path.unlink()
    assert status_of(client, tokens.of("ann")) == 200
    assert status_of(client, "anybody") == 401

    errors = [r.getMessage() for r in caplog.records if r.levelname == "ERROR"]
    assert len(errors) == 2
    assert "line 1" in errors[0]
    assert "hunter2" not in caplog.text


def test_keys_are_rotated_without_a_restart(start, make_runner, provider, oidc) -> None:
    client = start(make_runner(), **oidc)
    assert status_of(client, provider.token()) == 200

    provider.add("second")

    assert status_of(client, provider.token("second")) == 200
    assert status_of(client, provider.token("first")) == 200


def test_a_provider_that_goes_down_takes_nobody_with_it(start, make_runner, provider, oidc) -> None:
    client = start(make_runner(), **oidc)
    assert status_of(client, provider.token()) == 200

    provider.status = 500
    provider.add("second")

    # Whether this one is the provider's cannot be found out: it may be, later.
    assert status_of(client, provider.token("second")) == 503
    assert status_of(client, provider.token()) == 200


def test_a_slow_provider_holds_up_only_who_needs_it(
    start, make_runner, provider, oidc, tokens
) -> None:
    answers = threading.Event()
    provider.before = lambda _path: answers.wait(600)
    client = start(make_runner(), tokens_file=tokens.write("ann"), **oidc)
    found: list[int] = []
    waiting = [
        threading.Thread(target=lambda: found.append(status_of(client, provider.token())))
        for _ in range(40)
    ]
    for thread in waiting:
        thread.start()
    while len(found) < 31:  # more than the nine that may wait are told to come again
        assert any(thread.is_alive() for thread in waiting)
        time.sleep(0.01)

    assert [status_of(client, tokens.of("ann")) for _ in range(20)] == [200] * 20
    assert client.rest("GET", "/readyz").status == 200
    answers.set()
    for thread in waiting:
        thread.join()

    assert sorted(found) == [200] * 9 + [503] * 31
    assert provider.asked == [FIRST, "/keys"]


def test_many_tokens_of_unknown_keys_do_not_flood_the_provider(
    start, make_runner, provider, oidc
) -> None:
    client = start(make_runner(), **oidc)
    stranger = provider.add("stranger")
    bad = provider.token("stranger")
    del provider.keys["stranger"]
    assert stranger is not None

    assert {status_of(client, bad) for _ in range(30)} == {401}

    assert provider.asked.count("/keys") <= 2


def test_keys_may_be_at_an_address_of_their_own_and_of_other_kinds(
    start, make_runner, provider, oidc
) -> None:
    provider.add("curve", ec.generate_private_key(ec.SECP256R1()))
    client = start(make_runner(), **oidc, oidc_jwks_url=f"{provider.url}/keys")

    assert status_of(client, provider.token("curve", "ES256")) == 200
    assert provider.asked == ["/keys"]


def test_another_claim_may_name_the_caller(
    start,
    make_runner,
    provider,
    oidc,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "onnxplain_server.requests")
    client = start(make_runner(), **oidc, oidc_caller_claim="azp")

    assert status_of(client, provider.token(azp="batch")) == 200
    assert status_of(client, provider.token()) == 401
    until(lambda: len(caplog.records) == 2)
    callers = {record.getMessage().split()[-1] for record in caplog.records}
    assert callers == {f"oidc:{provider.url}#batch", "-"}


def test_a_provider_that_speaks_for_another_issuer_is_not_believed(
    start, make_runner, provider, oidc
) -> None:
    provider.issuer = "https://another.example"
    client = start(make_runner(), **oidc)

    assert status_of(client, provider.token()) == 503


def test_a_provider_that_points_elsewhere_is_not_followed(
    start, make_runner, provider, oidc
) -> None:
    provider.documents = lambda: {FIRST: {"issuer": provider.url, "jwks_uri": "http://10.0.0.1/k"}}
    client = start(make_runner(), **oidc)

    assert status_of(client, provider.token()) == 503
    assert provider.asked == [FIRST]


@pytest.mark.parametrize("address", ["http://10.0.0.1/k", "file:///k", "ftp://localhost/k", 7])
def test_keys_are_asked_for_by_https_only(provider, address) -> None:
    provider.documents = lambda: {FIRST: {"issuer": provider.url, "jwks_uri": address}}

    with pytest.raises(ProviderError, match="names no https address"):
        Provider(provider.url, None, ["RS256"]).keys()
