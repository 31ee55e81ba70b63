"""Tasks in confined processes: what a worker of a cluster runs.

One pool of confined processes serves all tasks of a worker process. This process reads ranges of
the files for them, and neither decodes a table, nor loads a model, nor computes.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from onnxplain_server.adapters.cluster.dask_words import with_cause
from onnxplain_server.adapters.cluster.worker_sources import are_addresses, reading
from onnxplain_server.adapters.runner.blocks.ranged_file import MAX_RANGE
from onnxplain_server.adapters.runner.blocks.shared_files import check
from onnxplain_server.adapters.sandbox.confine import Budget
from onnxplain_server.adapters.workers.ipc import arena_task
from onnxplain_server.adapters.workers.ipc.channel import FrameKind, MalformedError
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerKind, WorkerSettings
from onnxplain_server.adapters.workers.pool import WorkerPool
from onnxplain_server.adapters.workers.worker_client import WorkerClient
from onnxplain_server.adapters.workers.worker_process import WorkerRequest
from onnxplain_server.adapters.workers.zygote_start import StartError
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model_limits import ModelLimits
from onnxplain_server.core.sources import FileRanges
from onnxplain_server.core.systems.memory import machine_bytes
from onnxplain_server.trees.streaming.workers import Range, SharedFile

if sys.platform != "linux":
    raise ImportError("of Linux alone")

_ARENA_SHARE = 4
"""Share of a process's memory that a task and its sums may take: one in four."""
_PROCESSOR_SECONDS = 24 * 3_600
"""Of a confined process; it is replaced after half of that."""


@dataclass(frozen=True, slots=True)
class WorkerSize:
    """Size of a worker of the cluster.

    Attributes
    ----------
    thread_count : int
        Tasks that it runs at the same time, each in a confined process.
    memory_bytes : int
        Of all of them.
    """

    thread_count: int
    memory_bytes: int

    @classmethod
    def of_machine(cls, thread_count: int) -> WorkerSize:
        """Give a worker the memory of the machine."""
        return cls(thread_count, machine_bytes())


class ConfinedTasks:
    """Pool of confined processes that compute tasks; its processes die with this one.

    Parameters
    ----------
    size : WorkerSize

    Raises
    ------
    ExplainError
        UNAVAILABLE where no confined process can be started.
    """

    def __init__(self, size: WorkerSize) -> None:
        share = size.memory_bytes // size.thread_count
        self._arena_bytes = share // _ARENA_SHARE
        settings = WorkerSettings(
            1,
            self._arena_bytes,
            Budget(share, _PROCESSOR_SECONDS),
            ModelLimits(),
            kind=WorkerKind.TASK,
        )
        self._pool = WorkerPool(settings, size.thread_count, size.memory_bytes)
        self._client = WorkerClient(self._pool, math.inf)
        try:
            self._pool.wait_ready()
        except StartError as error:
            message = with_cause("the cluster's worker can start no confined process", error)
            raise ExplainError(Reason.UNAVAILABLE, message) from None

    def compute(
        self, job: bytes, work: bytes, files: Sequence[SharedFile], task: Range, caller: str
    ) -> bytes:
        """Compute a task of a caller; return its sums as bytes.

        Raises
        ------
        ExplainError
        """
        sizes = [(Path(file.path).name, file.byte_count) for file in files]
        packed = arena_task.PackedTask(job, work, sizes, *task)
        exchange = WorkerRequest(
            FrameKind.SUM, partial(arena_task.pack, task=packed), arena_task.unpack_result
        )
        opened = reading if are_addresses(files) else _opened
        with opened(files) as read_range:
            host = _TaskHost(_key(caller, job), read_range)
            return self._client.ask(exchange, host.model_key, host)

    def predict(self, model: bytes, job: bytes, rows: bytes, caller: str) -> bytes:
        """Predict rows of a caller, as `PredictionComputer` does; return the predictions as bytes.

        Raises
        ------
        ExplainError
            WORKER_DIED where the model takes its process with it; OUT_OF_MEMORY where model and
            rows are too large for a worker.
        """
        size = len(model) + len(job) + len(rows)
        if size > self._arena_bytes:
            raise ExplainError(
                Reason.OUT_OF_MEMORY,
                f"the model and the rows of a task have {size:,} bytes, and workers of this "
                f"cluster take {self._arena_bytes:,}, a quarter of the memory of each thread; "
                "start them with a larger --memory-limit, or fewer threads",
            )
        exchange = WorkerRequest(
            FrameKind.PREDICT_ROWS,
            partial(arena_task.pack_predictions, model=model, job=job, rows=rows),
            arena_task.unpack_result,
        )
        host = _TaskHost(_key(caller, model), _no_files)
        return self._client.ask(exchange, host.model_key, host)

    def close(self) -> None:
        """Kill the processes."""
        self._pool.close()


def _key(caller: str, content: bytes) -> str:
    """Return what tasks share that may share a process: their caller, and their job or model."""
    return f"{caller}:{sha256(content).hexdigest()}"


def _no_files(file: int, start: int, length: int) -> bytes:  # noqa: ARG001 - as of files
    """Refuse to read: predictions need no file."""
    raise IndexError(file)


@contextmanager
def _opened(files: Sequence[SharedFile]) -> Iterator[FileRanges]:
    """Read ranges of files of this machine; INVALID_TABLE where they are not the same."""
    check(files)
    handles = [os.open(file.path, os.O_RDONLY) for file in files]
    try:
        yield lambda file, start, length: os.pread(handles[file], length, start)
    finally:
        for handle in handles:
            os.close(handle)


@dataclass(frozen=True)
class _TaskHost:
    """Host of a task: its process has ranges of files read in place of a cache.

    Attributes
    ----------
    model_key : str
        Tasks of one caller and job share processes.
    read_range : FileRanges
        Of the files.
    """

    model_key: str
    read_range: FileRanges
    caller_key: str = ""

    def advance(self, done: float, planned: float) -> None:
        """Do nothing: a task takes seconds, and its sums are dropped where nobody waits."""

    def count_processor(self, seconds: float) -> None:
        """Forget it."""

    def publish(self, _part: bytes) -> None:
        """Refuse it: tasks have no parts."""
        raise MalformedError

    def write_table(self, _parts: Iterable[bytes]) -> None:
        """Refuse it: tasks have no rows of an answer."""
        raise MalformedError

    def single_flight(self, _name: str) -> AbstractContextManager[bool]:
        """Never wait."""
        return nullcontext(True)

    def cache_get(
        self,
        names: Sequence[str],
        byte_limit: float = math.inf,  # noqa: ARG002 - each range is within the limits of frames
    ) -> Sequence[bytes | None]:
        """Read ranges of the files; None for one that the file does not have."""
        return [self._read(*arena_task.parse_range(name)) for name in names]

    def cache_put(self, _entries: Mapping[str, bytes]) -> None:
        """Refuse it: sums are not cached."""
        raise MalformedError

    def _read(self, file: int, start: int, length: int) -> bytes | None:
        if length > MAX_RANGE:
            raise MalformedError
        try:
            content = self.read_range(file, start, length)
        except (ValueError, IndexError, OverflowError):
            raise MalformedError from None
        return content if len(content) == length else None
