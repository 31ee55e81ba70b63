"""Preparation of a method: a `Task` in, a `Job` with a known cost out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from onnxplain_server.core.model import Note
from onnxplain_server.effects.engine import Effects
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.sample import RowsUsed, Sample
from onnxplain_server.explain.streaming.streamed_rows import StreamedRows
from onnxplain_server.methods.classes import ClassPairing, Outputs
from onnxplain_server.methods.registry import Options, Result
from onnxplain_server.methods.sampled.intervals import SampledRows
from onnxplain_server.trees.streaming.engine import StreamedTrees

R = TypeVar("R", bound=Result)


class AllRows(NamedTuple):
    """All rows of a table in blocks, and the trees that sums over them are of."""

    trees: StreamedTrees
    rows: StreamedRows


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One method of a request.

    Attributes
    ----------
    request : BoundRequest
        Shared by all methods of the request.
    path : str
        Path of the method's options in the request, for errors.
    """

    request: BoundRequest
    path: str

    @property
    def question(self) -> Question:
        """The request without model and table."""
        return self.request.question

    @property
    def sample(self) -> Sample:
        """The table bound to the model, and the rows drawn from it."""
        return self.request.sample

    @property
    def all_rows(self) -> AllRows | None:
        """All rows of a table that is read in blocks; None where the rows drawn are used."""
        trees, rows = self.request.streamed_trees, self.request.resources.streamed
        return None if trees is None or rows is None else AllRows(trees, rows)

    @property
    def effects(self) -> Effects:
        """The engine on the rows drawn."""
        return self.request.effects

    @property
    def outputs(self) -> Outputs:
        """Outputs of the model, to compare a target with."""
        return self.request.outputs


def _notes(result: Result) -> tuple[Note, ...]:
    return result.notes


@dataclass(frozen=True, slots=True, eq=False)
class Job(Generic[R]):
    """A method ready to run.

    Attributes
    ----------
    options : Options
        After defaults.
    cost : int
        Upper bound on the number of rows to evaluate: by predictions, or by the model's trees.
    run : callable () -> Result
    rows : RowsUsed or None
        Rows of the table that the result is computed on; None if it needs none.
    notes : tuple of Note
        Warnings about how it runs.
    remarks : callable (Result) -> tuple of Note
        Warnings that depend on the result.
    pairings : tuple of ClassPairing
        Classes of the target, each with the output that scores it; empty without a target.
    is_always_predicted : bool
        Whether the model predicts these rows also where the engine is trees.
    is_streamed : bool
        Whether all rows of a table that is too large for memory are read in blocks.
    check_cost : int
        Upper bound on the rows that are predicted to check a result, beside `cost`.
    run_sampled : callable (SampledRows) -> Result or None
        Takes its rows as a sample of those of another job, and adds intervals of the numbers of
        that one; None where no intervals are known.
    are_rows_asked : bool
        Whether the request names its rows, so that none are drawn.
    run_in_rounds : callable (callable (Result)) -> Result, or None
        As `run`; tells the result of each round but the last. None where there are no rounds.
    repetition_count : int or None
        Repetitions that its time grows with in place of the rows drawn, like the random orders of
        all rows explained, or the paths of a forest; None if it grows with the rows.
    """

    options: Options
    cost: int
    run: Callable[[], R]
    rows: RowsUsed | None = None
    notes: tuple[Note, ...] = ()
    remarks: Callable[[R], tuple[Note, ...]] = _notes
    pairings: tuple[ClassPairing, ...] = ()
    is_always_predicted: bool = False
    is_streamed: bool = False
    check_cost: int = 0
    run_sampled: Callable[[SampledRows], R] | None = None
    are_rows_asked: bool = False
    run_in_rounds: Callable[[Callable[[R], object]], R] | None = None
    repetition_count: int | None = None
