"""Login of the page's readers at an OpenID provider, oidc-provider: what the page does, by HTTP."""

from __future__ import annotations

import base64
import hashlib
import http.client
import http.cookiejar
import json
import os
import re
import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit
from urllib.request import (
    HTTPCookieProcessor,
    HTTPRedirectHandler,
    OpenerDirector,
    Request,
    build_opener,
)

import pytest

from tools.missing_programs import DEMAND

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
NODE = ROOT / ".venv-proto/bin/node"
TOOLS = ROOT / "tools/node_modules/.made"
CLIENT = "the-page"
PATIENCE = 300.0


class Landed(Exception):  # noqa: N818 - no error: the way leads back to the page
    """The provider sent the browser back to the page."""


class Redirects(HTTPRedirectHandler):
    """Follows redirects as a browser does, up to the page."""

    def __init__(self, page: str) -> None:
        self._page = page

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if newurl.startswith(self._page):
            raise Landed(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@dataclass(frozen=True)
class Browser:
    """Opens addresses with cookies."""

    opener: OpenerDirector

    @classmethod
    def of(cls, page: str) -> Browser:
        return cls(build_opener(HTTPCookieProcessor(http.cookiejar.CookieJar()), Redirects(page)))

    def open(
        self, url: str, form: Mapping[str, str] | None = None, **headers: str
    ) -> http.client.HTTPResponse:
        body = None if form is None else urlencode(form).encode()
        reply: http.client.HTTPResponse = self.opener.open(
            Request(url, body, headers),  # noqa: S310 - ours
            timeout=PATIENCE,
        )
        return reply

    def log_in(self, url: str, name: str) -> str:
        """Go through the provider's forms, and return the address that it sends back to."""
        try:
            reply = self.open(url)
            for prompt in (
                {"prompt": "login", "login": name, "password": "-"},
                {"prompt": "consent"},
            ):
                action = re.search(r'<form[^>]* action="([^"]+)"', reply.read().decode())
                assert action is not None
                reply = self.open(urljoin(reply.url, action[1]), prompt)
        except Landed as landed:
            return str(landed)
        raise AssertionError(reply.url)


@dataclass(frozen=True)
class Page:
    """A server that knows the provider, by the address of its page."""

    url: str
    issuer: str
    browser: Browser

    def get(self, path: str) -> Any:
        with self.browser.open(self.url + path) as reply:
            return json.load(reply)

    def status(self, token: str) -> int:
        """Ask something that needs a token."""
        try:
            with self.browser.open(f"{self.url}version", Authorization=f"Bearer {token}") as reply:
                return int(reply.status)
        except HTTPError as error:
            return error.code


@pytest.fixture
def page(serve: Callable[..., Any], free_ports: Callable[[int], list[int]]) -> Iterator[Page]:
    if not (NODE.exists() and TOOLS.exists()):
        reason = "no OpenID provider: make tools/node_modules/.made"
        (pytest.fail if os.environ.get(DEMAND) else pytest.skip)(reason)
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}/"
    with subprocess.Popen(
        [NODE, ROOT / "tools/openid/provider.mjs", url, CLIENT],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as provider:
        assert provider.stdout is not None
        issuer = provider.stdout.readline().strip()
        serve(
            rest_port=port,
            oidc_issuer=issuer,
            oidc_audience="onnxplain",
            oidc_client_id=CLIENT,
            oidc_scopes="openid explain",
        )
        yield Page(url, issuer, Browser.of(url))
        provider.kill()


def challenge(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def authorization(page: Page, openid: Mapping[str, str], endpoint: str, verifier: str) -> str:
    asked = {
        "response_type": "code",
        "client_id": openid["clientId"],
        "redirect_uri": page.url,
        "scope": " ".join(openid["scopes"]),
        "state": "begun",
        "code_challenge": challenge(verifier),
        "code_challenge_method": "S256",
    }
    return f"{endpoint}?{urlencode(asked)}"


def exchange(page: Page, endpoint: str, code: str, verifier: str) -> http.client.HTTPResponse:
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": page.url,
        "client_id": CLIENT,
        "code_verifier": verifier,
    }
    return page.browser.open(endpoint, form, Origin=page.url.rstrip("/"))


def allowed_connections(page: Page) -> set[str]:
    with page.browser.open(page.url) as reply:
        policy = reply.headers["Content-Security-Policy"]
    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    return set(parts["connect-src"].split())


def origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def test_a_login_gives_a_token_that_the_server_takes(page) -> None:
    verifier = secrets.token_urlsafe(32)
    openid = page.get("page/config.json")["openid"]
    with page.browser.open(f"{openid['issuer']}/.well-known/openid-configuration") as reply:
        endpoints = json.load(reply)

    url = authorization(page, openid, endpoints["authorization_endpoint"], verifier)
    landed = parse_qs(urlsplit(page.browser.log_in(url, "ada")).query)
    with exchange(page, endpoints["token_endpoint"], landed["code"][0], verifier) as reply:
        tokens = json.load(reply)
        readers = reply.headers["Access-Control-Allow-Origin"]

    assert landed["state"] == ["begun"]
    # What the page's policy lets it ask, and whom the provider lets read.
    issuer, origin_of_tokens = openid["issuer"], origin(endpoints["token_endpoint"])
    assert issuer != origin_of_tokens
    assert allowed_connections(page) == {"'self'", issuer, origin_of_tokens}
    assert readers == page.url.rstrip("/")
    assert page.status(tokens["access_token"]) == 200
    # Of the same login, but for the page and not for the server.
    assert page.status(tokens["id_token"]) == 401
    assert page.status("none") == 401


def test_the_code_is_worth_nothing_to_those_who_did_not_begin_the_login(page) -> None:
    endpoints = page.browser.open(f"{page.issuer}/.well-known/openid-configuration")
    found = json.load(endpoints)
    openid = page.get("page/config.json")["openid"]
    url = authorization(page, openid, found["authorization_endpoint"], secrets.token_urlsafe(32))
    landed = parse_qs(urlsplit(page.browser.log_in(url, "ada")).query)

    with pytest.raises(HTTPError, match="400"):
        exchange(page, found["token_endpoint"], landed["code"][0], secrets.token_urlsafe(32))
