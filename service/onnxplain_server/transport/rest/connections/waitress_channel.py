"""waitress channels of the REST server: refusals, late requests, keep-alive, lingering close.

A refused client still receives the reply: the channel reads on until the client stops sending.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from waitress.channel import HTTPChannel
from waitress.task import ErrorTask, WSGITask
from waitress.utilities import Error

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission import caller_addresses
from onnxplain_server.transport.admission.admission import CallerKey
from onnxplain_server.transport.admission.authentication import ANONYMOUS
from onnxplain_server.transport.admission.size_limits import BodyLimits
from onnxplain_server.transport.audit.ended_explanation import ExplanationSink
from onnxplain_server.transport.request_log import NOBODY, RequestRecord
from onnxplain_server.transport.rest import headers, problems
from onnxplain_server.transport.rest.connections.request_parser import (
    HeaderCheck,
    HeadersRefusedError,
    RequestParser,
    RequestRefusedError,
    is_explanation,
)
from onnxplain_server.transport.rest.origin_policy import OriginPolicy

REQUEST_START = "onnxplain.request_start"
"""Key in the WSGI environment: monotonic time of the request's first byte."""

NAME_CALLER = "onnxplain.name_caller"
"""Key in the WSGI environment: a function that books the bytes of the connection to a caller."""

_LATE = ExplainError(
    Reason.DEADLINE_EXCEEDED,
    "the deadline passed while the request was received; allow more time, or upload large files",
)


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
        seconds = record.close(f"{error.code} {document['reason']}")
        self.channel.count_refused(document["reason"])
        if is_explanation(self.request.command, self.request.path):
            record.usage.received_byte_count = self.request.body_bytes_received
            ended = record.explanation("rest", document["reason"], NOBODY, seconds)
            self.channel.explanation_ended(ended)

    def _document(self, error: Error, request_id: str) -> dict[str, Any]:
        if isinstance(error, RequestRefusedError):
            return problems.problem(error.cause, request_id, self.request.path)
        detail = f"{error.reason}: {error.body}"
        return problems.http_problem(error.code, detail, request_id, self.request.path)


class RestTask(WSGITask):  # type: ignore[misc] # waitress ships no types
    """Tells the application when the request began, and ends keep-alive while the server drains."""

    def get_environment(self) -> dict[str, Any]:
        """Return the WSGI environment."""
        environment: dict[str, Any] = super().get_environment()
        environment[REQUEST_START] = self.request.start
        environment[NAME_CALLER] = self.channel.name_caller
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
    explanation_ended : callable (EndedExplanation) -> None
        Called for each refusal of an explanation.
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
    caller_key : CallerKey
        As `Caller.key`, of its last request; before any is authenticated, by the address alone.
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
    _is_held = False

    def __init__(
        self,
        *arguments: Any,
        count_refused: Callable[[str], None],
        explanation_ended: ExplanationSink,
        check_headers: HeaderCheck,
        origin_policy: OriginPolicy,
        body_limits: BodyLimits,
        is_closing: Callable[[], bool],
        longest_seconds: float,
        **named_arguments: Any,
    ) -> None:
        self.count_refused = count_refused
        self.explanation_ended = explanation_ended
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
        self.caller_key: CallerKey = (ANONYMOUS, self.address)

    def name_caller(self, key: CallerKey) -> None:
        """Book the bytes of this connection to a caller."""
        self.caller_key = key

    def received(self, data: bytes) -> bool:
        """Receive bytes."""
        self.last_active = time.monotonic()
        if self.request is None:
            self.request_start, self.byte_count = self.last_active, 0
            self.request_count += 1
        self.byte_count += len(data)
        return bool(super().received(data))

    @property
    def waiting_byte_count(self) -> int:
        """Bytes of a reply that is not read, of a request that is still coming, and of bodies."""
        coming = 0 if self.request is None else self.byte_count
        # A copy: the thread that serves them takes them away.
        bodies = sum(int(request.body_bytes_received) for request in [*self.requests])
        return int(self.total_outbufs_len) + coming + bodies

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

    def hold(self) -> bool:
        """Return whether its next request waits: it begins once most of the replies are sent.

        Otherwise who pipelines requests and reads no replies would keep threads at work.
        """
        with self.outbuf_lock:
            self._is_held = self.total_outbufs_len > self.adj.outbuf_overflow
            return self._is_held

    def _flush_some(self, do_close: bool = True) -> bool:
        has_sent = bool(super()._flush_some(do_close))
        if has_sent:
            self.last_active = time.monotonic()
        if self._is_held and self.total_outbufs_len <= self.adj.outbuf_overflow:
            self._is_held = False
            self.server.add_task(self)
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

    def discard(self) -> None:
        """Close at once, with the files of replies that were not sent."""
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
