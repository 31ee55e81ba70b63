"""Executors that a caller gives: of `concurrent.futures`, or a client of a Dask cluster."""

from __future__ import annotations

from concurrent.futures import Executor

from onnxplain_server.adapters.cluster.executor_workers import ExecutorWorkers
from onnxplain_server.trees.streaming.workers import Workers


def workers_of(executor: object) -> Workers | None:
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
