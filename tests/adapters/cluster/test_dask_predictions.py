"""Predictions on a Dask cluster: black-box answers of one process, to the bit, whoever dies."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pandas as pd
import psutil
import pytest
from hostile import forests
from onnxplain_server.adapters.runner.on_workers.prediction_task import (
    PredictionJob,
    pack_job,
    pack_rows,
    pack_task,
)
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model_limits import ModelLimits

from tools.waiting import until

pytestmark = pytest.mark.slow
dask_client = pytest.importorskip(
    "onnxplain_server.adapters.cluster.dask_client", reason="needs the extra dask"
)
dask_task = pytest.importorskip("onnxplain_server.adapters.cluster.dask_task")


@contextmanager
def workers_of(cluster: Any, count: int) -> Iterator[Any]:
    """Start a scheduler and workers; wait for them."""
    cluster.start_scheduler()
    for _ in range(count):
        cluster.start_worker()
    with dask_client.connected(cluster.address) as workers:
        workers.client.wait_for_workers(count)
        yield workers


class Interrupted:
    """Workers that do something once, when so many replies have come."""

    def __init__(self, workers: Any, after: int, action: Callable[[], None]) -> None:
        self._workers, self._left, self._action = workers, after, action
        self.most_calls = workers.most_calls

    @contextmanager
    def open_predictions(self, model: bytes, job: bytes) -> Iterator[Any]:
        with self._workers.open_predictions(model, job) as queue:
            self.width, self.submit, self._queue = queue.width, queue.submit, queue
            yield self

    def replies(self, seconds: float) -> Any:
        replies = self._queue.replies(seconds)
        before, self._left = self._left, self._left - len(replies)
        if before > 0 >= self._left:
            self._action()
        return replies


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_number_of_workers_changes_no_bit(cluster, predicted, predicted_here, count) -> None:
    with workers_of(cluster, count) as workers:
        assert predicted(workers) == predicted_here


def test_a_worker_that_is_killed_changes_no_bit(cluster, predicted, predicted_here) -> None:
    with workers_of(cluster, 2) as workers:
        for after in (1, 9):
            cluster.start_worker()
            until(lambda: workers.worker_count() == 3)
            killing = Interrupted(workers, after, partial(cluster.kill, cluster.workers[-1]))
            assert predicted(killing) == predicted_here
            until(lambda: workers.worker_count() == 2)


def test_all_workers_may_be_replaced(cluster, predicted, predicted_here) -> None:
    """The model travels again."""

    def replace() -> None:
        for worker in cluster.workers:
            cluster.kill(worker)
        cluster.start_worker()

    with workers_of(cluster, 2) as workers:
        assert predicted(Interrupted(workers, 6, replace)) == predicted_here


def test_a_scheduler_that_restarts_changes_no_bit(cluster, predicted, predicted_here) -> None:
    def restart() -> None:
        for process in [*cluster.workers, cluster.processes[0]]:
            cluster.kill(process)
        cluster.start_scheduler()
        cluster.start_worker()

    with workers_of(cluster, 1) as workers:
        assert predicted(Interrupted(workers, 4, restart)) == predicted_here


def test_a_cluster_without_workers_is_told(cluster, predicted) -> None:
    cluster.start_scheduler()
    with dask_client.connected(cluster.address) as workers:
        workers.missing_seconds = 1.0
        with pytest.raises(ExplainError, match="no worker for 1 s") as error:
            predicted(workers)

    assert error.value.reason is Reason.UNAVAILABLE


def test_a_deadline_ends_the_wait_for_workers(cluster, predicted) -> None:
    start = time.monotonic()

    def deadline() -> None:
        if time.monotonic() - start > 3:
            raise ExplainError(Reason.DEADLINE_EXCEEDED, "too late")

    cluster.start_scheduler()
    with dask_client.connected(cluster.address) as workers:
        workers.missing_seconds = workers.first_seconds = 1e9
        with pytest.raises(ExplainError, match="too late"):
            predicted(workers, deadline)


def test_a_scheduler_that_is_gone_is_told(cluster, predicted) -> None:
    with workers_of(cluster, 1) as workers:
        workers.client._timeout = 1.0  # in place of half a minute
        gone = Interrupted(workers, 3, lambda: cluster.kill(cluster.processes[0]))
        with pytest.raises(ExplainError, match="Dask scheduler is lost") as error:
            predicted(gone)

    assert error.value.reason is Reason.UNAVAILABLE


def test_a_model_that_crashes_its_process_is_told(cluster, neighbours) -> None:
    """The runtime overflows its stack for a tree that the limits of no service let pass."""
    limits = ModelLimits(tree_depth=10**6)
    job = pack_job(PredictionJob("RESPONSE", True, limits))
    rows = pack_task([pack_rows({"X": np.zeros((1_000, 4), np.float32)})])
    deep = forests.chain(60_000).SerializeToString()

    def ask(model: bytes) -> Any:
        with workers.open_predictions(model, job) as queue:
            queue.submit(0, rows)
            replies: Sequence[tuple[int, bytes]] = ()
            while not replies:
                replies = queue.replies(1.0)
        return replies

    with workers_of(cluster, 1) as workers:
        with pytest.raises(ExplainError, match="the process that computed the answer") as error:
            ask(deep)
        ((number, _),) = ask(neighbours)

    assert error.value.reason is Reason.WORKER_DIED
    assert number == 0


def test_a_model_that_fails_on_a_worker_is_told(cluster) -> None:
    """Its error is that of this process."""
    model = Path(__file__).parents[2] / "models/sklearn_columns_error.onnx"
    frame = pd.DataFrame(json.loads(model.with_suffix(".json").read_text())["columns"])
    frame.loc[3, "Gender"] = "unknown to the model"
    with workers_of(cluster, 1) as workers:
        errors = []
        for given in ({}, {"executor": workers.client}):
            with onnxplain.local(**given) as client, pytest.raises(onnxplain.ExplainError) as error:
                client.explain(model, frame, onnxplain.PartialDependence(), plots=False)
            errors.append(str(error.value))

    assert "PREDICTION_FAILED" in errors[0]
    assert errors[0] == errors[1]


def test_models_run_in_confined_processes(cluster, predicted) -> None:
    found = []

    def look() -> None:
        (zygote,) = psutil.Process(cluster.workers[0].pid).children()
        found.extend(zygote.children())

    with workers_of(cluster, 1) as workers:
        predicted(Interrupted(workers, 2, look))
        status = Path(f"/proc/{found[0].pid}/status").read_text("ascii")

    assert "Seccomp:\t2" in status
    assert "NoNewPrivs:\t1" in status


def test_a_client_of_a_cluster_is_an_executor(cluster, neighbours) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 4)), columns=list("abcd"))
    with workers_of(cluster, 1) as workers:
        with onnxplain.local(executor=workers.client) as client:
            found = client.explain(neighbours, frame, onnxplain.Interactions(), plots=False)
        with onnxplain.local() as client:
            expected = client.explain(neighbours, frame, onnxplain.Interactions(), plots=False)

    for ours, theirs in zip(found.interactions.overall, expected.interactions.overall, strict=True):
        assert ours.numerators.tobytes() == theirs.numerators.tobytes()


def test_the_command_predicts_by_a_cluster(cluster, neighbours, tmp_path) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 4)), columns=list("abcd"))
    table, model = tmp_path / "rows.csv", tmp_path / "model.onnx"
    frame.to_csv(table, index=False)
    model.write_bytes(neighbours)
    program = (sys.executable, "-m", "onnxplain_server", "explain", model, table, "--no-plots")
    asked = (*program, "--method", "interactions", "--output", "json")
    cluster.start_scheduler()
    cluster.start_worker()

    alone = subprocess.run(asked, check=False, capture_output=True)
    by_cluster = subprocess.run(
        [*asked, "--dask-scheduler", cluster.address], check=False, capture_output=True
    )

    assert alone.returncode == 0, alone.stderr
    assert by_cluster.returncode == 0, by_cluster.stderr
    start, end = b'"explanations"', b'"model"'
    found, wanted = (
        done.stdout[done.stdout.index(start) : done.stdout.index(end)]
        for done in (by_cluster, alone)
    )
    assert found == wanted


def test_workers_that_are_killed_again_and_again_change_no_bit(
    cluster, predicted, predicted_here
) -> None:
    """Every 20 seconds one is killed, and another one comes, for as long as three of them live."""
    killed = 0
    ended = threading.Event()

    def kill() -> None:
        nonlocal killed
        while not ended.wait(20):
            cluster.start_worker()
            cluster.kill(cluster.workers[killed])
            killed += 1

    with workers_of(cluster, 2) as workers:
        killing = threading.Thread(target=kill)
        killing.start()
        try:
            while killed < 3:
                assert predicted(workers) == predicted_here
        finally:
            ended.set()
            killing.join()
