"""Connections of the REST server: how waitress itself refuses a request, so that it is read."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.task import ErrorTask
from waitress.utilities import Error

from onnxplain_server.transport import headers, problems
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
            *headers.SECURITY.items(),
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
    """

    error_task_class = Refusal
    parser_class = Parser
    refused = False
    _lingering = False

    def __init__(self, *given: Any, refused: Callable[[str], None], **named: Any) -> None:
        self.tell_refused = refused
        super().__init__(*given, **named)

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
