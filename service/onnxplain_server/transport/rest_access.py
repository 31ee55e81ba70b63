"""Who calls over REST, found out before anything of a request is read."""

from __future__ import annotations

from typing import cast

from flask import Flask, g, request

from onnxplain_server.transport import rest_errors
from onnxplain_server.transport.callers import Callers, Credentials


def guard(app: Flask, callers: Callers) -> None:
    """Let only known callers to all routes but those of probes; unknown routes are no exception."""

    @app.before_request
    def identify() -> None:
        if request.blueprint != rest_errors.PROBES:
            sent = tuple(request.headers.getlist("Authorization"))
            g.caller = rest_errors.current().caller = callers.identify(Credentials(sent))


def caller_name() -> str:
    """Return who makes the current request; fails where nobody was asked."""
    return cast("str", g.caller)
