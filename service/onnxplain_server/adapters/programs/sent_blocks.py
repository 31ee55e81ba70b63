"""Tables of requests that a worker reads in blocks: sent files, and files that its parent reads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import Lock

from onnxplain.v1.explanation_service_pb2 import ExplainRequest

from onnxplain_server.adapters.runner.blocks.block_files import form_of
from onnxplain_server.adapters.runner.blocks.ranged_file import FileInRanges
from onnxplain_server.adapters.runner.blocks.table_blocks import FileBlocks
from onnxplain_server.adapters.workers.remote_host import RemoteHost
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs
from onnxplain_server.core.request import BLOCKS_FORM
from onnxplain_server.core.sources import FileRanges, SourceBlocks
from onnxplain_server.trees.streaming.row_blocks import LargeTable, RemoteTable, whole_bytes
from onnxplain_server.trees.streaming.workers import SharedFile, Workers
from onnxplain_server.wire import question
from onnxplain_server.wire.protobuf_split import detach_table

_SENT = "the table"


class AddressedTable(FileBlocks):
    """Files by their URIs, of one version each.

    Parameters
    ----------
    identity : str
        That of the versions, in place of a digest: the files are not read for one.
    found : SourceBlocks
    read_range : FileRanges
    """

    def __init__(self, identity: str, found: SourceBlocks, read_range: FileRanges) -> None:
        self._identity = identity
        self._read_range = read_range
        self._lock = Lock()
        self._read_byte_counts = [0] * len(found.files)
        super().__init__(
            [
                FileInRanges(uri, size, partial(self._read, number))
                for number, (uri, size, _) in enumerate(found.files)
            ]
        )
        self.names = found.columns

    def digest(self) -> str:
        """Return the identity."""
        return self._identity

    def read_byte_counts(self) -> Sequence[int]:
        """Return the bytes read of each file."""
        return self._read_byte_counts

    def _read(self, file: int, start: int, length: int) -> bytes:
        content = self._read_range(file, start, length)
        with self._lock:
            self._read_byte_counts[file] += length
        return content


def sent_blocks(
    request: bytes,
    blobs: Blobs,
    host: RemoteHost,
    memory_bytes: int,
    workers: Workers | None = None,
) -> LargeTable | None:
    """Return the table of a request that is read in blocks; None for one that is read whole.

    Parameters
    ----------
    request : bytes
        Serialised ExplainRequest.
    blobs : Blobs
    host : RemoteHost
    memory_bytes : int
        A sent Parquet or Arrow file that would need more is read in blocks.
    workers : Workers or None
        They read files by URI that need blocks themselves.

    Raises
    ------
    ExplainError
        INVALID_TABLE; INVALID_REQUEST where files by URI that need blocks come without a model.
    """
    message = ExplainRequest()
    envelope, file = detach_table(request)
    question.parse(envelope, message)
    blob = blobs.get(message.table.id)
    if blob is not None and blob.form == BLOCKS_FORM:
        if not message.HasField("model"):
            raise _too_large("be explained without a model")
        found = SourceBlocks.unpack(blob.content)
        table = AddressedTable(message.table.id, found, host.read_range)
        return LargeTable(table, memory_bytes, _remote(found, workers))
    content = file.content if file else blob.content if blob else None
    if content is None or not message.HasField("model"):
        return None
    return _of_file(content, memory_bytes)


def _remote(found: SourceBlocks, workers: Workers | None) -> RemoteTable | None:
    if workers is None:
        return None
    return RemoteTable(tuple(SharedFile(*file) for file in found.files), workers)


def refuse_blocks(blobs: Blobs) -> None:
    """Raise TABLE_TOO_LARGE for a plan of a table that is read in blocks."""
    if any(blob.form == BLOCKS_FORM for blob in blobs.values()):
        raise _too_large("be planned")


def _of_file(content: bytes | bytearray | memoryview, memory_bytes: int) -> LargeTable | None:
    file = FileInRanges(_SENT, len(content), partial(_slice, content))
    if form_of(file) is None:
        return None
    try:
        blocks = FileBlocks([file])
    except ExplainError:
        return None  # its error is that of reading it whole
    return LargeTable(blocks, memory_bytes) if whole_bytes(blocks) > memory_bytes else None


def _slice(content: bytes | bytearray | memoryview, start: int, length: int) -> bytes:
    return bytes(content[start : start + length])


def _too_large(undone: str) -> ExplainError:
    return ExplainError(
        Reason.TABLE_TOO_LARGE,
        f"the table needs more memory than this server's setting memory_bytes: it is read in "
        f"blocks, and cannot {undone}; name fewer columns, or filter rows",
        "table",
    )
