"""Call over HTTP/2 whose caller reads no byte of the reply, which no gRPC library allows."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress

from tools.waiting import PATIENCE_SECONDS

_DATA, _HEADERS, _RESET, _SETTINGS, _PING = 0, 1, 3, 4, 6
_ACKNOWLEDGED, _END_STREAM, _END_HEADERS = 1, 1, 4
_NO_WINDOW = struct.pack(">HI", 4, 0)
"""SETTINGS_INITIAL_WINDOW_SIZE 0: the server may send no byte of a reply."""


class UnreadCall:
    """Call of a gRPC method on a connection of its own, which answers pings.

    Parameters
    ----------
    port : int
        Of this machine.
    method : str
        Like "/package.Service/Method".
    message : bytes
        Serialised request, in one frame: of at most 16,379 bytes.
    source : str
        Address of the caller, one of this machine's.

    Attributes
    ----------
    is_reset : Event
        Set once the server has ended the call.
    """

    def __init__(self, port: int, method: str, message: bytes, source: str = "127.0.0.1") -> None:
        self.is_reset = threading.Event()
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS, (source, 0))
        fields = {
            ":method": "POST",
            ":scheme": "http",
            ":path": method,
            ":authority": "here",
            "content-type": "application/grpc",
            "te": "trailers",
        }
        headers = b"".join(_literal(name.encode(), text.encode()) for name, text in fields.items())
        self._socket.sendall(
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
            + _frame(_SETTINGS, 0, 0, _NO_WINDOW)
            + _frame(_HEADERS, _END_HEADERS, 1, headers)
            + _frame(_DATA, _END_STREAM, 1, struct.pack(">?I", False, len(message)) + message)
        )
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the connection."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _answer(self) -> None:
        # Who closes the connection first may leave bytes unread.
        with suppress(ConnectionError), self._socket.makefile("rb") as received:
            while len(head := received.read(9)) == 9:
                payload = received.read(int.from_bytes(head[:3], "big"))
                kind, flags = head[3], head[4]
                if kind == _RESET:
                    self.is_reset.set()
                elif kind in {_SETTINGS, _PING} and not flags & _ACKNOWLEDGED:
                    acknowledged = payload if kind == _PING else b""
                    self._socket.sendall(_frame(kind, _ACKNOWLEDGED, 0, acknowledged))


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """Encode a frame of HTTP/2 (RFC 9113, section 4.1)."""
    head = struct.pack(">I", len(payload))[1:] + bytes((kind, flags))
    return head + struct.pack(">I", stream) + payload


def _literal(name: bytes, value: bytes) -> bytes:
    """Encode a header of HPACK without any table (RFC 7541, section 6.2.2)."""
    return b"\0" + bytes((len(name),)) + name + bytes((len(value),)) + value
