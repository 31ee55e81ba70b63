"""A TCP proxy that harms what passes: Linux' own emulation of bad networks is not everywhere.

The modes, and what each does to connections that exist and to new ones:

pass        bytes go on as they come
delay       each piece waits for `Mode.seconds`
drop        nothing goes on any longer, and nothing ends: a cable that was cut
half-close  the sender's end is closed after its next piece, the other way stays open
reset       connections end with RST
throttle    so many bytes per second
flip        one bit of each piece changes; only for what is sealed, as values in Redis are
garble      a new connection begins with 16 bytes that no protocol begins with; for what has no
            checksum, like HTTP: a flipped bit in a number of an answer could be told by nobody
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Literal

_PIECE = 2**14
_BEGINNING = 16
_LOOK_SECONDS = 0.02

Name = Literal["pass", "delay", "drop", "half-close", "reset", "throttle", "flip", "garble"]


@dataclass(frozen=True)
class Mode:
    """What happens to bytes.

    Attributes
    ----------
    name : str
        One of those above.
    seconds : float
        How long each piece is delayed.
    rate : float
        Bytes per second where they are throttled.
    """

    name: Name = "pass"
    seconds: float = 0.5
    rate: float = 20_000.0


class Network:
    """Proxies, on a thread of their own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._proxies: list[Proxy] = []
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxies")
        self._thread.start()

    def proxy(self, port: int, target: int, seed: int = 0) -> Proxy:
        """Listen on a port of this machine (0 takes a free one) for another of it."""
        made = Proxy(target, random.Random(seed))  # noqa: S311 - faults, no secret
        made.port = self._run(made.listen(port))
        self._proxies.append(made)
        return made

    def set(self, proxy: Proxy, mode: Mode) -> None:
        """Change what a proxy does, to the connections that it has too."""
        self._run(proxy.change(mode))

    def close(self) -> None:
        """End all proxies and their connections."""
        for proxy in self._proxies:
            self._run(proxy.close())
        self._run(_cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Any]):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class Proxy:
    """Forwards one port to another.

    Parameters
    ----------
    target : int
        Port to connect to.
    generator : random.Random
        Of the harm.

    Attributes
    ----------
    port : int
        Where it listens.
    """

    def __init__(self, target: int, generator: random.Random) -> None:
        self.port = 0
        self._target = target
        self._generator = generator
        self._mode = Mode()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def listen(self, port: int) -> int:
        """Begin; return the port."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port)
        return int(self._server.sockets[0].getsockname()[1])

    async def change(self, mode: Mode) -> None:
        """Take another mode; `reset` and `garble` end the connections that there are."""
        self._mode = mode
        if mode.name in {"reset", "garble"}:
            for writer in list(self._writers):
                _reset(writer)

    async def close(self) -> None:
        """Listen no longer, and end all connections."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._writers):
            _reset(writer)

    async def _connected(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        if self._mode.name == "reset":
            _reset(back)
            return
        try:
            far, out = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            _reset(back)
            return
        both = {back, out}
        self._writers |= both
        try:
            await asyncio.gather(self._pump(near, out), self._pump(far, back))
        except OSError:
            # One end was reset: the other one must see that, and not wait for ever.
            for writer in both:
                _reset(writer)
        finally:
            self._writers -= both
            for writer in both:
                writer.close()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Forward one direction until it ends."""
        first = True
        while piece := await source.read(_PIECE):
            await self._wait(len(piece))
            sink.write(self._harmed(piece, first=first))
            await sink.drain()
            first = False
            if self._mode.name == "half-close":
                break
        if sink.can_write_eof() and not sink.is_closing():
            sink.write_eof()

    async def _wait(self, size: int) -> None:
        while self._mode.name == "drop":
            await asyncio.sleep(_LOOK_SECONDS)
        if self._mode.name == "delay":
            await asyncio.sleep(self._mode.seconds)
        if self._mode.name == "throttle":
            await asyncio.sleep(size / self._mode.rate)

    def _harmed(self, piece: bytes, *, first: bool) -> bytes:
        if self._mode.name == "flip":
            harmed = bytearray(piece)
            harmed[self._generator.randrange(len(piece))] ^= 1 << self._generator.randrange(8)
            return bytes(harmed)
        if self._mode.name == "garble" and first:
            size = min(len(piece), _BEGINNING)
            # No method, no status line and no preface of HTTP has bytes over 127.
            return bytes(self._generator.randrange(128, 256) for _ in range(size)) + piece[size:]
        return piece


def _reset(writer: asyncio.StreamWriter) -> None:
    """End a connection with RST instead of FIN."""
    found = writer.get_extra_info("socket")
    if found is not None and not writer.is_closing():
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
