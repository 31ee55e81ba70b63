"""Frames on a socket between a worker and its parent: a fixed header, then so many bytes."""

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
"""The largest payload of a frame. Requests and replies lie in the arena."""


class FrameKind(IntEnum):
    """What a frame says. The parent sends the first five."""

    EXPLAIN = 1
    DESCRIBE = 2
    CANCEL = 3
    FOUND = 4
    ENTERED = 5
    READY = 16
    LOADING = 17
    LOADED = 18
    PROGRESS = 19
    RECALL = 20
    REMEMBER = 21
    ENTER = 22
    LEAVE = 23
    REFUSED = 24
    ANSWERED = 25
    SPANS = 26


@dataclass(frozen=True, slots=True)
class Frame:
    """One message; `call` counts the requests to this worker."""

    kind: FrameKind
    call: int
    payload: bytes = b""


class ClosedError(Exception):
    """The other side is gone."""


class MalformedError(Exception):
    """The other side does not keep to the format."""


class FrameChannel:
    """One end of the socket.

    Parameters
    ----------
    end : socket
        Taken over.
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
        """Send a frame together with the next one: waking the other side costs more than it."""
        self._queued += _HEADER.pack(_MAGIC, frame.kind, frame.call, len(frame.payload))
        self._queued += frame.payload

    def send(self, frame: Frame, tick: Callable[[], None] = lambda: None) -> None:
        """Send a frame; `tick` is called while the other side does not take it, and may raise."""
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
        """Wait for a frame; `tick` is called again and again meanwhile, and may raise.

        Raises
        ------
        ClosedError, MalformedError
        """
        while (frame := self._take()) is None:
            tick()
            self._fill(tick)
        return frame

    def has_more(self) -> bool:
        """Whether something waits to be received."""
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

    def _take(self) -> Frame | None:
        """The first whole frame that has been received."""
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
