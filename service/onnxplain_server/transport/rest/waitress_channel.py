"""waitress channels of the REST server: refusals by headers, keep-alive and lingering close.

A refused client still receives the reply: the channel reads on until the client stops sending.
"""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from functools import partial
from http import HTTPStatus
from typing import Any, TypeAlias

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.task import ErrorTask, WSGITask
from waitress.utilities import BadRequest, Error, RequestEntityTooLarge

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission import caller_addresses
from onnxplain_server.transport.admission.size_limits import BodyLimits, SizeLimit
from onnxplain_server.transport.request_log import RequestRecord
from onnxplain_server.transport.rest import headers, problems
from onnxplain_server.transport.rest.origin_policy import OriginPolicy
from onnxplain_server.transport.rest.request_timeout import TIMEOUT, milliseconds
from onnxplain_server.transport.status import STATUS

REQUEST_START = "onnxplain.request_start"
"""Key in the WSGI environment: monotonic time of the request's first byte."""

_LATE = ExplainError(
    Reason.DEADLINE_EXCEEDED,
    "the deadline passed while the request was received; allow more time, or upload large files",
)

_TIMEOUT_KEY = TIMEOUT.upper().replace("-", "_")
"""Name of the header in waitress' parser."""

HeaderCheck: TypeAlias = Callable[[str, str | None], ExplainError | None]
"""Called with path and authorization; returns an error to refuse the body unread, or None."""


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


class RefusalTask(ErrorTask):  # type: ignore[misc] # waitress ships no types
    """Replies with a problem to requests that never reach the application, like too large ones."""

    def execute(self) -> None:
        """Write the reply."""
        error = self.request.error
        record = RequestRecord("HTTP", self.request.headers.get("X_REQUEST_ID"))
        document = self._document(error, record.request_id)
        body = problems.encode(document).encode()
        self.status = f"{error.code} {error.reason}"
        self.response_headers += [
            ("Content-Type", problems.MEDIA_TYPE),
            ("X-Request-Id", record.request_id),
            *headers.SECURITY.items(),
            *self.channel.origin_policy.cors_headers(self.request.headers.get("ORIGIN")).items(),
        ]
        if isinstance(error, HeadersRefusedError):
            challenge = headers.challenge(error.cause.message, sent=error.sent)
            self.response_headers.append(("WWW-Authenticate", challenge))
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)
        self.channel.is_refused = True
        record.close(f"{error.code} {document['reason']}")
        self.channel.count_refused(document["reason"])

    def _document(self, error: Error, request_id: str) -> dict[str, Any]:
        if isinstance(error, RequestRefusedError):
            return problems.problem(error.cause, request_id, self.request.path)
        detail = f"{error.reason}: {error.body}"
        return problems.http_problem(error.code, detail, request_id, self.request.path)


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
    # Stays empty if the request line is malformed.
    path = ""

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


class RestTask(WSGITask):  # type: ignore[misc] # waitress ships no types
    """Tells the application when the request began, and ends keep-alive while the server drains."""

    def get_environment(self) -> dict[str, Any]:
        """Return the WSGI environment."""
        environment: dict[str, Any] = super().get_environment()
        environment[REQUEST_START] = self.request.start
        return environment

    def build_response_header(self) -> bytes:
        """Write the status and the headers."""
        if self.channel.is_closing():
            self.set_close_on_finish()
        return bytes(super().build_response_header())


class RestChannel(HTTPChannel):  # type: ignore[misc] # waitress ships no types
    """Channel with a lingering close: after a refusal, reads and discards what the client sends.

    Closing a connection with unread bytes resets it, and a client that is still
    sending would lose the reply. A client that never stops sending is closed by
    the idle timeout, which discarded bytes do not extend.

    Parameters
    ----------
    arguments : as for HTTPChannel
    count_refused : callable (reason) -> None
        Called for each refusal.
    check_headers : HeaderCheck
        Called before a body is read.
    origin_policy : OriginPolicy
        Hosts and origins that are accepted.
    body_limits : BodyLimits
        Size limits of a request's body.
    is_closing : callable () -> bool
        Whether the connection closes after the next reply.
    longest_seconds : float
        Time limit of a request; may be infinite.

    Attributes
    ----------
    address : str
        Network of the client.
    accepted : float
        Monotonic time of the connection.
    last_active : float
        Monotonic time of the last byte received or sent.
    request_start : float
        Monotonic time of the first byte of the current request.
    request_count : int
        Number of requests received, including the current one.
    byte_count : int
        Received bytes of the current request.
    reply_start : float
        Monotonic time since which there are bytes to send.
    reply_byte_count : int
        Bytes to send since then, and bytes sent.
    """

    task_class = RestTask
    error_task_class = RefusalTask
    is_refused = False
    _lingering = False

    def __init__(
        self,
        *arguments: Any,
        count_refused: Callable[[str], None],
        check_headers: HeaderCheck,
        origin_policy: OriginPolicy,
        body_limits: BodyLimits,
        is_closing: Callable[[], bool],
        longest_seconds: float,
        **named_arguments: Any,
    ) -> None:
        self.count_refused = count_refused
        self.origin_policy = origin_policy
        self.parser_class = partial(
            RequestParser,
            check_headers=check_headers,
            origin_policy=origin_policy,
            body_limits=body_limits,
            longest_seconds=longest_seconds,
        )
        self.is_closing = is_closing
        self.accepted = self.last_active = self.request_start = time.monotonic()
        self.reply_start = self.accepted
        self.request_count = self.byte_count = self.reply_byte_count = 0
        super().__init__(*arguments, **named_arguments)
        self.address = caller_addresses.network(self.addr[0])

    def received(self, data: bytes) -> bool:
        """Receive bytes."""
        self.last_active = time.monotonic()
        if self.request is None:
            self.request_start, self.byte_count = self.last_active, 0
            self.request_count += 1
        self.byte_count += len(data)
        return bool(super().received(data))

    def refuse_late(self, now: float) -> None:
        """Refuse a request whose deadline passes before all of it has come; called by the loop."""
        with self.requests_lock:
            late = self.request
            if late is None or now < late.deadline:
                return
            late.error = RequestRefusedError(_LATE)
            late.completed, late.expect_continue = True, False
            self.request: RequestParser | None = None
            self.sent_continue = False
            self.requests.append(late)
            if len(self.requests) == 1:
                self.server.add_task(self)

    def write_soon(self, data: bytes) -> int:
        """Take bytes to send; called by the thread of the task."""
        if not self.total_outbufs_len:
            self.reply_start, self.reply_byte_count = time.monotonic(), 0
        self.reply_byte_count += len(data)
        return int(super().write_soon(data))

    def _flush_some(self, do_close: bool = True) -> bool:
        has_sent = bool(super()._flush_some(do_close))
        if has_sent:
            self.last_active = time.monotonic()
        return has_sent

    def readable(self) -> bool:
        """Return whether waitress' loop shall read."""
        return self._lingering or bool(super().readable())

    def handle_read(self) -> None:
        """Read, or discard after a refusal."""
        if not self._lingering:
            super().handle_read()
            return
        with suppress(OSError):
            if self.socket.recv(self.adj.recv_bytes):
                return
        super().handle_close()

    def handle_close(self) -> None:
        """Close; after a refusal, only shut down sending while the client still sends."""
        if self._lingering or not self.is_refused:
            super().handle_close()
            return
        self._lingering = True
        self.will_close = False
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)
