"""The surroundings of a computation, as far as a worker sees them: the other end of its socket."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from onnxplain_server.adapters.workers.ipc import payloads
from onnxplain_server.adapters.workers.ipc.channel import (
    PAYLOAD_BYTE_LIMIT,
    Frame,
    FrameChannel,
    FrameKind,
)
from onnxplain_server.core.errors import ExplainError, Reason

_EVERY_SECONDS = 0.02


class RemoteHost:
    """A `ComputationHost` for one request. Safe for several threads.

    Parameters
    ----------
    channel : FrameChannel
    call : int
        Number of the request.
    """

    def __init__(self, channel: FrameChannel, call: int) -> None:
        self._channel = channel
        self._call = call
        self._lock = threading.Lock()
        self._next = time.monotonic() + _EVERY_SECONDS
        self._planned = 0.0
        self._cancelled = False
        self._remembered = bytearray()

    def advance(self, done: float, planned: float) -> None:
        """See `ComputationHost.advance`; the parent is told of new plans and every 20 ms."""
        with self._lock:
            while not self._cancelled and self._channel.has_more():
                self._cancelled = self._channel.receive().kind is FrameKind.CANCEL
            if self._cancelled:
                raise ExplainError(Reason.CANCELLED, "the parent process gave up")
            packed = payloads.pack_progress(done, planned)
            is_news = done == 0 and planned != self._planned
            if 0 < planned <= done:
                self._channel.queue(Frame(FrameKind.PROGRESS, self._call, packed))
            elif is_news or time.monotonic() >= self._next:
                self._next = time.monotonic() + _EVERY_SECONDS
                self._planned = planned
                self._send(FrameKind.PROGRESS, packed)

    @contextmanager
    def single_flight(self, name: str) -> Iterator[bool]:
        """See `ComputationHost.single_flight`; the end of the request tells of failed work."""
        is_first = self._exchange(FrameKind.ENTER, payloads.pack_names([name]), FrameKind.ENTERED)
        yield bool(is_first)
        with self._lock:
            self._send(FrameKind.LEAVE)

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """See `ComputationHost.cache_get`."""
        found = self._exchange(FrameKind.RECALL, payloads.pack_names(names), FrameKind.FOUND)
        return payloads.unpack_values(found)

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        """See `ComputationHost.cache_put`; what does not fit into a frame is dropped."""
        packed = payloads.pack_entries(entries)
        if len(packed) <= PAYLOAD_BYTE_LIMIT:
            with self._lock:
                if len(self._remembered) + len(packed) > PAYLOAD_BYTE_LIMIT:
                    self._hand_over()
                self._remembered += packed

    def hand_over(self) -> None:
        """Have all that was remembered go with the next frame; to be called at the end."""
        with self._lock:
            self._hand_over()

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Tell the parent when a model is being loaded, which may take less time than the rest."""
        with self._lock:
            self._send(FrameKind.LOADING)
        yield
        with self._lock:
            self._send(FrameKind.LOADED)

    def _exchange(self, kind: FrameKind, payload: bytes, expected: FrameKind) -> bytes:
        with self._lock:
            self._send(kind, payload)
            reply = self._channel.receive()
            if reply.kind is not expected:
                self._cancelled = True
                raise ExplainError(Reason.CANCELLED, "the parent process gave up")
        return reply.payload

    def _hand_over(self) -> None:
        """Queue one frame for all: each costs the parent more than what is in it."""
        if self._remembered:
            self._channel.queue(Frame(FrameKind.REMEMBER, self._call, bytes(self._remembered)))
            self._remembered.clear()

    def _send(self, kind: FrameKind, payload: bytes = b"") -> None:
        self._hand_over()
        self._channel.send(Frame(kind, self._call, payload))
