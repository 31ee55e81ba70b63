"""A real Redis, which the tests kill, freeze, fill and restart."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from onnxplain_server.adapters.breaker import Breaker
from onnxplain_server.adapters.redis_cache import RedisCache
from onnxplain_server.adapters.redis_link import Link
from onnxplain_server.adapters.seal import Seal

SECRET = "0123456789abcdef" * 2


class RedisServer:
    """A redis-server on a port of its own, which keeps nothing over a restart."""

    def __init__(self, binary: str, folder: Path) -> None:
        self._binary = binary
        self._folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
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
        self.admin.ping()

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


@pytest.fixture
def link_to() -> Iterator[Callable[..., Link]]:
    """Makes links to a Redis."""
    links: list[Link] = []

    def make(url: str, pause: float = 5.0) -> Link:
        links.append(Link(url, Breaker(pause)))
        return links[-1]

    yield make
    for link in links:
        link.close()


@pytest.fixture
def link(redis_server: RedisServer, link_to: Callable[..., Link]) -> Link:
    """A link to the test's Redis."""
    return link_to(redis_server.url)


@pytest.fixture
def cache(link: Link) -> RedisCache:
    """A cache in the test's Redis."""
    return RedisCache(link, Seal(SECRET.encode()), 3_600)
