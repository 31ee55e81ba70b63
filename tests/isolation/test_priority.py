"""CPU priority of workers: short requests go before long ones."""

from __future__ import annotations

import errno
import itertools
import os
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hostile import greedy
from hostile.base import model, node
from onnxplain_server.adapters.workers.ipc.zygote_protocol import WORKER_NICENESS
from onnxplain_server.adapters.workers.isolated import Isolated
from onnxplain_server.adapters.workers.priority import Priorities, niceness
from onnxplain_server.adapters.workers.worker_process import Worker
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

GOOD = model([node("Neg", "X")]).SerializeToString()
ENDLESS = greedy.loop(2**62).SerializeToString()
LONG_WORK_SECONDS = 0.5
_numbers = itertools.count()


def work_long(own, runner: Isolated, caller_key: str) -> None:
    """Have a new worker compute for a caller until it has stepped back for the time it used."""
    call = own.call(model_key=f"long {next(_numbers)}", caller_key=caller_key)

    def work() -> None:
        with pytest.raises(ExplainError):
            runner.answer(Call(ServiceMethod.EXPLAIN, own.request(ENDLESS)), call)

    def has_worked() -> bool:
        busy = [*runner._pool._busy]
        used = own.processor_seconds({worker.pid for worker in busy})
        with suppress(ProcessLookupError):  # of a thread that has ended since it was listed
            return bool(used > LONG_WORK_SECONDS and all(min(levels(w)) > 0 for w in busy))
        return False

    thread = Thread(target=work)
    thread.start()
    assert own.soon(has_worked)
    call.control.cancel()
    thread.join()


def levels(worker: Worker) -> set[int]:
    """Return the niceness of a worker's threads relative to that of new workers."""
    threads = Path(f"/proc/{worker.pid}/task").iterdir()
    first = os.getpriority(os.PRIO_PROCESS, 0) + WORKER_NICENESS
    return {os.getpriority(os.PRIO_PROCESS, int(thread.name)) - first for thread in threads}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """Levels of the workers when they were asked."""
    actual: list[set[int]] = []
    ask = Worker.ask

    def watched(worker: Worker, *given) -> Any:
        actual.append(levels(worker))
        return ask(worker, *given)

    monkeypatch.setattr(Worker, "ask", watched)
    return actual


def test_who_works_longer_steps_back_further() -> None:
    actual = [niceness(seconds) for seconds in (0, 0.01, 0.25, 1, 4, 1e9)]

    assert actual == sorted(actual)
    assert (actual[0], actual[1], actual[-1]) == (0, 0, 15)
    # By the kernel's weights a tenth, and more for all that differ more.
    assert niceness(4.0) - niceness(0.0) >= 10


def test_a_worker_steps_back_the_longer_it_works(
    shared, isolated: Isolated, monkeypatch: pytest.MonkeyPatch
) -> None:
    actual: list[set[int]] = []
    end = Priorities.end

    def watched(priorities: Priorities, share, caller_key) -> None:
        actual.append(levels(share._worker))
        end(priorities, share, caller_key)

    monkeypatch.setattr(Priorities, "end", watched)
    work_long(shared, isolated, "eve")

    (after,) = actual
    assert len(after) == 1
    assert min(after) > 0


@pytest.mark.slow
def test_who_asked_for_long_work_begins_behind_others(own, seen: list[set[int]]) -> None:
    runner = own(spare_count=2)
    for _ in range(2):
        work_long(own, runner, "eve")
    runner.answer(
        Call(ServiceMethod.EXPLAIN, own.request(GOOD)),
        own.call(model_key="eve's", caller_key="eve"),
    )
    runner.answer(
        Call(ServiceMethod.EXPLAIN, own.request(GOOD)),
        own.call(model_key="ada's", caller_key="ada"),
    )

    *_, of_eve, of_ada = seen
    assert min(of_eve) > 0
    assert of_ada == {0}


@pytest.mark.slow
def test_a_worker_that_has_stepped_back_does_not_slow_another_caller(
    own, seen: list[set[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the permission to lower niceness, a new worker takes over."""
    set_priority = os.setpriority

    def unprivileged(which: int, who: int, level: int) -> None:
        if level < os.getpriority(which, who):
            raise PermissionError
        set_priority(which, who, level)

    monkeypatch.setattr(os, "setpriority", unprivileged)
    runner = own(spare_count=2)
    same = own.call(model_key="shared", caller_key="eve")
    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), same)
    (worker,) = runner._pool._warm
    for thread in Path(f"/proc/{worker.pid}/task").iterdir():
        os.setpriority(os.PRIO_PROCESS, int(thread.name), os.getpriority(os.PRIO_PROCESS, 0) + 10)
    worker.niceness = 10

    runner.answer(
        Call(ServiceMethod.EXPLAIN, own.request(GOOD)),
        own.call(model_key="shared", caller_key="ada"),
    )

    assert seen[-1] == {0}
    assert [each.pid for each in runner._pool._warm] != [worker.pid]


@pytest.mark.slow
def test_short_requests_bring_a_caller_forward_again(own, seen: list[set[int]]) -> None:
    runner = own(spare_count=2)
    work_long(own, runner, "eve")
    for number in range(8):
        runner.answer(
            Call(ServiceMethod.EXPLAIN, own.request(GOOD)),
            own.call(model_key=f"s{number}", caller_key="eve"),
        )

    assert max(seen[-1]) <= 1


@pytest.mark.slow
def test_without_a_free_descriptor_a_worker_keeps_its_level(
    own, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make torture` found that such requests failed, and lost their workers."""
    runner = own()
    work_long(own, runner, "slow")

    def none(_path: Path) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Path, "iterdir", none)
    assert runner.answer(
        Call(ServiceMethod.EXPLAIN, own.request(GOOD)),
        own.call(model_key="good", caller_key="slow"),
    )


@pytest.mark.slow
def test_a_worker_without_its_priority_is_not_lost(own, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = own()

    def fail(*_given: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Priorities, "begin", fail)
    for _ in range(3):
        with pytest.raises(MemoryError):
            runner.answer(
                Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call(model_key="good")
            )
    # That nothing of them remains is seen by `own` itself.
