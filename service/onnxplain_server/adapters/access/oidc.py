"""OIDC authentication: verifies JSON Web Tokens that an OpenID provider signed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

import jwt

from onnxplain_server.core.errors import ExplainError, Reason

# Clock skew between the provider and this machine.
_LEEWAY_SECONDS = 5.0

_NAME_LIMIT = 256

_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*")
"""JWS in its compact form (RFC 7515, section 7.1), in which base64url has no padding."""

TOKEN_TYPES: Mapping[str, frozenset[str]] = MappingProxyType(
    {"any": frozenset({"", "jwt", "at+jwt"}), "at+jwt": frozenset({"at+jwt"})}
)
"""Types (`typ`) of access tokens by setting; RFC 9068 asks for at+jwt, many providers say JWT."""

_OF_ID_TOKENS = ("at_hash", "c_hash")
"""Claims of ID tokens alone (OpenID Connect Core, section 3.3.2.11)."""

_FAULTS: Mapping[type[jwt.PyJWTError], str] = {
    jwt.ExpiredSignatureError: "the token has expired; get a new one",
    jwt.ImmatureSignatureError: "the token is not valid yet",
    jwt.InvalidAudienceError: "the token is for another audience",
    jwt.InvalidIssuerError: "the token is from another issuer",
    jwt.InvalidSignatureError: "the token's signature is wrong",
}


class FindKey(Protocol):
    """Lookup of a key by key id, which may be None, and algorithm; ExplainError without one."""

    def __call__(self, key_id: str | None, algorithm: str, *, wait: bool) -> jwt.PyJWK:
        """Return the key; with `wait` false, raise UNAVAILABLE where it would have to wait."""


class Oidc:
    """Authenticator of callers by JWT.

    Parameters
    ----------
    issuer, audience : str
        Required values of the claims `iss` and `aud`.
    algorithms : sequence of str
        Accepted signature algorithms; asymmetric ones.
    caller_claim : str
        Claim that holds the caller's name.
    find : FindKey
    types : frozenset of str
        Accepted types of tokens.
    """

    def __init__(
        self,
        issuer: str,
        audience: str,
        algorithms: Sequence[str],
        caller_claim: str,
        find: FindKey,
        *,
        types: frozenset[str] = TOKEN_TYPES["any"],
    ) -> None:
        self._issuer = issuer
        self._audience = audience
        self._algorithms = algorithms
        self._claim = caller_claim
        self._find = find
        self._types = types

    def verify(self, token: str, wait: bool) -> str | None:
        """Return the caller; None for text that is no JWT, ExplainError for an invalid JWT."""
        if not _COMPACT.fullmatch(token):
            return None
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError:
            return None
        algorithm = str(header.get("alg"))
        if algorithm not in self._algorithms:
            raise _refused("the token is signed with an algorithm that this server does not accept")
        # A type may be written with or without its "application/" (RFC 7515, section 4.1.9).
        if str(header.get("typ") or "").lower().removeprefix("application/") not in self._types:
            raise _refused("the token's type is none of access tokens")
        key = self._find(header.get("kid"), algorithm, wait=wait)
        claims = self._claims(token, key, algorithm)
        if claims.get("typ") == "ID" or any(claim in claims for claim in _OF_ID_TOKENS):
            raise _refused("the token is an ID token; send the access token")
        return f"oidc:{self._issuer}#{self._name(claims)}"

    def _claims(self, token: str, key: jwt.PyJWK, algorithm: str) -> Mapping[str, Any]:
        try:
            return jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=self._audience,
                issuer=self._issuer,
                leeway=_LEEWAY_SECONDS,
                options={
                    "require": ["exp", "iss", "aud"],
                    "enforce_minimum_key_length": True,
                },
            )
        except jwt.MissingRequiredClaimError as error:
            raise _refused(f"the token lacks the claim {error.claim}") from None
        except jwt.PyJWTError as error:
            raise _refused(_FAULTS.get(type(error), "the token cannot be verified")) from None

    def _name(self, claims: Mapping[str, Any]) -> str:
        name = claims.get(self._claim)
        # `isprintable` also refuses lone surrogates, which JSON can hold.
        if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= _NAME_LIMIT:
            raise _refused(f"the token's claim {self._claim} names no caller")
        return name


def _refused(message: str) -> ExplainError:
    return ExplainError(Reason.UNAUTHENTICATED, message)
