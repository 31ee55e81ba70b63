"""REST server: its stop with replies that nobody reads."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from pathlib import Path

from onnxplain_server.transport.admission.size_limits import BodyLimits
from onnxplain_server.transport.rest.origin_policy import OriginPolicy
from onnxplain_server.transport.rest.rest_server import RestServer

PATIENCE = 120.0
REPLY_BYTES = 2**24


def large(_environment, start_response) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Length", str(REPLY_BYTES))])
    return [bytes(REPLY_BYTES)]


def deleted_files() -> set[str]:
    """Open files without a name, as temporary ones are."""
    links = [Path(f"/proc/self/fd/{file.name}") for file in Path("/proc/self/fd").iterdir()]
    return {str(link) for link in links if link.is_symlink() and "deleted" in str(link.readlink())}


def test_a_stop_closes_the_files_of_replies_that_nobody_reads() -> None:
    before = deleted_files()
    server = RestServer(
        large,
        "REST",
        "127.0.0.1",
        0,
        thread_count=1,
        body_limits=BodyLimits(1_000),
        origin_policy=OriginPolicy.of(None, None),
        response_bytes=REPLY_BYTES,
    )
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**12)
        reader.settimeout(PATIENCE)
        reader.connect(("127.0.0.1", server.port))
        reader.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert reader.recv(15) == b"HTTP/1.1 200 OK"

        server.stop(0)

        assert deleted_files() == before
