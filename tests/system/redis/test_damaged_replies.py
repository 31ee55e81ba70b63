"""Replies damaged by a broken line: numbers are recomputed, files absent, and nobody fails."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnxplain_server.adapters.storage.circuit_breaker import CircuitBreaker
from onnxplain_server.adapters.storage.redis_blobs import RedisBlobs
from onnxplain_server.adapters.storage.redis_cache import RedisCache
from onnxplain_server.adapters.storage.redis_connection import (
    RedisConnection,
    RedisUnavailableError,
)
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.request import RequestFile

SIGNER = Signer(b"0123456789abcdef" * 2)

REPLIES = [
    b"*1\r\n$1\r\nx\r\n",
    b"*2\r\n:1\r\n$-1\r\n",
    b"*-1\r\n",
    b"*x\r\n",
    b"$x\r\n",
    b"$-7\r\n",
    b"$3\r\nabcdef\r\n",
    b":\r\n",
    b":1x\r\n",
    b":7\r\n",
    b"+\xff\xfe\r\n",
    b"-\xff\xfe\r\n",
    b"+OK\r\n",
    b"-ERR no\r\n",
    b"-\r\n",
    b"_\r\n",
    b"%1\r\n+a\r\n+b\r\n",
    b"*4\r\n$1\r\na\r\n$1\r\nx\r\n$1\r\nb\r\n$1\r\ny\r\n",
    b"\r\n",
    b"\x00\x01\x02\r\n",
]

fragments = st.lists(
    st.sampled_from([b"*2\r\n", b"$1\r\n", b"a\r\n", b":1\r\n", b"$-1\r\n", b"-E\r\n", b"+Q\r\n"])
    | st.binary(max_size=4).map(lambda some: some + b"\r\n"),
    min_size=1,
    max_size=5,
).map(b"".join)


@contextmanager
def liar(reply: bytes) -> Iterator[str]:
    """Answer whatever is sent by the same bytes; where that is listened to."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    line, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=_answer, args=(line, reply), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
        listener.shutdown(socket.SHUT_RDWR)


def _answer(line: socket.socket, reply: bytes) -> None:
    with line:
        try:
            while line.recv(2**16):
                line.sendall(reply)
        except OSError:
            return


@contextmanager
def linked(reply: bytes) -> Iterator[RedisConnection]:
    """A link that asks again and again, whatever comes."""
    with liar(reply) as url:
        link = RedisConnection(url, CircuitBreaker(0.0))
        try:
            yield link
        finally:
            link.close()


def use(link: RedisConnection) -> None:
    """Do all that replicas do with what they share."""
    cache, blobs = RedisCache(link, SIGNER, 60), RedisBlobs(link, SIGNER, 2**20, 60)
    assert cache.get_many(["a", "b"]) == [None, None]
    cache.put_many({"a": b"1", "b": b"2"})
    with cache.single_flight("a", lambda: False):
        pass
    assert blobs.get("caller:a") is None
    blobs.put("caller:a", RequestFile("csv", b"a\n1\n"))


@pytest.mark.parametrize("reply", REPLIES)
def test_a_damaged_reply_costs_time_and_nothing_else(reply: bytes) -> None:
    """`make torture` found that such a reply was blamed on the worker that had asked."""
    with linked(reply) as link:
        use(link)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(reply=fragments)
def test_no_reply_at_all_makes_a_request_fail(reply: bytes) -> None:
    with linked(reply) as link:
        use(link)


def test_what_a_command_stumbles_over_is_told_as_a_fault_of_redis(
    link_to: Callable[..., RedisConnection], redis_server: object
) -> None:
    link = link_to(redis_server.url)  # type: ignore[attr-defined]

    with pytest.raises(RedisUnavailableError):
        link.ask(lambda redis: int(redis.ping() and "no number"))
