"""Scores near 1, and perfect ones, as sentences, tiles, tables and terminal tell them."""

import re

import pytest
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain_server.cli.output import tables
from onnxplain_server.report import key_figures, page, summary

CAUTION = (
    "Neither model nor table tells whether the model was trained on these 40 rows; if it was, it "
    "looks better here than on new rows."
)


def score(name: str, value: float, constant: float = 0.5) -> pb.ExplainResponse:
    """A loss or score of all rows."""
    explanation = pb.Explanation(
        average_loss={
            "output_names": ["yes"],
            "losses": [{"values": [value], "weight": 40}],
            "constant_losses": [constant],
        },
        options={"average_loss": {"loss": name}},
        rows={"used_row_count": 40},
    )
    return pb.ExplainResponse(explanations=[explanation])


def cells(html: str) -> list[str]:
    return re.findall(r'<td data-title="score[^>]*>([^<]*)<', html)


@pytest.mark.parametrize(("value", "text"), [(0.99982, "0.9998"), (0.9999999, "almost 1")])
def test_a_score_below_1_is_told_as_1_nowhere(value: float, text: str) -> None:
    answer = score("AUC", value)

    assert summary.of_answer(answer)[0].startswith(f"Area under the ROC curve of yes is {text}; ")
    assert [figure.value for figure in key_figures.of_answer(answer)] == [text, "40"]
    assert cells(page.of_response(answer)) == [text]
    assert f" {text} " in tables.of_response(answer, to_terminal=False)


@pytest.mark.parametrize(
    ("loss", "value", "constant", "is_perfect"),
    [
        ("AUC", 1.0, 0.5, True),
        ("ACCURACY", 1.0, 0.5, True),
        ("ACCURACY", 1 - 2**-53, 0.5, True),
        ("ACCURACY", 0.999, 0.5, False),
        ("AUC", 0.9999999, 0.5, False),
        ("NDCG", 1.0, 0.7, True),
        ("LOGLOSS", 0.0, 0.5, True),
        ("LOGLOSS", 1.0, 0.5, False),
        ("SQUARED_ERROR", 1e-9, 0.5, False),
        ("SQUARED_ERROR", 1e-14, 2e-14, False),
        ("SQUARED_ERROR", 1e-9, 1e4, True),
    ],
)
def test_a_perfect_score_is_told_as_one_that_training_rows_have_too(
    loss: str, value: float, constant: float, is_perfect: bool
) -> None:
    answer = score(loss, value, constant)
    answer.explanations.append(answer.explanations[0])

    *_, told = summary.of_answer(answer)

    assert told == CAUTION
    assert all(
        ("perfect" in figure.comparison) == is_perfect
        for figure in key_figures.of_answer(answer)
        if figure.name not in {"R²", "Rows"}
    )
    r_squared = [f.value for f in key_figures.of_answer(answer) if f.name == "R²"]
    assert all((text == "1") == is_perfect for text in r_squared)


@pytest.mark.parametrize(
    ("loss", "value", "constant", "is_better"),
    [("ACCURACY", 0.691, 0.697, False), ("AUC", 0.5, 0.5, False), ("LOGLOSS", 0.5, 0.6, True)],
)
def test_a_score_that_a_constant_reaches_is_no_better(loss, value, constant, is_better) -> None:
    figure = key_figures.of_answer(score(loss, value, constant))[0]

    assert figure.comparison.startswith("no better than ") != is_better
    assert figure.comparison.endswith(f": {constant:g}")


def test_one_perfect_output_of_several_is_told() -> None:
    answer = score("AUC", 1.0)
    own = answer.explanations[0].average_loss
    own.output_names.append("no")
    own.losses[0].values.append(0.9)
    own.constant_losses.append(0.5)

    assert "perfect" in key_figures.of_answer(answer)[0].comparison
    assert "perfect" not in key_figures.of_answer(answer)[1].comparison


def test_names_of_scores_tell_thresholds_that_are_not_one_half() -> None:
    answer = score("ACCURACY", 0.9)
    answer.explanations.append(answer.explanations[0])
    for explanation, threshold in zip(answer.explanations, (0.5, 0.25), strict=True):
        explanation.options.average_loss.threshold = threshold

    names = [figure.name for figure in key_figures.of_answer(answer)]
    assert names == ["Accuracy", "Accuracy (threshold 0.25)", "Rows"]
    assert summary.of_answer(answer)[1].startswith("Accuracy (threshold 0.25) of yes is 0.9")


@pytest.mark.parametrize("code", ["LABELS_ONLY", "INFINITE_LOSS"])
def test_a_loss_that_cannot_be_relied_on_is_no_key_figure(code: str) -> None:
    answer = score("LOGLOSS", 0.2)
    assert key_figures.of_answer(answer)

    answer.warnings.add(code=code)

    assert not key_figures.of_answer(answer)
