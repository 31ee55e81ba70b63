"""Round trips to Redis for the cached numbers of a request: few, of bounded commands."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from onnxplain_server.adapters.storage.layered_storage import LayeredCache
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.redis_cache import RedisCache
from onnxplain_server.adapters.storage.redis_connection import RedisConnection
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl

SIGNER = Signer(b"secret")


@pytest.fixture
def layered(redis_server, link_to: Callable[..., RedisConnection]) -> LayeredCache:
    """A cache whose memory is empty and holds nothing."""
    back = RedisCache(link_to(redis_server.url), SIGNER, 60)
    return LayeredCache(MemoryCache(0, SIGNER), back)


def fetches(redis_server) -> int:
    """Commands so far that fetched values."""
    return int(redis_server.admin.info("commandstats").get("cmdstat_mget", {"calls": 0})["calls"])


@pytest.mark.parametrize(
    ("count", "size", "trips"),
    [
        pytest.param(8, 4_000, 1, id="few"),
        pytest.param(100, 4_000, 7, id="a hundred of 500 rows"),
        pytest.param(300, 4_000, 20, id="three hundred of 500 rows"),
        pytest.param(40, 1_000_000, 5, id="large ones, 8 MB each time"),
        pytest.param(100, 0, 7, id="none of them there"),
    ],
)
def test_numbers_of_a_request_come_in_few_round_trips(
    redis_server, layered: LayeredCache, count: int, size: int, trips: int
) -> None:
    names = [f"name {i}" for i in range(count)]
    host = RequestContext(RequestControl(60), layered, "caller:")
    if size:
        host.cache_put({name: bytes([i % 251]) * size for i, name in enumerate(names)})

    values = host.cache_get(names)

    assert fetches(redis_server) == trips
    assert values == [bytes([i % 251]) * size if size else None for i in range(count)]


def test_a_reply_of_bounded_size_has_the_first_values(layered: LayeredCache) -> None:
    names = [f"{i}" for i in range(40)]
    host = RequestContext(RequestControl(60), layered, "caller:")
    host.cache_put(dict.fromkeys(names[1:], bytes(1_000_000)))

    assert host.cache_get(names, 4_000_000) == [None, *[bytes(1_000_000)] * 7]


def test_a_request_that_was_cancelled_fetches_no_further_batch(
    redis_server, layered: LayeredCache
) -> None:
    control = RequestControl(60, lambda: fetches(redis_server) > 0)
    host = RequestContext(control, layered, "caller:")

    with pytest.raises(ExplainError) as cancelled:
        host.cache_get([f"{i}" for i in range(100)])

    assert cancelled.value.reason is Reason.CANCELLED
    assert fetches(redis_server) == 1
