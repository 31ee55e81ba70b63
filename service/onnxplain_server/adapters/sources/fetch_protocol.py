"""Protocol between the server and its fetching process: a socket of its own for each fetch.

The server sends one request; the process answers with parts of the content, then with an end or an
error, each a frame. A table that is read in blocks has a part that describes its files in place of
content, and is read by ranges over another socket. Before the content of a model it tells the
version, and the server answers whether it has it. The server takes nothing of it on trust.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

from google.protobuf.message import DecodeError
from onnxplain.v1.explanation_service_pb2 import Receipt

from onnxplain_server.adapters.network_processes.network_process import (
    WITHOUT_THREADS,
    send_in_steps,
)
from onnxplain_server.adapters.network_processes.socket_frames import (
    BrokenError,
    packed,
    receive,
    receive_exactly,
    send,
)
from onnxplain_server.core.errors import Reason
from onnxplain_server.core.sources import FetchControl, SourceBlocks, TableNeeds

PART_BYTES = 2**20
_ENDING_BYTES = 2**26
_REQUEST = struct.Struct("<Q")
_RANGE = struct.Struct("<IQI")
_CACHED, _MISSING = b"1", b"0"

REASONS = frozenset(
    {
        *(Reason.SOURCE_NOT_LISTED, Reason.SOURCE_NOT_FOUND, Reason.SOURCE_FORBIDDEN),
        *(Reason.SOURCE_CHANGED, Reason.SOURCE_UNAVAILABLE, Reason.INVALID_REQUEST),
        *(Reason.MODEL_TOO_LARGE, Reason.TABLE_TOO_LARGE, Reason.INVALID_TABLE),
        *(Reason.MISSING_COLUMN, Reason.EMPTY_TABLE, Reason.OUT_OF_MEMORY, Reason.WRONG_TYPE),
        *(Reason.INVALID_OPTION, Reason.EXTERNAL_DATA, Reason.INTERNAL),
    }
)
"""Reasons that a fetch may fail by."""


class PartKind(Enum):
    """Kind of a part of an answer: the last one is DONE or ERROR; BLOCKS is in place of content."""

    BLOCKS = b"B"
    CONTENT = b"C"
    DONE = b"D"
    ERROR = b"E"
    VERSION = b"V"


ANSWERED = {
    PartKind.BLOCKS: _ENDING_BYTES,
    PartKind.CONTENT: PART_BYTES,
    PartKind.DONE: _ENDING_BYTES,
    PartKind.ERROR: _ENDING_BYTES,
    PartKind.VERSION: PART_BYTES,
}
"""Parts that the server takes, each with the bytes of its largest content."""
WRITTEN = {PartKind.CONTENT: PART_BYTES, PartKind.DONE: 0}
"""Parts that the process takes of what it writes."""


class FetchKind(Enum):
    """Kind of a fetch.

    RANGES are those of one table's files, until the server has read enough. WRITE_PARTS is followed
    by parts of the content and an end.
    """

    MODEL = "model"
    TABLE = "table"
    WRITE = "write"
    WRITE_PARTS = "write_parts"
    RANGES = "ranges"


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """Request to the process.

    Attributes
    ----------
    kind : FetchKind
    message : bytes
        Serialised Model or Table; the URI of what is written; packed `SourceBlocks`.
    byte_limit : int
    seconds : float
        Time for the fetch.
    content : bytes
        What is written, of a result.
    needs : TableNeeds
        Of a table.
    memory_bytes : int
        Of a table: where it would need more memory, it is read in blocks; 0: it is not.
    """

    kind: FetchKind
    message: bytes
    byte_limit: int
    seconds: float
    content: bytes = b""
    needs: TableNeeds = field(default_factory=TableNeeds)
    memory_bytes: int = 0


def send_request(end: socket.socket, request: FetchRequest) -> None:
    """Send a request."""
    header = json.dumps(
        [
            *(request.kind.value, request.byte_limit, request.seconds, request.needs.pack()),
            *(len(request.message), len(request.content), request.memory_bytes),
        ]
    ).encode()
    end.sendall(_REQUEST.pack(len(header)) + header)
    end.sendall(request.message)
    end.sendall(request.content)


def receive_request(end: socket.socket) -> FetchRequest:
    """Receive a request; its sender is trusted."""
    (length,) = _REQUEST.unpack(receive_exactly(end, _REQUEST.size))
    fields = json.loads(receive_exactly(end, length))
    kind, byte_limit, seconds, needs, message, content, memory_bytes = fields
    return FetchRequest(
        FetchKind(kind),
        bytes(receive_exactly(end, message)),
        byte_limit,
        seconds,
        bytes(receive_exactly(end, content)),
        TableNeeds.unpack(needs),
        memory_bytes,
    )


def send_parts(end: socket.socket, parts: Iterable[bytes], control: FetchControl) -> None:
    """Send what is written and its end, unless the process has answered before, as it fails.

    Raises
    ------
    ExplainError
        Those of `FetchControl.check`, also while the process takes no more, as its store does.
    """
    check, size = partial(control.check, "while the result was written"), PART_BYTES
    pieces = (part[at : at + size] for part in parts for at in range(0, len(part), size))
    try:
        for piece in pieces:
            send_in_steps(end, packed(PartKind.CONTENT, 0, piece), check)
        send_in_steps(end, packed(PartKind.DONE), check)
    except (BrokenPipeError, ConnectionResetError):
        return


def receive_parts(end: socket.socket) -> Iterator[bytes]:
    """Receive parts of what is written until their end; their sender is trusted."""
    while (part := receive(end, WRITTEN)).kind is PartKind.CONTENT:
        yield bytes(part.content)


def send_range(end: socket.socket, file: int, start: int, length: int) -> None:
    """Ask for a range of a file; a part with its content follows."""
    end.sendall(_RANGE.pack(file, start, length))


def receive_range(end: socket.socket) -> tuple[int, int, int]:
    """Receive file, start and length of a range."""
    file, start, length = _RANGE.unpack(receive_exactly(end, _RANGE.size))
    return file, start, length


def ask_whether_cached(end: socket.socket, version: str) -> bool:
    """Tell the version of a model; return whether the server has its file."""
    send(end, PartKind.VERSION, 0, version.encode())
    return bytes(receive_exactly(end, 1)) == _CACHED


def unpack_version(content: bytearray) -> str:
    """Decode the version of a model."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise BrokenError from None


def answer_whether_cached(end: socket.socket, *, is_cached: bool) -> None:
    """Answer `ask_whether_cached`."""
    end.sendall(_CACHED if is_cached else _MISSING)


def check_blocks(content: bytearray) -> None:
    """Check the description of a table that is read in blocks; BrokenError."""
    try:
        SourceBlocks.unpack(content)
    except ValueError:
        raise BrokenError from None


def sources_only(content: bytearray) -> bytes:
    """Return a serialised Receipt that has sources alone; BrokenError."""
    try:
        receipt = Receipt.FromString(bytes(content))
    except DecodeError:
        raise BrokenError from None
    return bytes(Receipt(sources=receipt.sources).SerializeToString())


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the process: it inherits those of the platform's identity alone."""
    names = ("AWS_", "GOOGLE_")
    identity = {name: value for name, value in variables.items() if name.startswith(names)}
    return {**identity, **WITHOUT_THREADS}
