"""Scores from what is predicted for the rows that are moved, against scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.swarm.options import Score
from onnxplain_server.methods.swarm.scoring import GroundTruth
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

RANDOM = np.random.default_rng(5)
TRUE = RANDOM.integers(0, 3, 60)
WEIGHTS = RANDOM.uniform(0.1, 2, 60)
NOW, MOVED = (np.eye(3)[RANDOM.integers(0, 3, 60)] for _ in range(2))
OWN = np.flatnonzero(TRUE == 1)

SCORES: dict[Score, Any] = {
    Score.ACCURACY: accuracy_score,
    Score.BALANCED_ACCURACY: balanced_accuracy_score,
    Score.F1: lambda y, p, sample_weight: f1_score(
        y, p, average="weighted", sample_weight=sample_weight
    ),
}


def truth(score: Score | None = None, loss: Loss | None = None) -> GroundTruth:
    comparison = None if loss is None else Comparison(loss, sum_outputs=True)
    return GroundTruth(TRUE, 3, np.eye(3)[TRUE], comparison, score, WEIGHTS)


@pytest.mark.parametrize("score", Score)
def test_the_score_is_that_of_all_rows_with_those_of_one_class_moved(score: Score) -> None:
    whole = truth(score)
    own = whole.take(OWN)
    tally = own.tally(own.labels(MOVED[OWN]), own.losses(MOVED[OWN]))
    mixed = NOW.copy()
    mixed[OWN] = MOVED[OWN]

    found = whole.scorer(NOW, OWN).scores(tally)

    expected = SCORES[score](TRUE, mixed.argmax(axis=1), sample_weight=WEIGHTS)
    assert found == pytest.approx([expected])


def test_a_loss_is_averaged_over_all_rows() -> None:
    whole = truth(loss=Loss.SQUARED_ERROR)
    own = whole.take(OWN)
    tally = own.tally(None, own.losses(MOVED[OWN]))
    mixed = NOW.copy()
    mixed[OWN] = MOVED[OWN]

    found = whole.scorer(NOW, OWN).scores(tally)

    expected = np.average(((mixed - np.eye(3)[TRUE]) ** 2).sum(axis=1), weights=WEIGHTS)
    assert found == pytest.approx([expected])


def test_rows_of_a_class_that_the_model_does_not_know_are_always_wrong() -> None:
    unknown = GroundTruth(
        np.array([0, 1, 2]), 2, np.zeros((3, 2)), None, Score.ACCURACY, np.ones(3)
    )
    predicted = np.array([[1.0, 0], [0, 1], [1, 0]])
    own = unknown.take(np.array([0]))
    tally = own.tally(own.labels(predicted[:1]), own.losses(predicted[:1]))

    assert unknown.scorer(predicted, np.array([0])).scores(tally) == pytest.approx([2 / 3])


def test_of_equal_outputs_the_first_is_predicted() -> None:
    assert truth(Score.ACCURACY).labels(np.array([[0.5, 0.5], [0.2, 0.8]])).tolist() == [0, 1]


def test_harm_is_what_a_score_lacks_to_1_and_what_a_loss_is() -> None:
    assert truth(Score.ACCURACY).scorer(NOW, OWN).damage(np.array([0.7])) == pytest.approx([0.3])
    assert truth(loss=Loss.SQUARED_ERROR).scorer(NOW, OWN).damage(np.array([0.7])) == [0.7]
