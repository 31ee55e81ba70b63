"""Counts of what a cluster does, and how a server learns them, without a cluster."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any

import pytest
from onnxplain_server.adapters.cluster.server import task_frames as frames
from onnxplain_server.adapters.cluster.server.cluster_sessions import ClusterSessions
from onnxplain_server.adapters.network_processes.clocked_socket import ClockedSocket
from onnxplain_server.adapters.network_processes.socket_frames import send
from onnxplain_server.core.counts.cluster_counts import ClusterCounts, ClusterState
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.transport.metrics.cluster_metrics import ClusterCollector
from prometheus_client import CollectorRegistry, generate_latest

dask_workers = pytest.importorskip(
    "onnxplain_server.adapters.cluster.dask_workers", reason="needs the extra dask"
)
cluster_process = pytest.importorskip("onnxplain_server.adapters.cluster.server.cluster_process")

DONE, FAILED = dask_workers.dask_task.RESULT + b"sums", b'e["INVALID_TABLE", "text", "table"]'


class Scheduler:
    """A client whose tasks end as told, one after the other, and which tells how many workers."""

    status = "running"

    def __init__(self, *ends: bytes | Exception) -> None:
        self._ends = list(ends)
        self.workers: int | None = 2
        self.scheduler = self

    def submit(self, function: Any, *_arguments: Any, **_options: Any) -> Future[bytes]:
        future: Future[bytes] = Future()
        if function is not dask_workers.dask_task.keep and self._ends:
            end = self._ends.pop(0)
            if isinstance(end, Exception):
                future.set_exception(end)
            else:
                future.set_result(end)
        return future

    def gather(self, futures: list[Future[bytes]]) -> list[bytes]:
        return [future.result() for future in futures]

    def cancel(self, futures: list[Future[bytes]]) -> None: ...

    def sync(self, _function: Any, **_options: Any) -> dict[str, int]:
        if self.workers is None:
            raise OSError
        return {"total_threads": self.workers, "n_workers": self.workers}

    def identity(self) -> None: ...

    address = "tcp://scheduler:1"


def test_each_task_ends_once_and_each_byte_is_counted() -> None:
    workers = dask_workers.DaskWorkers(Scheduler(DONE, CancelledError(), DONE, FAILED))
    with suppress(ExplainError), workers.open_predictions(b"model", b"job") as queue:
        for number, rows in enumerate((b"1", b"22", b"333", b"4444")):
            queue.submit(number, rows)
        while True:  # until the failed one
            queue.replies(60.0)

    counts = workers.counter.counts
    ended = counts.done_count, counts.failed_count, counts.lost_count, counts.dropped_count
    assert sum(ended) == 5  # the lost one was handed over again, and has no end
    assert ended[2:] == (1, 1)
    assert counts.sent_bytes == len(b"model" + b"job" + b"1" + b"22" + b"22" + b"333" + b"4444")
    assert counts.received_bytes == counts.done_count * len(b"sums")


def test_a_worker_that_is_gone_is_lost_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnxplain_server.adapters.cluster.dask_scheduler._COUNT_SECONDS", -1.0)
    scheduler = Scheduler()
    workers = dask_workers.DaskWorkers(scheduler)
    found = []
    for scheduler.workers in (3, 2, None, 2, 4):
        found.append(workers.worker_count())

    assert found == [3, 2, None, 2, 4]
    assert workers.counter.counts == ClusterCounts(lost_worker_count=1)


class Process:
    """Process that has the client, as a thread that answers by `answer`."""

    is_alive = True

    def __init__(self, connection: Any, answer: Any = None) -> None:
        self._connection, self._answer = connection, answer or cluster_process.answer

    def connect(self, deadline: float) -> ClockedSocket:
        ours, theirs = socket.socketpair()
        threading.Thread(target=self._answer, args=(self._connection, theirs)).start()
        return ClockedSocket(ours, deadline)


def connection_of(scheduler: Any, counts: ClusterCounts) -> Any:
    made = cluster_process.ClusterConnection("tcp://scheduler:1", ())
    made._workers = dask_workers.DaskWorkers(scheduler, counter=made._counter)
    made._counter.add(counts)
    return made


def test_counts_go_on_where_the_process_that_has_the_connection_is_another_one() -> None:
    sessions = ClusterSessions("tcp://scheduler:1", (), 2**30, is_confined=False)
    assert sessions.state() == ClusterState()  # no process was needed so far
    first = Process(connection_of(Scheduler(), ClusterCounts(done_count=3, sent_bytes=10)))
    sessions._process = first  # type: ignore[assignment]
    assert sessions.state() == ClusterState(ClusterCounts(done_count=3, sent_bytes=10), 2)
    assert sessions.state() == sessions.state()
    first.is_alive = False
    assert sessions.state() == ClusterState(ClusterCounts(done_count=3, sent_bytes=10), None)
    second = connection_of(Scheduler(), ClusterCounts(done_count=1))
    sessions._process = Process(second)  # type: ignore[assignment]
    assert sessions.state() == ClusterState(ClusterCounts(done_count=4, sent_bytes=10), 2)


def broken(_connection: Any, end: socket.socket) -> None:
    with end:
        send(end, frames.TaskKind.STATE, 0, b'[1, "many"]')


def silent(_connection: Any, end: socket.socket) -> None:
    with end:
        end.settimeout(60.0)
        end.recv(1)


@pytest.mark.parametrize("answer", [broken, silent])
def test_a_process_that_tells_nothing_useful_leaves_the_counts(
    answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "onnxplain_server.adapters.cluster.server.cluster_sessions"
    monkeypatch.setattr(f"{module}._STATE_SECONDS", 0.05)
    sessions = ClusterSessions("tcp://scheduler:1", (), 2**30, is_confined=False)
    sessions._process = Process(None, answer)  # type: ignore[assignment]

    assert sessions.state() == ClusterState()


def test_metrics_tell_workers_only_where_they_are_known() -> None:
    def page(state: ClusterState) -> str:
        registry = CollectorRegistry()
        registry.register(ClusterCollector(lambda: state))
        return generate_latest(registry).decode()

    known = page(ClusterState(ClusterCounts(lost_count=2, lost_worker_count=1), 3))
    assert "\nonnxplain_cluster_workers 3.0\n" in known
    assert '\nonnxplain_cluster_tasks_total{outcome="lost"} 2.0\n' in known
    assert '\nonnxplain_cluster_tasks_total{outcome="done"} 0.0\n' in known
    assert "\nonnxplain_cluster_lost_workers_total 1.0\n" in known
    assert "\nonnxplain_cluster_workers " not in page(ClusterState())
