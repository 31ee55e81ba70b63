"""Workers of a Dask cluster: its scheduler knows who is there, and what was lost and runs again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple

from onnxplain_server.adapters.cluster import dask_task
from onnxplain_server.adapters.cluster.dask_queue import DaskQueue, SharedCall, closed
from onnxplain_server.adapters.cluster.dask_scheduler import DaskScheduler
from onnxplain_server.adapters.runner.on_workers.worker_batch_size import MOST_CALLS
from onnxplain_server.trees.streaming.workers import Range, SharedFile


class DaskWorkers(DaskScheduler):
    """Implements `Workers` and `PredictionWorkers` by a Dask cluster."""

    most_calls = MOST_CALLS

    @contextmanager
    def open(
        self, job: bytes, work: bytes, files: Sequence[SharedFile], caller: str = ""
    ) -> Iterator[DaskQueue[Range]]:
        """Open a queue for a caller of a server; see `Workers.open`."""
        table = tuple(astuple(file) for file in files)
        call = SharedCall("sums", dask_task.compute, (job, work), (table, caller))
        with closed(DaskQueue[Range](self, call)) as opened:
            yield opened

    @contextmanager
    def open_predictions(
        self, model: bytes, job: bytes, caller: str = ""
    ) -> Iterator[DaskQueue[bytes]]:
        """Open a queue for a caller of a server; see `PredictionWorkers.open_predictions`."""
        call = SharedCall("predictions", dask_task.predict, (model, job), (caller,))
        with closed(DaskQueue[bytes](self, call)) as opened:
            yield opened
