"""Message framing on the socket of a worker and its parent: a fixed header, then the payload."""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

_HEADER = struct.Struct("<4sHxxIQ")
_MAGIC = b"ONXW"
_CHUNK_BYTES = 2**18
_TICK_MILLISECONDS = 50

PAYLOAD_BYTE_LIMIT = 64 * 2**20
"""Largest payload of a frame. Requests and replies go through the arena."""


class FrameKind(IntEnum):
    """Kind of a frame. The parent sends those below 16, the worker the others."""

    EXPLAIN = 1
    DESCRIBE = 2
    CANCEL = 3
    CACHE_VALUES = 4
    FLIGHT_ROLE = 5
    READY = 16
    LOADING = 17
    LOADED = 18
    PROGRESS = 19
    CACHE_GET = 20
    CACHE_PUT = 21
    FLIGHT_JOIN = 22
    FLIGHT_LEAVE = 23
    REFUSED = 24
    ANSWERED = 25
    SPANS = 26


@dataclass(frozen=True, slots=True)
class Frame:
    """Message; `call` is the number of the request among those to this worker."""

    kind: FrameKind
    call: int
    payload: bytes = b""


class ClosedError(Exception):
    """Connection closed by the other side."""


class MalformedError(Exception):
    """Frame or payload that breaks the protocol."""


class FrameChannel:
    """One end of the socket, as a channel of frames.

    Parameters
    ----------
    end : socket
        Owned from now on.
    """

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._received = bytearray()
        self._queued = bytearray()
        self._poll = select.poll()

    def fileno(self) -> int:
        """Descriptor of the socket."""
        return self._socket.fileno()

    def queue(self, frame: Frame) -> None:
        """Queue a frame, to be sent with the next one: that saves a wake-up of the other side."""
        self._queued += _HEADER.pack(_MAGIC, frame.kind, frame.call, len(frame.payload))
        self._queued += frame.payload

    def send(self, frame: Frame, tick: Callable[[], None] = lambda: None) -> None:
        """Send a frame; call `tick`, which may raise, while the socket is full."""
        self.queue(frame)
        rest = memoryview(bytes(self._queued))
        self._queued.clear()
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, tick)
            except OSError:
                raise ClosedError from None

    def receive(self, tick: Callable[[], None] = lambda: None) -> Frame:
        """Wait for a frame; call `tick`, which may raise, at short intervals.

        Raises
        ------
        ClosedError, MalformedError
        """
        while (frame := self._next_frame()) is None:
            tick()
            self._fill(tick)
        return frame

    def has_more(self) -> bool:
        """Check for data to receive."""
        self._poll.register(self._socket, select.POLLIN)
        return bool(self._received or self._poll.poll(0))

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _fill(self, tick: Callable[[], None]) -> None:
        self._wait(select.POLLIN, tick)
        try:
            chunk = self._socket.recv(_CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            raise ClosedError from None
        if not chunk:
            raise ClosedError
        self._received += chunk

    def _wait(self, event: int, tick: Callable[[], None]) -> None:
        self._poll.register(self._socket, event)
        while not self._poll.poll(_TICK_MILLISECONDS):
            tick()

    def _next_frame(self) -> Frame | None:
        """Remove the first complete frame from the buffer; None while there is none."""
        if len(self._received) < _HEADER.size:
            return None
        magic, kind, call, length = _HEADER.unpack_from(self._received)
        if (
            magic != _MAGIC
            or kind not in FrameKind.__members__.values()
            or length > PAYLOAD_BYTE_LIMIT
        ):
            raise MalformedError
        end = _HEADER.size + length
        if len(self._received) < end:
            return None
        payload = bytes(self._received[_HEADER.size : end])
        del self._received[:end]
        return Frame(FrameKind(kind), call, payload)
