"""Fixtures: a runner with workers, requests for it, and checks of their remains."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from hostile.base import model, node
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, MethodOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceOptions
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.sandbox.confine import Budget
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.adapters.workers import process_status
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings
from onnxplain_server.adapters.workers.isolated import Isolated, WorkerTimeouts
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.interfaces import Call, Runner
from onnxplain_server.core.model_limits import ModelLimits
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl

from tools.waiting import PATIENCE_SECONDS

ROWS = b"a,b,c\n1,2,3\n4,5,6\n7,8,10\n"
LONG_SECONDS = 60.0
"""A bound that only something endless exceeds. How long things take is measured in bench/."""
OF_SERVER = "known to the server alone"

MEMORY_BYTES = 512 * 2**20
TIMEOUTS = WorkerTimeouts(load_seconds=LONG_SECONDS, quarantine_seconds=10 * LONG_SECONDS)


def order(**overrides) -> WorkerSettings:
    usual: dict[str, Any] = {
        "thread_count": 2,
        "arena_bytes": 32 * 2**20,
        "budget": Budget(MEMORY_BYTES, 3_600),
        "limits": ModelLimits(),
    }
    return WorkerSettings(**(usual | overrides))


def request(content: bytes, csv: bytes = ROWS, *methods: MethodOptions, **overrides) -> bytes:
    """Ask for a curve of two points of each feature."""
    usual = MethodOptions(partial_dependence=PartialDependenceOptions(grid_size=2))
    serialised = ExplainRequest(
        model=Model(content=content),
        table=Table(csv=csv),
        methods=methods or [usual],
        **({"plots": False} | overrides),
    )
    return serialised.SerializeToString()


def call(
    seconds: float = 10 * LONG_SECONDS, model_key: str = "a model", **overrides
) -> RequestContext:
    return RequestContext(
        RequestControl(seconds),
        MemoryCache(0, Signer(b"a secret of the tests")),
        "",
        model_key=model_key,
        **overrides,
    )


def same(actual, expected) -> bool:
    """Compare answers up to the last digits, which depend on memory alignment.

    Differences of large numbers keep their last digits: those of the largest one in the answer.
    """
    if isinstance(actual, Message):
        actual, expected = MessageToDict(actual), MessageToDict(expected)
    return _same(actual, expected, 1e-12 * max(1.0, *map(abs, _numbers(expected))))


def _same(actual, expected, digit: float) -> bool:
    if isinstance(actual, dict):
        return actual.keys() == expected.keys() and all(
            _same(actual[key], expected[key], digit) for key in actual
        )
    if isinstance(actual, list):
        return len(actual) == len(expected) and all(
            _same(*pair, digit) for pair in zip(actual, expected, strict=True)
        )
    if isinstance(actual, float):
        return bool(actual == pytest.approx(expected, rel=1e-9, abs=digit))
    return bool(actual == expected)


def _numbers(answer) -> list[float]:
    """All finite numbers in an answer, and a 0."""
    if isinstance(answer, dict):
        return _numbers(list(answer.values()))
    if isinstance(answer, list):
        return [number for each in answer for number in _numbers(each)]
    return [answer] if isinstance(answer, float) and math.isfinite(answer) else [0.0]


@dataclass
class Ask:
    """Asks a runner; an answer comes back without what differs from run to run."""

    runner: Runner

    def __call__(self, content: bytes, **overrides) -> ExplainResponse:
        return self.with_call(call(model_key=str(hash(content))), content, **overrides)

    def with_call(self, host: RequestContext, content: bytes, **overrides) -> ExplainResponse:
        reply = self.runner.answer(
            Call(ServiceMethod.EXPLAIN, request(content, **overrides)), host
        ).content
        answer = ExplainResponse.FromString(reply)
        answer.receipt.ClearField("elapsed")
        return answer

    same = staticmethod(same)

    def refusal(self, content: bytes, **overrides) -> ExplainError | None:
        """Return why there is no answer; None where there is one."""
        try:
            self(content, **overrides)
        except ExplainError as error:
            return error
        return None


@pytest.fixture(scope="session")
def isolated() -> Iterator[Isolated]:
    """Share the workers among the tests, as a server does among its callers; it has a secret."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONNXPLAIN_CACHE_SECRET", OF_SERVER)
        made = Isolated(order(), spare_count=2, warm_bytes=2**28, timeouts=TIMEOUTS)
    yield made
    made.close()


@pytest.fixture(scope="session")
def calls() -> Callable[..., RequestContext]:
    """Make the surroundings of requests."""
    return call


@pytest.fixture(scope="session")
def ask(isolated: Isolated) -> Ask:
    return Ask(isolated)


@pytest.fixture(scope="session")
def reference() -> Iterator[Ask]:
    """The same without isolation."""
    runner = InProcess(2)
    # The first reading of a CSV opens a pipe for the life of the process.
    runner.answer(
        Call(ServiceMethod.EXPLAIN, request(model([node("Neg", "X")]).SerializeToString())), call()
    )
    # Threads are started when they are needed, and then stay: `own` counts them.
    both = threading.Barrier(2)
    list(runner._threads.map(lambda _: both.wait(LONG_SECONDS), range(2)))
    yield Ask(runner)
    runner.close()


def family(pid: int) -> set[int]:
    """Processes below this one."""
    actual: set[int] = set()
    with suppress(OSError):  # of a process or a thread that ends meanwhile
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                actual |= {int(child) for child in (thread / "children").read_text().split()}
    return actual.union(*map(family, actual))


def processor_seconds(pids: set[int]) -> float:
    """Processor time that processes have used."""
    return sum(map(process_status.processor_seconds, pids))


def file_count() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@dataclass
class Own:
    """Runners made by a test, ended after it."""

    made: list[Isolated] = field(default_factory=list)
    order = staticmethod(order)
    request = staticmethod(request)
    call = staticmethod(call)
    family = staticmethod(family)
    processor_seconds = staticmethod(processor_seconds)
    long_seconds = LONG_SECONDS
    same = staticmethod(same)
    answer = staticmethod(ExplainResponse.FromString)

    def __call__(self, **overrides) -> Isolated:
        usual: dict[str, Any] = {"spare_count": 1, "warm_bytes": 2**28, "timeouts": TIMEOUTS}
        chosen = usual | {name: overrides.pop(name) for name in list(overrides) if name in usual}
        runner = Isolated(order(**overrides), **chosen)
        self.made.append(runner)
        return runner

    def worker_of(self, runner: Isolated, work: Callable[[], object]) -> tuple[Thread, int]:
        """Begin work in a thread; the worker that computes it, as soon as it does."""
        pool = runner._pool
        assert self.soon(lambda: len(pool._spares) == pool._spare_count)
        idle = {worker.pid for worker in [*runner._pool._warm, *runner._pool._spares]}
        before = {pid: process_status.processor_seconds(pid) for pid in idle}

        def busy() -> list[int]:
            used = {pid: process_status.processor_seconds(pid) - before[pid] for pid in idle}
            return [pid for pid, seconds in used.items() if seconds > 0.1]

        thread = Thread(target=work)
        thread.start()
        assert self.soon(busy)
        return thread, busy()[0]

    @staticmethod
    def timeouts(
        load: float = LONG_SECONDS, quarantine: float = 10 * LONG_SECONDS
    ) -> WorkerTimeouts:
        return WorkerTimeouts(load, quarantine)

    @staticmethod
    def soon(holds, seconds: float = PATIENCE_SECONDS) -> bool:
        """Wait for a condition, with a time limit for a busy machine."""
        end = time.monotonic() + seconds
        while not (found := holds()) and time.monotonic() < end:
            time.sleep(0.005)
        return bool(found)


def rests(runner: Isolated) -> bool:
    """Whether a runner starts no worker and ends none."""
    pools = [runner._pool, *([runner._learning[0]] if runner._learning else ())]
    return all(len(each._spares) == each._spare_count and not each._killed for each in pools)


@pytest.fixture
def shared(isolated: Isolated) -> Own:
    """What tests do with runners, for the one that all share: its workers remain."""
    assert Own.soon(lambda: rests(isolated))
    return Own()


@pytest.fixture(scope="module")
def lasting() -> Iterator[Own]:
    """Make runners for all tests of a file."""
    made = Own()
    yield made
    for runner in made.made:
        runner.close()


@pytest.fixture
def own(reference: Ask, isolated: Isolated) -> Iterator[Own]:
    """Make runners, and see that nothing of them remains."""
    assert Own.soon(lambda: rests(isolated))  # then what it has is not taken for theirs
    files, processes = file_count(), family(os.getpid())
    threads = threading.active_count()
    made = Own()
    yield made
    for runner in made.made:
        runner.close()
    assert made.soon(lambda: family(os.getpid()) <= processes)
    assert made.soon(lambda: file_count() <= files)
    assert made.soon(lambda: threading.active_count() <= threads)
