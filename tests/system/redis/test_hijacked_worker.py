"""Workers that were taken over, with Redis behind the cache: one command, then the clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hostile import hijacked
from onnxplain_server.adapters.storage.layered_storage import LayeredCache
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.redis_cache import RedisCache
from onnxplain_server.adapters.storage.redis_connection import RedisConnection
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.adapters.workers.ipc.channel import MalformedError
from onnxplain_server.adapters.workers.request_monitor import RequestMonitor
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl

LOOK_COUNT = 100
SIGNER = Signer(b"a secret of the tests")
CACHED = [
    name for name, (group, _) in hijacked.BEHAVIOURS.items() if group in {"recall", "remember"}
]


@pytest.mark.parametrize("name", [*CACHED, "flights without end"])
def test_redis_is_asked_once_between_two_looks_at_the_clock(
    redis_server, link_to: Callable[..., RedisConnection], tries: list[str], name: str
) -> None:
    """A flight takes one command to join and one to leave."""
    back = RedisCache(link_to(redis_server.url), SIGNER, 600)
    commands: list[int] = []

    def look() -> bool:
        commands.append(len(tries))
        tries.clear()
        return len(commands) > LOOK_COUNT

    host = RequestContext(
        RequestControl(600, look), LayeredCache(MemoryCache(2**20, SIGNER), back), "prefix:"
    )
    with hijacked.taken_over(name) as worker, pytest.raises((MalformedError, ExplainError)):
        worker.ask(hijacked.EXCHANGE, RequestMonitor(host, 600, lambda: None))

    is_flight = name not in CACHED
    assert max(commands) <= (2 if is_flight else 1)
    if "again" in name and "MiB" not in name:
        assert sum(commands) > 10
