"""Who may call: one decision for both transports."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from onnxplain_server.core.errors import ExplainError, Reason

ANONYMOUS = "anonymous"
"""The name of everybody where nobody needs to say who he is."""

# RFC 6750, section 2.1; the scheme is read in any case, as RFC 9110 has it.
_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)


class TokenVerifier(Protocol):
    """A verifier to know who holds a bearer token."""

    def verify(self, token: str, wait: bool, /) -> str | None:
        """Return the caller's name, unique across verifiers; None for a token of another kind.

        Parameters
        ----------
        wait : bool
            Whether there is time to ask somebody else, if need be.

        Raises
        ------
        ExplainError
            UNAUTHENTICATED where the token is of this verifier and must be refused;
            UNAVAILABLE where that cannot be found out now, or without waiting.
        """


@dataclass(frozen=True, slots=True)
class Credentials:
    """What came with a request.

    Attributes
    ----------
    authorization : sequence of str
        Each header, or entry of the metadata, of that name.
    certificate : bytes or None
        PEM of the client's certificate, where the handshake has verified one.
    """

    authorization: Sequence[str] = field(repr=False)
    certificate: bytes | None = None


class Authenticator:
    """Says who calls. With no verifier at all, everybody may; with any, nobody else.

    Parameters
    ----------
    verifiers : sequence of TokenVerifier
        Asked in this order.
    certificate_name : callable (certificate) -> str or None, optional
        Names the certificate_name of a client's certificate, unlike any of `verifiers`; left
        out where certificates are no verifier.
    """

    def __init__(
        self,
        verifiers: Sequence[TokenVerifier] = (),
        certificate_name: Callable[[bytes], str | None] | None = None,
    ) -> None:
        self._verifiers = verifiers
        self._certificate_name = certificate_name

    def authenticate(self, given: Credentials, *, wait: bool = True) -> str:
        """Return the caller's name; without `wait`, only if nobody else has to be asked.

        A token that was sent is looked at even where a certificate would do:
        one that is refused must not pass under another name.

        Raises
        ------
        ExplainError
            UNAUTHENTICATED; UNAVAILABLE where it cannot be found out now.
        """
        if not self._verifiers and self._certificate_name is None:
            return ANONYMOUS
        if self._verifiers and given.authorization:
            return self._by_token(given.authorization, wait)
        if self._certificate_name is not None and given.certificate is not None:
            return self._by_certificate(self._certificate_name(given.certificate))
        raise _refused(self._wanted())

    def _by_token(self, authorization: Sequence[str], wait: bool) -> str:
        found = _BEARER.fullmatch(authorization[0]) if len(authorization) == 1 else None
        if found is None:
            raise _refused('the authorization is not "Bearer" and a token')
        for verifier in self._verifiers:
            if (name := verifier.verify(found[1], wait)) is not None:
                return name
        raise _refused("nobody is known by this token")

    def _by_certificate(self, name: str | None) -> str:
        if name is None:
            raise _refused("the client's certificate names no caller")
        return name

    def _wanted(self) -> str:
        if self._verifiers:
            return 'this server needs to know who calls; send "authorization: Bearer TOKEN"'
        return "this server knows its callers by their certificates, which gRPC takes"


def _refused(message: str) -> ExplainError:
    return ExplainError(Reason.UNAUTHENTICATED, message)


ALLOW_ALL = Authenticator()
"""Lets everybody in."""
