"""Two replicas behind HAProxy, as `deploy/haproxy.cfg` has it, with one Redis."""

from __future__ import annotations

import base64
import http.client
import itertools
import json
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import onnxplain
import pytest

from tools.waiting import until

pytestmark = pytest.mark.slow

PATIENCE = 300.0
CALLER_COUNT = 3
SETTINGS = {"cache_secret": "0123456789abcdef", "waiting_count": 64}

CURVE = onnxplain.PartialDependence(features=["x0"], grids=[{"x0": [0.0, 1.0]}])
PAIRS = onnxplain.Interactions()
JSON = {"Content-Type": "application/json"}

Rows = dict[str, list[float]]


def metric(server, name: str) -> float:
    """The value of one line of the server's metrics; 0 where there is none."""
    with urlopen(f"http://127.0.0.1:{server.metrics_port}/metrics", timeout=PATIENCE) as reply:
        lines = reply.read().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} "))


def called(server, name: str) -> float:
    """How many requests of this kind the server has had, whatever their outcome."""
    with urlopen(f"http://127.0.0.1:{server.metrics_port}/metrics", timeout=PATIENCE) as reply:
        lines = reply.read().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name}{{"))


class Balanced:
    """Replicas on ports that stay the same, and the balancer before them."""

    def __init__(self, serve: Callable[..., Any], redis_url: str, ports: list[int]) -> None:
        self._serve = serve
        self._redis_url = redis_url
        self.grpc_ports, self.rest_ports, (self.port, self.rest_port) = (
            ports[:2],
            ports[2:4],
            ports[4:],
        )
        with ThreadPoolExecutor(2) as starting:
            self.servers = list(starting.map(self._start, range(2)))

    def _start(self, number: int):
        return self._serve(
            grpc_port=self.grpc_ports[number],
            rest_port=self.rest_ports[number],
            redis_url=self._redis_url,
            **SETTINGS,
        )

    def configuration(self, shipped: str, control: Path) -> str:
        """The file as it is shipped, with the ports of this test, and a way to ask the balancer."""
        text = shipped.replace("global\n", f"global\n    stats socket {control} level admin\n")
        for number in range(2):
            for old, new in ((8081, self.grpc_ports), (8080, self.rest_ports)):
                server = f"replica-{number + 1}:{old}"
                assert server in text
                text = text.replace(server, f"127.0.0.1:{new[number]}")
        return text.replace("bind :8081", f"bind 127.0.0.1:{self.port}").replace(
            "bind :8080", f"bind 127.0.0.1:{self.rest_port}"
        )

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    def replace(self, number: int) -> None:
        """Stop one by SIGTERM, wait for its end, and start another in its stead."""
        process = self.servers[number].process
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        self.servers[number] = self._start(number)

    def explain(self, model: bytes, rows: Rows, method, retry_count: int = 10):
        """Ask on a connection of its own, which the balancer gives to either."""
        with onnxplain.connect(self.endpoint, retry_count=retry_count) as client:
            return client.explain(model, rows, method, timeout=PATIENCE)


def states(control: Path) -> list[str]:
    """What the balancer thinks of each replica, for gRPC."""
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(str(control))
        asked.sendall(b"show stat\n")
        answer = b"".join(iter(lambda: asked.recv(65536), b"")).decode()
    header, *lines = [line.removeprefix("# ").split(",") for line in answer.split("\n") if line]
    found = [dict(zip(header, line, strict=False)) for line in lines]
    return [
        each["status"]
        for each in found
        if each["pxname"] == "grpc" and each["svname"] in {"one", "two"}
    ]


@contextmanager
def balancing(binary: str, configuration: Path) -> Iterator[None]:
    with subprocess.Popen(
        [binary, "-db", "-f", configuration], stderr=subprocess.DEVNULL
    ) as running:
        try:
            yield
        finally:
            running.kill()


@contextmanager
def balanced_pair(
    serve: Callable[..., Any], redis_url: str, ports: list[int], control: Path, binary: str
) -> Iterator[Balanced]:
    """Start two replicas and the balancer, which can be asked at `control`; both are up."""
    replicas = Balanced(serve, redis_url, ports)
    shipped = Path(__file__).parents[3] / "deploy/haproxy.cfg"
    configuration = control.with_name("haproxy.cfg")
    configuration.write_text(replicas.configuration(shipped.read_text(), control))
    with balancing(binary, configuration):
        await_both(control)
        yield replicas


def await_both(control: Path) -> None:
    """Wait until the balancer knows that both replicas are ready."""
    until(lambda: control.exists() and [state[:2] for state in states(control)] == ["UP", "UP"])


@pytest.fixture
def control(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the balancer can be asked."""
    return tmp_path_factory.mktemp("haproxy") / "socket"


@pytest.fixture
def both_up(control: Path) -> Callable[[], object]:
    return lambda: await_both(control)


@pytest.fixture
def balanced(
    serve: Callable[..., Any],
    redis_server,
    free_ports: Callable[[int], list[int]],
    control: Path,
    program: Callable[[str], str],
) -> Iterator[Balanced]:
    ports, binary = free_ports(6), program("haproxy")
    with balanced_pair(serve, redis_server.url, ports, control, binary) as made:
        yield made


@pytest.fixture(scope="module")
def lasting(
    lasting_serve: Callable[..., Any],
    lasting_redis,
    free_ports: Callable[[int], list[int]],
    tmp_path_factory: pytest.TempPathFactory,
    program: Callable[[str], str],
) -> Iterator[Balanced]:
    """A pair for all tests that leave it as it was."""
    control = tmp_path_factory.mktemp("haproxy") / "socket"
    ports, binary = free_ports(6), program("haproxy")
    with balanced_pair(lasting_serve, lasting_redis.url, ports, control, binary) as made:
        yield made


@pytest.fixture
def few(rows: Mapping[str, list[float]]) -> Rows:
    return {name: values[:60] for name, values in rows.items()}


def pairs(explained) -> list[Any]:
    return [strength.values for strength in explained.interactions.pairwise]


def same(one, other) -> bool:
    """Whether answers have the same numbers, but for their last digits."""
    return bool(np.allclose(pairs(one), pairs(other), rtol=1e-9, atol=1e-12))


GRPC_CALLS, REST_CALLS = "grpc_server_started_total", "http_server_request_duration_seconds_count"
PREDICTED, HITS, MISSES = (
    "onnxplain_predicted_rows_total",
    'onnxplain_cache_requests_total{result="hit"}',
    'onnxplain_cache_requests_total{result="miss"}',
)
COUNTED = PREDICTED, HITS, MISSES


def test_the_second_replica_answers_from_the_grids_that_the_first_computed(
    lasting: Balanced,
    network: bytes,
    rows: Mapping[str, list[float]],
    undisturbed: Callable[..., None],
) -> None:
    balanced = lasting
    random = np.random.default_rng(4)

    def fresh() -> Rows:
        return {name: random.normal(size=60).tolist() for name in rows}

    def attempt(_number: int) -> None:
        table = fresh()
        before = [{name: metric(each, name) for name in COUNTED} for each in balanced.servers]
        answers = [balanced.explain(network, table, PAIRS)]
        (second,) = (
            place
            for place, each in enumerate(balanced.servers)
            if metric(each, PREDICTED) == before[place][PREDICTED]
        )
        while metric(balanced.servers[second], HITS) == before[second][HITS]:
            answers.append(balanced.explain(network, table, PAIRS))

        grown = {
            name: metric(balanced.servers[second], name) - before[second][name] for name in COUNTED
        }
        assert [answer.receipt.predicted_row_count > 0 for answer in answers[:2]] == [True, False]
        assert answers[-1].receipt.predicted_row_count == 0
        assert grown == {PREDICTED: 0, MISSES: 0, HITS: answers[0].receipt.cache_miss_count}
        assert all(same(each, answers[0]) for each in answers)

    def ask(server) -> None:
        with onnxplain.connect(server.endpoint) as client:
            client.explain(network, fresh(), CURVE)

    undisturbed(balanced.servers, attempt, ask)


@contextmanager
def load(balanced: Balanced, network: bytes, rows: Rows) -> Iterator[tuple[list[Any], Any]]:
    """Have callers ask all the time, each on one connection; what they got."""
    stop, answered, outcomes = threading.Event(), threading.Semaphore(0), list[Any]()

    def ask() -> None:
        with onnxplain.connect(balanced.endpoint, retry_count=10) as client:
            while not stop.is_set():
                try:
                    found = client.explain(network, rows, CURVE, timeout=PATIENCE)
                    outcomes.append(found.partial_dependence.curves[0].values)
                except onnxplain.ExplainError as error:
                    outcomes.append(error)
                answered.release()

    with ThreadPoolExecutor(CALLER_COUNT) as callers:
        asking = [callers.submit(ask) for _ in range(CALLER_COUNT)]
        try:
            yield outcomes, answered
        finally:
            stop.set()
    for each in asking:
        each.result()


def test_a_rolling_restart_under_load_loses_nothing(
    balanced: Balanced, both_up: Callable[[], None], network: bytes, few: Rows
) -> None:
    with onnxplain.local() as client:
        expected = client.explain(network, few, CURVE).partial_dependence.curves[0].values

    with load(balanced, network, few) as (outcomes, answered):
        for number in range(2):
            for _ in range(10):
                assert answered.acquire(timeout=PATIENCE)
            balanced.replace(number)
            both_up()
            # On connections that are older than this replica.
            back = balanced.servers[number]
            while called(back, GRPC_CALLS) == 0:
                assert answered.acquire(timeout=PATIENCE)
        for _ in range(10):
            assert answered.acquire(timeout=PATIENCE)

    assert [each for each in outcomes if isinstance(each, onnxplain.ExplainError)] == []
    assert all(np.allclose(each, expected) for each in outcomes)


def test_calls_over_one_channel_reach_every_replica_also_one_that_came_back(
    balanced: Balanced, both_up: Callable[[], None], network: bytes, few: Rows
) -> None:
    with onnxplain.connect(balanced.endpoint) as client:

        def ask() -> list[float]:
            before = [called(each, GRPC_CALLS) for each in balanced.servers]
            for _ in range(10):
                client.explain(network, few, CURVE, timeout=PATIENCE)
            after = [called(each, GRPC_CALLS) for each in balanced.servers]
            return [b - a for a, b in zip(before, after, strict=True)]

        first = ask()
        balanced.replace(0)
        both_up()
        second = ask()

    assert sum(first) == sum(second) == 10
    assert min(first) > 0
    assert min(second) > 0


def document(model: bytes, rows: Rows, methods: list[Any], **others: Any) -> bytes:
    """A request over REST, as JSON."""
    table = {"columns": list(rows), "data": list(map(list, zip(*rows.values(), strict=True)))}
    content = {"content": base64.b64encode(model).decode()}
    request = {"model": content, "dataframe_split": table, "methods": methods, **others}
    return json.dumps(request).encode()


def test_requests_over_one_connection_of_rest_reach_every_replica(
    lasting: Balanced, network: bytes, few: Rows
) -> None:
    before = [called(each, REST_CALLS) for each in lasting.servers]
    asked = document(network, few, [{"partialDependence": {"features": [{"names": ["x0"]}]}}])
    connection = http.client.HTTPConnection("127.0.0.1", lasting.rest_port, timeout=PATIENCE)
    connection.connect()
    first = connection.sock
    for _ in range(10):
        connection.request("POST", "/v1/explanations", asked, JSON)
        reply = connection.getresponse()
        assert (reply.status, bool(reply.read())) == (200, True)
    assert connection.sock is first
    connection.close()

    after = [called(each, REST_CALLS) for each in lasting.servers]
    assert [new > old for new, old in zip(after, before, strict=True)] == [True, True]


@pytest.mark.parametrize("surface", ["gRPC", "REST"])
def test_a_client_that_leaves_ends_its_computation(
    lasting: Balanced, network: bytes, rows: Mapping[str, list[float]], surface: str
) -> None:
    def state(name: str) -> float:
        return sum(metric(each, name) for each in lasting.servers)

    cancelled = 'onnxplain_rejected_total{reason="CANCELLED"}'
    before = state(cancelled)

    table = {name: list(values) for name, values in rows.items()}
    with ThreadPoolExecutor(1) as caller:
        if surface == "gRPC":
            client = onnxplain.connect(lasting.endpoint, retry_count=0)
            method = onnxplain.Interactions()
            call = caller.submit(
                client.explain, network, table, method, row_count=4000, engine="BLACK_BOX"
            )
            leave = client.close
        else:
            connection = http.client.HTTPConnection("127.0.0.1", lasting.rest_port)
            pairs: dict[str, object] = {"interactions": {}}
            asked = document(network, table, [pairs], rowCount=4000, engine="BLACK_BOX")
            connection.request("POST", "/v1/explanations", asked, JSON)
            leave = connection.close
        until(lambda: state("onnxplain_running_requests") == 1)
        leave()
        until(lambda: state(cancelled) == before + 1)
        if surface == "gRPC":
            assert isinstance(call.exception(), Exception)

    assert state("onnxplain_running_requests") == 0


def test_a_replica_that_is_killed_in_the_middle_of_a_call_costs_one_retry(
    balanced: Balanced, network: bytes, rows: Rows
) -> None:
    with ThreadPoolExecutor(1) as caller:
        for count in itertools.count(500):  # until one is seen at work
            many = {name: values[:count] for name, values in rows.items()}
            asked = caller.submit(balanced.explain, network, many, PAIRS, retry_count=1)
            running: list[Any] = []
            while not (running or asked.done()):
                running = [s for s in balanced.servers if metric(s, "onnxplain_running_requests")]
            if running:
                running[0].process.kill()
                break
            asked.result()
        found = asked.result(PATIENCE)

    with onnxplain.local() as client:
        expected = client.explain(network, many, PAIRS)
    assert np.allclose(pairs(found), pairs(expected), rtol=1e-6)


def test_without_redis_both_replicas_answer_as_before(
    balanced: Balanced, redis_server, network: bytes, few: Rows
) -> None:
    before = balanced.explain(network, few, PAIRS)
    redis_server.kill()

    while any(metric(each, "onnxplain_predicted_rows_total") == 0 for each in balanced.servers):
        after = balanced.explain(network, few, PAIRS)
        assert same(after, before)
    assert [
        metric(each, 'onnxplain_rejected_total{reason="INTERNAL"}') for each in balanced.servers
    ] == [0, 0]
