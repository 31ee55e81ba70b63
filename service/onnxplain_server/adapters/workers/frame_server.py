"""Frame server: what the parent does for a worker during one request, under limits and a clock.

A worker that was taken over sends what it likes. So every read and every batch of the cache
first checks deadline and cancellation, and a worker that breaks a limit of `frame_limits` is
malformed, and killed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

from onnxplain_server.adapters.workers.ipc import frame_limits as limits
from onnxplain_server.adapters.workers.ipc import payloads
from onnxplain_server.adapters.workers.ipc.arena_reply import check_line
from onnxplain_server.adapters.workers.ipc.channel import (
    Frame,
    FrameChannel,
    FrameKind,
    MalformedError,
)
from onnxplain_server.adapters.workers.request_monitor import RequestMonitor
from onnxplain_server.core.request import ReplyFormat
from onnxplain_server.core.sources import FileRanges
from onnxplain_server.telemetry.spans import current


class FrameServer:
    """Serves the frames of one request; a context manager, which leaves the single flight.

    Parameters
    ----------
    channel : FrameChannel
    call : int
        Number of the request.
    monitor : RequestMonitor
    read_range : FileRanges or None
        Reads the request's table, where the worker reads it in blocks.
    reply_format : ReplyFormat
        Of parts of the answer.

    Attributes
    ----------
    has_refused : bool
        Whether the worker ended the request by an error in place of the rest of a table: it then
        waits for the next one.
    """

    def __init__(
        self,
        channel: FrameChannel,
        call: int,
        monitor: RequestMonitor,
        read_range: FileRanges | None = None,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> None:
        self._read_range = read_range
        self._reply_format = reply_format
        self._channel = channel
        self._call = call
        self._monitor = monitor
        self._flight = ExitStack()
        self._read_start = channel.read_count
        self._put_bytes = self._load_count = self._spans_count = self._part_count = 0
        self._has_table = False
        self.has_refused = False

    def __enter__(self) -> FrameServer:
        return self

    def __exit__(self, *_error: object) -> None:
        self._flight.close()

    def tick(self) -> None:
        """Check deadline, cancellation, and the rate of reads.

        Raises
        ------
        ExplainError, MalformedError
        """
        self._monitor.tick()
        seconds = time.monotonic() - self._monitor.start
        allowed_count = limits.READ_BURST + limits.READS_PER_SECOND * seconds
        if self._channel.read_count - self._read_start > allowed_count:
            raise MalformedError

    def receive(self) -> Frame:
        """Wait for a frame of this request."""
        frame = self._channel.receive(self.tick)
        if frame.call != self._call:
            raise MalformedError
        return frame

    def serve(self, frame: Frame) -> None:
        """Do what a frame asks for."""
        match frame.kind:
            case FrameKind.PROGRESS:
                self._monitor.advance(*payloads.unpack_progress(frame.payload))
            case FrameKind.LOADING | FrameKind.LOADED | FrameKind.NOT_LOADED:
                self._load(frame.kind)
            case FrameKind.CACHE_GET:
                self._cache_get(payloads.unpack_names(frame.payload))
            case FrameKind.CACHE_PUT:
                self._cache_put(payloads.unpack_entries(frame.payload))
            case FrameKind.FLIGHT_JOIN:
                self._join_flight(payloads.unpack_names(frame.payload))
            case FrameKind.FLIGHT_LEAVE:
                self._flight.close()
            case FrameKind.READ_RANGE:
                self._send_range(*payloads.unpack_range(frame.payload))
            case FrameKind.PART | FrameKind.TABLE_PART:
                self._take_part(frame)
            case FrameKind.SPANS:
                self._add_spans(frame.payload)
            case _:
                raise MalformedError

    def _load(self, kind: FrameKind) -> None:
        if kind is not FrameKind.LOADING:
            self._monitor.end_load(kind is FrameKind.LOADED)
            return
        self._load_count += 1
        if self._load_count > limits.LOAD_COUNT_LIMIT:
            raise MalformedError
        self._monitor.begin_load()

    def _cache_get(self, names: list[str]) -> None:
        """Reply with the values of the first names, as many as fit into a reply."""
        values = self._monitor.host.cache_get(names, limits.REPLY_BYTE_LIMIT)
        packed = payloads.pack_values(
            [v if v is None or len(v) <= limits.VALUE_BYTE_LIMIT else None for v in values]
        )
        del values
        self._channel.send(Frame(FrameKind.CACHE_VALUES, self._call, packed), self.tick)

    def _cache_put(self, entries: Mapping[str, bytes]) -> None:
        self._put_bytes += limits.charge(entries)
        if self._put_bytes > limits.PUT_BYTE_LIMIT:
            raise MalformedError
        self._monitor.host.cache_put(entries)

    def _join_flight(self, names: list[str]) -> None:
        """Join a flight for the worker, after leaving the previous one."""
        self._flight.close()
        is_leader = len(names) == 1 and self._flight.enter_context(
            self._monitor.host.single_flight(names[0])
        )
        self._channel.send(Frame(FrameKind.FLIGHT_ROLE, self._call, b"1" * is_leader), self.tick)

    def _send_range(self, file: int, start: int, length: int) -> None:
        if self._read_range is None:
            raise MalformedError
        try:
            content = self._read_range(file, start, length)
        except ValueError:
            raise MalformedError from None
        self._channel.send(Frame(FrameKind.RANGE, self._call, content), self.tick)

    def _take_part(self, frame: Frame) -> None:
        if frame.kind is FrameKind.PART:
            self._publish(frame.payload)
        else:
            self._write_table(frame.payload)

    def _publish(self, part: bytes) -> None:
        self._part_count += 1
        if self._part_count > limits.PART_COUNT_LIMIT:
            raise MalformedError
        if self._reply_format.is_json:
            check_line((part,))
        self._monitor.host.publish(part)

    def _write_table(self, first: bytes) -> None:
        """Have the parts of a table written as they come, where the request asks for one."""
        if self._has_table:
            raise MalformedError
        self._has_table = True
        try:
            self._monitor.host.write_table(self._table_parts(first))
        except ValueError:
            raise MalformedError from None

    def _table_parts(self, part: bytes) -> Iterator[bytes]:
        """Yield the parts until the empty one, which ends the table; serve other frames between."""
        byte_count = 0
        while part:
            byte_count += len(part)
            if byte_count > limits.TABLE_BYTE_LIMIT:
                raise MalformedError
            yield part
            while (frame := self.receive()).kind is not FrameKind.TABLE_PART:
                if frame.kind is FrameKind.REFUSED:
                    error = payloads.unpack_error(frame.payload)
                    self.has_refused = True
                    raise error
                self.serve(frame)
            part = frame.payload

    def _add_spans(self, packed: bytes) -> None:
        """Add the worker's spans, which it sends once, before its answer."""
        self._spans_count += 1
        if self._spans_count > 1:
            raise MalformedError
        current().add(payloads.unpack_spans(packed, self._monitor.start, time.monotonic()))
