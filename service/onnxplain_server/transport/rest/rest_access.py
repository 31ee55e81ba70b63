"""Who calls over REST, found out before anything of a request is read."""

from __future__ import annotations

from typing import cast

from flask import Flask, g, request

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.authentication import Authenticator, Credentials
from onnxplain_server.transport.rest import request_handling
from onnxplain_server.transport.rest.waitress_channel import HeaderCheck


def guard(app: Flask, authenticator: Authenticator) -> None:
    """Authenticate the caller of every route but probes; unknown routes included."""

    @app.before_request
    def identify() -> None:
        if request.blueprint != request_handling.PROBES:
            sent = tuple(request.headers.getlist("Authorization"))
            g.caller = request_handling.current().caller = authenticator.authenticate(
                Credentials(sent)
            )


def refusal_unread(app: Flask, authenticator: Authenticator) -> HeaderCheck:
    """Make what refuses a request by its headers, before its body has arrived.

    It is asked on the only thread that reads: what cannot be told at once is
    left to the guard.
    """
    probes = frozenset(
        rule.rule
        for rule in app.url_map.iter_rules()
        if rule.endpoint.startswith(f"{request_handling.PROBES}.")
    )

    def refusal(path: str, authorization: str | None) -> ExplainError | None:
        if path in probes:
            return None
        sent = () if authorization is None else (authorization,)
        try:
            authenticator.authenticate(Credentials(sent), wait=False)
        except ExplainError as error:
            return error if error.reason is Reason.UNAUTHENTICATED else None
        return None

    return refusal


def caller_name() -> str:
    """Return who makes the current request; fails where nobody was asked."""
    return cast("str", g.caller)
