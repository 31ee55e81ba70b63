"""Two servers on one Redis: one cache, one computation, and the same answers without it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import onnxplain
import pytest

Rows = dict[str, list[float]]

CALLERS = int(os.environ.get("ONNXPLAIN_TEST_CALLERS", "30"))
"""Who ask the same at once; `make torture` has 200."""


def head(rows: Rows, count: int) -> Rows:
    return {name: values[:count] for name, values in rows.items()}


@pytest.fixture
def pair(serve: Callable[..., Any], redis_server: Any) -> list[Any]:
    """Two servers that share a Redis, each with places for all."""
    shared = {"redis_url": redis_server.url, "cache_secret": "0123456789abcdef"}
    with ThreadPoolExecutor(2) as starting:
        return list(starting.map(lambda _: serve(waiting_count=64, **shared), range(2)))


def explain(server: Any, model: bytes, rows: Any, *methods: Any, **request: Any) -> Any:
    with onnxplain.connect(server.endpoint) as client:
        return client.explain(model, rows, *(methods or [onnxplain.Interactions()]), **request)


def numbers(explained: Any) -> list[Any]:
    found = explained.interactions
    return [s.values for part in (found.overall, found.pairwise) for s in part]


def test_the_second_answers_from_the_grids_of_the_first(
    pair: list[Any], network: bytes, rows: Rows
) -> None:
    few = head(rows, 60)
    first = explain(pair[0], network, few)
    second = explain(pair[1], network, few)
    curves = explain(
        pair[1],
        network,
        few,
        onnxplain.PartialDependence(features=["x3"], grids=[{"x3": few["x3"]}]),
    )

    assert first.receipt.predicted_row_count > 0
    assert second.receipt.predicted_row_count == 0
    assert second.receipt.cache_miss_count == 0
    assert second.receipt.cache_hit_count == first.receipt.cache_miss_count
    assert np.array_equal(numbers(first), numbers(second))
    assert curves.receipt.predicted_row_count == 0


METHODS = [
    onnxplain.Interactions(pairwise_feature_count=2),
    onnxplain.PartialDependence(features=["x0"], group_column="group"),
    onnxplain.IndividualConditionalExpectation(features=["x0"]),
    onnxplain.PermutationImportance(),
    onnxplain.AverageLoss(group_column="group"),
]


def test_what_one_server_has_computed_no_other_computes_again(
    pair: list[Any], network: bytes, rows: Rows
) -> None:
    table = {**head(rows, 40), "target": rows["x0"][40:80], "group": ["a", "b"] * 20}
    asked: dict[str, Any] = {"target_column": "target", "feature_columns": list(rows)}

    first, second = (explain(server, network, table, *METHODS, **asked) for server in pair)

    assert first.receipt.predicted_row_count > 0
    assert second.receipt.predicted_row_count == second.receipt.cache_miss_count == 0
    assert second.message.explanations == first.message.explanations


def test_a_restarted_server_finds_what_was_computed_before(
    serve: Callable[..., Any], redis_server: Any, network: bytes, rows: Rows
) -> None:
    shared = {"redis_url": redis_server.url, "cache_secret": "0123456789abcdef"}
    explain(serve(**shared), network, head(rows, 40))

    assert explain(serve(**shared), network, head(rows, 40)).receipt.predicted_row_count == 0


def test_servers_with_different_secrets_do_not_trust_each_other(
    serve: Callable[..., Any], redis_server: Any, network: bytes, rows: Rows
) -> None:
    one, other = (
        serve(redis_url=redis_server.url, cache_secret=f"{number}123456789abcdef")
        for number in range(2)
    )
    first, second = (explain(server, network, head(rows, 40)) for server in (one, other))

    assert second.receipt.predicted_row_count == first.receipt.predicted_row_count
    assert np.array_equal(numbers(first), numbers(second))


def test_fifty_identical_requests_at_once_compute_once(
    pair: list[Any], network: bytes, rows: Rows
) -> None:
    few = head(rows, 300)
    with ThreadPoolExecutor(50) as askers:
        answers = list(askers.map(lambda i: explain(pair[i % 2], network, few), range(50)))
    predicted = [answer.receipt.predicted_row_count for answer in answers]

    pairs, single = 10 * 300 * 300, 20 * 300 * 300
    assert sum(predicted) == single + pairs + 300
    assert sorted(predicted)[-2] == 0
    assert all(np.array_equal(numbers(a), numbers(answers[0])) for a in answers)


def test_callers_of_three_servers_compute_once_in_each_at_most(
    serve: Callable[..., Any], redis_server: Any, network: bytes, rows: Rows
) -> None:
    """Whatever Redis does: on a busy machine it may be too slow to keep the lock of all three."""
    shared = {"redis_url": redis_server.url, "cache_secret": "0123456789abcdef"}
    with ThreadPoolExecutor(3) as starting:
        servers = list(starting.map(lambda _: serve(waiting_count=100, **shared), range(3)))

    together = stampede(servers, network, head(rows, 120))
    redis_server.kill()
    apart = stampede(servers, network, head(rows, 121))

    once = 31  # twenty features, ten pairs, and the predictions themselves
    assert sum(together) <= 3 * once * 120**2
    assert sum(apart) <= 3 * once * 121**2


def stampede(servers: list[Any], network: bytes, rows: Rows) -> list[int]:
    """Ask all for the same at once; the rows that were predicted for each answer."""
    with ThreadPoolExecutor(CALLERS) as askers:
        asked = [servers[i % len(servers)] for i in range(CALLERS)]
        answers = list(askers.map(lambda server: explain(server, network, rows), asked))
    # Computed apart, the last digits follow the alignment of memory.
    assert all(np.allclose(numbers(a), numbers(answers[0]), rtol=1e-9) for a in answers)
    return [answer.receipt.predicted_row_count for answer in answers]


def test_work_of_a_server_that_is_killed_is_taken_over(
    serve: Callable[..., Any], redis_server: Any, network: bytes, rows: Rows
) -> None:
    shared = {"redis_url": redis_server.url, "cache_secret": "0123456789abcdef"}
    doomed, other = serve(**shared), serve(**shared)
    few = head(rows, 400)
    with ThreadPoolExecutor(2) as askers:
        lost = askers.submit(explain, doomed, network, few)
        while not redis_server.keys("lease"):
            time.sleep(0.005)
        answer = askers.submit(explain, other, network, few)
        doomed.process.kill()
        assert lost.exception(20) is not None
        found = answer.result(30)

    assert np.array_equal(numbers(found), numbers(explain(other, network, few)))


@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_with_redis_gone_or_frozen_answers_stay_and_cost_one_timeout(
    pair: list[Any], redis_server: Any, network: bytes, rows: Rows, fault: str
) -> None:
    """Compared with the same server while its Redis was there: requests that compute nothing."""
    few = head(rows, 40)
    before = explain(pair[0], network, few)
    usual = max(seconds(lambda: explain(pair[0], network, few)) for _ in range(5))

    getattr(redis_server, fault)()
    waits = [seconds(lambda: explain(pair[0], network, few)) for _ in range(10)]
    after = explain(pair[0], network, few)
    elsewhere = explain(pair[1], network, few)

    assert sum(waits) < 10 * usual + 0.5
    for answer in (after, elsewhere):
        assert np.array_equal(numbers(answer), numbers(before))


def seconds(work: Callable[[], object]) -> float:
    start = time.monotonic()
    work()
    return time.monotonic() - start


class Askers:
    """Asks each server for the same tables, again and again, and compares."""

    def __init__(self, servers: list[Any], ask: Callable[[Any, Rows], Any], tables: list[Rows]):
        self._ask = ask
        self._tables = tables
        self._expected = [ask(servers[0], table) for table in tables]
        self._stop = threading.Event()
        self.right = self.wrong = 0
        self._threads = [threading.Thread(target=self._run, args=(s,)) for s in servers[1:]]
        for thread in self._threads:
            thread.start()

    def _run(self, server: Any) -> None:
        while not self._stop.is_set():
            for table, expected in zip(self._tables, self._expected, strict=True):
                equal = np.array_equal(self._ask(server, table), expected)
                self.right += equal
                self.wrong += not equal

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def test_answers_are_right_while_redis_fails_in_every_way(
    pair: list[Any], serve: Callable[..., Any], redis_server: Any, network: bytes, rows: Rows
) -> None:
    """Killed, restarted, frozen, thawed, full, and with every value damaged, under requests."""
    askers = Askers(
        [serve(cache_bytes=0), *pair],
        lambda server, table: numbers(explain(server, network, table)),
        [head(rows, 20 + i) for i in range(12)],
    )
    steps = "damage", "freeze", "thaw", "fill", "kill", "start", "damage"
    for step in steps:
        getattr(redis_server, step)()
        time.sleep(1.0)
    askers.stop()

    assert askers.wrong == 0
    assert askers.right > 50
