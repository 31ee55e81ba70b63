"""Message framing on the socket of a worker and its parent: a fixed header, then the payload."""

from __future__ import annotations

import select
import socket
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby

from onnxplain_server.adapters.workers.ipc import frame_limits as limits

if sys.platform != "linux":
    raise ImportError("of Linux alone")

_HEADER = struct.Struct("<4sHxxIQ")
_MAGIC = b"ONXW"
_TICK_MILLISECONDS = 50
_JOINED_BYTES = 2**16
_MARK = b"s"
"""Byte that carries a socket."""


class FrameKind(IntEnum):
    """Kind of a frame. The parent sends those below 16, the worker the others."""

    CALL = 1
    CANCEL = 3
    CACHE_VALUES = 4
    FLIGHT_ROLE = 5
    DECODE = 6
    SUM = 8
    PREDICT_ROWS = 11
    RANGE = 12
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
    UNABLE = 27
    PART = 28
    READ_RANGE = 29
    TABLE_PART = 30
    NOT_LOADED = 31


_LENGTH_BYTES = 8
_NAME_BYTES = _LENGTH_BYTES + limits.NAME_BYTE_LIMIT
_NAMES_BYTES = limits.NAME_COUNT_LIMIT * _NAME_BYTES

FROM_WORKER: Mapping[FrameKind, int] = {
    FrameKind.READY: 256,
    FrameKind.LOADING: 0,
    FrameKind.LOADED: 0,
    FrameKind.NOT_LOADED: 0,
    FrameKind.PROGRESS: 16,
    FrameKind.CACHE_GET: _NAMES_BYTES,
    FrameKind.CACHE_PUT: limits.VALUE_BYTE_LIMIT
    + limits.NAME_COUNT_LIMIT * _LENGTH_BYTES
    + _NAMES_BYTES,
    FrameKind.FLIGHT_JOIN: _NAME_BYTES,
    FrameKind.FLIGHT_LEAVE: 0,
    FrameKind.REFUSED: 4_096,
    FrameKind.ANSWERED: limits.ANSWER_HEADER_BYTE_LIMIT,
    FrameKind.SPANS: 2**17,
    FrameKind.UNABLE: 0,
    FrameKind.PART: limits.PART_BYTE_LIMIT,
    FrameKind.READ_RANGE: 16,
    FrameKind.TABLE_PART: limits.TABLE_PART_BYTE_LIMIT,
}
"""Kinds of frames that the parent takes, each with the bytes of its largest payload.

Requests and replies go through the arena.
"""

FROM_PARENT: Mapping[FrameKind, int] = {kind: 2**26 for kind in FrameKind if kind < FrameKind.READY}
"""Kinds of frames that a worker takes; it trusts its parent."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Message; `call` is the number of the request among those to this worker."""

    kind: FrameKind
    call: int
    payload: bytes = b""


class ClosedError(Exception):
    """Connection closed by the other side."""


class UnableError(Exception):
    """Refusal of a worker that lacks a library; a worker of another kind has it."""


class MalformedError(Exception):
    """Frame or payload that breaks the protocol."""


class FrameChannel:
    """One end of the socket, as a channel of frames.

    Parameters
    ----------
    end : socket
        Owned from now on.
    accepted : mapping of FrameKind to int
        Kinds to receive, each with the bytes of its largest payload.

    Attributes
    ----------
    read_count : int
        Reads that returned data: at most two for a frame that comes whole.
    """

    def __init__(self, end: socket.socket, accepted: Mapping[FrameKind, int]) -> None:
        end.setblocking(False)
        self.read_count: int = 0
        self._socket = end
        self._accepted = accepted
        self._queued: list[bytes] = []
        self._poll = select.poll()
        self._header: tuple[FrameKind, int, int] | None = None
        self._part: bytearray | None = None
        self._filled = 0

    def fileno(self) -> int:
        """Descriptor of the socket."""
        return self._socket.fileno()

    def queue(self, frame: Frame) -> None:
        """Queue a frame, to be sent with the next one: that saves a wake-up of the other side."""
        header = _HEADER.pack(_MAGIC, frame.kind, frame.call, len(frame.payload))
        if len(frame.payload) > _JOINED_BYTES:
            self._queued += (header, frame.payload)
        else:
            self._queued.append(header + frame.payload)

    def send(self, frame: Frame, tick: Callable[[], None] = lambda: None) -> None:
        """Send a frame after the queued ones; call `tick`, which may raise, while it waits."""
        self.queue(frame)
        parts, self._queued = self._queued, []
        for part in _joined(parts):
            self._send(part, tick)

    def receive(self, tick: Callable[[], None] = lambda: None) -> Frame:
        """Wait for a frame; call `tick`, which may raise, before each read and while waiting.

        After an error of `tick`, the next call goes on where this one stopped.

        Raises
        ------
        ClosedError, MalformedError
        """
        if self._header is None:
            self._header = self._check(self._read(_HEADER.size, tick))
        kind, call, length = self._header
        payload = self._read(length, tick)
        self._header = None
        return Frame(kind, call, payload)

    def send_socket(self, end: socket.socket, tick: Callable[[], None] = lambda: None) -> None:
        """Send a socket behind the frames, for `receive_socket` at that place."""
        while True:
            try:
                socket.send_fds(self._socket, [_MARK], [end.fileno()])
            except BlockingIOError:
                self._wait(select.POLLOUT, tick)
            except OSError:
                raise ClosedError from None
            else:
                return

    def receive_socket(self) -> socket.socket:
        """Receive a socket behind a frame; MalformedError where something else stands."""
        while True:
            try:
                content, handles, _, _ = socket.recv_fds(self._socket, len(_MARK), 1)
                break
            except BlockingIOError:
                self._wait(select.POLLIN, lambda: None)
            except OSError:
                raise ClosedError from None
        if not content:
            raise ClosedError
        if len(handles) != 1:
            raise MalformedError
        # All named: a confined worker may not ask the kernel for them.
        return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=handles[0])

    def has_more(self) -> bool:
        """Check for data to receive."""
        self._poll.register(self._socket, select.POLLIN)
        return bool(self._poll.poll(0))

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _check(self, header: bytes) -> tuple[FrameKind, int, int]:
        """Return kind, call and length of the payload."""
        magic, kind, call, length = _HEADER.unpack(header)
        if magic != _MAGIC or length > self._accepted.get(kind, -1):
            raise MalformedError
        return FrameKind(kind), call, length

    def _read(self, length: int, tick: Callable[[], None]) -> bytes:
        """Read so many bytes, into one buffer of that size."""
        if self._part is None:
            self._part, self._filled = bytearray(length), 0
        while self._filled < length:
            tick()
            self._fill(self._part, tick)
        part, self._part = self._part, None
        return bytes(part)

    def _fill(self, part: bytearray, tick: Callable[[], None]) -> None:
        try:
            count = self._socket.recv_into(memoryview(part)[self._filled :])
        except BlockingIOError:
            self._wait(select.POLLIN, tick)
            return
        except OSError:
            raise ClosedError from None
        if not count:
            raise ClosedError
        self.read_count += 1
        self._filled += count

    def _send(self, part: bytes, tick: Callable[[], None]) -> None:
        rest = memoryview(part)
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, tick)
            except OSError:
                raise ClosedError from None
            # After the first part: a request that is sent can be cancelled, and its worker kept.
            if rest:
                tick()

    def _wait(self, event: int, tick: Callable[[], None]) -> None:
        self._poll.register(self._socket, event)
        while not self._poll.poll(_TICK_MILLISECONDS):
            tick()


def _joined(parts: list[bytes]) -> Iterator[bytes]:
    """Join neighbours that are short, so that one call sends them; large ones are not copied."""
    for is_short, group in groupby(parts, lambda part: len(part) <= _JOINED_BYTES):
        if is_short:
            yield b"".join(group)
        else:
            yield from group
