"""Scores near 1, and perfect ones, as sentences, tiles, tables and terminal tell them."""

import re

import pytest
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain_server.cli.output import tables
from onnxplain_server.report import key_figures, page, summary

CAUTION = "Rows that a model was trained on can look perfect"


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


def test_a_score_below_1_is_told_as_1_nowhere() -> None:
    answer = score("AUC", 0.99982)

    assert summary.of_answer(answer)[0].startswith("Area under the ROC curve of yes is 0.9998, ")
    assert [figure.value for figure in key_figures.of_answer(answer)] == ["0.9998", "40"]
    assert cells(page.of_response(answer)) == ["0.9998"]
    assert " 0.9998 " in tables.of_response(answer, to_terminal=False)
    assert CAUTION not in " ".join(summary.of_answer(answer))


@pytest.mark.parametrize(
    ("loss", "value", "is_perfect"),
    [
        ("AUC", 1.0, True),
        ("ACCURACY", 1.0, True),
        ("ACCURACY", 1 - 2**-53, True),
        ("ACCURACY", 0.999, False),
        ("LOGLOSS", 0.0, True),
        ("LOGLOSS", 1.0, False),
        ("SQUARED_ERROR", 1e-9, False),
    ],
)
def test_a_perfect_score_is_told_as_one_that_training_rows_have_too(
    loss: str, value: float, is_perfect: bool
) -> None:
    answer = score(loss, value)
    answer.explanations.append(answer.explanations[0])

    told = [text for text in summary.of_answer(answer) if text.startswith(CAUTION)]

    assert len(told) == is_perfect
    assert all(
        ("perfect" in figure.comparison) == is_perfect
        for figure in key_figures.of_answer(answer)
        if figure.name not in {"R²", "Rows"}
    )


@pytest.mark.parametrize("code", ["LABELS_ONLY", "INFINITE_LOSS"])
def test_a_loss_that_cannot_be_relied_on_is_no_key_figure(code: str) -> None:
    answer = score("LOGLOSS", 0.2)
    assert key_figures.of_answer(answer)

    answer.warnings.add(code=code)

    assert not key_figures.of_answer(answer)
