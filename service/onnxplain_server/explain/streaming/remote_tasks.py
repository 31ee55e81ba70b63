"""Tasks of passes by workers that may be other processes: both sides, as far as they are bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

from onnxplain_server.core.model import Input
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.explain.streaming.pass_classes import pass_classes
from onnxplain_server.explain.streaming.row_binding import RowBinding
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.streaming.blocks import CallingThread, Sums
from onnxplain_server.trees.streaming.encoding import Encoding
from onnxplain_server.trees.streaming.memory import PassSize, reply_bytes
from onnxplain_server.trees.streaming.passes import Pass, Summed, TreeSums, run_task
from onnxplain_server.trees.streaming.row_blocks import BLOCK_ROWS, TableBlocks
from onnxplain_server.trees.streaming.workers import (
    TASKS_AHEAD,
    Range,
    SharedFile,
    TaskQueue,
    Workers,
)

_POLL_SECONDS = 0.1
"""Between two checks for cancellation."""


@dataclass(frozen=True, slots=True, eq=False)
class StreamedJob:
    """All that the tasks of all passes of one computation share, beside the table.

    Attributes
    ----------
    trees : TreeSums
    binding : RowBinding
    """

    trees: TreeSums
    binding: RowBinding


def encoding() -> Encoding:
    """Return the encoding of jobs, passes and sums, with the measures of all methods."""
    return Encoding((StreamedJob, RowBinding, Input, *pass_classes()))


class RemoteTasks:
    """Implements `Tasks` by workers.

    Parameters
    ----------
    job : StreamedJob
    files : sequence of SharedFile
    row_count : int
        Of the table.
    workers : Workers
    ledger : Ledger
    """

    def __init__(
        self,
        job: StreamedJob,
        files: Sequence[SharedFile],
        row_count: int,
        workers: Workers,
        ledger: Ledger,
    ) -> None:
        self._encoding = encoding()
        self._job = self._encoding.encode(job)
        self._files = files
        self._row_count = row_count
        self._workers = workers
        self._ledger = ledger

    def bytes_of_one(self, ensemble: Ensemble, size: PassSize) -> int:
        return reply_bytes(ensemble, size)

    def run(self, work: Pass, ranges: Sequence[Range], at_once: int) -> Iterator[Sums | None]:
        """Yield the sums of tasks; see `Tasks.run`."""
        with self._workers.open(self._job, self._encoding.encode(work), self._files) as queue:
            for task, reply in in_order(queue, ranges, at_once, self._ledger):
                rows = min(task[1] * BLOCK_ROWS, self._row_count) - task[0] * BLOCK_ROWS
                self._ledger.spend(rows * work.evaluations, 0)
                yield self._encoding.decode(reply)


def in_order(
    queue: TaskQueue[Range], ranges: Sequence[Range], at_once: int, ledger: Ledger
) -> Iterator[tuple[Range, bytes]]:
    """Yield tasks with their replies, in their order; at most `at_once` are under way."""
    waiting: dict[int, bytes] = {}
    submitted = 0
    for number, task in enumerate(ranges):
        while number not in waiting:
            ahead = min(at_once, max(1, TASKS_AHEAD * queue.width()))
            while submitted < min(number + ahead, len(ranges)):
                queue.submit(submitted, ranges[submitted])
                submitted += 1
            ledger.spend(0, 0)  # raises where the request is cancelled
            waiting.update(queue.replies(_POLL_SECONDS))
        yield task, waiting.pop(number)


class TaskComputer:
    """Computes tasks from bytes; keeps what the last job and pass have prepared. For threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._encoding = encoding()
        self._job: tuple[bytes, StreamedJob, Leaves] | None = None
        self._pass: tuple[bytes, tuple[str, ...] | None, Summed] | None = None

    def compute(
        self,
        job: bytes,
        work: bytes,
        task: Range,
        table: TableBlocks,
        ledger: Ledger,
    ) -> bytes:
        """Sum over the blocks of one task; return the sums as bytes.

        Parameters
        ----------
        ledger : Ledger
            Raises where nobody waits any more.

        Raises
        ------
        ExplainError
            Those of the table and the predictions.
        """
        pool = BlockPool(CallingThread(), ledger)
        with self._lock:
            binding, columns, summed = self._prepared(job, work, pool)
        blocks = binding.read(table, *task, columns)
        sums = run_task(summed, blocks, pool, lambda _rows: ledger.spend(0, 0))
        return self._encoding.encode(sums)

    def _prepared(
        self, job: bytes, work: bytes, pool: BlockPool
    ) -> tuple[RowBinding, tuple[str, ...] | None, Summed]:
        job_digest, work_digest = _digest(job), _digest(job, work)
        if self._job is None or self._job[0] != job_digest:
            decoded: StreamedJob = self._encoding.decode(job)
            self._job = job_digest, decoded, Leaves(decoded.trees.ensemble)
        _, given, leaves = self._job
        if self._pass is None or self._pass[0] != work_digest:
            decoded_pass: Pass = self._encoding.decode(work)
            summed = decoded_pass.prepare(given.trees, leaves, pool)
            self._pass = work_digest, decoded_pass.columns, summed
        return given.binding, self._pass[1], self._pass[2]


def _digest(*parts: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.digest()
