"""A method made ready, and what reads trees for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from onnxplain_server.core.model import Note
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.explain.engine import ClassMargin
from onnxplain_server.explain.sample import RowsUsed
from onnxplain_server.methods.classes import ClassPairing, Outputs
from onnxplain_server.methods.registry import Options, Result
from onnxplain_server.methods.registry import notes as notes_of
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.reading.forest import Forest
from onnxplain_server.trees.reading.refusal import Refusal

Trees: TypeAlias = Callable[[int | None], Forest | Refusal]
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
    pool : BlockPool
    predictor : Predictor
        Asks the model for all its outputs, whichever are explained.
    unplanned : Predictor
        The same, for rows that nobody could plan.
    margin : callable () -> ClassMargin or Refusal
        What decides the class.
    outputs : Outputs
        Of the model, as a target is compared with them.
    """

    trees: Trees
    pool: BlockPool
    predictor: Predictor
    unplanned: Predictor
    margin: Callable[[], ClassMargin | Refusal]
    outputs: Outputs
