"""Executors that a caller gives: of `concurrent.futures`, or a client of a Dask cluster."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Protocol

from onnxplain_server.adapters.cluster.executor_workers import ExecutorWorkers
from onnxplain_server.adapters.runner.on_workers.worker_calls import PredictionWorkers
from onnxplain_server.trees.streaming.workers import Workers


class ClusterWorkers(Workers, PredictionWorkers, Protocol):
    """Workers of all kinds of tasks."""


def workers_of(executor: object) -> ClusterWorkers | None:
    """Return the workers of an executor; None without one.

    Raises
    ------
    TypeError
        For anything else.
    """
    if executor is None:
        return None
    if isinstance(executor, Executor):
        return ExecutorWorkers(executor)
    if not type(executor).__module__.startswith("distributed."):
        raise TypeError(
            "executor must be a concurrent.futures.Executor or a distributed.Client, not "
            f"{type(executor).__name__}"
        )
    # Imported here, as only who has a client has the library.
    from onnxplain_server.adapters.cluster.dask_workers import DaskWorkers  # noqa: PLC0415

    return DaskWorkers(executor)  # type: ignore[arg-type] # told by its module
