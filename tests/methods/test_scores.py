"""Scores against scikit-learn's, and by their laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.methods.losses import SCORES, Loss
from onnxplain_server.methods.scores import score
from sklearn import metrics

LABEL_SCORES = {
    Loss.ACCURACY: metrics.accuracy_score,
    Loss.BALANCED_ACCURACY: metrics.balanced_accuracy_score,
}


@st.composite
def labelled(draw, class_count: int):
    """Classes that all occur, outputs with ties, and weights, of 10 to 40 rows."""
    row_count = draw(st.integers(10, 40))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    classes = random.permutation(np.arange(row_count) % class_count)
    outputs = random.integers(0, 6, (row_count, class_count)) / 5
    return classes, outputs, random.uniform(0.1, 3, row_count)


@given(labelled(3))
def test_scores_of_the_largest_output_are_those_of_scikit_learn(rows) -> None:
    classes, outputs, weights = rows
    labels, one_hot = outputs.argmax(axis=1), np.eye(3)[classes]

    for loss, reference in LABEL_SCORES.items():
        [found] = score(loss, one_hot, outputs, weights, None)
        assert found == pytest.approx(reference(classes, labels, sample_weight=weights))
    expected = metrics.f1_score(classes, labels, average=None, sample_weight=weights)
    assert score(Loss.F1, one_hot, outputs, weights, None) == pytest.approx(expected)


@given(labelled(2), st.sampled_from([0.0, 0.3, 0.5]))
def test_scores_of_a_threshold_are_those_of_scikit_learn(rows, threshold: float) -> None:
    classes, outputs, weights = rows
    chances, truth = outputs[:, 1:], classes[:, np.newaxis].astype(float)
    labels = (chances[:, 0] > threshold).astype(int)

    for loss, reference in {**LABEL_SCORES, Loss.F1: metrics.f1_score}.items():
        [found] = score(loss, truth, chances, weights, threshold)
        assert found == pytest.approx(reference(classes, labels, sample_weight=weights))


@given(labelled(3))
def test_areas_under_curves_are_those_of_scikit_learn(rows) -> None:
    classes, outputs, weights = rows
    one_hot = np.eye(3)[classes]
    expected = [
        metrics.roc_auc_score(classes == k, outputs[:, k], sample_weight=weights) for k in range(3)
    ]

    assert score(Loss.AUC, one_hot, outputs, weights, None) == pytest.approx(expected)


@given(labelled(2), st.sampled_from(sorted(SCORES, key=str)))
def test_a_row_of_weight_two_is_two_rows(rows, loss: Loss) -> None:
    classes, outputs, _ = rows
    truth, chances = classes[:, np.newaxis].astype(float), outputs[:, 1:]
    counts = 1 + np.arange(len(classes)) % 2
    twice = np.repeat(np.arange(len(classes)), counts)

    weighted = score(loss, truth, chances, counts.astype(float), 0.5)
    repeated = score(loss, truth[twice], chances[twice], np.ones(len(twice)), 0.5)

    assert weighted == pytest.approx(repeated)


@given(labelled(2))
def test_the_area_depends_on_the_order_of_the_outputs_alone(rows) -> None:
    classes, outputs, weights = rows
    truth, chances = classes[:, np.newaxis].astype(float), outputs[:, 1:]

    area = score(Loss.AUC, truth, chances, weights, None)

    assert score(Loss.AUC, truth, np.exp(3 * chances) - 7, weights, None) == pytest.approx(area)
    assert score(Loss.AUC, truth, -chances, weights, None) == pytest.approx(1 - area)


def test_scores_worked_by_hand() -> None:
    """Rows of classes b, b, a, a; b has the chances .9, .4, .6, .1: 3 of 4 pairs in order."""
    truth, chances = np.array([[1.0], [1], [0], [0]]), np.array([[0.9], [0.4], [0.6], [0.1]])
    one = np.ones(4)

    assert score(Loss.AUC, truth, chances, one, None) == pytest.approx([3 / 4])
    assert score(Loss.ACCURACY, truth, chances, one, 0.5) == pytest.approx([2 / 4])
    assert score(Loss.F1, truth, chances, one, 0.3) == pytest.approx([2 * 2 / (2 + 3)])
    assert score(Loss.BALANCED_ACCURACY, truth, chances, one, 0.3) == pytest.approx([(1 + 0.5) / 2])


def test_scores_of_a_single_class_are_not_defined() -> None:
    truth, chances, one = np.zeros((3, 1)), np.array([[0.1], [0.2], [0.3]]), np.ones(3)

    assert np.isnan(score(Loss.AUC, truth, chances, one, None)).all()
    assert np.isnan(score(Loss.F1, truth, chances, one, 0.5)).all()
    assert score(Loss.F1, truth, chances, one, 0.2) == pytest.approx([0])
