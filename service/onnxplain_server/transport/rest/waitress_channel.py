"""Connections of the REST server: how waitress itself refuses a request, so that it is read."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any, TypeAlias

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.task import ErrorTask, WSGITask
from waitress.utilities import BadRequest, Error

from onnxplain_server.core.errors import ExplainError
from onnxplain_server.transport.admission import caller_addresses
from onnxplain_server.transport.request_log import RequestRecord
from onnxplain_server.transport.rest import headers, problems
from onnxplain_server.transport.status import STATUS

HeaderCheck: TypeAlias = Callable[[str, str | None], ExplainError | None]
"""Told path and authorization of a request, returns why its body is not to be read, or None."""


class HeadersRefusedError(Error):  # type: ignore[misc] # waitress ships no types
    """A request that is refused by its headers.

    Parameters
    ----------
    cause : ExplainError
    sent : bool
        Whether it had an authorization.
    """

    def __init__(self, cause: ExplainError, *, sent: bool) -> None:
        status = HTTPStatus(STATUS[cause.reason].http)
        self.code, self.reason = status.value, status.phrase
        self.cause, self.sent = cause, sent
        super().__init__(cause.message)


class RefusalTask(ErrorTask):  # type: ignore[misc] # waitress ships no types
    """Answers what cannot be given to the application, like too large a body, as a problem."""

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
        ]
        if isinstance(error, HeadersRefusedError):
            challenge = headers.challenge(error.cause.message, sent=error.sent)
            self.response_headers.append(("WWW-Authenticate", challenge))
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)
        self.channel.refused = True
        record.close(f"{error.code} {document['reason']}")
        self.channel.tell_refused(document["reason"])

    def _document(self, error: Error, request_id: str) -> dict[str, Any]:
        if isinstance(error, HeadersRefusedError):
            return problems.problem(error.cause, request_id, self.request.path)
        detail = f"{error.reason}: {error.body}"
        return problems.http_problem(error.code, detail, request_id, self.request.path)


class InsufficientStorageError(Error):  # type: ignore[misc]
    """The body is too large for memory, and there is no room on disk."""

    code = HTTPStatus.INSUFFICIENT_STORAGE.value
    reason = HTTPStatus.INSUFFICIENT_STORAGE.phrase


class RequestParser(HTTPRequestParser):  # type: ignore[misc]
    """Refuses bodies that are not to be read, and what waitress would drop or guess at."""

    completed: bool
    # A request line that cannot be read leaves none.
    path = ""

    def __init__(self, adj: Any, refusal: HeaderCheck) -> None:
        super().__init__(adj)
        self._refusal = refusal

    def received(self, data: bytes) -> int:
        """Take what has arrived; how many bytes of it."""
        had_headers = self.headers_finished
        try:
            taken = int(super().received(data))
        except OSError:
            self.error = InsufficientStorageError(
                "the server has no room for this body now; ask again later"
            )
            return self._refused(len(data))
        except ValueError:
            self.error = BadRequest("the first line of the request cannot be read")
            return self._refused(len(data))
        if self.headers_finished and not had_headers and not self.completed:
            return self._judge(taken, len(data))
        return taken

    def parse_header(self, header_plus: bytes) -> None:
        """Read the first line and the headers."""
        super().parse_header(header_plus)
        if self.chunked and "CONTENT_LENGTH" in self.headers:
            # A proxy in front might go by the other one, and see other requests than we do.
            raise ParsingError("give Content-Length or Transfer-Encoding, not both")

    def _judge(self, taken: int, arrived: int) -> int:
        """Look at the headers, now that a body follows; return what is taken of what arrived."""
        sent = self.headers.get("AUTHORIZATION")
        cause = self._refusal(self.path, sent)
        if cause is None:
            return taken
        self.error = HeadersRefusedError(cause, sent=sent is not None)
        # Nobody shall go on to send it.
        self.expect_continue = False
        return self._refused(arrived)

    def _refused(self, arrived: int) -> int:
        self.completed = True
        return arrived


class RestTask(WSGITask):  # type: ignore[misc] # waitress ships no types
    """Tells the client with the reply that the connection closes, once the server stops."""

    def build_response_header(self) -> bytes:
        """Write the status and the headers."""
        if self.channel.is_last():
            self.set_close_on_finish()
        return bytes(super().build_response_header())


class RestChannel(HTTPChannel):  # type: ignore[misc] # waitress ships no types
    """Listens on after a refusal until the client has sent all, and forgets it.

    A connection that is closed with unread bytes is reset, and a reset takes
    the reply away from a client that is still sending. A client that never
    ends is cut off by the server's time limit for idle connections, which
    these bytes do not prolong.

    Parameters
    ----------
    given : what waitress gives
    refused : callable (reason) -> None
        Told of each refusal.
    refusal : HeaderCheck
        Asked before a body is read.
    is_last : callable () -> bool
        Whether the connection closes after the reply that is on its way.

    Attributes
    ----------
    address : str
        Network of the client.
    came : float
        Monotonic time of its arrival.
    moved : float
        Monotonic time of the last byte, whichever way.
    began : float
        Monotonic time of the first byte of the request that is being received.
    request_count : int
        Requests of which something has been received.
    byte_count : int
        Bytes that have been received of the last of them.
    """

    task_class = RestTask
    error_task_class = RefusalTask
    refused = False
    _lingering = False

    def __init__(
        self,
        *given: Any,
        refused: Callable[[str], None],
        refusal: HeaderCheck,
        is_last: Callable[[], bool],
        **named: Any,
    ) -> None:
        self.tell_refused = refused
        self.parser_class = partial(RequestParser, refusal=refusal)
        self.is_last = is_last
        self.came = self.moved = self.began = time.monotonic()
        self.request_count = self.byte_count = 0
        super().__init__(*given, **named)
        self.address = caller_addresses.network(self.addr[0])

    def received(self, data: bytes) -> bool:
        """Take what has arrived."""
        self.moved = time.monotonic()
        if self.request is None:
            self.began, self.byte_count = self.moved, 0
            self.request_count += 1
        self.byte_count += len(data)
        return bool(super().received(data))

    def _flush_some(self, do_close: bool = True) -> bool:
        has_sent = bool(super()._flush_some(do_close))
        if has_sent:
            self.moved = time.monotonic()
        return has_sent

    def readable(self) -> bool:
        """Tell waitress' loop whether to read."""
        return self._lingering or bool(super().readable())

    def handle_read(self) -> None:
        """Read, or forget."""
        if not self._lingering:
            super().handle_read()
            return
        with suppress(OSError):
            if self.socket.recv(self.adj.recv_bytes):
                return
        super().handle_close()

    def handle_close(self) -> None:
        """Close, or only stop sending where the client still sends what was refused."""
        if self._lingering or not self.refused:
            super().handle_close()
            return
        self._lingering = True
        self.will_close = False
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)
