"""JSON Web Tokens of an OpenID provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import jwt

from onnxplain_server.core.errors import ExplainError, Reason

# The clocks of two machines are never quite the same.
_LEEWAY_SECONDS = 5.0

_LONGEST_NAME = 256

_FAULTS: Mapping[type[jwt.PyJWTError], str] = {
    jwt.ExpiredSignatureError: "the token has expired; get a new one",
    jwt.ImmatureSignatureError: "the token is not valid yet",
    jwt.InvalidAudienceError: "the token is for another audience",
    jwt.InvalidIssuerError: "the token is from another issuer",
    jwt.InvalidSignatureError: "the token's signature is wrong",
}


class FindKey(Protocol):
    """Finds a key by its name, or None, and algorithm; raises ExplainError where there is none."""

    def __call__(self, name: str | None, algorithm: str, *, wait: bool) -> jwt.PyJWK:
        """With `wait` false, none is to be waited for: UNAVAILABLE says that one would have to."""


class Oidc:
    """Knows callers by tokens that a provider signed.

    Parameters
    ----------
    issuer, audience : str
        As they must be in tokens.
    algorithms : sequence of str
        That tokens may be signed by; asymmetric ones.
    caller_claim : str
        What names the caller.
    find : FindKey
    """

    def __init__(
        self,
        issuer: str,
        audience: str,
        algorithms: Sequence[str],
        caller_claim: str,
        find: FindKey,
    ) -> None:
        self._issuer = issuer
        self._audience = audience
        self._algorithms = algorithms
        self._claim = caller_claim
        self._find = find

    def verify(self, token: str, wait: bool) -> str | None:
        """See `Way.caller`."""
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError:
            return None
        algorithm = str(header.get("alg"))
        if algorithm not in self._algorithms:
            raise _refused("the token is signed in a way that this server does not take")
        key = self._find(header.get("kid"), algorithm, wait=wait)
        claims = self._claims(token, key, algorithm)
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
        # Half of a surrogate pair, which JSON can have, is not printable either.
        if (
            not isinstance(name, str)
            or not name.isprintable()
            or not 0 < len(name) <= _LONGEST_NAME
        ):
            raise _refused(f"the token's claim {self._claim} names no caller")
        return name


def _refused(message: str) -> ExplainError:
    return ExplainError(Reason.UNAUTHENTICATED, message)
