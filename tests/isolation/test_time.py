"""Time limits: work ends when it should, and its processor is free again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hostile import greedy
from hostile.base import Hostile, model, node
from onnxplain_server.adapters.workers import worker_process as worker_module
from onnxplain_server.adapters.workers.isolated import Isolated
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.transport.admission.follower import Follower

GOOD = model([node("Neg", "X")]).SerializeToString()
LOOP = greedy.loop(2**62).SerializeToString()
KERNEL = greedy.kernel(8_000).SerializeToString()
ENDLESS = [
    pytest.param(one, id=one.name, marks=() if one.name == "d-loop" else pytest.mark.slow)
    for one in greedy.endless()
]


@pytest.fixture
def runner(shared, isolated: Isolated) -> Isolated:
    """The workers that all tests share."""
    isolated.answer(Call(ServiceMethod.EXPLAIN, shared.request(GOOD)), shared.call())
    return isolated


def reason_of(function: Callable[[], object]) -> Reason:
    with pytest.raises(ExplainError) as ended:
        function()
    return ended.value.reason


def wants_processor(pid: int) -> bool:
    """Check whether a thread of a process is runnable."""
    states = set()
    with suppress(OSError):  # of a process or a thread that ends meanwhile
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                states.add((thread / "stat").read_text().rpartition(")")[2].split()[0])
    return "R" in states


@pytest.mark.parametrize("hostile", ENDLESS)
def test_a_call_that_never_ends_is_over_at_its_deadline(
    runner: Isolated, shared, hostile: Hostile
) -> None:
    """Delay afterwards: bench/server/isolation.py."""
    reason = reason_of(
        lambda: runner.answer(
            Call(ServiceMethod.EXPLAIN, shared.request(hostile.content)),
            shared.call(1, model_key="bad"),
        )
    )

    assert reason in {Reason.DEADLINE_EXCEEDED, *hostile.reasons}


def test_a_model_that_loads_too_long_is_refused_by_the_limit_for_loading(own) -> None:
    runner = own(timeouts=own.timeouts(load=1))

    reason = reason_of(
        lambda: runner.answer(Call(ServiceMethod.EXPLAIN, own.request(LOOP)), own.call())
    )

    assert reason is Reason.LOADING_TOO_LONG


@pytest.mark.parametrize("content", [LOOP, KERNEL], ids=["loop", "kernel"])
def test_a_caller_that_leaves_frees_the_processor(runner: Isolated, shared, content: bytes) -> None:
    call = shared.call(model_key="bad")
    reasons: list[Reason] = []

    def work() -> None:
        reasons.append(
            reason_of(
                lambda: runner.answer(Call(ServiceMethod.EXPLAIN, shared.request(content)), call)
            )
        )

    thread, worker = shared.worker_of(runner, work)
    call.control.cancel()
    thread.join(shared.long_seconds)

    def rests() -> bool:
        before = shared.processor_seconds({worker})
        looks = [wants_processor(worker) for _ in range(100)]
        return not any(looks) and shared.processor_seconds({worker}) in {0, before}

    assert reasons == [Reason.CANCELLED]
    assert shared.soon(rests)


def test_a_worker_that_stops_when_told_is_kept(
    runner: Isolated, shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is slow, so it needs no killing."""
    monkeypatch.setattr(worker_module, "_GRACE_SECONDS", shared.long_seconds)
    call = shared.call(model_key="kept")
    runner.answer(Call(ServiceMethod.EXPLAIN, shared.request(GOOD)), call)
    workers = {worker.pid for worker in runner._pool._warm}
    call.control.cancel()
    with pytest.raises(ExplainError, match="gone"):
        runner.answer(Call(ServiceMethod.EXPLAIN, shared.request(GOOD)), call)

    assert {worker.pid for worker in runner._pool._warm} == workers


def test_no_deadline_and_an_absurd_one_end_at_the_limit_of_the_server(runner: Isolated) -> None:
    from onnxplain_server.adapters.runner.local_decoder import LocalDecoder  # noqa: PLC0415 - this test is about admission
    from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs  # noqa: PLC0415
    from onnxplain_server.adapters.storage.memory_cache import MemoryCache  # noqa: PLC0415
    from onnxplain_server.adapters.storage.signing import Signer  # noqa: PLC0415
    from onnxplain_server.transport.admission.admission import Caller, RequestLimits  # noqa: PLC0415
    from onnxplain_server.transport.admission.scheduler import Scheduler  # noqa: PLC0415
    from onnxplain_server.transport.metrics.request_metrics import Metrics  # noqa: PLC0415
    from onnxplain_server.transport.service import Service  # noqa: PLC0415

    service = Service(
        runner,
        MemoryCache(0, Signer(b"")),
        MemoryBlobs(0, 1),
        decoder=LocalDecoder(),
        limits=RequestLimits(9, 9, 1e-9),
        scheduler=Scheduler(1, 0),
        metrics=Metrics(),
    )
    for seconds in (float("inf"), 1e300):
        caller = Caller("", seconds, lambda: False)
        with (
            service.admit(caller) as ticket,
            pytest.raises(ExplainError, match="the deadline passed"),
        ):
            ticket.check()


def test_too_many_planned_rows_are_refused_before_they_start_with_the_number(
    runner: Isolated, shared
) -> None:
    told: list[tuple[float, float]] = []
    call = shared.call(
        row_limit=10, follower=Follower(lambda done, planned: told.append((done, planned)))
    )

    with pytest.raises(ExplainError, match=r"up to 18 rows; this server allows 10\.") as refused:
        runner.answer(Call(ServiceMethod.EXPLAIN, shared.request(GOOD)), call)

    assert refused.value.reason is Reason.TOO_MANY_ROWS
    assert all(done == 0 for done, _ in told)


def test_others_are_answered_while_hostile_work_runs(runner: Isolated, shared) -> None:
    hostile = [shared.call(model_key=f"bad {i}") for i in range(2)]
    reasons: list[Reason] = []

    def work(call) -> Callable[[], None]:
        return lambda: reasons.append(
            reason_of(
                lambda: runner.answer(Call(ServiceMethod.EXPLAIN, shared.request(LOOP)), call)
            )
        )

    threads = [shared.worker_of(runner, work(call))[0] for call in hostile]
    runner.answer(Call(ServiceMethod.EXPLAIN, shared.request(GOOD)), shared.call())
    assert reasons == []
    for call, thread in zip(hostile, threads, strict=True):
        call.control.cancel()
        thread.join(shared.long_seconds)

    assert reasons == [Reason.CANCELLED] * 2
