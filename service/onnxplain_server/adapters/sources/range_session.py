"""Session of a request whose table is read in blocks: ranges of its files, by the fetching process.

Ranges are of one version of each file, so a process that ended is replaced by another.
"""

from __future__ import annotations

import socket
from collections.abc import Callable

from onnxplain_server.adapters.network_processes.network_process import is_readable
from onnxplain_server.adapters.network_processes.socket_frames import (
    BrokenError,
    receive,
    unpack_error,
)
from onnxplain_server.adapters.sources import fetch_protocol as protocol
from onnxplain_server.adapters.sources.fetch_protocol import ANSWERED, PartKind
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.sources import FetchControl, SourceBlocks

_WAITING = "while the table was read in blocks"


class RangeSession:
    """`FileRanges` of one request; it connects at the first range.

    Parameters
    ----------
    blocks : SourceBlocks
    connect : callable () -> socket
        Returns a socket on which ranges of these files are asked for.
    control : FetchControl
    """

    def __init__(
        self, blocks: SourceBlocks, connect: Callable[[], socket.socket], control: FetchControl
    ) -> None:
        self._sizes = [size for _, size, _ in blocks.files]
        self._connect = connect
        self._control = control
        self._end: socket.socket | None = None

    def __call__(self, file: int, start: int, length: int) -> bytes:
        """Read a range; see `FileRanges`."""
        if not (
            file < len(self._sizes)
            and 0 < length <= protocol.PART_BYTES
            and start + length <= self._sizes[file]
        ):
            raise ValueError(f"file {file} has no range {start}, {length}")
        for _ in range(2):
            try:
                return self._read(file, start, length)
            except (BrokenError, OSError):
                self.close()
        self._control.check(_WAITING)
        raise ExplainError(
            Reason.SOURCE_UNAVAILABLE,
            "the process that fetches ended, twice, while the table was read; tell the operator",
            "table",
        )

    def close(self) -> None:
        """End the session."""
        if self._end is not None:
            self._end.close()
        self._end = None

    def _read(self, file: int, start: int, length: int) -> bytes:
        if self._end is None:
            self._end = self._connect()
        protocol.send_range(self._end, file, start, length)
        while not is_readable(self._end):
            self._control.check(_WAITING)
        part = receive(self._end, ANSWERED)
        if part.kind is PartKind.ERROR:
            self._control.check(_WAITING)
            raise unpack_error(part.content, protocol.REASONS)
        if part.kind is not PartKind.CONTENT or len(part.content) != length:
            raise BrokenError
        return bytes(part.content)
