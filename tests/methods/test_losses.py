"""Losses row by row: by hand, by scikit-learn, and at the edges of where they are defined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.losses import SCORES, Loss, are_perfect, row_losses

LOG2 = np.log(2)
INF = float("inf")


def losses(loss: Loss, actual, predicted):
    """Compare one output: (n_rows,), or rows of several."""
    matrices = [np.array(values, float) for values in (actual, predicted)]
    if matrices[0].ndim == 1:
        matrices = [matrix[:, None] for matrix in matrices]
    actual, predicted = matrices
    return row_losses(loss, actual, predicted).tolist()


@pytest.mark.parametrize(
    ("loss", "actual", "predicted", "expected"),
    [
        pytest.param(Loss.SQUARED_ERROR, [1, -2], [3, 1], [4, 9], id="squared error"),
        pytest.param(Loss.ABSOLUTE_ERROR, [1, -2], [3, 1], [2, 3], id="absolute error"),
        # 2 (2 log 2 − 1), and the same with y and p exchanged: 2 (−log 2 + 1).
        pytest.param(
            Loss.POISSON, [2, 1, 3], [1, 2, 3], [4 * LOG2 - 2, 2 - 2 * LOG2, 0], id="Poisson"
        ),
        # −2 (log 2 − 1), and −2 (−log 2 + 1/2).
        pytest.param(Loss.GAMMA, [2, 1, 3], [1, 2, 3], [2 - 2 * LOG2, 2 * LOG2 - 1, 0], id="gamma"),
        pytest.param(
            Loss.LOGLOSS, [1, 0, 0.5], [0.5, 0.75, 0.5], [LOG2, 2 * LOG2, LOG2], id="log loss"
        ),
    ],
)
def test_losses_worked_by_hand(loss: Loss, actual, predicted, expected) -> None:
    assert np.ravel(losses(loss, actual, predicted)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("loss", "value", "constant", "is_perfect"),
    [
        (Loss.SQUARED_ERROR, 0.0, 3.0, True),
        (Loss.SQUARED_ERROR, 1e-14, 2e-14, False),
        (Loss.SQUARED_ERROR, 1e-9, 1e4, True),
        (Loss.SQUARED_ERROR, 1e-9, INF, False),
        (Loss.SQUARED_ERROR, 1e-300, None, False),
        (Loss.AUC, 1 - 2**-53, 0.5, True),
        (Loss.AUC, 1 - 2**-53, None, True),
        (Loss.AUC, 0.9999999, 0.5, False),
        (Loss.NDCG, 1.0, 0.9, True),
        (Loss.ACCURACY, 0.9999999, 0.9999998, False),
        ("abs(y - p)", 0.0, None, False),
    ],
)
def test_a_perfect_loss_is_told_by_its_size_beside_the_constants(
    loss: Loss | str, value: float, constant: float | None, is_perfect: bool
) -> None:
    constants = np.array([] if constant is None else [constant])

    assert are_perfect(loss, np.array([value]), constants).tolist() == [is_perfect]


def test_the_loss_of_several_classes_worked_by_hand() -> None:
    found = losses(
        Loss.MLOGLOSS, [[0, 1, 0], [0.5, 0, 0.5]], [[0.25, 0.5, 0.25], [0.25, 0.5, 0.25]]
    )

    assert np.array(found) == pytest.approx(np.array([[LOG2], [2 * LOG2]]))


def test_outputs_are_compared_one_by_one() -> None:
    assert losses(Loss.SQUARED_ERROR, [[1, 2]], [[2, 5]]) == [[1, 9]]


# From scikit-learn 1.9.1's mean_poisson_deviance, mean_gamma_deviance (without the row where y is
# 0) and log_loss (of BINARY, then of CLASSES), with sample_weight=w, and of equal weights.
ACTUAL, PREDICTED = [0.0, 1, 2, 3, 5], [0.5, 1, 1.5, 4, 4.0]
BINARY, SHARES = [0, 1, 1, 0, 1], [0.1, 0.8, 0.3, 0.6, 0.99]
CLASSES = np.eye(3)[[0, 2, 1, 1, 2]]
THREE_SHARES = [
    [0.7, 0.2, 0.1],
    [0.1, 0.3, 0.6],
    [0.2, 0.5, 0.3],
    [0.6, 0.3, 0.1],
    [0.05, 0.05, 0.9],
]


@pytest.mark.parametrize(
    ("loss", "actual", "predicted", "equal", "weighted"),
    [
        pytest.param(
            Loss.POISSON, ACTUAL, PREDICTED, 0.33121427364770695, 0.2811734435308008, id="Poisson"
        ),
        pytest.param(
            Loss.GAMMA,
            ACTUAL[1:],
            PREDICTED[1:],
            0.055094891009561664,
            0.039417139503050556,
            id="gamma",
        ),
        pytest.param(
            Loss.LOGLOSS, BINARY, SHARES, 0.49176358780512575, 0.21401276538870073, id="log loss"
        ),
        pytest.param(
            Loss.MLOGLOSS,
            CLASSES,
            THREE_SHARES,
            0.5739962136496861,
            0.4140543632528756,
            id="log loss of classes",
        ),
    ],
)
def test_averages_agree_with_scikit_learn(
    loss: Loss, actual, predicted, equal: float, weighted: float
) -> None:
    found = np.ravel(losses(loss, actual, predicted))
    weights = np.array([1.0, 2, 0, 1, 3])[-len(found) :]

    assert found.mean() == pytest.approx(equal, rel=1e-12)
    assert np.average(found, weights=weights) == pytest.approx(weighted, rel=1e-12)


@pytest.mark.parametrize(
    ("loss", "actual", "predicted", "expected"),
    [
        pytest.param(Loss.POISSON, [0], [0], [[0]], id="nothing expected, nothing came"),
        pytest.param(Loss.POISSON, [0], [1.5], [[3]], id="none came"),
        pytest.param(Loss.POISSON, [2], [0], [[INF]], id="the impossible came"),
        pytest.param(Loss.LOGLOSS, [0, 1], [0, 1], [[0], [0]], id="sure and right"),
        pytest.param(Loss.LOGLOSS, [0, 1], [1, 0], [[INF], [INF]], id="sure and wrong"),
        pytest.param(Loss.MLOGLOSS, [[1, 0]], [[1, 0]], [[0]], id="sure of the right class"),
        pytest.param(Loss.MLOGLOSS, [[1, 0]], [[0, 1]], [[INF]], id="sure of the wrong class"),
        pytest.param(Loss.MLOGLOSS, [[0, 0]], [[0.5, 0.5]], [[0]], id="of no class"),
    ],
)
def test_zero_times_its_logarithm_is_zero_and_the_impossible_infinite(
    loss: Loss, actual, predicted, expected
) -> None:
    assert losses(loss, actual, predicted) == expected


@pytest.mark.parametrize("share", [1 + 1e-7, -1e-7])
def test_what_leaves_a_probability_by_rounding_is_brought_back(share: float) -> None:
    """float32 gives such; its logarithm, or that of what is left of 1, would be no number."""
    wrong, right = (0, 1) if share > 1 else (1, 0)

    assert losses(Loss.LOGLOSS, [wrong, right], [share, share]) == [[INF], [0]]
    assert losses(Loss.MLOGLOSS, [[1, 0]], [[1 + 1e-7, -1e-7]]) == [[0]]
    assert losses(Loss.MLOGLOSS, [[0, 1]], [[1 + 1e-7, -1e-7]]) == [[INF]]


@pytest.mark.parametrize(
    ("loss", "actual", "predicted", "message"),
    [
        (Loss.POISSON, [-1, 2], [1, 1], "POISSON true values must not be negative; .* -1 to 2"),
        (Loss.POISSON, [1, 2], [1, -3], "POISSON predictions must not be negative; .* -3 to 1"),
        (Loss.GAMMA, [0, 2], [1, 1], "GAMMA true values must be positive; they range from 0 to 2"),
        (Loss.GAMMA, [1, 2], [1, 0], "GAMMA predictions must be positive"),
        (Loss.LOGLOSS, [0, 2], [0.5, 0.5], r"LOGLOSS true values must be in \[0, 1\]"),
        (Loss.LOGLOSS, [0, 1], [0.5, 1.01], r"LOGLOSS predictions must be in \[0, 1\]"),
        (Loss.LOGLOSS, [0, 1], [0.5, -0.01], r"LOGLOSS predictions must be in \[0, 1\]"),
        (Loss.MLOGLOSS, [[0, 3]], [[0.5, 0.5]], r"MLOGLOSS true values must be in \[0, 1\]"),
        (Loss.MLOGLOSS, [[0, 1]], [[-2, 3]], r"MLOGLOSS predictions must be in \[0, 1\]"),
    ],
)
def test_where_a_loss_is_not_defined_it_says_so(
    loss: Loss, actual, predicted, message: str
) -> None:
    with pytest.raises(ExplainError, match=message) as refused:
        losses(loss, actual, predicted)

    assert refused.value.reason is Reason.INVALID_OPTION
    assert refused.value.field == "loss"


@given(st.sampled_from(sorted(set(Loss) - SCORES, key=str)), st.floats(0.01, 1), st.floats(0.01, 1))
def test_no_loss_is_smaller_than_at_the_true_value(loss: Loss, actual: float, p: float) -> None:
    if loss is Loss.MLOGLOSS:
        truth, guess = [[actual, 1 - actual]], [[p, 1 - p]]
    else:
        truth, guess = [[actual]], [[p]]

    best, found = losses(loss, truth, truth)[0][0], losses(loss, truth, guess)[0][0]

    assert found >= best - 1e-12


@given(st.floats(0.01, 100), st.floats(0.01, 100), st.floats(0.1, 10))
def test_losses_follow_the_unit_of_the_output(y: float, p: float, unit: float) -> None:
    """By its square, itself, itself, and not at all."""
    for loss, power in [
        (Loss.SQUARED_ERROR, 2),
        (Loss.ABSOLUTE_ERROR, 1),
        (Loss.POISSON, 1),
        (Loss.GAMMA, 0),
    ]:
        scaled, plain = losses(loss, [unit * y], [unit * p]), losses(loss, [y], [p])
        assert scaled[0][0] == pytest.approx(unit**power * plain[0][0], rel=1e-6, abs=1e-9)


@given(st.floats(0, 1), st.floats(0.01, 0.99))
def test_two_classes_lose_what_one_probability_loses(y: float, p: float) -> None:
    both = losses(Loss.MLOGLOSS, [[1 - y, y]], [[1 - p, p]])

    assert both[0][0] == pytest.approx(losses(Loss.LOGLOSS, [y], [p])[0][0])
