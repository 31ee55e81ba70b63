"""A Dask cluster: its answers are those of one process, to the bit, whoever dies meanwhile."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import onnxplain
import psutil
import pyarrow.parquet as pq
import pytest
from authority import Authority
from onnxplain_server.core.errors import ExplainError, Reason

from tools.waiting import until

MODELS = Path(__file__).parents[2] / "models"
MODEL = MODELS / "sklearn_gradient_boosting.onnx"
FEATURES = list(json.loads(MODEL.with_suffix(".json").read_text())["columns"])

pytestmark = pytest.mark.slow
dask_client = pytest.importorskip(
    "onnxplain_server.adapters.cluster.dask_client", reason="needs the extra dask"
)

dask_task = pytest.importorskip("onnxplain_server.adapters.cluster.dask_task")


def connected(cluster):
    return dask_client.connected(cluster.address)


@contextmanager
def workers_of(cluster, count: int):
    """Start a scheduler and workers; wait for them."""
    cluster.start_scheduler()
    for _ in range(count):
        cluster.start_worker()
    with connected(cluster) as workers:
        workers.client.wait_for_workers(count)
        yield workers


class Interrupted:
    """Workers that do something once, when so many replies have come."""

    def __init__(self, workers, after: int, action: Callable[[], None]) -> None:
        self._workers, self._left, self._action = workers, after, action

    @contextmanager
    def open(self, job, work, files):
        with self._workers.open(job, work, files) as queue:
            self._queue = queue
            yield self

    def width(self):
        return self._queue.width()

    def submit(self, number, task) -> None:
        self._queue.submit(number, task)

    def replies(self, seconds):
        replies = self._queue.replies(seconds)
        before, self._left = self._left, self._left - len(replies)
        if before > 0 >= self._left:
            self._action()
        return replies


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_number_of_workers_changes_no_bit(cluster, table, explained, expected, count) -> None:
    with workers_of(cluster, count) as workers:
        assert explained(table, workers) == expected


def test_row_groups_change_no_bit(cluster, rows, explained, expected, tmp_path) -> None:
    with workers_of(cluster, 2) as workers:
        for size in (7_000, 65_536, 400_000):
            path = tmp_path / f"{size}.parquet"
            pq.write_table(rows, path, row_group_size=size)
            assert explained(path, workers) == expected


def test_a_worker_that_is_killed_changes_no_bit(
    cluster, table, explained, expected, caplog
) -> None:
    with workers_of(cluster, 2) as workers:
        for after in (1, 4):
            cluster.start_worker()
            until(lambda: workers.worker_count() == 3)
            killing = Interrupted(workers, after, partial(cluster.kill, cluster.workers[-1]))
            assert explained(table, killing) == expected
            until(lambda: workers.worker_count() == 2)
        assert workers.counter.counts.lost_worker_count == 2
    lost = [record for record in caplog.records if "lost 1 of" in record.getMessage()]
    assert len(lost) == 2
    assert all(cluster.address in record.getMessage() for record in lost)


def test_all_workers_may_be_replaced(cluster, table, explained, expected) -> None:
    """What workers held of the model and the pass travels again."""

    def replace() -> None:
        for worker in cluster.workers:
            cluster.kill(worker)
        cluster.start_worker()

    with workers_of(cluster, 2) as workers:
        assert explained(table, Interrupted(workers, 2, replace)) == expected


def test_a_scheduler_that_restarts_changes_no_bit(cluster, table, explained, expected) -> None:
    def restart() -> None:
        for process in [*cluster.workers, cluster.processes[0]]:
            cluster.kill(process)
        cluster.start_scheduler()
        cluster.start_worker()

    with workers_of(cluster, 1) as workers:
        assert explained(table, Interrupted(workers, 2, restart)) == expected


def test_a_cluster_without_workers_is_told(cluster, table, explained) -> None:
    cluster.start_scheduler()
    with connected(cluster) as workers:
        workers.missing_seconds = 1.0
        with pytest.raises(ExplainError, match="no worker for 1 s") as error:
            explained(table, workers)

    assert error.value.reason is Reason.UNAVAILABLE
    assert cluster.address in error.value.message


def test_a_deadline_ends_the_wait_for_workers(cluster, table, explained) -> None:
    calls = iter(range(200))

    def deadline() -> None:
        if next(calls, None) is None:
            raise ExplainError(Reason.DEADLINE_EXCEEDED, "too late")

    cluster.start_scheduler()
    with connected(cluster) as workers:
        workers.missing_seconds = workers.first_seconds = 1e9
        with pytest.raises(ExplainError, match="too late"):
            explained(table, workers, deadline)


def test_a_scheduler_that_is_gone_is_told(cluster, table, explained) -> None:
    with workers_of(cluster, 1) as workers:
        workers.client._timeout = 1.0  # in place of half a minute
        gone = Interrupted(workers, 1, lambda: cluster.kill(cluster.processes[0]))
        with pytest.raises(ExplainError, match="Dask scheduler is lost") as error:
            explained(table, gone)

    assert error.value.reason is Reason.UNAVAILABLE


def test_another_file_at_the_same_path_is_refused(cluster, rows, explained, tmp_path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(rows, path)
    with workers_of(cluster, 1) as workers:

        def change() -> None:
            other = tmp_path / "other"
            pq.write_table(rows.slice(1), other)
            other.replace(path)  # tasks under way still have the file that they opened

        with pytest.raises(ExplainError, match=r"rows\.parquet differs .* on worker") as error:
            explained(path, Interrupted(workers, 1, change))

    assert error.value.reason is Reason.INVALID_TABLE


def test_a_worker_of_another_version_is_told(cluster, table, explained, monkeypatch) -> None:
    monkeypatch.setattr(dask_task, "own_release", lambda: "9.9")  # here, not on the worker
    with (
        workers_of(cluster, 1) as workers,
        pytest.raises(ExplainError, match=r"not 9\.9; install the same version") as error,
    ):
        explained(table, workers)

    assert error.value.reason is Reason.UNAVAILABLE


def test_a_task_that_dask_cannot_run_is_told(
    cluster, table, explained, monkeypatch, tmp_path
) -> None:
    """As where the package is missing on the scheduler or a worker."""
    (tmp_path / "only_here.py").write_text("def compute(*_arguments): ...")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(dask_task, "compute", importlib.import_module("only_here").compute)
    with (
        workers_of(cluster, 1) as workers,
        pytest.raises(ExplainError, match="cannot run the tasks") as error,
    ):
        explained(table, workers)

    assert error.value.reason is Reason.UNAVAILABLE


def test_tasks_run_in_confined_processes_which_die_with_their_worker(
    cluster, table, explained
) -> None:
    found = []

    def look() -> None:
        (zygote,) = psutil.Process(cluster.workers[0].pid).children()
        found.extend([zygote, *zygote.children()])

    with workers_of(cluster, 1) as workers:
        explained(table, Interrupted(workers, 1, look))
        status = Path(f"/proc/{found[1].pid}/status").read_text("ascii")
        assert "Seccomp:\t2" in status
        assert "NoNewPrivs:\t1" in status
        cluster.kill(cluster.workers[0])
        _, alive = psutil.wait_procs(found, timeout=60)
        assert alive == []


def command(table: Path, *flags: str | Path) -> subprocess.CompletedProcess[bytes]:
    program = (sys.executable, "-m", "onnxplain_server", "explain", MODEL, table)
    columns = ("--feature-columns", ",".join(FEATURES), "--weight-column", "weight")
    asked = ("--method", "interactions", *columns, "--no-plots")
    return subprocess.run(
        [*program, *asked, "--output", "json", *flags], check=False, capture_output=True
    )


def test_the_command_explains_by_a_cluster(cluster, table) -> None:
    cluster.start_scheduler()
    cluster.start_worker()

    alone = command(table, "--memory-bytes", "200000000")
    by_cluster = command(table, "--dask-scheduler", cluster.address)

    assert alone.returncode == 0, alone.stderr
    assert by_cluster.returncode == 0, by_cluster.stderr
    assert b"read in blocks, as it is for workers of a cluster" in by_cluster.stdout
    start, end = b'"explanations"', b'"model"'
    found, wanted = (
        done.stdout[done.stdout.index(start) : done.stdout.index(end)]
        for done in (by_cluster, alone)
    )
    assert found == wanted


def test_a_cluster_with_tls_takes_known_clients_only(cluster, table, tmp_path) -> None:
    cluster.authority = Authority(tmp_path)
    cluster.start_scheduler()
    cluster.start_worker()
    (tmp_path / "other").mkdir()
    stranger = Authority(tmp_path / "other").issue("stranger")
    trusted = ("--dask-scheduler", cluster.address, "--dask-ca-file", cluster.authority.file)

    def with_certificate(certificate: Path, key: Path) -> subprocess.CompletedProcess[bytes]:
        own = ("--dask-certificate-file", certificate, "--dask-key-file", key)
        return command(table, *trusted, *own)

    known, unknown = with_certificate(*cluster.authority.issue("me")), with_certificate(*stranger)

    assert known.returncode == 0, known.stderr
    assert unknown.returncode == 1
    assert unknown.stderr.endswith(b"(UNAVAILABLE)\n")


def test_a_client_of_a_cluster_is_an_executor(cluster, table) -> None:
    columns = {"feature_columns": FEATURES, "weight_column": "weight"}
    request: dict[str, Any] = {**columns, "plots": False}
    uri, asked = onnxplain.TableUris(f"file://{table}"), onnxplain.Interactions()
    with workers_of(cluster, 1) as workers:
        with onnxplain.local(executor=workers.client) as client:
            found = client.explain(MODEL, uri, asked, **request)
        with onnxplain.local(memory_bytes=200_000_000) as client:
            expected = client.explain(MODEL, uri, asked, **request)

    assert "TABLE_STREAMED" in {warning.code for warning in found.warnings}
    for ours, theirs in zip(found.interactions.overall, expected.interactions.overall, strict=True):
        assert ours.numerators.tobytes() == theirs.numerators.tobytes()
