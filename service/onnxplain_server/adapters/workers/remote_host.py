"""Remote host: a worker asks its parent process for progress, cancellation and cache, by frames."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from onnxplain_server.adapters.workers.ipc import frame_limits as limits
from onnxplain_server.adapters.workers.ipc import payloads
from onnxplain_server.adapters.workers.ipc.channel import (
    FROM_WORKER,
    Frame,
    FrameChannel,
    FrameKind,
)
from onnxplain_server.core.errors import ExplainError, Reason

_PROGRESS_SECONDS = 0.02


class RemoteHost:
    """`ComputationHost` for one request, served by the parent over the socket; safe for threads.

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
        self._next = time.monotonic() + _PROGRESS_SECONDS
        self._planned = 0.0
        self._cancelled = False
        self._pending_puts = bytearray()
        self._pending_count = self._put_bytes = self._part_count = 0

    def advance(self, done: float, planned: float) -> None:
        """Report progress every 20 ms and for each new plan; raise CANCELLED when cancelled."""
        with self._lock:
            self._check()
            packed = payloads.pack_progress(done, planned)
            is_new_plan = done == 0 and planned != self._planned
            if 0 < planned <= done:
                self._channel.queue(Frame(FrameKind.PROGRESS, self._call, packed))
            elif is_new_plan or time.monotonic() >= self._next:
                self._next = time.monotonic() + _PROGRESS_SECONDS
                self._planned = planned
                self._send(FrameKind.PROGRESS, packed)

    @contextmanager
    def single_flight(self, name: str) -> Iterator[bool]:
        """Compete for the flight in the parent; a failure ends it together with the request."""
        names = payloads.pack_names([name])
        yield bool(self._exchange(FrameKind.FLIGHT_JOIN, names, FrameKind.FLIGHT_ROLE))
        with self._lock:
            self._send(FrameKind.FLIGHT_LEAVE)

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """Return cached values from the parent; None for each that is absent."""
        values: dict[str, bytes | None] = {}
        rest = list(dict.fromkeys(names))
        while rest:
            packed = payloads.pack_names(rest[: limits.NAME_COUNT_LIMIT])
            reply = self._exchange(FrameKind.CACHE_GET, packed, FrameKind.CACHE_VALUES)
            fetched = payloads.unpack_values(reply)
            values |= zip(rest, fetched, strict=False)  # those of the first names
            del rest[: len(fetched)]
        return [values[name] for name in names]

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        """Buffer values for the parent's cache; those that exceed a limit are dropped."""
        for name, value in entries.items():
            charge = limits.charge({name: value})
            if len(value) > limits.VALUE_BYTE_LIMIT:
                continue
            with self._lock:
                if self._put_bytes + charge <= limits.PUT_BYTE_LIMIT:
                    self._put_bytes += charge
                    self._buffer(payloads.pack_entries({name: value}))

    def read_range(self, file: int, start: int, length: int) -> bytes:
        """Read a range of the files of the request's table, which the parent has read for it."""
        packed = payloads.pack_range(file, start, length)
        return self._exchange(FrameKind.READ_RANGE, packed, FrameKind.RANGE)

    def publish(self, part: bytes) -> None:
        """Send part of the answer to the parent; it is dropped if it exceeds a limit."""
        with self._lock:
            if len(part) <= limits.PART_BYTE_LIMIT and self._part_count < limits.PART_COUNT_LIMIT:
                self._part_count += 1
                self._send(FrameKind.PART, part)

    def write_table(self, parts: Iterable[bytes]) -> None:
        """Send the table of the answer's rows to the parent, which writes it; raise as `advance`.

        Raises
        ------
        ExplainError
            RESPONSE_TOO_LARGE beyond the limit of one table.
        """
        byte_count, size = 0, limits.TABLE_PART_BYTE_LIMIT
        for part in parts:
            byte_count += len(part)
            if byte_count > limits.TABLE_BYTE_LIMIT:
                raise ExplainError(
                    Reason.RESPONSE_TOO_LARGE,
                    f"the table has more than {limits.TABLE_BYTE_LIMIT:,} bytes; explain fewer "
                    "rows",
                    "result_uri",
                )
            for start in range(0, len(part), size):
                with self._lock:
                    self._check()
                    self._send(FrameKind.TABLE_PART, part[start : start + size])
        with self._lock:
            self._send(FrameKind.TABLE_PART)

    def flush(self) -> None:
        """Queue the buffered values before the next frame; called at the end of the request."""
        with self._lock:
            self._queue_puts()

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Report that a model is loading, which has a time limit of its own, and how that ends.

        A request may go on without the model: not every model has a margin, for example.
        """
        with self._lock:
            self._send(FrameKind.LOADING)
        try:
            yield
        except Exception:
            with self._lock:
                self._send(FrameKind.NOT_LOADED)
            raise
        with self._lock:
            self._send(FrameKind.LOADED)

    def receive_socket(self) -> socket.socket:
        """Receive the socket that the parent sends behind a request, before anything else."""
        return self._channel.receive_socket()

    def _check(self) -> None:
        """Raise CANCELLED once the parent has cancelled."""
        while not self._cancelled and self._channel.has_more():
            self._cancelled = self._channel.receive().kind is FrameKind.CANCEL
        if self._cancelled:
            raise ExplainError(Reason.CANCELLED, "the parent process gave up")

    def _exchange(self, kind: FrameKind, payload: bytes, expected: FrameKind) -> bytes:
        with self._lock:
            self._send(kind, payload)
            reply = self._channel.receive()
            if reply.kind is not expected:
                self._cancelled = True
                raise ExplainError(Reason.CANCELLED, "the parent process gave up")
        return reply.payload

    def _buffer(self, entry: bytes) -> None:
        is_full = len(self._pending_puts) + len(entry) > FROM_WORKER[FrameKind.CACHE_PUT]
        if is_full or self._pending_count == limits.NAME_COUNT_LIMIT:
            self._queue_puts()
        self._pending_puts += entry
        self._pending_count += 1

    def _queue_puts(self) -> None:
        """Queue one frame for all values: a frame costs the parent more than its content."""
        if self._pending_puts:
            self._channel.queue(Frame(FrameKind.CACHE_PUT, self._call, bytes(self._pending_puts)))
            self._pending_puts.clear()
            self._pending_count = 0

    def _send(self, kind: FrameKind, payload: bytes = b"") -> None:
        self._queue_puts()
        self._channel.send(Frame(kind, self._call, payload))
