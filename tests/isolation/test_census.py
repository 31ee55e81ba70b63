"""Worker census: starts and ends are counted, by the reason of the end."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

import pytest
from hostile import greedy
from hostile.base import model, node
from onnxplain_server.adapters.workers.isolated import Isolated
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.telemetry.spans import Spans

GOOD = model([node("Neg", "X")]).SerializeToString()
ENDLESS = greedy.loop(2**62).SerializeToString()


def ends(runner: Isolated) -> Mapping[str, int]:
    """Those that have happened."""
    return {how: count for how, count in runner.counts().ends.items() if count}


def test_workers_are_counted_where_they_are(own) -> None:
    runner = own()
    assert own.soon(lambda: len(runner.counts().own_bytes["spare"]) == 1)
    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())
    held = runner.counts().own_bytes
    assert (len(held["warm"]), len(held["busy"])) == (1, 0)
    assert held["warm"][0] > 0
    assert own.soon(lambda: runner.counts().start_count == 2)
    assert ends(runner) == {}
    check_one_at_work(own, runner)


def check_one_at_work(own, runner: Isolated) -> None:
    """One at work is busy; one that is killed then was killed."""

    def work() -> None:
        with pytest.raises(ExplainError):
            runner.answer(
                Call(ServiceMethod.EXPLAIN, own.request(ENDLESS)), own.call(model_key="endless")
            )

    thread, victim = own.worker_of(runner, work)
    assert len(runner.counts().own_bytes["busy"]) == 1
    os.kill(victim, signal.SIGKILL)
    thread.join(own.long_seconds)

    assert ends(runner) == {"killed": 1}
    assert not runner.counts().own_bytes["busy"]


@pytest.mark.slow
def test_one_whose_request_does_not_end_is_stopped_and_its_loading_failed(own) -> None:
    runner = own(timeouts=own.timeouts(load=0.5))
    spans = Spans()
    with spans.collecting(), pytest.raises(ExplainError) as caught:
        runner.answer(Call(ServiceMethod.EXPLAIN, own.request(ENDLESS)), own.call())
    assert caught.value.reason is Reason.LOADING_TOO_LONG
    assert ends(runner) == {"stopped": 1}
    assert [each.attributes for each in spans.finished() if each.name == "load"] == [
        {"error": "NOT_LOADED"}
    ]


@pytest.mark.slow
def test_one_without_room_for_its_model_is_evicted(own) -> None:
    runner = own(warm_bytes=0)
    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())
    assert ends(runner) == {"evicted": 1}


@pytest.mark.slow
def test_one_killed_while_it_waits_was_killed_too(own) -> None:
    runner = own()
    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())
    (worker,) = runner._pool._warm
    os.kill(worker.pid, signal.SIGKILL)
    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call())
    assert ends(runner) == {"killed": 1}
