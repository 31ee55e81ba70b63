"""More than the server can do: it goes on with what it can, and refuses the rest at once."""

from __future__ import annotations

import base64
import http.client
import json
import statistics
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import MessageToDict
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status
from harness import difference
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub

from tools.waiting import until

pytestmark = pytest.mark.slow

PATIENCE = 300.0
OVERLOAD = 10
WAITING_COUNT = 16


def document(network: bytes, rows: Mapping[str, list[float]], row_count: int, seed: int) -> bytes:
    """A request in JSON: all interactions of the network on so many rows."""
    names = list(rows)
    lines = [
        ",".join(names),
        *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True)),
    ]
    table = base64.b64encode("\n".join(lines[: row_count + 1]).encode()).decode()
    return json.dumps(
        {
            "model": {"content": base64.b64encode(network).decode()},
            "table": {"csv": table},
            "rowCount": row_count,
            "seed": seed,
            "plots": False,
            "methods": [{"interactions": {"pairwiseFeatureCount": 5}}],
        }
    ).encode()


class Load:
    """Calls to a server, and what has come of them so far."""

    def __init__(self, server, request: ExplainRequest) -> None:
        self._server = server
        self._request = request
        self._may_ask = threading.Semaphore(0)
        self.answers: list[Any] = []
        self.refused: list[Any] = []
        self.waits: list[int] = []
        """For each refused call, how many others were answered while it waited."""

    def overload(self, first_count: int, each_count: int, count: int) -> None:
        """Ask so often at once, then so often for each answer, until there are so many calls."""
        self._may_ask.release(first_count)
        with ExitStack() as opened:
            # A connection has a limit of calls at a time.
            channels = [opened.enter_context(connected(self._server)) for _ in range(8)]
            stubs = [ExplanationServiceStub(channel) for channel in channels]
            calls = []
            for number in range(count):
                assert self._may_ask.acquire(timeout=PATIENCE)
                call = stubs[number % len(stubs)].Explain.future(self._request, timeout=PATIENCE)
                call.add_done_callback(
                    partial(self._done, before=len(self.answers), each_count=each_count)
                )
                calls.append(call)
            for call in calls:
                call.exception()

    def _done(self, call, before: int, each_count: int) -> None:
        if call.code() is grpc.StatusCode.OK:
            self.answers.append(call)
            self._may_ask.release(each_count)
        else:
            self.waits.append(len(self.answers) - before)
            self.refused.append(call)


def connected(server) -> grpc.Channel:
    """A connection of its own."""
    return grpc.insecure_channel(server.endpoint, options=[("grpc.use_local_subchannel_pool", 1)])


@contextmanager
def probing(server, load: Load) -> Iterator[list[int]]:
    """Ask for health all the time; how many answers of the load came during each probe."""
    stop, waits = threading.Event(), list[int]()

    def probe() -> None:
        with connected(server) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            while not stop.wait(0.05):
                before = len(load.answers)
                found = stub.Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE)
                waits.append(len(load.answers) - before)
                assert found.status == found.SERVING

    thread = threading.Thread(target=probe)
    thread.start()
    yield waits
    stop.set()
    thread.join()


def answers_per_processor_second(server, load: Load, *counts: int) -> float:
    before = server.processor_seconds()
    load.overload(*counts)
    return len(load.answers) / float(server.processor_seconds() - before)


def plain(answer: ExplainResponse):
    return MessageToDict(answer)["explanations"]


def details(call) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for packed in rpc_status.from_call(call).details:
        for kind in (ErrorInfo, RetryInfo):
            if packed.Is(kind.DESCRIPTOR):
                found[kind] = kind.FromString(packed.value)
    return found


def test_ten_times_overload_leaves_the_goodput_and_is_refused_at_once(
    serve: Callable[..., Any], network: bytes, rows: Mapping[str, list[float]]
) -> None:
    """Quality under overload is measured by bench/server/load.py; this needs no idle machine."""
    server = serve(cache_bytes=0, running_count=2, waiting_count=WAITING_COUNT)
    asked = json.loads(document(network, rows, 60, 0))
    request = ExplainRequest(row_count=60, seed=0, plots=False)
    request.model.content = network
    request.table.csv = base64.b64decode(asked["table"]["csv"])
    request.methods.add().interactions.pairwise_feature_count = 5
    calm, load = Load(server, request), Load(server, request)
    peak = answers_per_processor_second(server, calm, 4, 1, 40)

    with probing(server, load) as probes:
        goodput = answers_per_processor_second(server, load, 60, OVERLOAD, 400)

    assert calm.refused == []
    assert goodput > 0.3 * peak
    # A refusal that waited for its turn would see as many answers as may wait; fewer are those that
    # come while the server's process waits for a processor.
    assert statistics.median(load.waits) < WAITING_COUNT
    assert statistics.median(probes) < WAITING_COUNT / 4
    for call in load.refused:
        assert call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        found = details(call)
        assert found[ErrorInfo].reason == "OVERLOADED"
        assert found[RetryInfo].retry_delay.seconds >= 1
    answers = [plain(call.result()) for call in load.answers]
    assert all(difference(answer, answers[0]) is None for answer in answers)


class Caller:
    """Asks from an address of its own."""

    def __init__(self, server, address: str) -> None:
        self._server = server
        self._address = address
        self._left = threading.Event()
        self._threads: list[threading.Thread] = []
        self.statuses: list[int] = []

    def ask(self, content: bytes) -> None:
        """Ask once."""
        reply, _ = self._post(content)
        assert reply == 200
        self.statuses.append(reply)

    def keep_asking(self, content: bytes, count: int) -> None:
        """Have so many requests there all the time."""

        def work() -> None:
            while not self._left.is_set():
                status, wait = self._post(content)
                self.statuses.append(status)
                self._left.wait(wait)

        self._threads = [threading.Thread(target=work) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    @property
    def answer_count(self) -> int:
        return self.statuses.count(200)

    def leave(self) -> None:
        self._left.set()
        for thread in self._threads:
            thread.join()

    def _post(self, content: bytes) -> tuple[int, float]:
        connection = http.client.HTTPConnection(
            "127.0.0.1",
            self._server.rest_port,
            timeout=PATIENCE,
            source_address=(self._address, 0),
        )
        headers = {"Content-Type": "application/json"}
        try:
            connection.request("POST", "/v1/explanations", content, headers)
            if self._left.is_set():
                return 0, 0
            answer = connection.getresponse()
            answer.read()
            return answer.status, float(answer.headers.get("Retry-After", 0))
        finally:
            connection.close()


@pytest.fixture
def callers(serve: Callable[..., Any]) -> Iterator[Callable[[str], Caller]]:
    """Callers of one server, who leave at the end."""
    server = serve(cache_bytes=0)
    with ExitStack() as leaving:

        def make(address: str) -> Caller:
            made = Caller(server, address)
            leaving.callback(made.leave)
            return made

        yield make


def test_short_requests_do_not_queue_behind_the_long_ones_of_two_hostile_callers(
    callers: Callable[[str], Caller], network: bytes, rows: Mapping[str, list[float]]
) -> None:
    """In a plain queue each would wait for half of the long ones, which are 18.

    Here it waits at most until a slot is free; then others may end, while it is computed.
    """
    short, long = document(network, rows, 60, 0), document(network, rows, 600, 0)
    good = callers("127.0.0.2")
    good.ask(short)
    hostile = [callers(address) for address in ("127.0.0.3", "127.0.0.4")]
    for each in hostile:
        each.ask(long)
        each.keep_asking(long, count=9)
    until(lambda: all(each.answer_count > 1 for each in hostile))

    waits = []
    for _ in range(20):
        before = sum(each.answer_count for each in hostile)
        good.ask(short)
        waits.append(sum(each.answer_count for each in hostile) - before)

    assert statistics.median(waits) <= 2
