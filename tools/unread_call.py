"""Call over HTTP/2 whose caller reads nothing, or sends slowly, which no gRPC library allows."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress

from tools.waiting import PATIENCE_SECONDS

_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _WINDOW = 0, 1, 3, 4, 6, 8
_ACKNOWLEDGED, _END_STREAM, _END_HEADERS = 1, 1, 4
_INITIAL_WINDOW = 4
_NO_WINDOW = struct.pack(">HI", _INITIAL_WINDOW, 0)
"""SETTINGS_INITIAL_WINDOW_SIZE 0: the server may send no byte of a reply."""

_FRAME_BYTES = 2**14
_FIRST_WINDOW = 2**16 - 1


class UnreadCall:
    """Call of a gRPC method on a connection of its own, which answers pings.

    Parameters
    ----------
    port : int
        Of this machine.
    method : str
        Like "/package.Service/Method".
    message : bytes
        Serialised request, or its beginning: see `missing_byte_count`. A large one is sent as the
        server allows.
    source : str
        Address of the caller, one of this machine's.
    missing_byte_count : int
        Bytes of the message that do not come, unless `send` sends them; the call then has no end.
    seconds : float or None
        Deadline of the call.

    Attributes
    ----------
    is_reset : Event
        Set once the server has ended the call.
    sent_byte_count : int
        Of the message, as the server has allowed.
    """

    def __init__(
        self,
        port: int,
        method: str,
        message: bytes,
        source: str = "127.0.0.1",
        *,
        missing_byte_count: int = 0,
        seconds: float | None = None,
    ) -> None:
        self.is_reset = threading.Event()
        self._changed = threading.Condition()
        self._is_over = False
        self.sent_byte_count = 0
        self._windows = [_FIRST_WINDOW, _FIRST_WINDOW]
        self._first_window = _FIRST_WINDOW
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS, (source, 0))
        self._socket.sendall(
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
            + _frame(_SETTINGS, 0, 0, _NO_WINDOW)
            + _frame(_HEADERS, _END_HEADERS, 1, _headers(method, seconds))
        )
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()
        head = struct.pack(">?I", False, len(message) + missing_byte_count)
        self.send(head + message, is_last=not missing_byte_count)

    def send(self, content: bytes, *, is_last: bool = False) -> None:
        """Send bytes as the server's windows allow; returns early where the call has ended."""
        rest = memoryview(content)
        while rest:
            with self._changed:
                self._changed.wait_for(lambda: min(self._windows) > 0 or self._is_over)
                if self._is_over:
                    return
                count = min(len(rest), _FRAME_BYTES, *self._windows)
                self._windows = [window - count for window in self._windows]
                self.sent_byte_count += count
            part, rest = rest[:count], rest[count:]
            with suppress(OSError):
                flags = _END_STREAM if is_last and not rest else 0
                self._socket.sendall(_frame(_DATA, flags, 1, bytes(part)))

    def close(self) -> None:
        """End the connection."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _answer(self) -> None:
        # Who closes the connection first may leave bytes unread.
        with suppress(OSError), self._socket.makefile("rb") as received:
            while len(head := received.read(9)) == 9:
                payload = received.read(int.from_bytes(head[:3], "big"))
                kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
                with self._changed:
                    self._take(kind, flags, stream, payload)
                    self._changed.notify_all()
                if kind in {_SETTINGS, _PING} and not flags & _ACKNOWLEDGED:
                    acknowledged = payload if kind == _PING else b""
                    self._socket.sendall(_frame(kind, _ACKNOWLEDGED, 0, acknowledged))
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        """Note the end of the call, and what may be sent."""
        if kind == _RESET:
            self.is_reset.set()
            self._is_over = True
        elif kind == _WINDOW:
            self._windows[bool(stream)] += int.from_bytes(payload, "big")
        elif kind == _SETTINGS and not flags & _ACKNOWLEDGED:
            for at in range(0, len(payload), 6):
                name, value = struct.unpack_from(">HI", payload, at)
                if name == _INITIAL_WINDOW:
                    self._windows[1] += value - self._first_window
                    self._first_window = value


def _headers(method: str, seconds: float | None) -> bytes:
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": method,
        ":authority": "here",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    if seconds is not None:
        fields["grpc-timeout"] = f"{1_000 * seconds:.0f}m"
    return b"".join(_literal(name.encode(), text.encode()) for name, text in fields.items())


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """Encode a frame of HTTP/2 (RFC 9113, section 4.1)."""
    head = struct.pack(">I", len(payload))[1:] + bytes((kind, flags))
    return head + struct.pack(">I", stream) + payload


def _literal(name: bytes, value: bytes) -> bytes:
    """Encode a header of HPACK without any table (RFC 7541, section 6.2.2)."""
    return b"\0" + bytes((len(name),)) + name + bytes((len(value),)) + value
