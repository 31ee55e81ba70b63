"""A method made ready, and what reads trees for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from onnxplain_server.effects.caller import Caller
from onnxplain_server.explain.engine import Margin
from onnxplain_server.explain.sample import RowsUsed
from onnxplain_server.methods.classes import ClassPairing, Outputs
from onnxplain_server.methods.kinds import Options, Result
from onnxplain_server.methods.kinds import notes as notes_of
from onnxplain_server.model import Note
from onnxplain_server.trees.crew import Crew
from onnxplain_server.trees.grove import Grove
from onnxplain_server.trees.refusal import Refusal

Trees: TypeAlias = Callable[[int | None], Grove | Refusal]
"""Finds the trees of the model, which may have to be told how many columns it takes."""


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A method ready to run.

    Attributes
    ----------
    options : Options
        After defaults.
    cost : int
        Upper bound of the rows to predict.
    run : callable () -> Result
    rows : RowsUsed or None
        The rows of the table that the result is computed on; None where it needs none.
    notes : tuple of Note
        What to know of how it runs.
    remarks : callable (Result) -> tuple of Note
        What only the result shows.
    pairings : tuple of ClassPairing
        Of the target's classes, where the method compares with them.
    """

    options: Options
    cost: int
    run: Callable[[], Result]
    rows: RowsUsed | None = None
    notes: tuple[Note, ...] = ()
    remarks: Callable[[Result], tuple[Note, ...]] = notes_of
    pairings: tuple[ClassPairing, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """What reads the model's own trees, and shares the work with them.

    Attributes
    ----------
    trees : Trees
    crew : Crew
    caller : Caller
        Asks the model for all its outputs, whichever are explained.
    unplanned : Caller
        The same, for rows that nobody could plan.
    margin : callable () -> Margin or Refusal
        What decides the class.
    outputs : Outputs
        Of the model, as a target is compared with them.
    """

    trees: Trees
    crew: Crew
    caller: Caller
    unplanned: Caller
    margin: Callable[[], Margin | Refusal]
    outputs: Outputs
