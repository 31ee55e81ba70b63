"""Explanation: the result of one method with its options, rows and plots, whole or on the way."""

from __future__ import annotations

from dataclasses import dataclass

from onnxplain_server.core.model import Note
from onnxplain_server.explain.sample import RowsUsed
from onnxplain_server.methods.classes import ClassPairing
from onnxplain_server.methods.registry import Options, Result
from onnxplain_server.plots.elements.chart import Plot


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Answer of one method of a request.

    Attributes
    ----------
    options : Options
        After defaults.
    result : Result
    plots : tuple of Plot
    rows : RowsUsed or None
        Rows of the table that the result is computed on; None if it needs none.
    pairings : tuple of ClassPairing
        Classes of the target, each with the output that scores it.
    """

    options: Options
    result: Result
    plots: tuple[Plot, ...]
    rows: RowsUsed | None
    pairings: tuple[ClassPairing, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PartialExplanation:
    """Part of an answer that is not finished.

    Attributes
    ----------
    index : int
        Of the explanation in the answer.
    explanation : Explanation
    notes : tuple of Note
        Warnings of the method.
    is_final : bool
        Whether the answer will have the same explanation; otherwise it is from some of its rows.
    """

    index: int
    explanation: Explanation
    notes: tuple[Note, ...]
    is_final: bool
