"""The rows that are moved together, and what it takes to score them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.methods.swarm.scoring import GroundTruth, Scorer, Tally


@dataclass(frozen=True, slots=True, eq=False)
class Cohort:
    """Rows that are moved together: those of a class, all, or one by itself.

    Attributes
    ----------
    name : str
        Of the class; empty without classes.
    number : int
        Position of the class among the model's; -1 without classes.
    row_index : int or None
        Row of the table that is explained by itself.
    rows : (n_moved,)
        Positions in the background.
    truth : GroundTruth
        Of these rows.
    judge : Scorer
    unmoved : Tally
        What is predicted for these rows as they are.
    """

    name: str
    number: int
    row_index: int | None
    rows: Indices
    truth: GroundTruth
    judge: Scorer
    unmoved: Tally

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def score(self) -> float:
        """Score, or average loss, of the rows as they are, and of all that are not moved."""
        return float(self.judge.scores(self.unmoved)[0])


def cohorts(
    truth: GroundTruth,
    predicted: Matrix,
    names: Sequence[str],
    chosen: Sequence[int],
    alone: Indices,
) -> Iterator[Cohort]:
    """Divide rows into cohorts.

    Parameters
    ----------
    truth, predicted
        Of all rows.
    names : sequence of str
        Of the classes; empty without.
    chosen : sequence of int
        Classes to move; not looked at without classes.
    alone : (n_alone,)
        Rows that are explained each by itself; empty: all rows, by class.
    """
    if len(alone):
        for row in alone.tolist():
            only = np.array([row])
            # By itself, a row weighs all, even one that weighs nothing beside others.
            own, found = replace(truth.take(only), weights=np.ones(1)), predicted[only]
            yield _cohort(own, found, names, np.array([0]), only, row)
    elif truth.classes is None:
        every = np.arange(len(predicted))
        yield _cohort(truth, predicted, names, every, every, None)
    else:
        for number in chosen:
            rows = np.flatnonzero(truth.classes == number)
            yield _cohort(truth, predicted, names, rows, rows, None)


def _cohort(  # noqa: PLR0917 - all that it is made of
    truth: GroundTruth,
    predicted: Matrix,
    names: Sequence[str],
    moved: Indices,
    rows: Indices,
    row_index: int | None,
) -> Cohort:
    """Make a cohort of the rows `moved` of those given, which are `rows` of the background."""
    number = -1 if truth.classes is None else int(truth.classes[moved[0]])
    own, found = truth.take(moved), predicted[moved]
    unmoved = own.tally(own.labels(found) if names else None, own.losses(found))
    name = names[number] if 0 <= number < len(names) else ""
    judge = truth.judge(predicted, moved)
    return Cohort(name, number, row_index, rows, own, judge, unmoved)
