"""Workers of tasks that may be other processes: what they take and return is bytes and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

TASKS_AHEAD = 4
"""Tasks on their way for each that runs: sums wait for those of rows before, workers for nobody."""

Range: TypeAlias = tuple[int, int]
"""Numbers of a task's first block, and of the block after its last."""

Task_contra = TypeVar("Task_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file of a table, by which workers know that theirs is the same.

    Attributes
    ----------
    path : str
        Absolute; the same on all machines.
    byte_count : int
    tail : str
        SHA-256 of its last bytes, in which Parquet and Arrow describe all others.
    """

    path: str
    byte_count: int
    tail: str


class TaskQueue(Protocol[Task_contra]):
    """Tasks of one pass or on one model, on their way to workers and back.

    Any thread may submit; one takes the replies.
    """

    def width(self) -> int:
        """Return how many tasks workers can run at the same time now; 0 where there are none."""

    def submit(self, number: int, task: Task_contra) -> None:
        """Submit a task under a number.

        Raises
        ------
        ExplainError
            UNAVAILABLE where nothing can be submitted.
        """

    def replies(self, seconds: float) -> Sequence[tuple[int, bytes]]:
        """Return the numbers and results of tasks that have ended, in any order.

        Waits for one at most so many seconds.

        Raises
        ------
        ExplainError
            That of a task; UNAVAILABLE where workers are missing for too long.
        """


class Workers(Protocol):
    """Workers that run the tasks of passes."""

    def open(
        self, job: bytes, work: bytes, files: Sequence[SharedFile]
    ) -> AbstractContextManager[TaskQueue[Range]]:
        """Open a queue for the tasks of one pass, which closing cancels.

        Parameters
        ----------
        job : bytes
            Trees, and the binding of the rows: `explain.streaming.remote_tasks` encodes them.
        work : bytes
            The pass.
        """
