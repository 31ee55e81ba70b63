"""Fetching process: confines itself to the network, then serves fetches, each on a thread.

Started by `fetcher`; ends with its server. Arguments: descriptor of the control socket, file of the
source list, memory in bytes.
"""

from __future__ import annotations

import importlib
import io
import logging
import os
import socket
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table

from onnxplain_server.adapters.network_processes import confined_process
from onnxplain_server.adapters.network_processes.socket_frames import BrokenError, pack_error, send
from onnxplain_server.adapters.sources.connections.guard import Guard
from onnxplain_server.adapters.sources.fetch_protocol import (
    PART_BYTES,
    FetchKind,
    FetchRequest,
    PartKind,
    ask_whether_cached,
    receive_parts,
    receive_range,
    receive_request,
)
from onnxplain_server.adapters.sources.fetching import Fetching
from onnxplain_server.adapters.sources.source_list import (
    SourceEntry,
    SourceList,
    read_source_list,
)
from onnxplain_server.adapters.sources.stores import tls_context
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.sources import SourceBlocks
from onnxplain_server.wire.requests.needed_columns import NeededColumns

LOG = logging.getLogger(__name__)

_THREAD_COUNT = 64
_TOKEN_VARIABLES = (
    *("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
    *("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT"),
)
_LIBRARIES = (
    *("encodings.idna", "encodings.punycode", "encodings.utf_16", "encodings.latin_1"),
    *("pyarrow.acero", "pyarrow.compute", "pyarrow.csv", "pyarrow.dataset"),
    *("pyarrow.fs", "pyarrow.ipc", "pyarrow.parquet", "pyarrow.vendored.version"),
    *("obstore.exceptions", "obstore.store", "yaml"),
)


def main() -> None:
    """Serve until the server closes the control socket."""
    control = confined_process.begin()
    sources = read_source_list(Path(sys.argv[2]))
    guard = Guard()
    _preload(sources)
    ports, files = _exceptions(sources, guard.port)
    missing = confined_process.confine_to_network(int(sys.argv[3]), _THREAD_COUNT, ports, files)
    guard.start()
    confined_process.serve(control, missing, 1, partial(_serve, Fetching(sources, guard)))


def _serve(fetching: Fetching, end: socket.socket) -> None:
    """Answer one request; a server that has gone is ignored."""
    with end, suppress(BrokenError):
        kind, content = _answer(end, receive_request(end), fetching)
        send(end, kind, 0, content)
    pa.default_memory_pool().release_unused()


def _answer(
    end: socket.socket, request: FetchRequest, fetching: Fetching
) -> tuple[PartKind, bytes]:
    """Fetch, sending the content on the way; return kind and content of the last part."""
    try:
        return PartKind.DONE, _fetch(end, request, fetching)
    except ExplainError as error:
        return PartKind.ERROR, pack_error(error)
    except MemoryError:
        message = (
            "the file needs more memory than there is for fetching; read fewer rows or columns"
        )
        return PartKind.ERROR, pack_error(ExplainError(Reason.OUT_OF_MEMORY, message))
    except BrokenError:
        raise
    except Exception:
        LOG.exception("a fetch failed unexpectedly")
        message = "the server failed to fetch; its log has details"
        return PartKind.ERROR, pack_error(ExplainError(Reason.INTERNAL, message))


def _fetch(end: socket.socket, request: FetchRequest, fetching: Fetching) -> bytes:
    match request.kind:
        case FetchKind.WRITE:
            fetching.write(request.message.decode(), request.content, request.seconds)
            return b""
        case FetchKind.WRITE_PARTS:
            fetching.write(request.message.decode(), receive_parts(end), request.seconds)
            return b""
        case FetchKind.MODEL:
            model = Model.FromString(request.message)
            content, receipt = fetching.read_model(
                model, request.byte_limit, request.seconds, partial(ask_whether_cached, end)
            )
            if content is not None:
                Sink(end).write(content)
        case FetchKind.TABLE:
            table = Table.FromString(request.message)
            receipt = fetching.read_table(
                *(table, NeededColumns(request.needs), Sink(end)),
                byte_limit=request.byte_limit,
                seconds=request.seconds,
                memory_bytes=request.memory_bytes,
                in_blocks=lambda blocks: send(end, PartKind.BLOCKS, 0, blocks.pack()),
            )
        case FetchKind.RANGES:
            blocks = SourceBlocks.unpack(request.message)
            with fetching.reading(blocks, request.seconds) as read:
                while True:
                    send(end, PartKind.CONTENT, 0, read(*receive_range(end)))
    return bytes(receipt.SerializeToString())


class Sink(io.RawIOBase):
    """File to write that sends parts of the content."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, content: Any) -> int:
        """Send a buffer in parts."""
        view = memoryview(content).cast("B")
        for start in range(0, len(view), PART_BYTES):
            send(self._end, PartKind.CONTENT, 0, view[start : start + PART_BYTES])
        return len(view)


def load_libraries() -> None:
    """Import what is imported on use elsewhere."""
    for name in _LIBRARIES:
        importlib.import_module(name)


def _preload(sources: SourceList) -> None:
    """Import, and read, all that is out of reach later; start no thread, which would stay free."""
    load_libraries()
    for entry in sources.entries:
        tls_context(entry.ca_file)


def _exceptions(sources: SourceList, guard_port: int) -> tuple[set[int], set[Path]]:
    """Return the ports and files that are left: no more than the list asks for."""
    entries = sources.entries
    ports = {guard_port, *(entry.address[2] for entry in entries)}
    # Folders, because secrets of Kubernetes are replaced as a whole.
    files = {Path(entry.credentials_file).parent for entry in entries if entry.credentials_file}
    if any(_has_identity(entry) for entry in entries):
        ports |= {confined_process.HTTP_PORT, confined_process.HTTPS_PORT}
        named = (os.environ.get(name) for name in _TOKEN_VARIABLES)
        files |= {Path(name).parent for name in named if name and name.startswith("/")}
    return ports, files


def _has_identity(entry: SourceEntry) -> bool:
    return entry.identity == "platform"


if __name__ == "__main__":
    main()
