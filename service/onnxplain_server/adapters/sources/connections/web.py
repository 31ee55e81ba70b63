"""Requests to a web server without ranges, as MLflow's: one GET, of limited size."""

from __future__ import annotations

import http.client
import ssl
import time
from http import HTTPStatus

from onnxplain_server.adapters.sources.connections.addresses import ForbiddenAddressError
from onnxplain_server.adapters.sources.connections.guard import Guard
from onnxplain_server.adapters.sources.connections.upstream import Request, Upstream, told
from onnxplain_server.core.errors import ExplainError, Reason

_PAUSES = (0.2, 0.8, 3.2)
_PART_BYTES = 2**20

_MISSING = {HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST}
"""MLflow answers 400 for an alias that it does not know."""


class WebServer:
    """Web server at the endpoint of a prefix.

    Parameters
    ----------
    guard : Guard
    upstream : Upstream
    seconds : float
        Time for one request with its repetitions.
    field : str
        Field of the request, for errors.
    """

    def __init__(self, guard: Guard, upstream: Upstream, seconds: float, field: str) -> None:
        self._guard = guard
        self._upstream = upstream
        self._end = time.monotonic() + seconds
        self._field = field

    def get(self, target: str, shown: str, byte_limit: int) -> bytes:
        """Return the content at a path; `shown` is the address for messages.

        Raises
        ------
        ExplainError
            SOURCE_NOT_FOUND, SOURCE_FORBIDDEN, SOURCE_UNAVAILABLE, MODEL_TOO_LARGE.
        """
        for pause in _PAUSES:
            try:
                return self._get(target, shown, byte_limit)
            except ExplainError as error:
                is_late = time.monotonic() + pause > self._end
                if error.reason is not Reason.SOURCE_UNAVAILABLE or is_late:
                    raise
            time.sleep(pause)
        return self._get(target, shown, byte_limit)

    def _get(self, target: str, shown: str, byte_limit: int) -> bytes:
        headers = {"Host": self._host(), "Accept-Encoding": "identity"}
        if self._upstream.authorization:
            headers["Authorization"] = self._upstream.authorization
        request = Request("GET", target, headers, b"")
        try:
            connection, response = self._guard.connections.exchange(self._upstream, request)
            try:
                return self._content(response, shown, byte_limit)
            finally:
                connection.close()
        except (ForbiddenAddressError, ssl.SSLCertVerificationError) as error:
            raise self._error(
                Reason.SOURCE_FORBIDDEN, shown, f"cannot be read: {told(error)}"
            ) from None
        except (OSError, http.client.HTTPException) as error:
            fault = f"cannot be read now: {told(error)}; try again later"
            raise self._error(Reason.SOURCE_UNAVAILABLE, shown, fault) from None

    def _content(self, response: http.client.HTTPResponse, shown: str, byte_limit: int) -> bytes:
        self._check(response.status, shown)
        content = bytearray()
        while part := response.read(_PART_BYTES):
            content += part
            if len(content) > byte_limit:
                raise ExplainError(
                    Reason.MODEL_TOO_LARGE,
                    f"{shown} has more than {byte_limit:,} bytes, the limit of this server",
                    self._field,
                )
        return bytes(content)

    def _check(self, status: int, shown: str) -> None:
        if status == HTTPStatus.OK:
            return
        if status in _MISSING:
            raise self._error(Reason.SOURCE_NOT_FOUND, shown, "does not exist; check its name")
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
            fault = f"cannot be read now: its server answers {status}; try again later"
            raise self._error(Reason.SOURCE_UNAVAILABLE, shown, fault)
        is_redirect = HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST
        fault = (
            f"cannot be read: its server answers with a redirect ({status}), which is not followed"
            if is_redirect
            else f"may not be read by this server ({status}); the operator gives it rights"
        )
        raise self._error(Reason.SOURCE_FORBIDDEN, shown, fault)

    def _host(self) -> str:
        host = f"[{self._upstream.host}]" if ":" in self._upstream.host else self._upstream.host
        standard = 443 if self._upstream.tls else 80
        return host if self._upstream.port == standard else f"{host}:{self._upstream.port}"

    def _error(self, reason: Reason, shown: str, fault: str) -> ExplainError:
        return ExplainError(reason, f'"{shown}" {fault}', self._field)
