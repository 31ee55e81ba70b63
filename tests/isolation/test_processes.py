"""Process deaths: workers, zygote and server die in every way; the others carry on."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile import greedy
from hostile.base import model, node
from onnxplain_server.adapters.workers.isolated import Isolated
from onnxplain_server.adapters.workers.process_status import processor_seconds
from onnxplain_server.adapters.workers.worker_process import Worker
from onnxplain_server.adapters.workers.zygote_process import Zygote
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.transport.audit.usage import Usage

KILL_COUNT = int(os.environ.get("TEST_KILLS", "40"))

GOOD = model([node("Neg", "X")]).SerializeToString()
MANY_ROWS = b"a,b,c\n" + b"".join(b"%d,%d,%d\n" % (i, i * i, i % 7) for i in range(20_000))
ENDLESS = greedy.loop(2**62).SerializeToString()


def zygote(runner: Isolated) -> int:
    assert runner._pool._zygote is not None
    return runner._pool._zygote._process.pid


def workers(own, runner: Isolated) -> set[int]:
    actual: set[int] = own.family(zygote(runner))
    return actual


@pytest.mark.slow
def test_a_worker_killed_while_idle_is_not_noticed(own) -> None:
    runner = own()
    for _ in range(40):
        runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())
        for worker in runner._pool._warm:
            os.kill(worker.pid, signal.SIGKILL)
        runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())

    assert runner.counts().death_count == 0


def test_a_kill_in_mid_call_fails_that_call_alone(own) -> None:
    runner = own(spare_count=2)
    good = own.call(model_key="good")
    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), good)
    reasons: list[Reason] = []

    def work() -> None:
        with pytest.raises(ExplainError) as died:
            runner.answer(
                Call(ServiceMethod.EXPLAIN, own.request(ENDLESS)), own.call(model_key="slow")
            )
        reasons.append(died.value.reason)

    thread, victim = own.worker_of(runner, work)
    os.kill(victim, signal.SIGKILL)
    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), good)
    thread.join(own.long_seconds)

    assert reasons == [Reason.WORKER_DIED]
    assert runner.counts().death_count == 1


@pytest.fixture
def at_work(monkeypatch: pytest.MonkeyPatch) -> set[Worker]:
    """Workers that are being asked."""
    actual: set[Worker] = set()
    ask = Worker.ask

    def watched(worker: Worker, *given) -> Any:
        actual.add(worker)
        try:
            return ask(worker, *given)
        finally:
            actual.discard(worker)

    monkeypatch.setattr(Worker, "ask", watched)
    return actual


@pytest.mark.slow
def test_kills_under_load_cost_one_retry_each(own, at_work: set[Worker]) -> None:
    """Two callers ask all the time while workers die; the retry is an answer.

    Every other kill is of a worker that has begun, since only such a death is told: on a busy
    machine those that are killed at any moment may all die before.

    `make torture` runs it with TEST_KILLS=1000.
    """
    runner = own(spare_count=2)
    message = own.request(GOOD, MANY_ROWS)
    expected = own.answer(
        runner.answer(Call(ServiceMethod.EXPLAIN, message), own.call()).content
    ).explanations
    failures: list[Reason] = []
    retries: list[bool] = []
    stop, no_kill = threading.Event(), threading.Lock()

    def load(name: str) -> None:
        while not stop.is_set():
            try:
                runner.answer(Call(ServiceMethod.EXPLAIN, message), own.call(model_key=name))
            except ExplainError as error:
                failures.append(error.reason)
                with no_kill:
                    again = own.answer(
                        runner.answer(
                            Call(ServiceMethod.EXPLAIN, message), own.call(model_key=name)
                        ).content
                    )
                retries.append(own.same(list(again.explanations), list(expected)))

    threads = [threading.Thread(target=load, args=(name,)) for name in ("one", "other")]
    for thread in threads:
        thread.start()
    end = time.monotonic() + KILL_COUNT / 8 * own.long_seconds
    only_begun = False
    while len(retries) < KILL_COUNT and time.monotonic() < end:
        with no_kill:
            victims = [each for each in list(at_work) if each.has_begun or not only_begun]
            for worker in victims[:1]:
                os.kill(worker.pid, signal.SIGKILL)
                only_begun = not only_begun
        time.sleep(0.05)
    stop.set()
    for thread in threads:
        thread.join()

    assert set(failures) == {Reason.WORKER_DIED}
    assert len(failures) == len(retries) >= KILL_COUNT
    assert all(retries)


@pytest.mark.slow
def test_the_zygote_s_death_is_survived_and_told(own) -> None:
    runner = own()
    first, before = runner._pool._zygote, zygote(runner)
    os.kill(before, signal.SIGKILL)
    with suppress(ExplainError):  # a worker may have died in the middle of it
        runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())
    assert own.soon(lambda: runner._pool._zygote not in {None, first})

    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())

    assert own.soon(lambda: runner.ready)
    assert own.family(before) == set()


@pytest.mark.slow
def test_nothing_outlives_a_killed_server(own) -> None:
    """Its workers end with it, in the middle of a multiplication."""
    code = f"""
import sys
sys.path[:0] = {[str(Path(__file__).parent), *sys.path]!r}
import conftest, hostile.greedy, threading
runner = conftest.Own()(spare_count=2)
asked = conftest.request(hostile.greedy.kernel(8000).SerializeToString())
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
work = lambda: runner.answer(Call(ServiceMethod.EXPLAIN, asked), conftest.call())
threading.excepthook = lambda _: None
conftest.Own().worker_of(runner, work)
print("ready", flush=True)
threading.Event().wait()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        family = own.family(server.pid)
        assert len(family) >= 3
        server.kill()

    assert own.soon(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in family))


def test_a_stopped_worker_is_killed_at_the_deadline(own, monkeypatch) -> None:
    monkeypatch.setattr(Worker, "wake", lambda _worker: True)
    runner = own()
    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())
    assert own.soon(lambda: runner._pool._spares)
    stopped = {worker.pid for worker in [*runner._pool._warm, *runner._pool._spares]}
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)

    with pytest.raises(ExplainError) as over:
        runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call(0.5))

    assert over.value.reason is Reason.DEADLINE_EXCEEDED
    assert own.soon(lambda: len(stopped & workers(own, runner)) < len(stopped))


@pytest.mark.slow
def test_where_no_process_can_be_made_it_is_told_and_tried_again(
    own, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = own(warm_bytes=0)
    fork = Zygote.fork

    def refused(_zygote: Zygote) -> None:
        raise OSError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr(Zygote, "fork", refused)
    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())
    assert own.soon(lambda: not runner.ready)
    with pytest.raises(ExplainError) as unavailable:
        runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())
    assert unavailable.value.reason is Reason.UNAVAILABLE
    monkeypatch.setattr(Zygote, "fork", fork)

    assert own.soon(lambda: runner.ready)
    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())


@pytest.mark.slow
def test_a_zygote_without_file_descriptors_is_replaced(own) -> None:
    runner = own(warm_bytes=0)
    before = zygote(runner)
    resource.prlimit(before, resource.RLIMIT_NOFILE, (3, 3))
    for _ in range(2):  # the second one finds no spare worker that was there before
        with suppress(ExplainError):
            runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())

    assert own.soon(lambda: runner.ready and zygote(runner) != before)
    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() == 0, reason="the system does not limit root's processes")
def test_a_user_with_too_many_processes_is_told_and_goes_on_later(own) -> None:
    runner = own(warm_bytes=0)
    before = resource.prlimit(zygote(runner), resource.RLIMIT_NPROC)
    resource.prlimit(zygote(runner), resource.RLIMIT_NPROC, (0, before[1]))
    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())
    assert own.soon(lambda: not runner.ready)
    with pytest.raises(ExplainError) as unavailable:
        runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())
    assert unavailable.value.reason is Reason.UNAVAILABLE
    resource.prlimit(zygote(runner), resource.RLIMIT_NPROC, before)

    assert own.soon(lambda: runner.ready)
    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())


@pytest.mark.slow
def test_models_that_wait_go_when_memory_is_short(own) -> None:
    runner = own(warm_bytes=2**20)
    heavy = model(
        [node("Add", "X w", "z"), node("ReduceSum", "z", "t", keepdims=0), node("Add", "X t")],
        constants={"w": np.zeros((2_000_000, 1), np.float32)},
    )
    with suppress(ExplainError):
        runner.answer(
            Call(ServiceMethod.EXPLAIN, own.request(heavy.SerializeToString())),
            own.call(model_key="heavy"),
        )
    for name in ("a", "b"):
        runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call(model_key=name))

    held = sum(worker.own_bytes for worker in runner._pool._warm)
    assert held <= 2**20


def test_the_worker_of_one_caller_is_never_given_to_another(shared, isolated: Isolated) -> None:
    for key in ("one:model", "other:model"):
        isolated.answer(
            Call(ServiceMethod.EXPLAIN, shared.request(GOOD)), shared.call(model_key=key)
        )

    pids = {worker.model_key: worker.pid for worker in isolated._pool._warm}
    assert pids["one:model"] != pids["other:model"]


@pytest.mark.slow
def test_cached_numbers_go_through_the_parent_under_its_names(own, make) -> None:
    runner, host = own(), make.host()
    request = own.request(GOOD, engine="BLACK_BOX")
    first = runner.answer(Call(ServiceMethod.EXPLAIN, request), host).content

    again = runner.answer(Call(ServiceMethod.EXPLAIN, request), host).content

    assert host.values
    assert host.progress[-1][0] == host.progress[-1][1]
    assert own.answer(first).explanations == own.answer(again).explanations
    assert own.answer(again).receipt.predicted_row_count == 0


@pytest.mark.slow
def test_processor_time_is_counted_for_the_request_that_used_it(own) -> None:
    runner = own()
    usages = [Usage(), Usage()]
    before = runner.counts().processor_seconds
    for usage in usages:
        runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call(usage=usage))
    seconds = [usage.processor_seconds for usage in usages]

    assert all(each > 0 for each in seconds)
    # The worker is new for the first one, which loads the model.
    assert sum(seconds) <= runner.counts().processor_seconds - before + 0.02


@pytest.mark.slow
def test_the_time_of_a_killed_worker_is_counted(own) -> None:
    runner, usage = own(), Usage()

    def work() -> None:
        with pytest.raises(ExplainError):
            runner.answer(Call(ServiceMethod.EXPLAIN, own.request(ENDLESS)), own.call(usage=usage))

    thread, victim = own.worker_of(runner, work)
    start = processor_seconds(victim)
    assert own.soon(lambda: processor_seconds(victim) - start > 0.2)
    os.kill(victim, signal.SIGKILL)
    thread.join(own.long_seconds)

    assert usage.processor_seconds >= 0.2


@pytest.mark.slow
def test_a_worker_retires_before_its_processor_time_is_used_up(own) -> None:
    from onnxplain_server.adapters.sandbox.confine import Budget  # noqa: PLC0415 - only here

    runner = own(budget=Budget(2**29, 2))
    few_rows = b"".join(MANY_ROWS.splitlines(keepends=True)[:2_000])
    message, host = own.request(GOOD, few_rows), own.call()
    for _ in range(1_000):
        runner.answer(Call(ServiceMethod.EXPLAIN, message), host)
        if runner.counts().ends["retired"]:
            break

    assert {how: count for how, count in runner.counts().ends.items() if count} == {"retired": 1}


@pytest.mark.slow
def test_a_worker_that_cannot_be_started_leaves_no_descriptor(own) -> None:
    """Without room for files, there is no memory to share with it."""
    started = own()._pool._zygote
    before, (soft, hard) = file_count(), resource.getrlimit(resource.RLIMIT_FSIZE)
    for _ in range(3):
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                started.fork()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert own.soon(lambda: file_count() == before)


def file_count() -> int:
    """Count this process's descriptors."""
    return len(list(Path("/proc/self/fd").iterdir()))
