"""Connection limit of REST: idle timeouts, and which connections are closed."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Any

import pytest
from onnxplain_server.core.request import Reply
from onnxplain_server.transport.rest import rest_server
from onnxplain_server.transport.rest.connections import (
    connection_limit,
    request_parser,
    waitress_channel,
)

from tools.waiting import until

PATIENCE = 120.0
COUNT, ACCEPT_LIMIT = 8, 1
SLOW = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
PATHS = b"openapi.json", b"livez"
PROBE = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limit, "CONNECTION_LIMIT", COUNT)
    monkeypatch.setattr(connection_limit, "ACCEPT_LIMIT", ACCEPT_LIMIT)
    monkeypatch.setattr(rest_server, "ACCEPT_LIMIT", ACCEPT_LIMIT)


@pytest.fixture
def connect() -> Iterator[Callable[..., socket.socket]]:
    """Connect to REST from an address and send something; closed in the end."""
    with ExitStack() as opened:

        def make(client, address: str, sent: bytes = b"") -> socket.socket:
            server = ("127.0.0.1", client.server.rest_port)
            made = socket.create_connection(server, PATIENCE, source_address=(address, 0))
            opened.enter_context(made).sendall(sent)
            return made

        yield make


def is_answered(connection: socket.socket) -> bool:
    return connection.recv(2**16).startswith(b"HTTP/1.1 200")


def channels(client) -> list[Any]:
    return list(client.server._rest._server.active_channels.values())


def received(client) -> list[int]:
    """Bytes of the requests that are on their way."""
    return [channel.byte_count for channel in channels(client) if channel.request is not None]


@contextmanager
def paused(client) -> Iterator[None]:
    """Let the loop of the server stand still."""
    limit = client.server._rest._connection_limit
    enforce = limit.enforce
    stands, goes_on = threading.Event(), threading.Event()

    def wait(open_) -> None:
        stands.set()
        assert goes_on.wait(PATIENCE)
        enforce(open_)

    limit.enforce = wait
    client.server._rest._server.pull_trigger()
    assert stands.wait(PATIENCE)
    yield
    limit.enforce = enforce
    goes_on.set()


@pytest.mark.usefixtures("few")
def test_the_address_with_most_connections_loses_its_oldest(start, make_runner, connect) -> None:
    client = start(make_runner())
    ada = connect(client, "127.0.0.2")
    of_eve = []
    for _ in range(COUNT + 3):
        of_eve.append(connect(client, "127.0.0.3", SLOW))
        until(lambda: len(channels(client)) >= min(len(of_eve) + 1, COUNT))

    for closed in of_eve[:4]:
        assert closed.recv(1) == b""
    for kept in (ada, *of_eve[4:]):
        kept.sendall(b"\r\n\r\n" if kept is not ada else PROBE)
        assert is_answered(kept)


@pytest.mark.usefixtures("few")
def test_a_connection_that_came_after_slow_ones_outlives_them_though_it_sends_after_them(
    start, make_runner, connect
) -> None:
    client = start(make_runner())
    slow = [connect(client, "127.0.0.1") for _ in range(COUNT - 1)]
    late = connect(client, "127.0.0.1")
    until(lambda: len(channels(client)) == COUNT)
    for connection in slow:
        connection.sendall(SLOW)
    until(lambda: received(client) == [len(SLOW)] * len(slow))

    another = connect(client, "127.0.0.1", PROBE)

    assert is_answered(another)
    assert slow[0].recv(1) == b""
    late.sendall(PROBE)
    assert is_answered(late)


@pytest.mark.usefixtures("few")
def test_all_requests_are_answered_of_more_connections_at_once_than_are_kept(
    start, make_runner, connect
) -> None:
    client = start(make_runner())
    with paused(client):
        probes = [connect(client, "127.0.0.1", PROBE) for _ in range(3 * COUNT)]

    assert [is_answered(probe) for probe in probes] == [True] * len(probes)


UNREAD_BYTES = 2**24


@dataclass(eq=False)
class Connection:
    """What decides whether a connection is kept."""

    accepted: float
    last_active: float = 0.0
    request_start: float = 0.0
    address: str = "127.0.0.1"
    requests: Sequence[object] = ()
    total_outbufs_len: int = 0
    request: object | None = None
    request_count: int = 0
    byte_count: int = 0
    reply_start: float = 0.0
    reply_byte_count: int = 0
    will_close: bool = False
    is_discarded: bool = False

    @property
    def caller_key(self) -> tuple[str, str]:
        return "anonymous", self.address

    @property
    def waiting_byte_count(self) -> int:
        return self.total_outbufs_len + (0 if self.request is None else self.byte_count)

    def discard(self) -> None:
        self.is_discarded = True

    def refuse_late(self, now: float) -> None:
        """Have no deadline."""


def enforce(limit: connection_limit.ConnectionLimit, connections) -> None:
    """Have a limit look at connections without sockets."""
    limit.enforce(connections)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("held", [{"requests": ["asked"]}, {"total_outbufs_len": 1}])
def test_the_newest_connection_is_kept_where_all_others_are_worked_on(held) -> None:
    working = [Connection(number, **held) for number in range(COUNT)]
    newest, newer = Connection(COUNT), Connection(COUNT + 1)

    enforce(connection_limit.ConnectionLimit(UNREAD_BYTES), [*working, newest])
    assert not newest.will_close

    enforce(connection_limit.ConnectionLimit(UNREAD_BYTES), [*working, newest, newer])
    assert newest.will_close
    assert not newer.will_close


@pytest.mark.usefixtures("few")
def test_a_request_that_is_worked_on_keeps_its_connection(
    start, make_runner, connect, endless
) -> None:
    runner = make_runner(endless)
    client = start(runner)
    head = b"POST /v1/explanations HTTP/1.1\r\nHost: localhost\r\n"
    body = b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    working = connect(client, "127.0.0.3", head + body)
    assert runner.started.acquire(timeout=PATIENCE)

    idle = [connect(client, "127.0.0.3") for _ in range(2 * COUNT)]
    for closed in idle[: COUNT + 1]:
        assert closed.recv(1) == b""

    until(lambda: len(channels(client)) == COUNT)
    assert [channel for channel in channels(client) if channel.requests]
    working.close()
    assert runner.ended.acquire(timeout=PATIENCE)


class Clock:
    """A monotonic clock that moves only when it is put forward."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (connection_limit, request_parser, waitress_channel):
        monkeypatch.setattr(module, "time", made)
    return made


def test_connections_are_closed_that_idle_for_15_seconds(
    start, make_runner, connect, clock: Clock
) -> None:
    client = start(make_runner())
    idle, half = connect(client, "127.0.0.1"), connect(client, "127.0.0.1", SLOW)
    until(lambda: len(channels(client)) == 2 and bool(received(client)))

    clock.now = 16.0

    assert idle.recv(1) == b""
    assert half.recv(1) == b""


def test_a_connection_is_closed_that_sends_all_the_time_and_yet_too_little(
    start, make_runner, connect, clock: Clock
) -> None:
    client = start(make_runner())
    slow = connect(client, "127.0.0.1", SLOW)
    until(lambda: received(client) == [len(SLOW)])
    clock.now = 10.0
    slow.send(b"a")
    until(lambda: received(client) == [len(SLOW) + 1])

    clock.now = 20.0

    assert slow.recv(1) == b""


@pytest.mark.parametrize(("byte_count", "is_closed"), [(5 * 2**16 - 1, True), (5 * 2**16, False)])
def test_a_request_has_a_second_more_for_each_64_kib(
    clock: Clock, byte_count: int, is_closed: bool
) -> None:
    limit = connection_limit.ConnectionLimit(UNREAD_BYTES)
    upload = Connection(accepted=0.0, last_active=20.0, request=object(), byte_count=byte_count)

    clock.now = 20.0
    enforce(limit, [upload])

    assert upload.will_close is is_closed


@pytest.mark.parametrize("requests", [[], ["at work"]])
@pytest.mark.parametrize(("byte_count", "is_closed"), [(5 * 2**16 - 1, True), (5 * 2**16, False)])
def test_a_reply_may_be_read_for_a_second_more_for_each_64_kib(
    clock: Clock, byte_count: int, is_closed: bool, requests: Sequence[object]
) -> None:
    """Also while its connection has a request at work, like a stream or the next request."""
    limit = connection_limit.ConnectionLimit(UNREAD_BYTES)
    reader = Connection(
        accepted=0.0,
        last_active=20.0,
        requests=requests,
        total_outbufs_len=1,
        reply_byte_count=byte_count,
    )

    clock.now = 20.0
    enforce(limit, [reader])

    assert reader.will_close is is_closed


def test_the_caller_with_most_unread_bytes_makes_room_for_others(clock: Clock) -> None:
    """The one without traffic for longest first, and no more than it needs."""
    clock.now = 10.0
    kinds = {"total_outbufs_len": 4 * 2**20}, {"request": object(), "byte_count": 4 * 2**20}
    full = [Connection(5.0, 9.0 - i, address="10.0.0.1", **kinds[i % 2]) for i in range(3)]
    other = Connection(5.0, 1.0, address="10.0.0.2", total_outbufs_len=7 * 2**20)

    limit = connection_limit.ConnectionLimit(UNREAD_BYTES)
    enforce(limit, [*full, other])

    assert [each.is_discarded for each in full] == [False, False, True]
    assert not other.is_discarded
    assert (limit.byte_count, limit.dropped_count) == (15 * 2**20, 1)


def test_a_caller_is_refused_before_the_work_whose_replies_take_half_of_the_limit(
    start, make_runner, connect
) -> None:
    """Over REST; other callers, and a caller who reads, are answered."""
    runner = make_runner()
    runner.answer = lambda *_given: Reply((b'{"summary": ["' + b"a" * 5 * 2**24 + b'"]}',))
    client = start(runner, unread_disk_bytes=2**27)
    asked = (
        b"POST /v1/explanations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 2\r\n\r\n{}"
    )

    reader = connect(client, "127.0.0.2", asked)
    until(lambda: client.server._connection_limit.byte_count >= 2**26)
    refused, other = (connect(client, f"127.0.0.{n}", asked) for n in (2, 3))

    assert refused.recv(2**16).startswith(b"HTTP/1.1 429")
    assert other.recv(2**16).startswith(b"HTTP/1.1 200")
    reader.close()
    until(lambda: is_answered(connect(client, "127.0.0.2", asked)))


def test_bodies_of_requests_at_work_count_as_what_waits_for_a_caller(
    start, make_runner, connect, endless
) -> None:
    """Its next request is refused before its work; another caller's is not."""
    runner = make_runner(endless)
    limits = ("message", "response", "model", "table")
    client = start(
        runner, unread_disk_bytes=2**21, **{f"max_{name}_bytes": 2**21 for name in limits}
    )
    head = (
        b"POST /v1/explanations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    )
    large = head + b"Content-Length: %d\r\n\r\n{%s}" % (2**20 + 2, b" " * 2**20)
    small = head + b"Content-Length: 2\r\n\r\n{}"

    working = connect(client, "127.0.0.2", large)
    assert runner.started.acquire(timeout=PATIENCE)
    until(lambda: client.server._connection_limit.byte_count > 2**20)

    refused = HTTPResponse(connect(client, "127.0.0.2", small))
    refused.begin()
    assert refused.status == 429
    assert b"bodies of your requests" in refused.read()
    connect(client, "127.0.0.3", small)
    assert runner.started.acquire(timeout=PATIENCE)
    working.close()
    assert runner.ended.acquire(timeout=PATIENCE)
    until(lambda: client.server._connection_limit.byte_count < 2**20)


def test_requests_behind_replies_that_are_not_read_wait(
    start, make_runner, connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They begin once the replies are read, and keep no thread until then."""
    monkeypatch.setattr(rest_server, "_BUFFER_BYTES", 2**16)
    client = start(make_runner())
    asked, last = (b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path for path in PATHS)
    reader = connect(client, "127.0.0.1", asked * 60 + last)
    until(lambda: len(channels(client)) == 1)
    (channel,) = channels(client)
    pool = client.server._rest._server.task_dispatcher
    until(lambda: channel._is_held and not pool.active_count)

    assert channel.requests
    assert channel.total_outbufs_len < 2**21
    received = b""
    while not received.endswith(b'{"live":true}\n'):
        received = received[-100:] + reader.recv(2**20)


def test_connections_are_kept_when_the_clock_of_the_wall_jumps(
    start, make_runner, connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = start(make_runner())
    connection = connect(client, "127.0.0.1", SLOW)
    until(lambda: bool(channels(client)))
    jumped = time.time() + 1e6

    monkeypatch.setattr(time, "time", lambda: jumped)
    for _ in range(5):
        assert client.rest("GET", "/livez").status == 200

    connection.sendall(b"\r\n\r\n")
    assert is_answered(connection)
