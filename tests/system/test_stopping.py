"""Servers stop and start under load: clients that ask again notice nothing.

`make torture` runs it with TEST_SIGTERMS=100.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import onnxplain
import pytest

from tools.waiting import until

pytestmark = pytest.mark.slow

SIGTERM_COUNT = int(os.environ.get("TEST_SIGTERMS", "5"))
CALLER_COUNT = 3
PATIENCE = 300.0

CURVE = onnxplain.PartialDependence(features=["x0"], grids=[{"x0": [0.0, 1.0]}])


class Replicas:
    """Servers on ports that stay the same, however often one is replaced."""

    def __init__(self, serve: Callable[..., Any], ports: Sequence[int]) -> None:
        self._serve = serve
        self.ports = ports
        self.servers = [serve(grpc_port=port) for port in self.ports]
        self.answered = threading.Semaphore(0)

    @property
    def endpoint(self) -> str:
        return "ipv4:" + ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def replace(self, number: int) -> None:
        """Stop one by SIGTERM, wait for its end, and start another in its stead."""
        process = self.servers[number].process
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        self.servers[number] = self._serve(grpc_port=self.ports[number])

    def wait_answers(self, count: int) -> None:
        """Wait until so many more requests are answered."""
        for _ in range(count):
            assert self.answered.acquire(timeout=PATIENCE)


@contextmanager
def load(
    replicas: Replicas, network: bytes, rows: Mapping[str, list[float]], retry_count: int
) -> Iterator[list[Any]]:
    """Have callers ask all the time; the answers, or what went wrong instead."""
    stop = threading.Event()
    outcomes: list[Any] = []

    def ask() -> None:
        with onnxplain.connect(replicas.endpoint, retry_count=retry_count) as client:
            while not stop.is_set():
                try:
                    found = client.explain(network, rows, CURVE, timeout=PATIENCE)
                    outcomes.append(found.partial_dependence.curves[0].values)
                except onnxplain.ExplainError as error:
                    outcomes.append(error)
                replicas.answered.release()

    threads = [threading.Thread(target=ask) for _ in range(CALLER_COUNT)]
    for thread in threads:
        thread.start()
    try:
        yield outcomes
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def check(outcomes: Sequence[Any], reference) -> None:
    """Nothing was lost, and every answer is right."""
    assert [found for found in outcomes if isinstance(found, onnxplain.ExplainError)] == []
    assert all(np.allclose(found, reference) for found in outcomes)


@pytest.fixture
def few(rows: Mapping[str, list[float]]) -> dict[str, list[float]]:
    return {name: values[:200] for name, values in rows.items()}


@pytest.fixture
def reference(network: bytes, few: Mapping[str, list[float]]):
    with onnxplain.local() as client:
        return client.explain(network, few, CURVE).partial_dependence.curves[0].values


def test_nothing_is_lost_when_servers_stop_under_load(
    serve, free_ports, network: bytes, few: Mapping[str, list[float]], reference
) -> None:
    replicas = Replicas(serve, free_ports(2))
    with load(replicas, network, few, retry_count=5) as outcomes:
        for count in range(SIGTERM_COUNT):
            replicas.wait_answers(10)
            replicas.replace(count % 2)
        replicas.wait_answers(10)

    check(outcomes, reference)


def test_a_rolling_restart_of_three_replicas_costs_one_retry_at_most(
    serve, free_ports, network: bytes, few: Mapping[str, list[float]], reference
) -> None:
    replicas = Replicas(serve, free_ports(3))
    with load(replicas, network, few, retry_count=1) as outcomes:
        for number in range(3):
            replicas.wait_answers(10)
            replicas.replace(number)
        replicas.wait_answers(10)

    check(outcomes, reference)


def ready(server) -> bool:
    try:
        with urlopen(f"{server.url}/readyz", timeout=PATIENCE) as reply:  # noqa: S310 - our own
            return bool(reply.status == 200)
    except HTTPError:
        return False


@pytest.mark.parametrize("number", [0, 1], ids=["first", "second"])
def test_readiness_dips_when_a_zygote_dies_and_recovers(
    server, network: bytes, few: Mapping[str, list[float]], reference, number: int
) -> None:
    """One is that of workers, the other that of decoders."""
    zygotes = sorted(server.children())
    assert len(zygotes) == 2
    os.kill(zygotes[number], signal.SIGKILL)

    until(lambda: not ready(server))
    until(lambda: ready(server))

    assert zygotes[number] not in server.children()
    assert zygotes[1 - number] in server.children()
    with onnxplain.connect(server.endpoint) as client:
        found = client.explain(network, few, CURVE).partial_dependence.curves[0].values
    assert np.allclose(found, reference)
