"""Authentication of callers: bearer tokens (RFC 6750) and client certificates, for both transports.

A rejected token fails the request even if a client certificate would identify the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from onnxplain_server.core.errors import ExplainError, Reason

ANONYMOUS = "anonymous"
"""Name of every caller of a server without authentication."""

# RFC 6750, section 2.1; the scheme is case-insensitive, as in RFC 9110.
_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)


class TokenVerifier(Protocol):
    """Verifies bearer tokens of one kind, like those of a file or of an OpenID provider."""

    def verify(self, token: str, wait: bool, /) -> str | None:
        """Return the caller's name, unique across verifiers; None for a token of another kind.

        Parameters
        ----------
        wait : bool
            Whether the verifier may ask another server, if necessary.

        Raises
        ------
        ExplainError
            UNAUTHENTICATED if the token is of this kind and invalid; UNAVAILABLE if
            that cannot be decided now, or not without waiting.
        """


@dataclass(frozen=True, slots=True)
class Credentials:
    """Credentials sent with a request.

    Attributes
    ----------
    authorization : sequence of str
        Each header, or metadata entry, of that name.
    certificate : bytes or None
        The client's certificate in PEM, if the TLS handshake has verified one.
    """

    authorization: Sequence[str] = field(repr=False)
    certificate: bytes | None = None


class Authenticator:
    """Identifies callers by their credentials. Without verifiers, every caller is anonymous.

    Parameters
    ----------
    verifiers : sequence of TokenVerifier
        Tried in this order.
    certificate_caller : callable (certificate) -> str or None, optional
        Names the caller by its client certificate, unlike any name of `verifiers`;
        None if certificates do not identify callers.
    """

    def __init__(
        self,
        verifiers: Sequence[TokenVerifier] = (),
        certificate_caller: Callable[[bytes], str | None] | None = None,
    ) -> None:
        self._verifiers = verifiers
        self._certificate_caller = certificate_caller

    def authenticate(self, credentials: Credentials, *, wait: bool = True) -> str:
        """Return the caller's name; without `wait`, only if no other server must be asked.

        Raises
        ------
        ExplainError
            UNAUTHENTICATED; UNAVAILABLE if it cannot be decided now.
        """
        if not self._verifiers and self._certificate_caller is None:
            return ANONYMOUS
        if self._verifiers and credentials.authorization:
            return self._by_token(credentials.authorization, wait)
        if self._certificate_caller is not None and credentials.certificate is not None:
            name = self._certificate_caller(credentials.certificate)
            if name is None:
                raise _unauthenticated("the client's certificate names no caller")
            return name
        raise _unauthenticated(self._requirement())

    def _by_token(self, authorization: Sequence[str], wait: bool) -> str:
        bearer = _BEARER.fullmatch(authorization[0]) if len(authorization) == 1 else None
        if bearer is None:
            raise _unauthenticated('the authorization is not "Bearer" and a token')
        for verifier in self._verifiers:
            if (name := verifier.verify(bearer[1], wait)) is not None:
                return name
        raise _unauthenticated("no caller has this token")

    def _requirement(self) -> str:
        if self._verifiers:
            return 'this server authenticates callers; send "authorization: Bearer TOKEN"'
        return "this server knows its callers by their certificates, which gRPC takes"


def _unauthenticated(message: str) -> ExplainError:
    return ExplainError(Reason.UNAUTHENTICATED, message)


ALLOW_ALL = Authenticator()
"""No authentication: every caller is anonymous."""
