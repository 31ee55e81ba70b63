"""More than the server can do: it goes on with what it can, and refuses the rest at once."""

from __future__ import annotations

import base64
import http.client
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
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

pytestmark = pytest.mark.slow

PATIENCE = 120.0
OVERLOAD = 10
SECONDS = 3.0


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


@dataclass(frozen=True)
class Outcome:
    """How a call ended, and after how long."""

    call: Any
    seconds: float

    @property
    def is_answer(self) -> bool:
        return bool(self.call.code() is grpc.StatusCode.OK)


def connected(server: Any) -> grpc.Channel:
    """A connection of its own."""
    return grpc.insecure_channel(server.endpoint, options=[("grpc.use_local_subchannel_pool", 1)])


@contextmanager
def probing(server: Any) -> Iterator[list[float]]:
    """Ask for health all the time; how long each probe took."""
    stop, seconds = threading.Event(), list[float]()

    def probe() -> None:
        with connected(server) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            while not stop.wait(0.05):
                begin = time.monotonic()
                found = stub.Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE)
                seconds.append(time.monotonic() - begin)
                assert found.status == found.SERVING

    thread = threading.Thread(target=probe)
    thread.start()
    yield seconds
    stop.set()
    thread.join()


def open_loop(server: Any, request: ExplainRequest, rate: float) -> list[Outcome]:
    """Ask so many times per second, whatever is answered."""
    outcomes: list[Outcome] = []
    count = int(rate * SECONDS)
    with ExitStack() as opened:
        # One connection has at most 100 calls at a time.
        channels = [opened.enter_context(connected(server)) for _ in range(8)]
        stubs = [ExplanationServiceStub(channel) for channel in channels]
        begin = time.monotonic()
        for number in range(count):
            time.sleep(max(0.0, begin + number / rate - time.monotonic()))
            start = time.monotonic()
            call = stubs[number % len(stubs)].Explain.future(request, timeout=PATIENCE)
            call.add_done_callback(
                lambda done, start=start: outcomes.append(Outcome(done, time.monotonic() - start))
            )
        while len(outcomes) < count:
            time.sleep(0.01)
    return outcomes


def closed_loop(server: Any, request: ExplainRequest) -> float:
    """Answers per second where four ask one after another."""
    answers: list[Any] = []
    end = time.monotonic() + SECONDS

    def ask() -> None:
        with connected(server) as channel:
            while time.monotonic() < end:
                answers.append(ExplanationServiceStub(channel).Explain(request, timeout=PATIENCE))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(answers) / (time.monotonic() - begin)


def plain(answer: ExplainResponse) -> Any:
    return MessageToDict(answer)["explanations"]


def details(call: Any) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for packed in rpc_status.from_call(call).details:
        for kind in (ErrorInfo, RetryInfo):
            if packed.Is(kind.DESCRIPTOR):
                found[kind] = kind.FromString(packed.value)
    return found


def test_ten_times_overload_leaves_the_goodput_and_is_refused_at_once(
    serve: Callable[..., Any], network: bytes, rows: Mapping[str, list[float]]
) -> None:
    """How well is measured by bench/load.py; here the machine may be busy."""
    server = serve(cache_bytes=0)
    asked = json.loads(document(network, rows, 60, 0))
    request = ExplainRequest(row_count=60, seed=0, plots=False)
    request.model.content = network
    request.table.csv = base64.b64decode(asked["table"]["csv"])
    request.methods.add().interactions.pairwise_feature_count = 5
    peak = closed_loop(server, request)

    begin = time.monotonic()
    with probing(server) as probes:
        outcomes = open_loop(server, request, OVERLOAD * peak)
    goodput = sum(outcome.is_answer for outcome in outcomes) / (time.monotonic() - begin)

    refused = [outcome for outcome in outcomes if not outcome.is_answer]
    assert goodput > 0.3 * min(peak, closed_loop(server, request))
    assert refused
    for outcome in refused:
        assert outcome.call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        found = details(outcome.call)
        assert found[ErrorInfo].reason == "OVERLOADED"
        assert found[RetryInfo].retry_delay.seconds >= 1
    answers = [plain(outcome.call.result()) for outcome in outcomes if outcome.is_answer]
    assert all(difference(answer, answers[0]) is None for answer in answers)
    assert statistics.median(outcome.seconds for outcome in refused) < 2
    assert statistics.median(probes) < 2


class Caller:
    """Asks from an address of its own."""

    def __init__(self, server: Any, address: str) -> None:
        self._server = server
        self._address = address
        self._left = threading.Event()
        self._threads: list[threading.Thread] = []
        self.seconds: list[float] = []

    def ask(self, content: bytes) -> float:
        """Ask once; how long it took."""
        begin = time.monotonic()
        reply, _ = self._post(content)
        assert reply == 200
        return time.monotonic() - begin

    def keep_asking(self, content: bytes, count: int) -> None:
        """Have so many requests there all the time."""

        def work() -> None:
            while not self._left.is_set():
                begin = time.monotonic()
                status, wait = self._post(content)
                if status == 200:
                    self.seconds.append(time.monotonic() - begin)
                self._left.wait(wait)

        self._threads = [threading.Thread(target=work) for _ in range(count)]
        for thread in self._threads:
            thread.start()

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


def test_two_hostile_callers_do_not_slow_a_good_one_by_more_than_its_share(
    callers: Callable[[str], Caller], network: bytes, rows: Mapping[str, list[float]]
) -> None:
    """The good one's requests are short; in a plain queue they took as long as the others'."""
    short, long = document(network, rows, 60, 0), document(network, rows, 1200, 0)
    good = callers("127.0.0.2")
    good.ask(short)
    alone = statistics.median(good.ask(short) for _ in range(20))
    hostile = [callers(address) for address in ("127.0.0.3", "127.0.0.4")]
    for each in hostile:
        each.ask(long)
        each.keep_asking(long, count=9)

    beside = statistics.median(good.ask(short) for _ in range(20))

    assert beside < 5 * alone
