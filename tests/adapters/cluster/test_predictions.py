"""Predictions on workers: black-box answers are those of this process, to the bit."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from onnxplain_server.adapters.cluster.confined_tasks import ConfinedTasks, WorkerSize
from onnxplain_server.adapters.cluster.executor_workers import ExecutorWorkers
from onnxplain_server.adapters.runner.on_workers.prediction_task import (
    PredictionComputer,
    PredictionJob,
    pack_job,
    pack_rows,
    pack_task,
    unpack_reply,
    unpack_rows,
)
from onnxplain_server.adapters.runner.on_workers.worker_batch_size import WorkerBatchSize
from onnxplain_server.adapters.runner.on_workers.worker_calls import WorkerCalls
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model_limits import DEFAULT_LIMITS
from onnxplain_server.effects.batch_size import BatchSize

MODELS = Path(__file__).parents[2] / "models"


class Counting(ThreadPoolExecutor):
    """Counts the tasks that it was given, and those under way."""

    count = most = 0

    def submit(self, function, /, *arguments, **named):
        self.count += 1
        self.most = max(self.most, self._work_queue.qsize())
        return super().submit(function, *arguments, **named)


def test_threads_of_an_executor_change_no_bit(predicted, predicted_here) -> None:
    with Counting(3) as executor:
        assert predicted(ExecutorWorkers(executor, 3)) == predicted_here

    assert executor.count > 20


@pytest.mark.slow
def test_processes_of_an_executor_change_no_bit(predicted, predicted_here) -> None:
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        assert predicted(ExecutorWorkers(executor, 2)) == predicted_here


@pytest.mark.parametrize(("row_width", "most"), [(5, 32), (10**9, 1)])
def test_calls_under_way_are_bounded(neighbours: bytes, row_width: int, most: int) -> None:
    """Two tasks of eight for each that runs, and fewer where their rows are too many bytes."""
    rows = {"X": np.zeros((500, 4), np.float32)}
    job = PredictionJob("RESPONSE", True, DEFAULT_LIMITS)
    with Counting(2) as executor:
        given = (ExecutorWorkers(executor, 2), neighbours, job, WorkerBatchSize(), row_width)
        calls = WorkerCalls(*given, lambda: None)
        answers = [calls.threads.submit(calls.predict, rows) for _ in range(80)]
        shapes = {answer.result().shape for answer in answers}
        calls.close()

    assert shapes == {(500, 1)}
    assert executor.most <= most
    assert calls.threads._max_workers == most


def test_a_request_that_is_cancelled_ends(predicted) -> None:
    def cancel() -> None:
        if executor.count > 3:
            raise ExplainError(Reason.CANCELLED, "enough")

    with Counting(1) as executor, pytest.raises(ExplainError, match="enough"):
        predicted(ExecutorWorkers(executor, 1), cancel)


def test_an_executor_that_is_shut_down_is_told(predicted) -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()

    with pytest.raises(ExplainError, match="the executor takes no task") as error:
        predicted(ExecutorWorkers(executor))

    assert error.value.reason is Reason.UNAVAILABLE


def test_trees_are_summed_in_the_process_that_asks() -> None:
    """They are exact there, in less time than a way to a worker takes."""
    with Counting(1) as executor, onnxplain.local(executor=executor) as client:
        model = MODELS / "sklearn_gradient_boosting.onnx"
        names = json.loads(model.with_suffix(".json").read_text())["columns"]
        client.explain(model, pd.DataFrame(names), onnxplain.Interactions(), plots=False)

        assert executor.count == 0

        asked = onnxplain.PartialDependence()
        client.explain(model, pd.DataFrame(names), asked, engine="BLACK_BOX", plots=False)

        assert executor.count > 0


def test_a_model_of_single_rows_and_text_predicts_as_here() -> None:
    """Its evaluation, row by row, is chosen by the process that asks."""
    for name in ("batch_of_one", "sklearn_columns_ignore", "lightgbm_3class_zipmap"):
        model = MODELS / f"{name}.onnx"
        known = json.loads(model.with_suffix(".json").read_text())["columns"]
        asked: dict[str, Any] = {"engine": "BLACK_BOX", "plots": False}
        answers = []
        with ThreadPoolExecutor(2) as executor:
            for given in (None, executor):
                with onnxplain.local(executor=given) as client:
                    found = client.explain(
                        model, pd.DataFrame(known), onnxplain.PartialDependence(), **asked
                    )
                answers.append(found.partial_dependence.to_arrow())

        assert answers[0].equals(answers[1])


def test_a_task_tells_predictions_and_processor_time(neighbours: bytes) -> None:
    rows = {"X": np.random.default_rng(0).normal(size=(1_000, 4)).astype(np.float32)}
    job = pack_job(PredictionJob("RESPONSE", True, DEFAULT_LIMITS))
    checks: list[None] = []

    task = pack_task([pack_rows(rows), pack_rows({"X": rows["X"][:20]})])
    reply = PredictionComputer().compute(neighbours, job, task, lambda: checks.append(None))
    (predictions, seconds), (few, _) = unpack_reply(reply)

    assert predictions.shape == (1_000, 1)
    np.testing.assert_array_equal(few, predictions[:20])
    assert seconds > 0
    assert len(checks) > 2


_VALUES = st.one_of(
    arrays(np.float32, array_shapes(min_dims=2, max_dims=2, min_side=0)),
    arrays(np.float64, array_shapes(min_dims=2, max_dims=2)),
    arrays(np.int64, array_shapes(min_dims=2, max_dims=2)),
    arrays(np.bool_, array_shapes(min_dims=2, max_dims=2)),
    arrays(object, array_shapes(min_dims=2, max_dims=2), elements=st.text(max_size=5)),
)


@given(_VALUES, st.booleans())
def test_rows_keep_every_bit_on_the_way(values: Array, is_reversed: bool) -> None:
    given_rows = values[:, ::-1] if is_reversed else values

    found = unpack_rows(pack_rows({"X": given_rows}))["X"]

    assert (found.shape, found.dtype) == (given_rows.shape, given_rows.dtype)
    assert found.tobytes() == given_rows.tobytes() or found.tolist() == given_rows.tolist()


def test_rows_of_a_moved_column_shrink() -> None:
    """Five hundred rows, 32 times, with a column set to one value after the other."""
    rows = np.tile(np.random.default_rng(0).normal(size=(500, 10)).astype(np.float32), (32, 1))
    rows[:, 3] = np.repeat(rows[:32, 3], 500)

    assert len(pack_task([pack_rows({"X": rows})])) < rows.nbytes / 20


def test_short_calls_are_tasks_together(neighbours: bytes) -> None:
    """Of a size that is known, while each worker has a task."""
    rows = {"X": np.zeros((BatchSize.LARGEST, 4), np.float32)}
    job = PredictionJob("RESPONSE", True, DEFAULT_LIMITS)
    with Counting(1) as executor:
        size = WorkerBatchSize()
        while not size.is_settled:
            size.record(size.current(), size.current(), size.current() * 1e-6)
        calls = WorkerCalls(ExecutorWorkers(executor, 1), neighbours, job, size, 5, lambda: None)
        answers = [calls.threads.submit(calls.predict, rows) for _ in range(32)]
        shapes = {answer.result().shape for answer in answers}
        calls.close()

    assert size.calls_together == 8
    assert shapes == {(BatchSize.LARGEST, 1)}
    assert executor.count < 32


def test_slow_calls_are_tasks_of_their_own() -> None:
    size = WorkerBatchSize()
    size.record(16, 16, 1.0)

    assert size.is_settled
    assert size.calls_together == 1


@pytest.mark.parametrize(("row_seconds", "rows"), [(1e-6, 16_384), (1e-3, 992), (1.0, 16)])
def test_tasks_take_a_second_where_their_rows_allow_it(row_seconds: float, rows: int) -> None:
    batch_size = WorkerBatchSize()
    while not batch_size.is_settled:
        size, start = batch_size.current(), batch_size.clock()
        batch_size.tell(size * row_seconds)
        batch_size.record(size, size, batch_size.clock() - start)

    assert abs(batch_size.current() - rows) <= 16
    assert batch_size.current() <= BatchSize.LARGEST


def test_the_pace_is_that_of_all_workers() -> None:
    batch_size = WorkerBatchSize()
    batch_size.width = 8
    batch_size.record(16, 16, 1.6)

    assert batch_size.rows_per_second() == pytest.approx(80)


def test_a_model_too_large_for_a_worker_is_told(neighbours: bytes) -> None:
    tasks = ConfinedTasks(WorkerSize(1, 1 << 30))
    try:
        with pytest.raises(ExplainError, match="have 268,435,469 bytes") as error:
            tasks.predict(bytes((1 << 28) - 10), b"job", bytes(20), "a caller")
        assert error.value.reason is Reason.OUT_OF_MEMORY

        job = pack_job(PredictionJob("RESPONSE", True, DEFAULT_LIMITS))
        task = pack_task([pack_rows({"X": np.zeros((20, 4), np.float32)})])
        ((predictions, _),) = unpack_reply(tasks.predict(neighbours, job, task, "a caller"))
        assert predictions.shape == (20, 1)

        again = [tasks.predict(neighbours, job, task, caller) for caller in ("a caller", "b", "b")]
        assert len({unpack_reply(reply)[0][0].tobytes() for reply in again}) == 1
        assert len({worker.model_key for worker in tasks._pool._warm}) == 2
    finally:
        tasks.close()
