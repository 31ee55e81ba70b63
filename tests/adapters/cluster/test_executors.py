"""Executors of this machine: their answers are those of the threads, to the bit."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest
from onnxplain_server.adapters.cluster.executor_workers import ExecutorWorkers
from onnxplain_server.core.errors import ExplainError, Reason


@pytest.mark.slow
def test_threads_of_an_executor_change_no_bit(table, explained, expected) -> None:
    with ThreadPoolExecutor(3) as executor:
        assert explained(table, ExecutorWorkers(executor)) == expected


@pytest.mark.slow
def test_processes_of_an_executor_change_no_bit(table, explained, expected) -> None:
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        assert explained(table, ExecutorWorkers(executor, 2)) == expected


def test_an_executor_that_is_shut_down_is_told(table, explained) -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()

    with pytest.raises(ExplainError, match="the executor takes no task") as error:
        explained(table, ExecutorWorkers(executor))

    assert error.value.reason is Reason.UNAVAILABLE


class Counting(ThreadPoolExecutor):
    """Counts the tasks that it was given."""

    count = 0

    def submit(self, function, /, *arguments, **named):
        self.count += 1
        return super().submit(function, *arguments, **named)


def test_a_request_that_is_cancelled_ends(table, explained) -> None:
    """Tasks are under way then, and none starts any more."""

    def cancel() -> None:
        if executor.count:
            raise ExplainError(Reason.CANCELLED, "enough")

    with Counting(1) as executor:
        with pytest.raises(ExplainError, match="enough"):
            explained(table, ExecutorWorkers(executor, 1), cancel)
        submitted = executor.count

    assert 0 < submitted <= 4
