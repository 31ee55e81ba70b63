"""Calls outlast a restart of the only server, and answers that come late, in each client alike."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from harness import Runner, Server, ask

CASE = "average-loss"
"""Any that all clients ask; the answer is looked at elsewhere."""
CLOSED_COUNT = 6
"""Connections that are closed at once: more than could be outlasted by four retries."""
LATE_SECONDS = 1.0


class Front:
    """Address before a server that closes its first connections, as one that restarts, or is late.

    Parameters
    ----------
    port : int
        Of the server.
    closed_count : int
    delay : float
        Seconds before what the server sends is passed on.
    """

    def __init__(self, port: int, closed_count: int, delay: float) -> None:
        self._port, self._left, self._delay = port, closed_count, delay
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def close(self) -> None:
        """End it, with its connections."""
        self._over.set()
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port)).close()
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        with ExitStack() as ends:
            while not self._over.is_set():
                connection = self._listener.accept()[0]
                if self._left:
                    self._left -= 1
                    connection.close()
                    continue
                ends.enter_context(connection)
                server = ends.enter_context(socket.create_connection(("127.0.0.1", self._port)))
                for given in ((connection, server, 0.0), (server, connection, self._delay)):
                    threading.Thread(target=self._pass_on, args=given, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, delay: float) -> None:
        with suppress(OSError, ValueError), selectors.DefaultSelector() as selector:
            selector.register(source, selectors.EVENT_READ)
            while not self._over.is_set():
                if not selector.select(0.1):
                    continue
                if not (part := source.recv(2**16)):
                    break
                self._over.wait(delay)
                target.sendall(part)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)


@contextmanager
def behind(server: Server, closed_count: int, delay: float) -> Iterator[Server]:
    """Put a `Front` before the ports of a server."""
    fronts = [Front(port, closed_count, delay) for port in (server.rest_port, server.grpc_port)]
    try:
        yield replace(server, rest_port=fronts[0].port, grpc_port=fronts[1].port)
    finally:
        for front in fronts:
            front.close()


@pytest.mark.parametrize(
    ("closed_count", "delay"), [(CLOSED_COUNT, 0.0), (0, LATE_SECONDS)], ids=["restarts", "is late"]
)
def test_a_call_outlasts_a_server_that(
    server: Server, client: Runner, closed_count: int, delay: float, tmp_path: Path
) -> None:
    if client.name == "TypeScript, REST" and closed_count:
        pytest.skip("Node's fetch ends the process where a connection ends before a form is sent")
    with behind(server, closed_count, delay) as front:
        found = ask(client, front, tmp_path, [CASE])[CASE]

    assert "error" not in found
