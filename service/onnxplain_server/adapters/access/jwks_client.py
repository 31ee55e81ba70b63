"""Asks an OpenID provider for its keys."""

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

from onnxplain_server.adapters.access.urls import is_loopback, is_safe

_TIMEOUT_SECONDS = 3.0
_LARGEST_BYTES = 2**20
_STEP_BYTES = 2**16

_FAMILIES: Mapping[str, tuple[str, ...]] = {"RSA": ("RS", "PS"), "EC": ("ES",), "OKP": ("Ed",)}


class ProviderError(Exception):
    """The provider does not answer, or not as it must."""


@dataclass(frozen=True, slots=True)
class KeySet:
    """Public keys, by their name and by the algorithm that they are for."""

    keys: Mapping[tuple[str, str], jwt.PyJWK]

    def find(self, name: str | None, algorithm: str) -> jwt.PyJWK | None:
        """Return the key; a token that names none means the only one for its algorithm."""
        if name is not None:
            return self.keys.get((name, algorithm))
        fitting = [key for (_, other), key in self.keys.items() if other == algorithm]
        return fitting[0] if len(fitting) == 1 else None


class Provider:
    """An issuer of tokens.

    Parameters
    ----------
    issuer : str
        As it is in tokens.
    jwks_url : str or None
        Where its keys are; None asks for it at /.well-known/openid-configuration.
    algorithms : sequence of str
        Keys for others are left out.
    """

    def __init__(self, issuer: str, jwks_url: str | None, algorithms: Sequence[str]) -> None:
        self._issuer = issuer
        self._jwks_url = jwks_url
        self._algorithms = algorithms

    def keys(self) -> KeySet:
        """Ask for the keys; ProviderError where there is none to use."""
        document = _document(self._jwks_url or self._discovered())
        found = document.get("keys")
        entries = found if isinstance(found, list) else []
        keys = KeySet(dict(_usable(entries, self._algorithms)))
        if not keys.keys:
            algorithms = ", ".join(self._algorithms)
            raise ProviderError(f"the provider has no key for {algorithms}")
        return keys

    def _discovered(self) -> str:
        document = _document(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
        if document.get("issuer") != self._issuer:
            raise ProviderError("the provider's configuration is that of another issuer")
        url = document.get("jwks_uri")
        if not isinstance(url, str) or not is_safe(url):
            raise ProviderError("the provider's configuration names no https address of keys")
        return url


def _usable(
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
                continue  # of another curve, or broken: one key must not spoil the others


def _document(url: str) -> Mapping[str, Any]:
    try:
        document = json.loads(_content(url))
    except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
        # Errors of urllib may repeat what came; their kind is enough.
        raise ProviderError(f"no keys from {url}: {type(error).__name__}") from error
    if not isinstance(document, dict):
        raise ProviderError(f"no keys from {url}: it is no JSON object")
    return document


def _content(url: str) -> bytes:
    end = time.monotonic() + _TIMEOUT_SECONDS
    content = bytearray()
    with _opener(url).open(url, timeout=_TIMEOUT_SECONDS) as reply:
        while part := reply.read1(_STEP_BYTES):
            content += part
            if len(content) > _LARGEST_BYTES:
                raise ValueError("too large")
            if time.monotonic() > end:
                raise TimeoutError("too slow")
    return bytes(content)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Keys come from where they were said to be, and from nowhere that this points to."""

    def redirect_request(self, *_given: Any, **_named: Any) -> None:
        """Follow none: the reply is then an error."""


def _opener(url: str) -> urllib.request.OpenerDirector:
    # A proxy, where the surroundings name one, is for what is not on this machine.
    direct = [urllib.request.ProxyHandler({})] if is_loopback(urlsplit(url).hostname or "") else []
    return urllib.request.build_opener(_NoRedirects, *direct)
