"""Cohorts: rows moved together (of one class, all, or a single one), ready to be scored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.methods.swarm.scoring import GroundTruth, Scorer, Tally


@dataclass(frozen=True, slots=True, eq=False)
class Cohort:
    """Rows moved together: those of a class, all, or a single one.

    Attributes
    ----------
    name : str
        Name of the class; empty without classes.
    number : int
        Position of the class among the model's; -1 without classes.
    row_index : int or None
        Row explained by itself; None for a class or all rows.
    rows : (n_moved,)
        Positions in the background.
    truth : GroundTruth
        Truth of these rows.
    scorer : Scorer
    unmoved : Tally
        Predictions for these rows before any move.
    """

    name: str
    number: int
    row_index: int | None
    rows: Indices
    truth: GroundTruth
    scorer: Scorer
    unmoved: Tally

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def score(self) -> float:
        """Score, or average loss, of all rows before any move."""
        return float(self.scorer.scores(self.unmoved)[0])


def cohorts(
    truth: GroundTruth,
    predicted: Matrix,
    names: Sequence[str],
    chosen: Sequence[int],
    single_rows: Indices,
) -> Iterator[Cohort]:
    """Divide rows into cohorts.

    Parameters
    ----------
    truth, predicted
        Truth and predictions of all rows.
    names : sequence of str
        Class names; empty without classes.
    chosen : sequence of int
        Classes to move; unused without classes.
    single_rows : (n_single_rows,)
        Rows each explained by itself; empty: all rows, by class.
    """
    if len(single_rows):
        for row in single_rows.tolist():
            only = np.array([row])
            # A single row has weight 1, also if its own weight is 0.
            unit = replace(truth.take(only), weights=np.ones(1))
            yield _cohort(unit, predicted[only], names, np.array([0]), only, row)
    elif truth.classes is None:
        rows = np.arange(len(predicted))
        yield _cohort(truth, predicted, names, rows, rows, None)
    else:
        for number in chosen:
            rows = np.flatnonzero(truth.classes == number)
            yield _cohort(truth, predicted, names, rows, rows, None)


def _cohort(  # noqa: PLR0917 - its attributes
    truth: GroundTruth,
    predicted: Matrix,
    names: Sequence[str],
    moved: Indices,
    rows: Indices,
    row_index: int | None,
) -> Cohort:
    """Build a cohort of the rows at `moved`; `rows` are their positions in the background."""
    number = -1 if truth.classes is None else int(truth.classes[moved[0]])
    own, outputs = truth.take(moved), predicted[moved]
    unmoved = own.tally(own.labels(outputs) if names else None, own.losses(outputs))
    name = names[number] if 0 <= number < len(names) else ""
    scorer = truth.scorer(predicted, moved)
    return Cohort(name, number, row_index, rows, own, scorer, unmoved)
