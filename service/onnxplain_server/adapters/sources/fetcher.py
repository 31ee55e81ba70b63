"""Fetcher: `Sources` of a server, which lets a process of its own fetch.

The process is started at the first fetch, and again after it ended.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from google.protobuf.message import DecodeError
from onnxplain.v1.explanation_service_pb2 import Receipt
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table

from onnxplain_server.adapters.sources import fetch_protocol as protocol
from onnxplain_server.adapters.sources.canonical_uri import canonical
from onnxplain_server.adapters.sources.fetch_protocol import (
    FetchBrokenError,
    FetchKind,
    FetchRequest,
)
from onnxplain_server.adapters.sources.source_list import (
    SourceList,
    SourceListError,
    read_source_list,
)
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.sources import FetchControl, FetchedFile

LOG = logging.getLogger(__name__)

LIBRARIES = ("obstore", "yaml")
"""What the extra `sources` brings."""

_MODULE = "onnxplain_server.adapters.sources.fetch_process"
_READY = b"ready "
_TICK_MILLISECONDS = 50
_START_SECONDS = 120.0
_SECONDS_LIMIT = 86_400.0
_MODEL_FIELD = "model.uri"


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

    Raises
    ------
    SourceListError
        If the list is not usable, or a library is missing.
    """

    def __init__(self, path: Path, memory_bytes: int, *, is_confined: bool) -> None:
        self._sources = read_source_list(path)
        missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
        if missing:
            raise SourceListError(
                f"{' and '.join(missing)} is not installed: install onnxplain-server[sources]"
            )
        self._path = path
        self._memory_bytes = memory_bytes
        self._is_confined = is_confined
        self._lock = threading.Lock()
        self._process: _FetchProcess | None = None

    def read_model(self, message: bytes, byte_limit: int, control: FetchControl) -> FetchedFile:
        """Fetch a model; see `Sources.read_model`."""
        model = Model.FromString(message)
        check_listed(self._sources, [(model.uri, _MODEL_FIELD)])
        request = FetchRequest(FetchKind.MODEL, message, byte_limit, _seconds(control))
        return self._fetch(request, control)

    def read_table(
        self,
        message: bytes,
        request: bytes,
        features: tuple[str, ...],
        byte_limit: int,
        control: FetchControl,
    ) -> FetchedFile:
        """Fetch a table; see `Sources.read_table`."""
        check_listed(self._sources, table_addresses(message))
        asked = FetchRequest(
            FetchKind.TABLE, message, byte_limit, _seconds(control), request, features
        )
        return self._fetch(asked, control)

    def write(self, uri: str, content: bytes, control: FetchControl) -> None:
        """Write a result; see `Sources.write`."""
        self.check_writable(uri)
        request = FetchRequest(FetchKind.WRITE, uri.encode(), 0, _seconds(control), content)
        self._fetch(request, control)

    def check_writable(self, uri: str) -> None:
        """Raise where a result may not be written there; see `Sources.check_writable`."""
        target = canonical(uri, "result_uri")
        self._sources.find(target, "result_uri", for_writing=True)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._process is not None:
                self._process.close()

    def _fetch(self, request: FetchRequest, control: FetchControl) -> FetchedFile:
        process = self._running(control)
        try:
            with process.connect() as end:
                protocol.send_request(end, request)
                return _receive(end, request.byte_limit, control)
        except (OSError, FetchBrokenError):
            process.close()
            raise ExplainError(
                Reason.SOURCE_UNAVAILABLE,
                "the process that fetches ended; repeat the request",
            ) from None

    def _running(self, control: FetchControl) -> _FetchProcess:
        """Return the process, started anew where there is none."""
        with self._lock:
            if self._process is None or not self._process.is_alive:
                self._process = _FetchProcess(self._path, self._memory_bytes, control)
                self._check_protections(self._process)
            return self._process

    def _check_protections(self, process: _FetchProcess) -> None:
        if not process.missing:
            return
        LOG.warning("the fetching process lacks protections: %s", ", ".join(process.missing))
        if self._is_confined:
            process.close()
            raise ExplainError(
                Reason.SOURCE_UNAVAILABLE,
                "this server cannot confine its fetching process, and its setting isolation is "
                "require; tell the operator",
            )


def check_listed(sources: SourceList, addresses: list[tuple[str, str]]) -> None:
    """Raise where an address is malformed or not listed, before any process is asked."""
    for uri, field in addresses:
        sources.find(canonical(uri, field), field)


def table_addresses(message: bytes) -> list[tuple[str, str]]:
    """Return the addresses of a serialised Table with their fields; INVALID_REQUEST without any."""
    try:
        uris = Table.FromString(message).uris.uris
    except DecodeError:
        uris = None
    if not uris:
        fault = "table.uris must name at least one address"
        raise ExplainError(Reason.INVALID_REQUEST, fault, "table.uris.uris")
    return [(uri, f"table.uris.uris[{index}]") for index, uri in enumerate(uris)]


class _FetchProcess:
    """Running process.

    Attributes
    ----------
    missing : tuple of str
        Protections that the kernel lacks.
    """

    def __init__(self, path: Path, memory_bytes: int, control: FetchControl) -> None:
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, tempfile.TemporaryDirectory() as empty:
            self._process = _start(theirs.fileno(), path.absolute(), memory_bytes, empty)
            theirs.close()
            try:
                self.missing = self._wait_ready(control)
            except BaseException:
                self.close()
                raise

    @property
    def is_alive(self) -> bool:
        """True until the process ends."""
        return self._process.poll() is None

    def connect(self) -> socket.socket:
        """Return a socket for one fetch."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                with self._lock:
                    socket.send_fds(self._control, [b"F"], [theirs.fileno()])
            except BaseException:
                ours.close()
                raise
        return ours

    def close(self) -> None:
        """Kill it."""
        with suppress(OSError):
            self._control.close()
        self._process.kill()
        self._process.wait()

    def _wait_ready(self, control: FetchControl) -> tuple[str, ...]:
        end = time.monotonic() + _START_SECONDS
        while not _is_readable(self._control):
            control.check("while the fetching process started")
            if time.monotonic() > end:
                raise _not_started()
        content = self._control.recv(256)
        if not content.startswith(_READY):
            raise _not_started()
        return tuple(content[len(_READY) :].decode("ascii", "replace").split())


def _not_started() -> ExplainError:
    LOG.error("the fetching process did not start; its messages stand above")
    message = "the process that fetches cannot be started; tell the operator"
    return ExplainError(Reason.SOURCE_UNAVAILABLE, message)


def _start(control: int, path: Path, memory_bytes: int, folder: str) -> subprocess.Popen[bytes]:
    search = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry)
    arguments = [str(control), str(path), str(memory_bytes)]
    return subprocess.Popen(  # noqa: S603 - our own module, by our own interpreter
        [sys.executable, "-P", "-m", _MODULE, *arguments],
        env={**protocol.environment(os.environ), "PYTHONPATH": search},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[control],
        start_new_session=True,
    )


def _receive(end: socket.socket, byte_limit: int, control: FetchControl) -> FetchedFile:
    """Receive the content, of at most so many bytes, and the receipt."""
    content = bytearray()
    while True:
        while not _is_readable(end):
            control.check("while the source was read")
        kind, length = protocol.receive_header(end)
        part = protocol.receive_content(end, length)
        if kind == b"E":
            raise protocol.unpack_error(part)
        if kind == b"D":
            return FetchedFile(content, _receipt(part))
        content += part
        if len(content) > byte_limit:
            raise FetchBrokenError


def _receipt(content: bytearray) -> bytes:
    """Return a serialised Receipt that has sources alone."""
    try:
        receipt = Receipt.FromString(bytes(content))
    except DecodeError:
        raise FetchBrokenError from None
    return bytes(Receipt(sources=receipt.sources).SerializeToString())


def _is_readable(end: socket.socket) -> bool:
    poll = select.poll()
    poll.register(end, select.POLLIN)
    return bool(poll.poll(_TICK_MILLISECONDS))


def _seconds(control: FetchControl) -> float:
    return max(0.1, min(control.deadline - time.monotonic(), _SECONDS_LIMIT))
