"""A real Redis, which the tests kill, freeze, fill and restart."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis
from onnxplain_server.adapters.storage.circuit_breaker import CircuitBreaker
from onnxplain_server.adapters.storage.redis_cache import RedisCache
from onnxplain_server.adapters.storage.redis_connection import RedisConnection
from onnxplain_server.adapters.storage.signing import Signer

from tools.ports import free_port

SECRET = "0123456789abcdef" * 2

PATIENCE_SECONDS = 120.0
"""A bound that only something endless exceeds."""

LEFT_OUT, BACK = "Redis is left out", "Redis answers again"


class RedisServer:
    """A redis-server on a port of its own, which keeps nothing over a restart."""

    def __init__(self, binary: str, folder: Path) -> None:
        self._binary = binary
        self._folder = folder
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.admin = redis.Redis(port=self.port)
        self.start()

    def start(self) -> None:
        """Start, and wait until it answers."""
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        memory_only = ["--save", "", "--appendonly", "no", "--enable-debug-command", "yes"]
        self._process = subprocess.Popen(
            [self._binary, *options, *memory_only], stdout=subprocess.DEVNULL
        )
        assert _soon(self._answers)

    def _answers(self) -> bool:
        assert self._process.poll() is None, "redis-server has ended"
        try:
            return bool(self.admin.ping())
        except redis.ConnectionError:
            return False

    def kill(self) -> None:
        """End it at once, and all that it holds."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Stop it, with its connections open."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def fill(self) -> None:
        """Leave no room for more."""
        self.admin.config_set("maxmemory", "1mb")

    def damage(self) -> None:
        """Change some bytes of every cached value."""
        for key in self.keys("cache"):
            self.admin.setrange(key, 60, b"\xff\x00\xff")

    def keys(self, kind: str) -> list[bytes]:
        """Keys of a kind, sorted."""
        found: list[bytes] = sorted(self.admin.scan_iter(f"onnxplain:{kind}:*"))
        return found

    def values(self, kind: str) -> list[bytes]:
        """Values of the keys of a kind."""
        values = (self.admin.get(key) for key in self.keys(kind))
        return [value for value in values if isinstance(value, bytes)]

    def close(self) -> None:
        """End it, whatever state it is in."""
        self.kill()
        self.admin.close()


@pytest.fixture(scope="session")
def redis_binary(program: Callable[[str], str]) -> str:
    """Return the path of the server's program."""
    return program("redis-server")


@pytest.fixture
def redis_server(redis_binary: str, tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis without any values."""
    server = RedisServer(redis_binary, tmp_path)
    yield server
    server.close()


@pytest.fixture(scope="module")
def lasting_redis(
    redis_binary: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RedisServer]:
    """A Redis for all tests of a file."""
    server = RedisServer(redis_binary, tmp_path_factory.mktemp("redis"))
    yield server
    server.close()


@pytest.fixture
def link_to() -> Iterator[Callable[..., RedisConnection]]:
    """Makes links to a Redis; commands may take long, unless a test says how long."""
    links: list[RedisConnection] = []

    def make(
        url: str,
        pause: float = 5.0,
        timeout: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> RedisConnection:
        links.append(RedisConnection(url, CircuitBreaker(pause, clock), timeout))
        return links[-1]

    yield make
    for link in links:
        link.close()


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A letter for each command that a link has tried: each costs one timeout at most."""
    found: list[str] = []
    ask = RedisConnection._ask

    def watched(link: RedisConnection, command: Callable[[redis.Redis], Any]):
        found.append("c")
        return ask(link, command)

    monkeypatch.setattr(RedisConnection, "_ask", watched)
    return found


@pytest.fixture
def soon() -> Callable[[Callable[[], object]], bool]:
    """Whether something comes true, on a machine that has much else to do."""
    return _soon


def _soon(holds: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> bool:
    end = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < end:
        time.sleep(0.005)
    return bool(found)


@pytest.fixture
def undisturbed() -> Callable[..., None]:
    """Try with servers that Redis answers in time: again, with another number, where it has not.

    They give it a quarter of a second, which a busy machine may take from it. A failure counts
    where none of them has left Redis out.
    """

    def run(
        servers: Sequence[Any], attempt: Callable[[int], None], ask: Callable[[Any], object]
    ) -> None:
        for number in range(20):
            for server in servers:
                assert _soon(partial(_is_back, server, ask))
            before = _left_out_count(servers)
            try:
                attempt(number)
            except Exception:
                # The log is read by a thread of its own.
                if not _soon(partial(_is_more, servers, before), 30):
                    raise
            else:
                return
        raise AssertionError("Redis never answered in time")

    return run


def _left_out_count(servers: Sequence[Any]) -> int:
    return sum(_times(server, LEFT_OUT) for server in servers)


def _is_more(servers: Sequence[Any], before: int) -> bool:
    return _left_out_count(servers) > before


def _times(server, told: str) -> int:
    return sum(told in line for line in server.log)


def _is_back(server, ask: Callable[[Any], object]) -> bool:
    """Whether a server asks Redis; it finds out by asking."""
    if _times(server, LEFT_OUT) > _times(server, BACK):
        ask(server)
        time.sleep(0.2)
    return _times(server, LEFT_OUT) == _times(server, BACK)


@pytest.fixture
def link(redis_server: RedisServer, link_to: Callable[..., RedisConnection]) -> RedisConnection:
    """A link to the test's Redis."""
    return link_to(redis_server.url)


@pytest.fixture
def cache(link: RedisConnection) -> RedisCache:
    """A cache in the test's Redis."""
    return RedisCache(link, Signer(SECRET.encode()), 3_600)
