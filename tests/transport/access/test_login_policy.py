"""The page's policy allows its login the token endpoint, wherever the provider has it."""

from __future__ import annotations

from typing import Any

import pytest

from tools.waiting import until

CLIENT = {"oidc_client_id": "the-page"}
TOKENS = "https://tokens.example:8443"
CONFIGURATION = "/.well-known/openid-configuration"


def connections(client) -> list[str]:
    policy = client.rest("GET", "/").headers["Content-Security-Policy"]
    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    found: list[str] = parts["connect-src"].split()
    return found


@pytest.fixture
def open_page(start, make_runner, provider, oidc):
    """Start a server whose provider names a token endpoint."""

    def opened(endpoint: Any, **settings: str):
        documents = provider.documents()
        documents[CONFIGURATION]["token_endpoint"] = endpoint
        provider.documents = lambda: documents
        return start(make_runner(), **oidc, **CLIENT, **settings)

    return opened


def test_a_token_endpoint_at_another_origin_is_allowed(open_page, provider) -> None:
    client = open_page(f"{TOKENS}/oauth/token?x=1")

    until(lambda: connections(client) == ["'self'", provider.url, TOKENS])


def test_the_page_is_another_one_under_another_policy(open_page, provider) -> None:
    provider.status = 503
    client = open_page(f"{TOKENS}/token")
    before = client.rest("GET", "/").headers["Etag"]

    provider.status = 200
    until(lambda: TOKENS in connections(client))

    assert client.rest("GET", "/", headers={"If-None-Match": before}).status == 200


@pytest.mark.parametrize(
    "endpoint",
    [
        None,
        7,
        "token",
        "http://tokens.example/token",
        "https://",
        "https://a.example; script-src *",
        "https://a.example 'unsafe-inline'/token",
        "https://a.example,*/token",
        "https://*.example/token",
        "https://a.example:x/token",
        "https://user@a.example/token",
        "javascript:alert(1)",
    ],
)
def test_nothing_else_gets_into_the_policy(open_page, provider, endpoint: Any) -> None:
    client = open_page(endpoint)
    until(lambda: "/keys" in provider.asked)

    policy = client.rest("GET", "/").headers["Content-Security-Policy"]

    assert connections(client) == ["'self'", provider.url]
    assert policy.count("script-src") == 1


def test_a_token_endpoint_at_the_issuer_is_told_once(open_page, provider) -> None:
    client = open_page(f"{provider.url}/token")
    until(lambda: "/keys" in provider.asked)

    assert connections(client) == ["'self'", provider.url]


def test_given_keys_need_no_configuration(open_page, provider) -> None:
    client = open_page(f"{TOKENS}/token", oidc_jwks_url=f"{provider.url}/keys")
    until(lambda: "/keys" in provider.asked)

    assert connections(client) == ["'self'", provider.url]
    assert CONFIGURATION not in provider.asked
