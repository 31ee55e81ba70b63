"""Clock of plans and budgets: a model's pace is what a test says, on a busy machine too."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from onnxplain_server.explain import plan
from onnxplain_server.explain.planning import duration, pace, rehearsal, time_trials


class PredictionClock:
    """A clock that goes on by `row_seconds` with each predicted row, and by nothing else."""

    def __init__(self) -> None:
        self.now = 0.0
        self.row_seconds = 1e-4
        self.call_seconds = 0.0
        self._lock = threading.Lock()

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Have a model take its time."""

        def predict(*columns):
            with self._lock:
                self.now += len(columns[0]) * self.row_seconds + self.call_seconds
            return function(*columns)

        return predict


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> PredictionClock:
    """The clock of all plans."""
    made = PredictionClock()
    times = SimpleNamespace(perf_counter=lambda: made.now, monotonic=lambda: made.now)
    for module in (duration, pace, plan, rehearsal, time_trials):
        monkeypatch.setattr(module, "time", times)
    return made
