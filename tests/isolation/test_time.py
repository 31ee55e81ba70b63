"""Work ends when it should, and its processor is free again."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile import greedy
from hostile.base import Hostile, model, node
from onnxplain_server.adapters.workers.isolated import Isolated
from onnxplain_server.errors import ExplainError, Reason

GOOD = model([node("Neg", "X")]).SerializeToString()
LOOP = greedy.loop(2**62).SerializeToString()
KERNEL = greedy.kernel(8_000).SerializeToString()
ENDLESS = list(greedy.endless())


@pytest.fixture
def runner(own: Any) -> Isolated:
    made: Isolated = own()
    made.explain(own.request(GOOD), {}, own.call())
    return made


def seconds_of(function: Callable[[], object]) -> tuple[float, Reason]:
    start = time.monotonic()
    with pytest.raises(ExplainError) as ended:
        function()
    return time.monotonic() - start, ended.value.reason


@pytest.mark.parametrize("hostile", ENDLESS, ids=lambda hostile: hostile.name)
def test_rows_8_9_and_10_a_call_is_over_half_a_second_after_its_deadline(
    runner: Isolated, own: Any, hostile: Hostile
) -> None:
    taken, reason = seconds_of(
        lambda: runner.explain(own.request(hostile.content), {}, own.call(1, subject="bad"))
    )

    assert taken < 1.5
    assert reason in {Reason.DEADLINE_EXCEEDED, *hostile.reasons}


def test_row_10_a_model_that_loads_too_long_is_refused_by_the_limit_for_loading(own: Any) -> None:
    runner = own(patience=own.patience(load=1))

    taken, reason = seconds_of(lambda: runner.explain(own.request(LOOP), {}, own.call(30)))

    assert reason is Reason.LOADING_TOO_LONG
    assert taken < 1.5 + 0.2  # on top of the start of the request


def processor_ticks(pids: set[int]) -> int:
    ticks = 0
    for pid in pids:
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists():
            fields = stat.read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks


@pytest.mark.parametrize("content", [LOOP, KERNEL], ids=["loop", "kernel"])
def test_row_32_a_caller_that_leaves_frees_the_processor_within_half_a_second(
    runner: Isolated, own: Any, content: bytes
) -> None:
    call = own.call(60, subject="bad")
    timer = threading.Timer(0.7, call.cancel)
    timer.start()

    taken, reason = seconds_of(lambda: runner.explain(own.request(content), {}, call))

    assert (reason, taken < 0.7 + 0.5) == (Reason.CANCELLED, True)
    time.sleep(0.2)
    workers = own.family(os.getpid())
    before = processor_ticks(workers)
    time.sleep(0.3)
    assert processor_ticks(workers) - before <= 5
    timer.join()


def test_a_worker_that_stops_when_told_is_kept(runner: Isolated, own: Any) -> None:
    """Nothing of it is slow, so it needs no killing."""
    call = own.call(subject="kept")
    runner.explain(own.request(GOOD), {}, call)
    workers = {worker.pid for worker in runner._pool._warm}
    call.cancel()
    with pytest.raises(ExplainError, match="gone"):
        runner.explain(own.request(GOOD), {}, call)

    assert {worker.pid for worker in runner._pool._warm} == workers


def test_row_33_no_deadline_and_an_absurd_one_end_at_the_limit_of_the_server() -> None:
    from onnxplain.v1.model_pb2 import Model  # noqa: PLC0415 - this test is about admission
    from onnxplain.v1.table_pb2 import Table  # noqa: PLC0415
    from onnxplain_server.adapters.memory_cache import MemoryCache  # noqa: PLC0415
    from onnxplain_server.adapters.seal import Seal  # noqa: PLC0415
    from onnxplain_server.transport.admission import Caller, Limits, admit  # noqa: PLC0415

    for seconds in (float("inf"), 1e300):
        call = admit(
            Model(content=b"m"),
            Table(csv=b"t"),
            {},
            Caller("", seconds, lambda: False),
            cache=MemoryCache(0, Seal(b"")),
            limits=Limits(9, 9, 0.01),
            progress=lambda _done, _planned: None,
        )
        time.sleep(0.02)
        with pytest.raises(ExplainError, match="time was over"):
            call.check("here")


def test_too_many_planned_rows_are_refused_before_they_start_with_the_number(
    runner: Isolated, own: Any
) -> None:
    told: list[tuple[float, float]] = []
    call = own.call(row_limit=10, progress=lambda done, planned: told.append((done, planned)))

    with pytest.raises(ExplainError, match=r"up to 18 rows; this server allows 10\.") as refused:
        runner.explain(own.request(GOOD), {}, call)

    assert refused.value.reason is Reason.TOO_MANY_ROWS
    assert all(done == 0 for done, _ in told)


@pytest.fixture
def busy(runner: Isolated, own: Any) -> Iterator[None]:
    """Two hostile calls at work."""
    calls = [own.call(60, subject=f"bad {i}") for i in range(2)]

    def work(call: Any) -> None:
        with pytest.raises(ExplainError):
            runner.explain(own.request(KERNEL), {}, call)

    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    yield
    for call in calls:
        call.cancel()
    for thread in threads:
        thread.join()


def test_others_are_answered_while_hostile_work_runs(
    runner: Isolated, own: Any, busy: None
) -> None:
    start = time.monotonic()
    runner.explain(own.request(GOOD), {}, own.call())

    assert time.monotonic() - start < 1
