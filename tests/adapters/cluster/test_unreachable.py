"""Dask clusters that are not there: told at once, with the address."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest
from onnxplain_server.core.errors import ExplainError, Reason

from tools.ports import free_port

dask_client = pytest.importorskip(
    "onnxplain_server.adapters.cluster.dask_client", reason="needs the extra dask"
)


@pytest.mark.parametrize("host", ["127.0.0.1", "scheduler.invalid"])
def test_a_scheduler_that_is_not_there_is_told_before_dask_tries_for_long(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_client, "Client", lambda *_given, **_options: pytest.fail("asked"))
    address = f"tcp://{host}:{free_port()}"

    with pytest.raises(ExplainError, match="cannot be reached") as caught:
        dask_client.connect(address)

    assert caught.value.reason is Reason.UNAVAILABLE
    assert address in caught.value.message


def nothing(_end: socket.socket) -> None:
    """Say nothing, and listen."""


def http(end: socket.socket) -> None:
    end.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def hang_up(end: socket.socket) -> None:
    end.close()


@pytest.mark.parametrize("answer", [nothing, http, hang_up])
def test_what_is_no_scheduler_is_told_before_dask_tries_for_long(
    answer: Callable[[socket.socket], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_client, "Client", lambda *_given, **_options: pytest.fail("asked"))
    monkeypatch.setattr(dask_client, "_REACH_SECONDS", 0.5)
    ends: list[socket.socket] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                ends.append(listener.accept()[0])
                answer(ends[-1])

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(ExplainError, match="does not answer as one") as caught:
            dask_client.connect(address)
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(60)
    for end in ends:
        end.close()

    assert caught.value.reason is Reason.UNAVAILABLE
    assert address in caught.value.message
