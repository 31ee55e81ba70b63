"""Start of workers: slow machines have enough time, and failures are reported."""

from __future__ import annotations

import logging
import os
import signal
import sys

import pytest
from hostile.base import model, node
from onnxplain_server.adapters.workers import zygote_process, zygote_start
from onnxplain_server.adapters.workers.zygote_start import StartError, StartMonitor
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

GOOD = model([node("Neg", "X")]).SerializeToString()


class Clock:
    """Time that passes as a test says."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(zygote_start, "time", made)
    return made


def test_a_start_may_take_an_hour_as_long_as_it_works(clock: Clock) -> None:
    waiting = StartMonitor(lambda: clock.now / 1_000)  # a machine that is busy with other things
    for clock.now in range(3_600):
        waiting.check()


def test_a_start_that_does_nothing_for_a_minute_has_failed(clock: Clock) -> None:
    waiting = StartMonitor(lambda: min(clock.now, 100))
    for clock.now in range(161):
        waiting.check()
    clock.now = 161

    with pytest.raises(StartError, match="no processor time for 60 s"):
        waiting.check()


def test_the_log_tells_what_takes_so_long(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    waiting = StartMonitor(lambda: clock.now / 2)
    for clock.now in range(21):
        waiting.check()

    assert [record.getMessage() for record in caplog.records] == [
        "preparing workers: loading code, compiling what no earlier start has cached",
        "still preparing workers after 10 s, of which 5 s of processor time",
        "still preparing workers after 20 s, of which 10 s of processor time",
    ]


def test_a_zygote_that_cannot_be_run_is_told(own, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    with pytest.raises(StartError, match="No such file"):
        own()


def test_a_zygote_that_ends_while_it_prepares_is_told(own, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = zygote_process._start

    def begun(*given):
        process = begin(*given)
        os.kill(process.pid, signal.SIGKILL)
        return process

    monkeypatch.setattr(zygote_process, "_start", begun)

    with pytest.raises(StartError, match="their zygote ended by SIGKILL"):
        own()


def test_workers_choose_the_loops_of_libraries_by_the_variables_of_the_server(
    own, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_L2_SIZE", "512")  # changes no sum
    runner = own()

    found = own.answer(
        runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call()).content
    )

    assert "OPENBLAS_L2_SIZE=512" in found.receipt.processor.split()


@pytest.mark.slow
def test_a_worker_that_ends_while_it_is_confined_is_told(own) -> None:
    with pytest.raises(StartError, match="a worker ended by an error at its start"):
        own(thread_count=None)


@pytest.mark.slow
def test_a_zygote_that_does_not_answer_is_replaced(own, monkeypatch: pytest.MonkeyPatch) -> None:
    """A late answer would otherwise be taken for the next one."""
    fork = zygote_process.Zygote.fork
    stopped: list[zygote_process.Zygote] = []

    def forked(zygote: zygote_process.Zygote):
        if zygote._children and not stopped:
            stopped.append(zygote)
            os.kill(zygote._process.pid, signal.SIGSTOP)
            zygote._control.settimeout(0.2)
        return fork(zygote)

    monkeypatch.setattr(zygote_process.Zygote, "fork", forked)
    runner = own(spare_count=2)

    assert own.soon(lambda: stopped and runner._pool._zygote not in (None, *stopped))
    assert own.soon(lambda: len(runner._pool._spares) == 2)
    assert runner.ready


@pytest.mark.slow
def test_a_worker_that_is_killed_at_its_start_is_no_reason_to_refuse(
    own, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = own()
    fork = zygote_process.Zygote.fork
    failures = iter([True])

    def forked(zygote: zygote_process.Zygote):
        if next(failures, False):
            raise OSError("once")
        return fork(zygote)

    monkeypatch.setattr(zygote_process.Zygote, "fork", forked)
    os.kill(runner._pool._spares[0].pid, signal.SIGKILL)

    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())

    assert next(failures, None) is None
