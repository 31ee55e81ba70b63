"""Queues on one Dask cluster, without a cluster: what the scheduler is handed for each task."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

dask_workers = pytest.importorskip(
    "onnxplain_server.adapters.cluster.dask_workers", reason="needs the extra dask"
)


class Client:
    """A client whose tasks never end; it keeps their keys."""

    def __init__(self) -> None:
        self.keys: list[Any] = []

    def submit(self, function: Any, *arguments: Any, key: Any, **_options: Any) -> Future[bytes]:
        if function is not dask_workers.dask_task.keep:
            self.keys.append(key)
        return Future()

    def cancel(self, futures: list[Future[bytes]]) -> None: ...


def test_no_two_tasks_have_one_key_whose_results_dask_would_share() -> None:
    client = Client()
    workers = dask_workers.DaskWorkers(client)
    with workers.open(b"job", b"pass", ()) as one, workers.open(b"job", b"other", ()) as other:
        for queue in (one, other):
            for number in (0, 1, 1):  # a task that was lost is submitted again
                queue.submit(number, (number, number + 1))

    assert len(set(client.keys)) == len(client.keys) == 6
