"""Trials on some rows: numbers draw other rows, since trees remember what they counted on some."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.explain import BoundTable, Question, Resources
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.planning import duration
from onnxplain_server.explain.planning.rehearsal import RehearsalEnded
from onnxplain_server.explain.task import Task
from onnxplain_server.methods import interactions
from onnxplain_server.methods.resampling import ReplicatedStatistic, Resampling
from onnxplain_server.trees.reading.refusal import Refusal


def test_a_second_trial_is_on_as_many_other_rows(make) -> None:
    model = make.model(lambda a: a, ("a",), ["double"])
    question = Question(methods=(), seed=2**31 - 1)
    resources = Resources(make.host(), BatchSize(), make.pool(1), lambda: Refusal("a function"))
    table = BoundTable(make.table({"a": np.arange(500.0)}), question, model)
    request = BoundRequest(model, table, question, resources, rows_once=False)

    first, same, second = (request.trial(30, number).sample.drawn for number in (0, 0, 1))

    assert len(first) == len(second) == 30
    assert first.tolist() == same.tolist()
    assert first.tolist() != second.tolist()


@dataclass(frozen=True)
class Statistics:
    """Result of a method, with its replicates: (n_replicates, 1, 1)."""

    replicates: tuple[ReplicatedStatistic, ...] = ()


@dataclass
class SlowReplicates:
    """A method whose replicates take most of its time, and its host, by a clock of its own."""

    each: float
    clock: float = 0.0
    deadline: float = math.inf

    def cost(self, rows: int, replicates: int) -> float:
        return 1e-4 * rows + replicates * (self.each + 3e-5 * rows)

    def prepare(self, task: Any, options: interactions.Options) -> SimpleNamespace:
        count = options.resampling.repeat_count
        values = np.zeros((count, 1, 1))
        own = ReplicatedStatistic("IMPORTANCE", ("a",), "", (), np.zeros((1, 1)), values, 10.0)

        def run() -> Statistics:
            self.clock += self.cost(task.request, count)
            if self.clock > self.deadline:
                raise RehearsalEnded
            return Statistics((own,) if count else ())

        return SimpleNamespace(run=run)


@pytest.mark.parametrize("each", [0.0, 0.001, 0.04])
def test_replicates_are_counted_and_not_scaled_by_the_rows(
    monkeypatch: pytest.MonkeyPatch, each: float
) -> None:
    """Most of their time is the same for any rows: 30 rows tell little of 4,000."""
    method = SlowReplicates(each)
    clock = SimpleNamespace(perf_counter=lambda: method.clock, monotonic=lambda: method.clock)
    monkeypatch.setattr(duration, "time", clock)
    monkeypatch.setattr(duration, "preparation_of", lambda _options: method)
    options = interactions.Options(resampling=Resampling(repeat_count=200, is_kept=True))
    host: Any = method
    request: Any = SimpleNamespace(trial=lambda rows, _number: rows)
    found = duration.trial(Task(request, ""), host, options, 4_000, seconds=0.1, is_quadratic=False)

    assert found is not None
    assert found.seconds == pytest.approx(method.cost(4_000, 200), rel=0.05)
    assert isinstance(found.result, Statistics)
    assert [len(own.replicates) for own in found.result.replicates] == [200]
    assert method.clock < 0.2 * method.cost(4_000, 200)
