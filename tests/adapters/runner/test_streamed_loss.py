"""Average loss of a table in blocks: that of the table in memory, on all rows."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnxplain.v1 import average_loss_pb2 as pb2
from onnxplain_server.core.errors import ExplainError, Reason

from tests.adapters.runner.streaming import (
    MODELS,
    against_memory,
    answers,
    cut_blocks,
    keep_levels,
    known_rows,
    names_of,
    request_of,
)

N = 1_100
NUMBERS, BINARY, CLASSES, TARGETS = (
    "sklearn_gradient_boosting",
    "sklearn_gradient_boosting_binary",
    "sklearn_random_forest_3class",
    "sklearn_random_forest_two_targets",
)
IRIS = ["setosa", "versicolor", "virginica"]
LOSS = pb2.AverageLossOptions.Loss


@pytest.fixture(autouse=True)
def blocks(monkeypatch) -> None:
    keep_levels(monkeypatch, 50)
    cut_blocks(monkeypatch, 128)


def predict(model, table):
    names = names_of(model)
    session = onnxruntime.InferenceSession((MODELS / f"{model}.onnx").read_bytes())
    rows = np.stack([table[name] for name in names], axis=1)
    return session.run(None, {session.get_inputs()[0].name: rows})[-1]


@pytest.fixture
def table_of():
    """Make a table for a model; its target is near the predictions, or drawn from classes."""

    def make(model, classes=None):
        rng = np.random.default_rng(0)
        columns = known_rows(model, N, rng)
        numbers = np.exp(rng.normal(size=N))
        y = numbers if classes is None else rng.choice(np.array(classes), N)
        return {
            **columns,
            "y": y,
            "z": rng.normal(size=N),
            "weight": rng.integers(0, 3, N).astype(np.float64),
            "kind": rng.choice(np.array(["a", "b", ""]), N),
            "mostly": rng.normal(size=N) * (rng.random(N) < 0.1),
        }

    return make


def asked(model, options, **fields):
    request = request_of(
        model,
        feature_columns=names_of(model),
        weight_column="weight",
        **{"target_column": "y", **fields},
    )
    request.methods.add().average_loss.MergeFrom(options)
    return request


def compared(runner, table, tmp_path, request):
    """Return the first difference from memory, and the streamed answer."""
    different, found, _ = against_memory(runner, request, table, tmp_path, largest_loss)
    return different, found


def largest_loss(explanation):
    losses = explanation.average_loss.losses
    scale = max(abs(value) for loss in losses for value in loss.values)
    assert scale
    return scale


AVERAGES = ("SQUARED_ERROR", "ABSOLUTE_ERROR", "PINBALL", "MAPE", "POISSON", "GAMMA")


@pytest.mark.parametrize("loss", AVERAGES)
def test_losses_of_numbers_are_those_of_the_table_in_memory(
    runner, table_of, tmp_path, loss
) -> None:
    request = asked(NUMBERS, pb2.AverageLossOptions(loss=loss))

    assert not compared(runner, table_of(NUMBERS), tmp_path, request)[0]


@pytest.mark.parametrize("column", ["kind", "z", "bmi", "mostly"])
def test_groups_are_those_of_the_table_in_memory(runner, table_of, tmp_path, column) -> None:
    request = asked(NUMBERS, pb2.AverageLossOptions(group_column=column))

    different, found = compared(runner, table_of(NUMBERS), tmp_path, request)

    assert not different
    assert len(found.explanations[0].average_loss.losses) >= 2


@pytest.mark.parametrize("loss", ["LOSS_UNSPECIFIED", "LOGLOSS", "MLOGLOSS", "SQUARED_ERROR"])
def test_losses_of_classes_are_those_of_the_table_in_memory(
    runner, table_of, tmp_path, loss
) -> None:
    """Also the warning of rows whose probability was raised to the floor."""
    floor = 0.05 if "LOGLOSS" in loss else None
    options = pb2.AverageLossOptions(loss=loss, probability_floor=floor)
    table = table_of(CLASSES, IRIS)
    request = asked(CLASSES, options)

    different, found = compared(runner, table, tmp_path, request)

    assert not different
    assert len(found.explanations[0].class_pairings) == 3


def test_numbers_are_classes_by_the_labels_of_the_request(runner, table_of, tmp_path) -> None:
    table = table_of(CLASSES, [7, 8, 9])
    options = pb2.AverageLossOptions(loss=LOSS.SQUARED_ERROR)
    request = asked(CLASSES, options, class_labels=["8", "9", "7"])

    assert not compared(runner, table, tmp_path, request)[0]


def test_the_floor_is_counted_on_all_rows(runner, table_of, tmp_path) -> None:
    options = pb2.AverageLossOptions(loss=LOSS.MLOGLOSS, probability_floor=0.05)

    found, expected = answers(runner, asked(CLASSES, options), table_of(CLASSES, IRIS), tmp_path)

    notes = [
        [note.message for note in answer.warnings if note.code == "PROBABILITY_FLOOR"]
        for answer in (found, expected)
    ]
    assert notes[0] == notes[1]
    assert len(notes[0]) == 1


def test_several_targets_are_those_of_the_table_in_memory(runner, table_of, tmp_path) -> None:
    options = pb2.AverageLossOptions(target_columns=["y", "z"], sum_outputs=True)

    assert not compared(runner, table_of(TARGETS), tmp_path, asked(TARGETS, options))[0]


def test_the_loss_is_the_average_over_all_rows(runner, table_of, tmp_path) -> None:
    table = table_of(NUMBERS)

    found, _ = answers(runner, asked(NUMBERS, pb2.AverageLossOptions()), table, tmp_path)

    squares = (table["y"] - predict(NUMBERS, table).ravel()) ** 2
    (loss,) = found.explanations[0].average_loss.losses
    assert loss.values[0] == pytest.approx(np.average(squares, weights=table["weight"]), rel=1e-6)
    assert loss.weight == table["weight"].sum()


@pytest.mark.parametrize("options", [
    {"loss": LOSS.AUC}, {"loss": LOSS.ACCURACY}, {"loss_expression": "abs(y - p)"},
])  # fmt: skip
def test_scores_and_expressions_are_of_the_sample(runner, table_of, tmp_path, options) -> None:
    model, classes = (NUMBERS, None) if "loss_expression" in options else (CLASSES, IRIS)
    request = asked(model, pb2.AverageLossOptions(**options))

    found, _ = answers(runner, request, table_of(model, classes), tmp_path)

    assert found.explanations[0].rows.drawn_row_count < 150
    assert "read in blocks" not in found.receipt.engine_reason
    assert any(note.code == "ROWS_DRAWN" for note in found.warnings)


def test_a_missing_true_value_names_its_row(runner, table_of, tmp_path) -> None:
    table = table_of(NUMBERS)
    table["weight"][1_000] = 1
    table["y"][1_000] = np.nan

    with pytest.raises(ExplainError, match="'y' has no value in row 1000") as error:
        answers(runner, asked(NUMBERS, pb2.AverageLossOptions()), table, tmp_path)

    assert error.value.reason is Reason.INVALID_TABLE


def test_a_class_that_only_a_late_row_has_is_no_surprise(runner, table_of, tmp_path) -> None:
    """Classes are read of all rows, not of the sample."""
    table = table_of(CLASSES, IRIS[1:])
    table["y"][N - 1], table["weight"][N - 1] = IRIS[0], 1
    request = asked(CLASSES, pb2.AverageLossOptions(loss=LOSS.LOGLOSS, probability_floor=0.01))

    different, found = compared(runner, table, tmp_path, request)

    assert not different
    assert len(found.explanations[0].class_pairings) == 3


def test_a_late_fraction_is_no_class(runner, table_of, tmp_path) -> None:
    """As in memory: classes are those of all rows, not of the sample."""
    table = table_of(BINARY, [0.0, 1.0])
    table["y"][N - 1], table["weight"][N - 1] = 0.5, 1
    options = pb2.AverageLossOptions(loss=LOSS.SQUARED_ERROR)
    request = asked(BINARY, options, scale="MARGIN")

    with pytest.raises(ExplainError, match=r"no output has the name or the number of '0\.5'"):
        answers(runner, request, table, tmp_path)


def test_a_model_no_better_than_a_constant_is_told_of_the_sample(
    runner, table_of, tmp_path
) -> None:
    found, _ = answers(
        runner, asked(NUMBERS, pb2.AverageLossOptions()), table_of(NUMBERS), tmp_path
    )

    (note,) = [note for note in found.warnings if note.code == "FAR_FROM_TARGET"]
    assert note.message.startswith("On ")
    assert int(note.message.split()[1]) < 150
