"""waitress parser of the REST server: refusals by headers, before a body is read.

It also refuses requests that waitress would guess at.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from copy import copy
from http import HTTPStatus
from typing import Any, TypeAlias

from waitress.parser import HTTPRequestParser, ParsingError
from waitress.utilities import BadRequest, Error, RequestEntityTooLarge

from onnxplain_server.core.errors import ExplainError
from onnxplain_server.transport.admission.size_limits import BodyLimits, SizeLimit
from onnxplain_server.transport.rest.origin_policy import OriginPolicy
from onnxplain_server.transport.rest.request_timeout import TIMEOUT, milliseconds
from onnxplain_server.transport.status import STATUS

_TIMEOUT_KEY = TIMEOUT.upper().replace("-", "_")
"""Name of the header in waitress' parser."""

_CHUNK_LINE_BYTES = 16 * 1024
"""Of the line before a chunk, and of the fields behind the last one: waitress has no limit, and
copies all of it for each part that comes."""

_EXPLANATIONS = re.compile(
    "/v1/explanations|/invocations|/v1/models/[^/]+:explain|/v2/models/[^/]+/explain"
)

HeaderCheck: TypeAlias = Callable[[str, str | None], ExplainError | None]
"""Called with path and authorization; returns an error to refuse the body unread, or None."""


def is_explanation(method: str, path: str) -> bool:
    """Return whether a request asks for an explanation, now unless it is accepted for later."""
    return method == "POST" and _EXPLANATIONS.fullmatch(path) is not None


class RequestRefusedError(Error):  # type: ignore[misc] # waitress ships no types
    """Refusal of a request before the application sees it."""

    def __init__(self, cause: ExplainError) -> None:
        status = HTTPStatus(STATUS[cause.reason].http)
        self.code, self.reason = status.value, status.phrase
        self.cause = cause
        super().__init__(cause.message)


class HeadersRefusedError(RequestRefusedError):
    """Refusal of a request by its headers.

    Parameters
    ----------
    cause : ExplainError
    sent : bool
        Whether the request had an authorization.
    """

    def __init__(self, cause: ExplainError, *, sent: bool) -> None:
        super().__init__(cause)
        self.sent = sent


class InsufficientStorageError(Error):  # type: ignore[misc]
    """The body is too large for memory, and the disk is full."""

    code = HTTPStatus.INSUFFICIENT_STORAGE.value
    reason = HTTPStatus.INSUFFICIENT_STORAGE.phrase


class RequestParser(HTTPRequestParser):  # type: ignore[misc]
    """Parser that refuses bodies by their headers, and requests that waitress would guess at."""

    adj: Any
    completed: bool
    empty: bool
    error: Any
    # They stay empty if the request line is malformed.
    command = path = ""

    def __init__(
        self,
        adj: Any,
        check_headers: HeaderCheck,
        origin_policy: OriginPolicy,
        body_limits: BodyLimits,
        longest_seconds: float,
    ) -> None:
        super().__init__(adj)
        self._longest_seconds = longest_seconds
        self._check_headers = check_headers
        self._origin_policy = origin_policy
        self._body_limits = body_limits
        self._upload_limit: SizeLimit | None = None
        self.start = time.monotonic()

    @property
    def deadline(self) -> float:
        """Monotonic time at which the request ends, by its header and by the server's limit."""
        count = milliseconds(self.headers.get(_TIMEOUT_KEY, ""))
        return self.start + min(count / 1000 if count else math.inf, self._longest_seconds)

    def received(self, data: bytes) -> int:
        """Parse received bytes; return how many were consumed."""
        had_headers = self.headers_finished
        try:
            consumed = int(super().received(data))
        except OSError:
            self.error = InsufficientStorageError(
                "the server has no room for this body now; ask again later"
            )
            return self._refuse(len(data))
        except ValueError:
            self.error = BadRequest("the first line of the request cannot be read")
            return self._refuse(len(data))
        if self._has_endless_chunk_line():
            self.error = BadRequest("a line between the chunks of the body is too long")
            return self._refuse(len(data))
        if isinstance(self.error, RequestEntityTooLarge):
            self.error = self._too_large()
        if self.headers_finished and not had_headers and not self.empty and self.error is None:
            return self._refuse_by_headers(consumed, len(data))
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the request line and the headers."""
        super().parse_header(header_plus)
        if self.chunked and "CONTENT_LENGTH" in self.headers:
            # Request smuggling: a proxy might use the other header and see other requests.
            raise ParsingError("give Content-Length or Transfer-Encoding, not both")
        self._upload_limit = self._body_limits.upload(self.command, self.path)
        if self._upload_limit:
            self.adj = copy(self.adj)
            # waitress refuses a body of exactly its limit.
            self.adj.max_request_body_size = self._upload_limit.byte_count + 1

    def _has_endless_chunk_line(self) -> bool:
        receiver = self.body_rcv if self.chunked else None
        lines = (b"", b"") if receiver is None else (receiver.control_line, receiver.trailer)
        return not self.completed and max(map(len, lines)) > _CHUNK_LINE_BYTES

    def _too_large(self) -> Error:
        if self._upload_limit:
            return RequestRefusedError(self._upload_limit.upload_refusal())
        return RequestEntityTooLarge(self._body_limits.refusal())

    def _refuse_by_headers(self, consumed: int, received: int) -> int:
        """Check the headers before the body is read; return the number of consumed bytes."""
        self.error = self._origin_policy.refusal(
            self.command, self.version, self.proxy_netloc, self.headers
        )
        if self.error is not None:
            return self._refuse(received)
        if self.completed:
            return consumed
        sent = self.headers.get("AUTHORIZATION")
        cause = self._check_headers(self.path, sent)
        if cause is None:
            return consumed
        self.error = HeadersRefusedError(cause, sent=sent is not None)
        return self._refuse(received)

    def _refuse(self, received: int) -> int:
        # No 100 Continue: the client need not send the body.
        self.expect_continue = False
        self.completed = True
        return received
