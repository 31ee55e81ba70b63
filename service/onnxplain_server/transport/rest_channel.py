"""Connections of the REST server: how waitress itself refuses a request, so that it is read."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.task import ErrorTask, WSGITask
from waitress.utilities import Error

from onnxplain_server.transport import addresses, problems
from onnxplain_server.transport.record import Record


class Refusal(ErrorTask):  # type: ignore[misc] # waitress ships no types
    """Answers what cannot be given to the application, like too large a body, as a problem."""

    def execute(self) -> None:
        """Write the reply."""
        error = self.request.error
        record = Record("HTTP", self.request.headers.get("X_REQUEST_ID"))
        detail = f"{error.reason}: {error.body}"
        document = problems.http_problem(error.code, detail, record.request_id, self.request.path)
        body = problems.encode(document).encode()
        self.status = f"{error.code} {error.reason}"
        self.response_headers += [
            ("Content-Type", problems.MEDIA_TYPE),
            ("X-Request-Id", record.request_id),
            ("X-Content-Type-Options", "nosniff"),
        ]
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)
        self.channel.refused = True
        record.close(f"{error.code} {document['reason']}")
        self.channel.tell_refused(document["reason"])


class NoRoomError(Error):  # type: ignore[misc]
    """The body is too large for memory, and there is no room on disk."""

    code = HTTPStatus.INSUFFICIENT_STORAGE.value
    reason = HTTPStatus.INSUFFICIENT_STORAGE.phrase


class Parser(HTTPRequestParser):  # type: ignore[misc]
    """Refuses a body that cannot be kept while it arrives, where waitress drops the connection."""

    def received(self, data: bytes) -> int:
        """Take what has arrived; how many bytes of it."""
        try:
            return int(super().received(data))
        except OSError:
            self.error = NoRoomError("the server has no room for this body now; ask again later")
            self.completed = True
            return len(data)


class Task(WSGITask):  # type: ignore[misc] # waitress ships no types
    """Tells the client with the reply that the connection closes, once the server stops."""

    def build_response_header(self) -> bytes:
        """Write the status and the headers."""
        if self.channel.is_last():
            self.set_close_on_finish()
        return bytes(super().build_response_header())


class Channel(HTTPChannel):  # type: ignore[misc] # waitress ships no types
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
    is_last : callable () -> bool
        Whether the connection closes after the reply that is on its way.

    Attributes
    ----------
    address : str
        Network of the client.
    moved : float
        Monotonic time of the last byte, whichever way.
    began : float
        Monotonic time of the first byte of the request that is being received.
    byte_count : int
        What has been received of it.
    """

    task_class = Task
    error_task_class = Refusal
    parser_class = Parser
    refused = False
    _lingering = False

    def __init__(
        self,
        *given: Any,
        refused: Callable[[str], None],
        is_last: Callable[[], bool],
        **named: Any,
    ) -> None:
        self.tell_refused = refused
        self.is_last = is_last
        self.moved = self.began = time.monotonic()
        self.byte_count = 0
        super().__init__(*given, **named)
        self.address = addresses.network(self.addr[0])

    def received(self, data: bytes) -> bool:
        """Take what has arrived."""
        self.moved = time.monotonic()
        if self.request is None:
            self.began, self.byte_count = self.moved, 0
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
