"""Histories of runs that never were, and servers behind proxies."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from rig import answers, history
from rig.history import Call, Writer
from rig.proxy import Network, Proxy
from rig.run import Run

ANSWER = {"explanations": [{"values": [1.0, 2.5]}], "receipt": {"seed": 3}}
CASE = "00-a_model-interactions-0"


class Past:
    """A run's folder, which tests fill."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "answers").mkdir()
        asked = Run(seconds=600, seed=0, clients=1, start=0.0, end=600.0, exit_codes=(0, 0))
        (folder / "run.json").write_text(json.dumps(asdict(asked)))
        (folder / "reference.jsonl").write_text(json.dumps([CASE, ANSWER]) + "\n")

    def write(self, file: str, *lines: Any) -> None:
        """Append lines to one of its files."""
        writer = Writer(self.folder / file)
        for line in lines:
            writer.write(line)
        writer.close()

    def call(self, **given: Any) -> None:
        """Append a call that was to be answered within a minute, and failed unless told."""
        usual: dict[str, Any] = {
            "surface": "grpc", "manner": "whole", "case": CASE, "start": 100.0, "end": 101.0,
            "outcome": "error", "origin": "server", "seconds": 60.0,
        }  # fmt: skip
        self.write("calls-00.jsonl", Call(**(usual | given)))

    def answer(self, document: dict[str, Any], **given: Any) -> None:
        """Append a call with its answer."""
        name = answers.digest(document)
        history.keep(self.folder, name, answers.text(document))
        self.call(outcome="answer", digest=name, **given)


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path)


@pytest.fixture
def right() -> dict[str, Any]:
    """The right answer to the one question of these runs."""
    return json.loads(json.dumps(ANSWER))  # type: ignore[no-any-return] # a copy of a dict


@pytest.fixture
def network(echo: int) -> Iterator[Network]:
    """Proxies, whose connections end before the server that they lead to."""
    made = Network()
    yield made
    made.close()


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that sends back what comes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_serve, args=(server,))
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def _serve(server: socket.socket) -> None:
    threads = []
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            break
        threads.append(threading.Thread(target=_answer, args=(connection,)))
        threads[-1].start()
    for thread in threads:
        thread.join()


def _answer(connection: socket.socket) -> None:
    with connection:
        try:
            while piece := connection.recv(2**14):
                connection.sendall(piece)
        except OSError:
            pass  # a proxy that ends connections is what is tested


@pytest.fixture
def proxy(network: Network, echo: int) -> Proxy:
    return network.proxy(0, echo)


@pytest.fixture
def connect(proxy: Proxy) -> Iterator[Callable[[], socket.socket]]:
    """Connects to the proxy; a reply may take long on a busy machine."""
    made: list[socket.socket] = []

    def new() -> socket.socket:
        made.append(socket.create_connection(("127.0.0.1", proxy.port), timeout=60))
        return made[-1]

    yield new
    for each in made:
        each.close()
