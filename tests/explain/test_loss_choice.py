"""Losses and scores: the default by task, parameters, warnings, and values by scikit-learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxplain
import onnxruntime
import pytest
from onnxplain import AverageLoss, PermutationImportance, Swarm
from onnxplain.enumerations.names import OTHER_NAMES
from onnxplain.enumerations.values import value_name
from onnxplain.v1 import average_loss_pb2
from onnxplain.v1.average_loss_pb2 import AverageLossOptions
from onnxplain_server.core.row_draws import Purpose, row_hashes
from scipy.stats import spearmanr
from sklearn import metrics

MODELS = Path(__file__).parents[1] / "models"
N_ROWS = 150
RNG = np.random.default_rng(5)
X = RNG.normal(scale=100, size=(N_ROWS, 8)).astype(np.float32)
NUMBERS = RNG.uniform(1, 5, N_ROWS)
WEIGHTS = RNG.uniform(0.5, 2, N_ROWS)


@pytest.fixture(scope="module")
def client():
    with onnxplain.local() as client:
        yield client


def run(name: str, rows: np.ndarray):
    session = onnxruntime.InferenceSession(MODELS / f"{name}.onnx")
    [only] = session.get_inputs()
    return session.run(None, {only.name: rows[:, : only.shape[1]]})


def predictions(name: str) -> np.ndarray:
    *_, outputs = run(name, X)
    if isinstance(outputs, list):
        outputs = np.array([[row[k] for k in sorted(row)] for row in outputs])
    return np.asarray(outputs, dtype=float)


def classes_like(name: str) -> np.ndarray:
    """Predicted classes, a third of them changed at random."""
    outputs = predictions(name)
    random = RNG.integers(0, outputs.shape[1], N_ROWS)
    return np.where(np.arange(N_ROWS) % 3 == 0, random, outputs.argmax(axis=1))


def table(target) -> dict[str, np.ndarray]:
    return {**{f"x{j}": X[:, j] for j in range(8)}, "w": WEIGHTS, "y": target}


def asked(client, name: str, target, *methods, **request):
    width = client.describe(MODELS / f"{name}.onnx").inputs[0].width
    columns = [f"x{j}" for j in range(width)]
    options = {"feature_columns": columns, "target_column": "y", "weight_column": "w"} | request
    return client.explain(MODELS / f"{name}.onnx", table(target), *methods, **options)


def average(answer):
    return answer.average_loss.losses[0].values


def resolved(answer):
    return answer.average_loss.options


def loss_of(answer) -> str:
    return AverageLossOptions.Loss.Name(resolved(answer).loss)


@pytest.mark.parametrize("name", ["lightgbm_binary", "sklearn_network_binary"])
def test_the_default_for_a_binary_classifier_is_its_log_loss(client, name: str) -> None:
    classes = classes_like(name)

    answer = asked(client, name, classes, AverageLoss())

    assert loss_of(answer) == "LOGLOSS"
    chances = np.clip(predictions(name)[:, 1], 2.0**-23, 1 - 2.0**-23)
    expected = metrics.log_loss(classes, chances, sample_weight=WEIGHTS)
    assert average(answer) == pytest.approx([expected], rel=1e-4)


def test_the_default_for_three_classes_is_one_log_loss_of_all(client) -> None:
    name = "lightgbm_3class"
    classes = classes_like(name)

    answer = asked(client, name, classes, AverageLoss())

    assert loss_of(answer) == "MLOGLOSS"
    chances = predictions(name)
    shares = chances / chances.sum(axis=1, keepdims=True)
    expected = metrics.log_loss(classes, shares, sample_weight=WEIGHTS)
    assert average(answer) == pytest.approx([expected], rel=1e-4)


def test_the_default_for_numbers_is_the_squared_error(client) -> None:
    answer = asked(client, "lightgbm_regressor", NUMBERS, AverageLoss())

    assert loss_of(answer) == "SQUARED_ERROR"


def test_the_default_for_scores_that_are_no_probabilities_is_their_area(client) -> None:
    answer = asked(
        client, "xgboost_binary", classes_like("xgboost_binary"), AverageLoss(), scale="MARGIN"
    )

    assert loss_of(answer) == "AUC"


def test_the_default_for_labels_is_their_accuracy(client) -> None:
    name = "sklearn_linear_svc_labels_only"
    described = client.describe(MODELS / f"{name}.onnx")
    width = described.inputs[0].width or 8
    rows = {f"x{j}": X[:, j % 8] for j in range(width)}
    rows["y"] = np.array([described.output_names[k % 2] for k in range(N_ROWS)])

    answer = client.explain(MODELS / f"{name}.onnx", rows, AverageLoss(), target_column="y")

    assert loss_of(answer) == "ACCURACY"


SKLEARN = {
    "ACCURACY": lambda y, p, w: metrics.accuracy_score(y, p > 0.5, sample_weight=w),
    "BALANCED_ACCURACY": lambda y, p, w: metrics.balanced_accuracy_score(
        y, p > 0.5, sample_weight=w
    ),
    "F1": lambda y, p, w: metrics.f1_score(y, p > 0.5, sample_weight=w),
    "AUC": lambda y, p, w: metrics.roc_auc_score(y, p, sample_weight=w),
    "SQUARED_ERROR": lambda y, p, w: metrics.brier_score_loss(y, p, sample_weight=w),
}


@pytest.mark.parametrize("loss", SKLEARN)
def test_scores_of_a_binary_classifier_are_those_of_scikit_learn(client, loss) -> None:
    name = "lightgbm_binary"
    classes = classes_like(name)

    answer = asked(client, name, classes, AverageLoss(loss=loss), PermutationImportance(loss=loss))

    expected = SKLEARN[loss](classes, predictions(name)[:, 1], WEIGHTS)
    assert average(answer) == pytest.approx([expected], rel=1e-5)
    baseline = answer.permutation_importance.baseline_losses
    assert baseline == pytest.approx([expected], rel=1e-5)


REGRESSION = {
    "PINBALL": lambda y, p, w: metrics.mean_pinball_loss(y, p, alpha=0.8, sample_weight=w),
    "MAPE": lambda y, p, w: metrics.mean_absolute_percentage_error(y, p, sample_weight=w),
}


@pytest.mark.parametrize("loss", REGRESSION)
def test_losses_of_numbers_are_those_of_scikit_learn(client, loss) -> None:
    name, quantile = "lightgbm_regressor", 0.8 if loss == "PINBALL" else None

    answer = asked(client, name, NUMBERS, AverageLoss(loss=loss, quantile=quantile))

    expected = REGRESSION[loss](NUMBERS, predictions(name)[:, 0], WEIGHTS)
    assert average(answer) == pytest.approx([expected], rel=1e-5)


def test_an_importance_is_the_fall_of_a_score(client) -> None:
    """The feature is shuffled as the server does it, and scikit-learn scores the predictions."""
    name, classes = "sklearn_network_binary", classes_like("sklearn_network_binary")
    chances = predictions(name)[:, 1]

    method = PermutationImportance(features=["x2"], loss="AUC", repeat_count=3)
    answer = asked(client, name, classes, method, engine="BLACK_BOX", weight_column="")

    falls = []
    for repeat in range(3):
        order = np.argsort(row_hashes(np.arange(N_ROWS), 0, Purpose.SHUFFLE, 2, repeat))
        moved = X.copy()
        moved[:, 2] = X[order, 2]
        *_, outputs = run(name, moved)
        areas = [metrics.roc_auc_score(classes, one) for one in (chances, outputs[:, 1])]
        falls.append(areas[0] - areas[1])
    [importance] = answer.permutation_importance.importances
    assert importance.values == pytest.approx([np.mean(falls)], abs=1e-6)


def test_the_threshold_decides_the_predicted_class(client) -> None:
    name = "lightgbm_binary"
    classes, chances = classes_like(name), predictions(name)[:, 1]

    answer = asked(client, name, classes, AverageLoss(loss="F1", threshold=0.3))

    expected = metrics.f1_score(classes, chances > 0.3, sample_weight=WEIGHTS)
    assert average(answer) == pytest.approx([expected])
    default = asked(client, name, classes, AverageLoss(loss="F1"))
    assert resolved(default).threshold == 0.5


def test_scores_of_the_margin_have_their_threshold_at_zero(client) -> None:
    name = "xgboost_binary"
    classes = classes_like(name)

    margin = asked(client, name, classes, AverageLoss(loss="ACCURACY"), scale="MARGIN")
    chance = asked(client, name, classes, AverageLoss(loss="ACCURACY"))

    assert resolved(margin).threshold == 0
    assert average(margin) == pytest.approx(average(chance))


def test_the_default_log_loss_is_finite_and_says_what_it_raised(client) -> None:
    """A network gives classes the probability 0; every fifth class is the other one."""
    name, floor = "sklearn_network_binary", 2.0**-23
    chances = predictions(name)
    classes = np.where(np.arange(N_ROWS) % 5 == 0, chances.argmin(axis=1), chances.argmax(axis=1))
    true = chances[np.arange(N_ROWS), classes]
    low = int((true < floor).sum())

    default = asked(client, name, classes, AverageLoss())
    named = asked(client, name, classes, AverageLoss(loss="LOGLOSS"))

    assert low > 0, "the case is one"
    expected = np.average(-np.log(np.clip(true, floor, 1 - floor)), weights=WEIGHTS)
    assert average(default) == pytest.approx([expected], rel=1e-4)
    assert resolved(default).probability_floor == floor
    [warning] = [w for w in default.warnings if w.code == "PROBABILITY_FLOOR"]
    assert f"In {low} of {N_ROWS} rows" in warning.message
    assert np.isinf(average(named)).all()
    assert not [w for w in named.warnings if w.code == "PROBABILITY_FLOOR"]


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (AverageLoss(quantile=0.2), "quantile is for the loss PINBALL"),
        (AverageLoss(loss="AUC", threshold=0.2), "threshold is for"),
        (AverageLoss(probability_floor=0.1), "probability_floor is for the loss"),
        (AverageLoss(loss="PINBALL", quantile=1.0), r"quantile is 1; it must be"),
        (AverageLoss(loss="F1", sum_outputs=True), "of which no sum is taken"),
        (AverageLoss(loss="AUC", one_hot_target=False), "a score of classes"),
        (Swarm(loss="AUC"), "AUC is a score; set score, which has 'ACCURACY'"),
        (AverageLoss(loss="MAPE", one_hot_target=False), "no true value may be 0"),
    ],
)
def test_what_makes_no_sense_is_refused(client, method, message: str) -> None:
    name = "lightgbm_binary"

    with pytest.raises(onnxplain.ExplainError, match=message):
        asked(client, name, classes_like(name), method)


def test_two_of_three_outputs_do_not_tell_which_is_the_largest(client) -> None:
    name = "lightgbm_3class"

    with pytest.raises(onnxplain.ExplainError, match="needs all outputs, to know which"):
        asked(client, name, classes_like(name), AverageLoss(loss="ACCURACY"), output_indices=[0, 1])


def test_a_group_of_one_class_has_no_area(client) -> None:
    name = "lightgbm_binary"
    classes = classes_like(name)
    rows = table(classes) | {"group": np.where(classes == 1, "ones", "mixed")}
    rows["group"][:30] = "mixed"

    answer = client.explain(
        MODELS / f"{name}.onnx",
        rows,
        AverageLoss(loss="AUC", group_column="group"),
        feature_columns=[f"x{j}" for j in range(8)],
        target_column="y",
    )

    by_group = {one.group: one.values[0] for one in answer.average_loss.losses}
    assert np.isnan(by_group["ones"])
    assert 0 <= by_group["mixed"] <= 1
    [warning] = [w for w in answer.warnings if w.code == "UNDEFINED_SCORE"]
    assert "AUC is NaN for" in warning.message
    assert "in the group ones" in warning.message
    assert warning.message.endswith("it is not defined for rows which are all of one class.")


def test_rows_of_one_class_have_no_importance_by_area(client) -> None:
    with pytest.raises(onnxplain.ExplainError, match="all of one class"):
        asked(client, "lightgbm_binary", np.ones(N_ROWS), PermutationImportance(loss="AUC"))


def test_a_score_that_a_constant_reaches_is_told(client) -> None:
    name = "lightgbm_binary"
    swapped = 1 - predictions(name).argmax(axis=1)

    for loss in ("AUC", "ACCURACY", "BALANCED_ACCURACY", "F1"):
        answer = asked(client, name, swapped, AverageLoss(loss=loss))
        [warning] = [w for w in answer.warnings if w.code == "FAR_FROM_TARGET"]
        assert f"{loss} of" in warning.message
    good = asked(client, name, 1 - swapped, AverageLoss(loss="AUC"))
    assert "FAR_FROM_TARGET" not in [w.code for w in good.warnings]


def test_predictions_that_order_the_rows_are_not_called_a_constant(client) -> None:
    """As of a quantile: the true values lie below, and their order is disturbed."""
    predicted = predictions("lightgbm_regressor")[:, 0]
    below = predicted - np.random.default_rng(1).uniform(0, 9, N_ROWS) * predicted.std()

    answer = asked(client, "lightgbm_regressor", below, AverageLoss(), weight_column="")

    [warning] = [w for w in answer.warnings if w.code == "FAR_FROM_TARGET"]
    assert f"rank correlation {spearmanr(predicted, below).statistic:.2g})" in warning.message
    assert "constant prediction" not in warning.message
    assert average(answer)[0] > answer.average_loss.constant_losses[0]


SCORERS = [
    name
    for name in metrics.get_scorer_names()
    if value_name(name, AverageLossOptions.Loss.DESCRIPTOR) is not None
]


@pytest.mark.parametrize("scorer", SCORERS)
def test_a_scorer_s_name_means_what_scikit_learn_computes(client, scorer) -> None:
    measure = metrics.get_scorer(scorer)
    is_regression = hasattr(metrics, scorer.replace("neg_", "", 1)) and "mean_" in scorer
    model = "lightgbm_poisson" if is_regression else "lightgbm_binary"
    truth = NUMBERS if is_regression else classes_like(model)

    answer = asked(client, model, truth, AverageLoss(loss=scorer))

    predicted = predictions(model)[:, -1]
    if scorer in {"accuracy", "balanced_accuracy", "f1"}:
        predicted = predicted > 0.5
    expected = measure._score_func(truth, predicted, sample_weight=WEIGHTS)
    assert average(answer) == pytest.approx([expected], rel=1e-5)


def test_other_scorers_are_refused_with_what_is_nearest() -> None:
    assert {"roc_auc", "neg_log_loss", "neg_brier_score", "f1"} < set(SCORERS)
    for name, advice in (
        ("neg_root_mean_squared_error", "is the root of SQUARED_ERROR"),
        ("R2", "1 minus SQUARED_ERROR"),
        ("roc-auc-ovr", "one for each class"),
        ("absolute eror", r"did you mean ABSOLUTE_ERROR\?"),
        ("survival:cox", "no loss here knows of censoring"),
        ("gini", "one of SQUARED_ERROR, .*PAIRWISE_ACCURACY$"),
    ):
        with pytest.raises(ValueError, match=advice):
            AverageLoss(loss=name).to_message()  # type: ignore[arg-type]


def test_no_name_means_two_values() -> None:
    for kind, others in OTHER_NAMES.items():
        [message, enum] = kind.split(".")[-2:]
        own = getattr(getattr(average_loss_pb2, message), enum).DESCRIPTOR
        for name, value in [*others.items(), *((v.name, v.name) for v in own.values)]:
            assert value_name(name, own) == value
