"""A real Redis, which is killed, frozen, filled and lied in."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

_ROOM = "48mb"
_READY_SECONDS = 60.0


class RedisServer:
    """A redis-server that keeps nothing over a restart.

    Parameters
    ----------
    port : int
    folder : Path
        Where it runs.
    """

    def __init__(self, port: int, folder: Path) -> None:
        self.port = port
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        # Short, and once: it may be frozen when it is asked.
        self._admin = redis.Redis(port=port, socket_timeout=5.0, retry=Retry(NoBackoff(), 0))

    @property
    def pid(self) -> int:
        """The number of its process."""
        return 0 if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it, and wait until it answers."""
        binary = shutil.which("redis-server")
        if binary is None:
            raise RuntimeError("this needs redis-server: apt-get install redis-server")
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        kept = ["--save", "", "--appendonly", "no"]
        room = ["--maxmemory", _ROOM, "--maxmemory-policy", "allkeys-lru"]
        self._process = subprocess.Popen(
            [binary, *options, *kept, *room], stdout=subprocess.DEVNULL, process_group=0
        )
        end = time.monotonic() + _READY_SECONDS
        while time.monotonic() < end:
            with suppress(redis.RedisError):
                self._admin.ping()
                return
            time.sleep(0.02)
        raise RuntimeError("redis-server does not answer")

    def kill(self) -> None:
        """End it at once, and all that it holds."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def freeze(self) -> None:
        """Stop it, with its connections open."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def flush(self) -> None:
        """Forget everything."""
        self._admin.flushall()

    def fill(self) -> None:
        """Leave no room for more, and drop nothing for it."""
        self._admin.config_set("maxmemory-policy", "noeviction")
        self._admin.config_set("maxmemory", "1mb")

    def drain(self) -> None:
        """Leave the usual room again."""
        self._admin.config_set("maxmemory", _ROOM)
        self._admin.config_set("maxmemory-policy", "allkeys-lru")

    def damage(self, generator: random.Random) -> None:
        """Change some byte of every value."""
        for key in self._values():
            size = self._admin.strlen(key)
            place, value = generator.randrange(max(int(size), 1)), generator.randbytes(1)
            self._admin.setrange(key, place, value)

    def swap(self, generator: random.Random) -> None:
        """Give each value another one's name: all of them are sealed, and none is in its place."""
        keys = self._values()
        values = [self._admin.get(key) for key in keys]
        generator.shuffle(values)
        for key, value in zip(keys, values, strict=True):
            if value is not None:
                self._admin.set(key, value, keepttl=True)

    def used_bytes(self) -> float | None:
        """Memory that it uses; None where it does not say."""
        with suppress(redis.RedisError):
            return float(self._admin.info("memory")["used_memory"])
        return None

    def close(self) -> None:
        """End it, whatever state it is in."""
        self.kill()
        self._admin.close()

    def _values(self) -> list[bytes]:
        kinds = ("cache", "part", "blob")
        found = [key for kind in kinds for key in self._admin.scan_iter(f"onnxplain:{kind}:*")]
        return sorted(key for key in found if self._admin.type(key) == b"string")
