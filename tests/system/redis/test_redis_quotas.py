"""Quotas in a real Redis: shared by servers, and each server's own while Redis fails."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import onnxplain
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnxplain_server.adapters.storage.memory_quotas import MemoryQuotas
from onnxplain_server.adapters.storage.redis_connection import RedisConnection
from onnxplain_server.adapters.storage.redis_quotas import RedisQuotas
from onnxplain_server.core.quotas import (
    BUCKET_COUNT,
    BUCKET_SECONDS,
    QuotaStore,
    Reservation,
    Shortage,
)
from onnxplain_server.transport.admission.admission import Caller
from onnxplain_server.transport.admission.quotas import QuotaLimits, Quotas

Link = Callable[..., RedisConnection]

LIMIT = 100
SHARED = {"cache_secret": "0123456789abcdef"}


@pytest.fixture
def quotas(redis_server, link_to: Link) -> RedisQuotas:
    return RedisQuotas(link_to(redis_server.url), MemoryQuotas())


def granted(reply: Reservation | Shortage) -> bool:
    return isinstance(reply, Reservation)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ada", "bob"]),
        st.integers(0, LIMIT + 20),
        st.one_of(st.none(), st.integers(0, 2 * LIMIT)),
    ),
    max_size=20,
)


def test_another_server_tells_what_remains(redis_server, link_to: Link) -> None:
    first, second = (
        Quotas(QuotaLimits(LIMIT, 10), RedisQuotas(link_to(redis_server.url), MemoryQuotas()))
        for _ in range(2)
    )
    ada = Caller("ada", 1, lambda: False)
    with first.charged(ada):
        ada.usage.predicted_row_count, ada.usage.processor_seconds = 25, 2.5

    assert second.remaining(ada) == QuotaLimits(75, 7.5)


def test_redis_and_memory_grant_and_count_the_same(redis_server, link_to: Link) -> None:
    link = link_to(redis_server.url)

    @settings(
        max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(STEPS)
    def check(steps: Sequence[tuple[str, int, int | None]]) -> None:
        redis_server.admin.flushall()
        shared, model = RedisQuotas(link, MemoryQuotas()), MemoryQuotas()
        for key, amount, used in steps:
            stores: list[QuotaStore] = [shared, model]
            replies = [store.reserve(key, amount, LIMIT) for store in stores]
            assert granted(replies[0]) == granted(replies[1])
            for store, reply in zip(stores, replies, strict=True):
                if isinstance(reply, Reservation) and used is not None:
                    store.settle(key, reply, used)
                if isinstance(reply, Shortage):
                    assert reply.used == model.used(key)
                    assert (reply.seconds == math.inf) == (amount > LIMIT)
            assert shared.used(key) == model.used(key) == shared._own.used(key)
        assert shared.error_count == 0

    check()


def test_servers_together_grant_no_more_than_the_limit(redis_server, link_to: Link) -> None:
    stores = [RedisQuotas(link_to(redis_server.url), MemoryQuotas()) for _ in range(2)]
    with ThreadPoolExecutor(8) as threads:
        replies = threads.map(lambda n: stores[n % 2].reserve("ada", 1, LIMIT), range(300))

    assert sum(map(granted, replies)) == LIMIT


def test_old_minutes_leave_the_window_and_tell_when_there_is_room(
    redis_server, quotas: RedisQuotas
) -> None:
    for _ in range(20):  # until all of it is within one minute of the clock of Redis
        redis_server.admin.flushall()
        quotas.settle("ada", None, 1)
        (key,) = redis_server.keys("quota")
        assert 0 < redis_server.admin.ttl(key) <= 2 * 3_600
        now = int(redis_server.admin.hkeys(key)[0])
        oldest = now - BUCKET_COUNT
        redis_server.admin.hset(key, mapping={oldest - 1: 40, oldest + 1: 50, now: 49})
        reply = quotas.reserve("ada", 10, LIMIT)  # 99 are left of the minutes that count
        (seconds, _) = redis_server.admin.time()
        if seconds // BUCKET_SECONDS == now:
            break

    assert isinstance(reply, Shortage)
    assert reply.used == 99
    room = (oldest + 2 + BUCKET_COUNT) * BUCKET_SECONDS
    assert room - seconds <= reply.seconds <= room - seconds + 60
    assert granted(quotas.reserve("ada", 1, LIMIT))
    assert not redis_server.admin.hexists(key, oldest - 1)


def test_without_redis_each_server_counts_what_it_does_alone(
    redis_server, link_to: Link, caplog: pytest.LogCaptureFixture
) -> None:
    stores = [
        RedisQuotas(link_to(redis_server.url, pause=0.0, timeout=5.0), MemoryQuotas())
        for _ in range(2)
    ]
    kept = stores[0].reserve("ada", 60, LIMIT)
    assert isinstance(kept, Reservation)
    redis_server.kill()
    with caplog.at_level(logging.WARNING):
        assert not granted(stores[0].reserve("ada", 60, LIMIT))
        assert granted(stores[1].reserve("ada", 60, LIMIT))
        stores[0].settle("ada", kept, 10)
        assert granted(stores[0].reserve("ada", 60, LIMIT))

    assert [store.error_count for store in stores] == [3, 1]
    told = [message for message in caplog.messages if "this server does alone" in message]
    assert len(told) == 2
    redis_server.start()
    assert granted(stores[0].reserve("ada", 100, LIMIT))
    assert not granted(stores[1].reserve("ada", 1, LIMIT))


def test_a_key_that_somebody_damaged_lets_pass_what_the_server_alone_allows(
    redis_server, quotas: RedisQuotas
) -> None:
    quotas.settle("ada", None, 90)
    (key,) = redis_server.keys("quota")
    redis_server.admin.hset(key, "7e12", "many")
    assert granted(quotas.reserve("ada", 10, LIMIT))
    assert not granted(quotas.reserve("ada", 10, LIMIT))
    redis_server.admin.delete(key)
    redis_server.admin.set(key, b"text")
    assert quotas.used("ada") == 100

    assert quotas.error_count >= 3


@pytest.mark.slow
def test_callers_use_one_quota_on_two_servers(
    serve: Callable[..., Any], redis_server, network: bytes, rows: dict[str, list[float]]
) -> None:
    given = {**SHARED, "redis_url": redis_server.url, "quota_processor_seconds": 0.001}
    with ThreadPoolExecutor(2) as starting:
        first, second = starting.map(lambda _: serve(**given), range(2))
    few = {name: values[:20] for name, values in rows.items()}
    with onnxplain.connect(first.endpoint) as client:
        client.explain(network, few, onnxplain.Interactions())
    start = time.monotonic()
    with (
        onnxplain.connect(second.endpoint) as client,
        pytest.raises(onnxplain.ExplainError) as caught,
    ):
        client.explain(network, few, onnxplain.Interactions())

    assert caught.value.reason == "QUOTA_EXCEEDED"
    assert caught.value.retry_seconds is not None
    assert 3_000 < caught.value.retry_seconds + time.monotonic() - start < 3_700
