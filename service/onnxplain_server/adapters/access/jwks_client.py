"""JWKS client: fetches the public keys of an OpenID provider, in bounded time and size."""

from __future__ import annotations

import http.client
import json
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import jwt

from onnxplain_server.adapters.access.urls import is_loopback, is_safe, safe_origin

_TIMEOUT_SECONDS = 3.0
_BYTE_LIMIT = 2**20
_CHUNK_BYTES = 2**16

_FAMILIES: Mapping[str, tuple[str, ...]] = {"RSA": ("RS", "PS"), "EC": ("ES",), "OKP": ("Ed",)}


class ProviderError(Exception):
    """No answer from the provider, or an invalid one."""


@dataclass(frozen=True, slots=True)
class KeySet:
    """Public keys by key id (`kid`) and algorithm."""

    keys: Mapping[tuple[str, str], jwt.PyJWK]

    def find(self, key_id: str | None, algorithm: str) -> jwt.PyJWK | None:
        """Return a key; without a key id, the only one for the algorithm."""
        if key_id is not None:
            return self.keys.get((key_id, algorithm))
        candidates = [key for (_, usage), key in self.keys.items() if usage == algorithm]
        return candidates[0] if len(candidates) == 1 else None


class Provider:
    """OpenID provider: the issuer of tokens.

    Parameters
    ----------
    issuer : str
        As the claim `iss` of tokens has it.
    jwks_url : str or None
        URL of its keys; None discovers it at /.well-known/openid-configuration.
    algorithms : sequence of str
        Keys for other algorithms are ignored.

    Attributes
    ----------
    token_origin : str
        Origin of the token endpoint, as discovery found it last; empty before, and with `jwks_url`.
    """

    def __init__(self, issuer: str, jwks_url: str | None, algorithms: Sequence[str]) -> None:
        self._issuer = issuer
        self._jwks_url = jwks_url
        self._algorithms = algorithms
        self.token_origin = ""

    def keys(self) -> KeySet:
        """Fetch the keys; ProviderError without a usable one."""
        entries = _fetch_json(self._jwks_url or self._discover()).get("keys")
        entries = entries if isinstance(entries, list) else []
        keys = KeySet(dict(_usable_keys(entries, self._algorithms)))
        if not keys.keys:
            algorithms = ", ".join(self._algorithms)
            raise ProviderError(f"the provider has no key for {algorithms}")
        return keys

    def _discover(self) -> str:
        document = _fetch_json(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
        if document.get("issuer") != self._issuer:
            raise ProviderError("the provider's configuration is that of another issuer")
        self.token_origin = safe_origin(document.get("token_endpoint"))
        url = document.get("jwks_uri")
        if not isinstance(url, str) or not is_safe(url):
            raise ProviderError("the provider's configuration names no https address of keys")
        return url


def _usable_keys(
    entries: Sequence[Any], algorithms: Sequence[str]
) -> Iterator[tuple[tuple[str, str], jwt.PyJWK]]:
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
            continue
        families = _FAMILIES.get(str(entry.get("kty")), ())
        for algorithm in algorithms:
            if not algorithm.startswith(families) or entry.get("alg", algorithm) != algorithm:
                continue
            try:
                yield (str(entry.get("kid", "")), algorithm), jwt.PyJWK(entry, algorithm)
            except (jwt.PyJWTError, ValueError):
                continue  # another curve, or malformed: one key must not disable the others


def _fetch_json(url: str) -> Mapping[str, Any]:
    try:
        document = json.loads(_fetch(url))
    except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
        # The text of urllib's errors may repeat the response; the type is enough.
        raise ProviderError(f"no keys from {url}: {type(error).__name__}") from error
    if not isinstance(document, dict):
        raise ProviderError(f"no keys from {url}: it is no JSON object")
    return document


def _fetch(url: str) -> bytes:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    content = bytearray()
    with _opener(url).open(url, timeout=_TIMEOUT_SECONDS) as response:
        while chunk := response.read1(_CHUNK_BYTES):
            content += chunk
            if len(content) > _BYTE_LIMIT:
                raise ValueError("too large")
            if time.monotonic() > deadline:
                raise TimeoutError("too slow")
    return bytes(content)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Redirect handler that follows none: keys come from the configured address only."""

    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        """Refuse; urllib then reports the redirect as an error."""


def _opener(url: str) -> urllib.request.OpenerDirector:
    # The environment's proxy, if any, is not for addresses of this machine.
    direct = [urllib.request.ProxyHandler({})] if is_loopback(urlsplit(url).hostname or "") else []
    return urllib.request.build_opener(_NoRedirects, *direct)
