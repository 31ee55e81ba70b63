"""Connections to REST: how many are kept, and which."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
from onnxplain_server.transport import rest_crowd

PATIENCE = 60.0
COUNT = 8
SLOW = b"GET /livez HTTP/1.1\r\nX-Slow: "


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_crowd, "CONNECTION_COUNT", COUNT)


def connect(client: Any, address: str, sent: bytes = b"") -> socket.socket:
    made = socket.create_connection(
        ("127.0.0.1", client.server.rest_port), timeout=PATIENCE, source_address=(address, 0)
    )
    made.sendall(sent)
    return made


def channels(client: Any) -> list[Any]:
    return list(client.server._rest._server.active_channels.values())


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.usefixtures("few")
def test_row_35_the_address_with_most_connections_loses_its_oldest(
    start: Any, make_runner: Any
) -> None:
    client = start(make_runner())
    ada = connect(client, "127.0.0.2")
    of_eve = []
    for _ in range(COUNT + 3):
        of_eve.append(connect(client, "127.0.0.3", SLOW))
        wait_until(lambda: len(channels(client)) >= min(len(of_eve) + 1, COUNT))

    for closed in of_eve[:4]:
        assert closed.recv(1) == b""
    for kept in (ada, *of_eve[4:]):
        kept.sendall(b"\r\n\r\n" if kept is not ada else b"GET /livez HTTP/1.1\r\n\r\n")
        assert kept.recv(2**16).startswith(b"HTTP/1.1 200")
        kept.close()
    for closed in of_eve[:4]:
        closed.close()


@pytest.mark.usefixtures("few")
def test_row_35_a_request_that_is_worked_on_keeps_its_connection(
    start: Any, make_runner: Any, endless: Any
) -> None:
    runner = make_runner(endless)
    client = start(runner)
    body = b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    working = connect(client, "127.0.0.3", b"POST /v1/explanations HTTP/1.1\r\n" + body)
    assert runner.started.acquire(timeout=PATIENCE)

    idle = [connect(client, "127.0.0.3") for _ in range(2 * COUNT)]

    wait_until(lambda: len(channels(client)) <= COUNT)
    assert [channel for channel in channels(client) if channel.requests]
    for each in (working, *idle):
        each.close()
    assert runner.ended.acquire(timeout=PATIENCE)


def test_row_35_idle_connections_are_closed(
    start: Any, make_runner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest_crowd, "_IDLE_SECONDS", 0.5)
    client = start(make_runner())

    with connect(client, "127.0.0.1") as idle, connect(client, "127.0.0.1", SLOW) as half:
        assert idle.recv(1) == b""
        assert half.recv(1) == b""


def test_row_35_who_sends_all_the_time_and_yet_too_little_is_closed(
    start: Any, make_runner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest_crowd, "_IDLE_SECONDS", 1.0)
    client = start(make_runner())

    def drip() -> None:
        wait_until(lambda: bool(slow.send(b"a")) and False)

    with connect(client, "127.0.0.1", SLOW) as slow, pytest.raises(OSError, match=r"pipe|reset"):
        drip()


def test_row_46_connections_are_kept_when_the_clock_of_the_wall_jumps(
    start: Any, make_runner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = start(make_runner())
    connection = connect(client, "127.0.0.1", SLOW)
    wait_until(lambda: bool(channels(client)))
    jumped = time.time() + 1e6

    monkeypatch.setattr(time, "time", lambda: jumped)
    for _ in range(5):
        assert client.rest("GET", "/livez").status == 200

    connection.sendall(b"\r\n\r\n")
    assert connection.recv(2**16).startswith(b"HTTP/1.1 200")
    connection.close()
