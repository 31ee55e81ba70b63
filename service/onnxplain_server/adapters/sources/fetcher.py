"""Fetcher: `Sources` of a server, which lets a process of its own fetch.

The process is started at the first fetch, and again after it ended: damaged files can end it, since
the libraries that read them are written in C++. Fetches that it served then are repeated, each in a
process of its own, so that one damaged file fails no other fetch.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from onnxplain.v1.model_pb2 import Model

from onnxplain_server.adapters.network_processes.clocked_lock import held
from onnxplain_server.adapters.network_processes.list_file import ListError
from onnxplain_server.adapters.network_processes.network_process import (
    NetworkProcess,
    ProcessProgram,
    is_readable,
)
from onnxplain_server.adapters.network_processes.socket_frames import (
    BrokenError,
    receive_exactly,
    receive_header,
    receive_onto,
    unpack_error,
)
from onnxplain_server.adapters.sources import fetch_protocol as protocol
from onnxplain_server.adapters.sources.cache_lookup import CacheLookup
from onnxplain_server.adapters.sources.canonical_uri import (
    RESULT_FIELD,
    canonical,
    canonical_result,
)
from onnxplain_server.adapters.sources.fetch_protocol import (
    ANSWERED,
    FetchKind,
    FetchRequest,
    PartKind,
)
from onnxplain_server.adapters.sources.named_addresses import LIBRARIES, table_addresses
from onnxplain_server.adapters.sources.range_session import RangeSession
from onnxplain_server.adapters.sources.source_list import (
    SourceList,
    read_source_list,
)
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import BLOCKS_FORM, RequestFile
from onnxplain_server.core.sources import (
    FetchControl,
    ModelCache,
    NoModelCache,
    SourceBlocks,
    TableNeeds,
)

LOG = logging.getLogger(__name__)

_SECONDS_LIMIT = 86_400.0
_WAIT_SECONDS = 0.05
_NO_CACHE = NoModelCache()
_MODEL_FIELD = "model.uri"
_WRITING = "while the result was written"
_WRITES = {FetchKind.WRITE, FetchKind.WRITE_PARTS}


class Fetcher:
    """`Sources` of a server.

    Parameters
    ----------
    path : Path
        File of the source list.
    memory_bytes : int
        Address space of the process beyond its start.
    is_confined : bool
        Whether all protections are required.
    table_memory_bytes : int
        Tables that would need more are read in blocks; 0: none is.

    Raises
    ------
    ListError
        If the list is not usable, or a library is missing.
    """

    def __init__(
        self,
        path: Path,
        memory_bytes: int,
        *,
        is_confined: bool,
        table_memory_bytes: int = 0,
    ) -> None:
        self._table_memory_bytes = table_memory_bytes
        self._sources = read_source_list(path)
        missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
        if missing:
            raise ListError(
                f"{' and '.join(missing)} is not installed: install onnxplain-server[sources]"
            )
        self._program = ProcessProgram(
            "onnxplain_server.adapters.sources.fetch_process",
            (str(path.absolute()), str(memory_bytes)),
            protocol.environment(os.environ),
            "process that fetches",
            Reason.SOURCE_UNAVAILABLE,
        )
        self._is_confined = is_confined
        self._lock = threading.Lock()
        self._alone = threading.Lock()
        self._process: NetworkProcess | None = None

    def read_model(
        self, message: bytes, byte_limit: int, control: FetchControl, cache: ModelCache
    ) -> RequestFile:
        """Fetch a model; see `Sources.read_model`."""
        model = Model.FromString(message)
        check_listed(self._sources, [(model.uri, _MODEL_FIELD)])
        request = FetchRequest(FetchKind.MODEL, message, byte_limit, _seconds(control))
        return self._fetch(request, control, cache)

    def read_table(
        self,
        message: bytes,
        needs: TableNeeds,
        byte_limit: int,
        control: FetchControl,
    ) -> RequestFile:
        """Fetch a table; see `Sources.read_table`."""
        check_listed(self._sources, table_addresses(message))
        asked = FetchRequest(
            *(FetchKind.TABLE, message, byte_limit, _seconds(control)),
            needs=needs,
            memory_bytes=self._table_memory_bytes,
        )
        return self._fetch(asked, control)

    def write(self, uri: str, content: bytes, control: FetchControl) -> None:
        """Write a result; see `Sources.write`."""
        self.check_writable(uri)
        request = FetchRequest(FetchKind.WRITE, uri.encode(), 0, _seconds(control), content)
        self._fetch(request, control)

    def write_parts(self, uri: str, parts: Iterable[bytes], control: FetchControl) -> None:
        """Write a result as it comes; see `Sources.write_parts`.

        It comes once, so that the end of the process fails it.
        """
        self.check_writable(uri)
        request = FetchRequest(FetchKind.WRITE_PARTS, uri.encode(), 0, _seconds(control))
        try:
            with self._running(control).connect(control.deadline) as end:
                protocol.send_request(end, request)
                protocol.send_parts(end, parts, control)
                _receive(end, request, control, CacheLookup(_NO_CACHE))
        except (OSError, BrokenError):
            control.check(_WRITING)
            raise ExplainError(
                Reason.SOURCE_UNAVAILABLE,
                "the process that writes the result ended; repeat the request",
                RESULT_FIELD,
            ) from None

    def check_writable(self, uri: str) -> None:
        """Raise where a result may not be written there; see `Sources.check_writable`."""
        target = canonical_result(uri, tells_files=False)
        self._sources.find(target, RESULT_FIELD, for_writing=True)

    @contextmanager
    def reading(self, blocks: bytes | bytearray, control: FetchControl) -> Iterator[RangeSession]:
        """Read ranges of a table's files; see `BlockSources.reading`."""
        described = SourceBlocks.unpack(blocks)
        check_listed(self._sources, table_addresses(described.message))
        request = FetchRequest(FetchKind.RANGES, bytes(blocks), 0, _seconds(control))

        def connect() -> socket.socket:
            end = self._running(control).connect(control.deadline)
            protocol.send_request(end, request)
            return end

        with closing(RangeSession(described, connect, control)) as session:
            yield session

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._process is not None:
                self._process.close()

    def _fetch(
        self, request: FetchRequest, control: FetchControl, cache: ModelCache = _NO_CACHE
    ) -> RequestFile:
        process = self._running(control)
        try:
            return _served(process, request, control, cache)
        except BrokenError:
            process.close()
        control.check("while the source was read")
        while not self._alone.acquire(timeout=_WAIT_SECONDS):
            control.check("while the fetching process was started anew")
        try:
            return self._fetch_alone(request, control, cache)
        finally:
            self._alone.release()

    def _fetch_alone(
        self, request: FetchRequest, control: FetchControl, cache: ModelCache
    ) -> RequestFile:
        """Repeat a fetch whose process ended, in a process that serves nothing else."""
        seconds = _seconds(control)
        process = self._started(control)
        try:
            return _served(process, replace(request, seconds=seconds), control, cache)
        except BrokenError:
            control.check("while the source was read")
            raise _ended(request.kind) from None
        finally:
            process.close()

    def _running(self, control: FetchControl) -> NetworkProcess:
        """Return the process, started anew where there is none."""
        with held(self._lock, control):
            if self._process is None or not self._process.is_alive:
                self._process = self._started(control)
            return self._process

    def _started(self, control: FetchControl) -> NetworkProcess:
        return NetworkProcess(self._program, control, is_confined=self._is_confined)


def check_listed(sources: SourceList, addresses: list[tuple[str, str]]) -> None:
    """Raise where an address is malformed or not listed, before any process is asked."""
    for uri, field in addresses:
        sources.find(canonical(uri, field), field)


def _served(
    process: NetworkProcess, request: FetchRequest, control: FetchControl, cache: ModelCache
) -> RequestFile:
    """Have a process serve a request; BrokenError if it ends meanwhile."""
    try:
        with process.connect(control.deadline) as end:
            protocol.send_request(end, request)
            return _receive(end, request, control, CacheLookup(cache))
    except OSError:
        raise BrokenError from None


def _receive(
    end: socket.socket, request: FetchRequest, control: FetchControl, lookup: CacheLookup
) -> RequestFile:
    """Receive the content and the receipt."""
    content, form = bytearray(), "onnx" if request.kind is FetchKind.MODEL else "arrow"
    when = _WRITING if request.kind in _WRITES else "while the source was read"
    while True:
        while not is_readable(end):
            control.check(when)
        kind, _, length = receive_header(end, ANSWERED)
        if kind is PartKind.CONTENT:
            receive_onto(end, length, content)
            if len(content) > request.byte_limit:
                raise BrokenError
            continue
        part = receive_exactly(end, length)
        if kind is PartKind.ERROR:
            # What failed for lack of time is late.
            control.check(when)
            raise unpack_error(part, protocol.REASONS)
        if kind is PartKind.DONE:
            receipt = protocol.sources_only(part)
            return RequestFile(form, lookup.completed(content), receipt=receipt)
        if kind is PartKind.BLOCKS:
            content, form = part, BLOCKS_FORM
            protocol.check_blocks(part)
        if kind is PartKind.VERSION:
            protocol.answer_whether_cached(end, is_cached=lookup(protocol.unpack_version(part)))


def _ended(kind: FetchKind) -> ExplainError:
    """Return the error of a fetch that ended two processes, of which one served it alone."""
    LOG.warning("a fetch of kind %s ended the fetching process twice", kind.value)
    if kind is FetchKind.TABLE:
        return ExplainError(
            Reason.INVALID_TABLE,
            "the files of the table cannot be read: reading them ended the process that fetches, "
            "twice; a file is damaged, or needs more memory than there is for fetching",
            "table",
        )
    return ExplainError(
        Reason.SOURCE_UNAVAILABLE, "the process that fetches ended, twice; tell the operator"
    )


def _seconds(control: FetchControl) -> float:
    return max(0.1, min(control.deadline - time.monotonic(), _SECONDS_LIMIT))
