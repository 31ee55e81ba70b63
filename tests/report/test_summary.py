"""The summary quotes numbers of the answer, and is silent where warnings say so."""

import json
import re
from pathlib import Path

import pytest
from google.protobuf import json_format
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain_server.report import page, summary
from onnxplain_server.report.output_names import with_output_names
from onnxplain_server.report.registry import of_explanation

CASES = Path(__file__).parents[1] / "conformance" / "cases"
NUMBER = re.compile(r"(?<![\w.])[−-]?\d[\d,]*(?:\.\d+)?(?:e[−+-]\d+)?")
ANSWERS = {
    path.stem: json.dumps(expected["response"])
    for path in sorted(CASES.glob("*.json"))
    if "explanations" in (expected := json.loads(path.read_text())["expected"]).get("response", {})
}


def answer_of(name: str) -> pb.ExplainResponse:
    return json_format.Parse(ANSWERS[name], pb.ExplainResponse(), ignore_unknown_fields=True)


def numbers(text: str) -> set[str]:
    return {number.rstrip(",") for number in NUMBER.findall(text)}


def tables(answer: pb.ExplainResponse) -> str:
    """All text of the tables, and the numbers of rows."""
    texts = [f"{e.rows.used_row_count:,}" for e in answer.explanations]
    for explanation in answer.explanations:
        for finding in of_explanation(explanation):
            texts += [finding.title, finding.note, *(cell for row in finding.rows for cell in row)]
    return " | ".join(texts)


@pytest.mark.parametrize("name", ANSWERS)
def test_each_number_stands_in_a_table_of_the_same_report(name: str) -> None:
    answer = with_output_names(answer_of(name))
    text = " ".join(summary.of_answer(answer)).replace(answer.receipt.model_name, "")

    names = " ".join([*answer.model.output_names, *answer.model.feature_names])
    assert numbers(text) <= numbers(tables(answer)) | numbers(names), text


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("interactions", "is the strongest interaction of a pair: it has a typical size of"),
        ("partial-dependence", "the average prediction of"),
        ("individual-conditional-expectation", "and the rest of a row stays, its prediction of"),
        ("permutation-importance", "does most harm: an increase of the"),
        ("average-loss", " is "),
        ("feature-vectors", "has the longest feature vector."),
        ("firm", "The expected score of"),
        ("swarm", "a stress test on made-up rows, which are no real persons or things."),
    ],
)
def test_each_method_has_a_sentence(name: str, sentence: str) -> None:
    answer = answer_of(name)
    del answer.warnings[:]

    sentences = summary.of_answer(answer)

    assert any(sentence in other for other in sentences), sentences
    if answer.explanations[0].HasField("rows"):
        about = "sklearn_random_forest_3class.onnx predicts setosa, versicolor and virginica"
        count = answer.explanations[0].rows.used_row_count
        assert sentences[0] == f"{about}; it is explained on {count} rows."


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("permutation-importance", "FAR_FROM_TARGET"),
        ("average-loss", "INFINITE_LOSS"),
        ("firm", "GAUSSIAN_OFF"),
        ("feature-vectors", "LOW_FIDELITY"),
        ("swarm", "FAR_FROM_TARGET"),
    ],
)
def test_a_warning_forbids_the_sentence_and_is_named(name: str, code: str) -> None:
    answer = answer_of(name)
    del answer.warnings[:]
    answer.MergeFrom(pb.ExplainResponse(warnings=[{"code": code, "message": ""}]))

    *_, only = summary.of_answer(answer)

    assert len(summary.of_answer(answer)) <= 2
    assert only.endswith(f": not summed up, because of the warning {code}.")


def test_nothing_is_said_of_a_model_that_contradicts_itself() -> None:
    answer = answer_of("interactions")
    answer.MergeFrom(pb.ExplainResponse(warnings=[{"code": "INCONSISTENT_MODEL", "message": ""}]))

    assert summary.of_answer(answer) == [
        "Nothing is summed up, because of the warning INCONSISTENT_MODEL."
    ]


def test_values_that_are_not_finite_have_no_sentence() -> None:
    answer = answer_of("interactions")
    del answer.warnings[:]
    for statistics in (
        answer.explanations[0].interactions.importance,
        answer.explanations[0].interactions.pairwise,
    ):
        for statistic in statistics:
            statistic.numerators[:] = [float("nan")] * len(statistic.numerators)

    assert "nan" not in " ".join(summary.of_answer(answer)).lower()


def test_the_page_begins_with_the_summary() -> None:
    answer = answer_of("permutation-importance")
    html = page.of_response(answer)

    assert html.index('<p class="found">') < html.index("<main>")
    assert "does most harm" in html[: html.index("<main>")]


def test_outputs_that_are_numbers_are_classes_in_tables_too() -> None:
    answer = answer_of("interactions")
    names = ["0", "1", "2"]
    answer.model.output_names[:] = answer.explanations[0].interactions.output_names[:] = names
    answer.model.has_class_scores = True

    named = with_output_names(answer)

    assert list(named.explanations[0].interactions.output_names) == [f"class {n}" for n in names]
    assert list(answer.explanations[0].interactions.output_names) == names
    answer.receipt.prediction.append("`1` - `0`")
    assert with_output_names(answer) is answer


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        ("AUC", "Area under the ROC curve for b is 0.5, the lowest of all outputs."),
        ("LOGLOSS", "Mean log loss for c is 0.9, the highest of all outputs."),
    ],
)
def test_of_several_outputs_the_one_predicted_worst_is_named(loss: str, sentence: str) -> None:
    explanation = pb.Explanation(
        average_loss={
            "output_names": ["a", "b", "c"],
            "losses": [{"values": [0.8, 0.5, 0.9], "weight": 10}],
        },
        options={"average_loss": {"loss": loss}},
    )

    assert sentence in summary.of_answer(pb.ExplainResponse(explanations=[explanation]))
