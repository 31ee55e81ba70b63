"""Two servers on one Redis: one cache, one computation, and the same answers without it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from urllib.request import urlopen

import numpy as np
import onnxplain
import pytest
from google.protobuf.json_format import MessageToDict
from harness import difference
from onnxplain_server.adapters.storage.redis_connection import TIMEOUT_SECONDS
from prometheus_client.parser import text_string_to_metric_families

Rows = dict[str, list[float]]
Undisturbed = Callable[..., None]

CALLERS = int(os.environ.get("TEST_CALLERS", "30"))
"""Who ask the same at once; `make torture` has 200."""


def head(rows: Rows, count: int) -> Rows:
    return {name: values[:count] for name, values in rows.items()}


def part(rows: Rows, number: int, count: int) -> Rows:
    """So many rows, others for each number."""
    return {name: values[number * count : (number + 1) * count] for name, values in rows.items()}


@pytest.fixture
def ping(network: bytes, rows: Rows) -> Callable[[Any], object]:
    """Ask a server for something small that it has to ask Redis for."""
    random = np.random.default_rng(2)

    def ask(server) -> object:
        few = {name: random.normal(size=2).tolist() for name in rows}
        return explain(server, network, few, onnxplain.PartialDependence(features=["x0"]))

    return ask


@pytest.fixture
def pair(serve: Callable[..., Any], redis_server) -> list[Any]:
    """Two servers that share a Redis, each with places for all."""
    shared = {"redis_url": redis_server.url, "cache_secret": "0123456789abcdef"}
    with ThreadPoolExecutor(2) as starting:
        return list(starting.map(lambda _: serve(waiting_count=64, **shared), range(2)))


def explain(server, model: bytes, rows, *methods, **request):
    with onnxplain.connect(server.endpoint) as client:
        return client.explain(model, rows, *(methods or [onnxplain.Interactions()]), **request)


def numbers(explained) -> list[Any]:
    found = explained.interactions
    return [s.values for part in (found.overall, found.pairwise) for s in part]


def same(one, other) -> bool:
    """Whether answers have the same numbers.

    But for the last digits: they follow the alignment of memory, and the size of calls.
    """
    return bool(np.allclose(numbers(one), numbers(other), rtol=1e-9, atol=1e-12))


@pytest.mark.slow
def test_the_second_answers_from_the_grids_of_the_first(
    pair: list[Any], network: bytes, rows: Rows, undisturbed: Undisturbed, ping
) -> None:
    """Each times its commands to Redis."""
    assert redis_seconds(pair[0])["+Inf"] == 0

    def attempt(number: int) -> None:
        few = part(rows, number, 60)
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
        assert same(first, second)
        assert curves.receipt.predicted_row_count == 0

    undisturbed(pair, attempt, ping)
    counts = [*redis_seconds(pair[0]).values()]
    assert counts == sorted(counts)
    assert counts[-1] >= 2


def redis_seconds(server) -> Mapping[str, float]:
    """Read from the metrics how many commands Redis was sent, by the bucket's upper limit."""
    with urlopen(f"http://127.0.0.1:{server.metrics_port}/metrics", timeout=120) as reply:
        page = reply.read().decode()
    return {
        sample.labels["le"]: sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == "onnxplain_redis_seconds_bucket"
    }


METHODS = [
    onnxplain.Interactions(pairwise_feature_count=2),
    onnxplain.PartialDependence(features=["x0"], group_column="group"),
    onnxplain.IndividualConditionalExpectation(features=["x0"]),
    onnxplain.PermutationImportance(),
    onnxplain.AverageLoss(group_column="group"),
]


@pytest.mark.slow
def test_what_one_server_has_computed_no_other_computes_again(
    pair: list[Any], network: bytes, rows: Rows, undisturbed: Undisturbed, ping
) -> None:
    asked: dict[str, Any] = {"target_column": "target", "feature_columns": list(rows)}

    def attempt(number: int) -> None:
        few = part(rows, number, 40)
        table = {**few, "target": few["x0"][::-1], "group": ["a", "b"] * 20}
        first, second = (explain(server, network, table, *METHODS, **asked) for server in pair)

        assert first.receipt.predicted_row_count > 0
        assert second.receipt.predicted_row_count == second.receipt.cache_miss_count == 0
        documents = (MessageToDict(answer.message)["explanations"] for answer in (first, second))
        assert difference(*documents) is None

    undisturbed(pair, attempt, ping)


@pytest.mark.slow
def test_a_restarted_server_finds_what_was_computed_before(
    serve: Callable[..., Any],
    redis_server,
    network: bytes,
    rows: Rows,
    undisturbed: Undisturbed,
    ping,
) -> None:
    shared = {"redis_url": redis_server.url, "cache_secret": "0123456789abcdef"}
    before = serve(**shared)
    tables = [part(rows, number, 40) for number in range(20)]
    for table in tables:
        explain(before, network, table)
    before.process.kill()
    after = serve(**shared)

    def attempt(number: int) -> None:
        assert explain(after, network, tables[number]).receipt.predicted_row_count == 0

    undisturbed([after], attempt, ping)


@pytest.mark.slow
def test_servers_with_different_secrets_do_not_trust_each_other(
    serve: Callable[..., Any], redis_server, network: bytes, rows: Rows
) -> None:
    one, other = (
        serve(redis_url=redis_server.url, cache_secret=f"{number}123456789abcdef")
        for number in range(2)
    )
    first, second = (explain(server, network, head(rows, 40)) for server in (one, other))

    assert second.receipt.predicted_row_count == first.receipt.predicted_row_count
    assert same(first, second)


@pytest.mark.slow
def test_fifty_identical_requests_at_once_compute_once(
    pair: list[Any],
    serve: Callable[..., Any],
    network: bytes,
    rows: Rows,
    undisturbed: Undisturbed,
    ping,
) -> None:
    alone = serve(cache_bytes=0)

    def attempt(number: int) -> None:
        few = {name: values[number : number + 300] for name, values in rows.items()}
        once = explain(alone, network, few).receipt.predicted_row_count
        with ThreadPoolExecutor(50) as askers:
            answers = list(askers.map(lambda i: explain(pair[i % 2], network, few), range(50)))
        predicted = [answer.receipt.predicted_row_count for answer in answers]

        assert sum(predicted) == once
        assert sorted(predicted)[-2] == 0
        assert all(same(answer, answers[0]) for answer in answers)

    undisturbed(pair, attempt, ping)


@pytest.mark.slow
def test_callers_of_three_servers_compute_once_in_each_at_most(
    serve: Callable[..., Any], redis_server, network: bytes, rows: Rows
) -> None:
    """Whatever Redis does: on a busy machine it may be too slow to keep the lock of all three."""
    shared = {"redis_url": redis_server.url, "cache_secret": "0123456789abcdef"}
    with ThreadPoolExecutor(3) as starting:
        servers = list(starting.map(lambda _: serve(waiting_count=100, **shared), range(3)))

    together = stampede(servers, network, head(rows, 120))
    redis_server.kill()
    apart = stampede(servers, network, head(rows, 121))

    alone = serve(cache_bytes=0)
    for predicted, count in (together, 120), (apart, 121):
        once = explain(alone, network, head(rows, count)).receipt.predicted_row_count
        assert sum(predicted) <= 3 * once


def stampede(servers: list[Any], network: bytes, rows: Rows) -> list[int]:
    """Ask all for the same at once; the rows that were predicted for each answer."""
    with ThreadPoolExecutor(CALLERS) as askers:
        asked = [servers[i % len(servers)] for i in range(CALLERS)]
        answers = list(askers.map(lambda server: explain(server, network, rows), asked))
    assert all(same(answer, answers[0]) for answer in answers)
    return [answer.receipt.predicted_row_count for answer in answers]


@pytest.mark.slow
def test_work_of_a_server_that_is_killed_is_taken_over(
    serve: Callable[..., Any], redis_server, network: bytes, rows: Rows
) -> None:
    shared = {"redis_url": redis_server.url, "cache_secret": "0123456789abcdef"}
    doomed, other = serve(**shared), serve(**shared)
    with ThreadPoolExecutor(2) as askers:
        few, lost = at_work(askers, doomed, network, rows, redis_server)
        answer = askers.submit(explain, other, network, few)
        doomed.process.kill()
        assert lost.exception(300) is not None
        found = answer.result(300)

    assert same(found, explain(other, network, few))


def at_work(
    askers: ThreadPoolExecutor, server, network: bytes, rows: Rows, redis_server
) -> tuple[Rows, Future[Any]]:
    """Ask a server for something, and stop it while it has a lease: the rows, and the answer.

    On a busy machine it may have left Redis out, and finds it again later.
    """

    def works() -> bool:
        return any(value != b"done" for value in redis_server.values("lease"))

    for number in range(100):
        few = {name: values[number : number + 400] for name, values in rows.items()}
        answer = askers.submit(explain, server, network, few)
        while not answer.done():
            if works():
                server.process.send_signal(signal.SIGSTOP)
                if works():
                    return few, answer
                server.process.send_signal(signal.SIGCONT)
            time.sleep(0.005)
    raise AssertionError("the server never held a lease")


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_with_redis_gone_or_frozen_answers_stay_and_cost_one_timeout(
    pair: list[Any],
    serve: Callable[..., Any],
    redis_server,
    network: bytes,
    rows: Rows,
    fault: str,
) -> None:
    """Beside a server without a Redis, of which each is asked the same in turn.

    A request asks Redis what is known, for a lease and to keep something: three timeouts, if each
    waited for them. The fastest of each server is the one that other work on the machine kept up
    least.
    """
    alone = serve()
    getattr(redis_server, fault)()
    waits: dict[str, list[float]] = {"with": [], "without": []}
    for number in range(20):
        few = part(rows, number, 40)
        one = timed(waits["with"], pair[0], network, few)
        other = timed(waits["without"], alone, network, few)
        assert same(one, other)

    assert min(waits["with"]) < min(waits["without"]) + TIMEOUT_SECONDS
    assert same(explain(pair[1], network, few), other)


def timed(waits: list[float], server, network: bytes, rows: Rows):
    start = time.monotonic()
    answer = explain(server, network, rows)
    waits.append(time.monotonic() - start)
    return answer


class Askers:
    """Asks each server for the same tables, again and again, and compares."""

    def __init__(self, servers: list[Any], ask: Callable[[Any, Rows], Any], tables: list[Rows]):
        self._ask = ask
        self._tables = tables
        self._expected = [ask(servers[0], table) for table in tables]
        self._stop = threading.Event()
        self._answered = threading.Semaphore(0)
        self.right = self.wrong = 0
        self._threads = [threading.Thread(target=self._run, args=(s,)) for s in servers[1:]]
        for thread in self._threads:
            thread.start()

    def _run(self, server) -> None:
        while not self._stop.is_set():
            for table, expected in zip(self._tables, self._expected, strict=True):
                equal = np.allclose(self._ask(server, table), expected, rtol=1e-9, atol=1e-12)
                self.right += equal
                self.wrong += not equal
                self._answered.release()

    def wait_for(self, count: int) -> None:
        """Wait until so many more answers have come."""
        for _ in range(count):
            assert self._answered.acquire(timeout=300)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


@pytest.mark.slow
def test_answers_are_right_while_redis_fails_in_every_way(
    pair: list[Any], serve: Callable[..., Any], redis_server, network: bytes, rows: Rows
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
        askers.wait_for(12)  # some of tables that Redis knows, some of others
    askers.stop()

    assert askers.wrong == 0
    assert askers.right >= 7 * 12
