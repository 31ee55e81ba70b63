"""Blocks of rows, tasks of some blocks, and the addition of their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from onnxplain_server.core.table import Table
from onnxplain_server.effects.background import Background
from onnxplain_server.trees.streaming.row_blocks import BLOCK_ROWS
from onnxplain_server.trees.streaming.workers import Range

TASK_BLOCKS = 4
"""Blocks of a task, whose sums are added up before those of other tasks."""

NO_ROWS = Table({}, 0)


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """A block of the table.

    Attributes
    ----------
    row_count : int
        Rows of the table in it, also those of weight 0.
    background : Background
        Its rows of weight above 0, with equal ones merged unless columns are read beside them.
    rows : Table
        The same rows with the columns read; without any where equal rows are merged.
    """

    row_count: int
    background: Background
    rows: Table = NO_ROWS


class RowBlocks(Protocol):
    """Rows of a table, bound to a model's features."""

    @property
    def row_count(self) -> int:
        """Rows of the table."""

    def read(
        self, first: int, last: int, columns: tuple[str, ...] | None = None
    ) -> Iterator[RowBlock]:
        """Read the blocks from number `first` up to `last`, without those of no weight.

        Parameters
        ----------
        columns : tuple of str or None
            Read too, row by row; with None equal rows are merged.
        """


class Sums(Protocol):
    """Sums over rows, which those of later rows are added to."""

    def add(self, later: Any) -> None:
        """Add the sums of later rows, in place."""


S = TypeVar("S", bound=Sums)


def task_ranges(row_count: int) -> list[Range]:
    """Divide the rows of a table into tasks."""
    count = -(-row_count // BLOCK_ROWS)
    return [(first, min(first + TASK_BLOCKS, count)) for first in range(0, count, TASK_BLOCKS)]


def add_up(parts: Iterable[S | None] | Iterable[S]) -> S | None:
    """Add sums up, in their order; None where there are none."""
    total: S | None = None
    for part in parts:
        if total is None:
            total = part
        elif part is not None:
            total.add(part)
    return total


class CallingThread(Executor):
    """Executor that runs each call at once, in the thread that submits it."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a call; its error is that of the future."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - raised by whoever asks for the result
            future.set_exception(error)
        return future
