"""The summary quotes numbers of the answer, and is silent where warnings say so."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain.v1.model_pb2 import ModelDescription
from onnxplain_server.cli.output.tables import of_response
from onnxplain_server.core.warnings import Tells
from onnxplain_server.report import facts, page, summary
from onnxplain_server.report.output_names import units_of_answer, with_output_names
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
    """All text of the tables, the numbers of rows, and correlations, which are no result."""
    texts = [f"{e.rows.used_row_count:,}" for e in answer.explanations]
    texts += [c.message for c in facts.warnings_that_tell(answer, Tells.SENTENCE)]
    for explanation in answer.explanations:
        for finding in of_explanation(explanation, units_of_answer(answer)):
            texts += [finding.title, finding.note, *(cell for row in finding.rows for cell in row)]
    return " | ".join(texts)


@pytest.mark.parametrize("name", ANSWERS)
def test_each_number_stands_in_a_table_of_the_same_report(name: str) -> None:
    answer = with_output_names(answer_of(name))
    # Numbers of warnings are the table's, and those of the model the file's.
    others = {caution.message for caution in facts.warnings(answer)} | {answer.model.summary}
    told = [sentence for sentence in summary.of_answer(answer) if sentence not in others]
    text = " ".join(told).replace(answer.receipt.model_name, "")

    names = " ".join([*answer.model.output_names, *answer.model.feature_names])
    assert numbers(text) <= numbers(tables(answer)) | numbers(names), text


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("interactions", "is the strongest interaction of a pair: it has a standard deviation of"),
        ("partial-dependence", "the average prediction of"),
        ("individual-conditional-expectation", "and the rest of a row stays, its prediction of"),
        ("permutation-importance", "worsens predictions most: an increase of the"),
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
        assert sentences[0].startswith(about)
        assert sentences[0].endswith(f"; it is explained on {count} rows.")


@pytest.mark.parametrize(
    ("outputs", "target", "told"),
    [
        (["yes"], "subscribed", "class yes of subscribed"),
        (["class 1"], "spam", "class 1 of spam"),
        (["a", "b", "c"], "kind", "a, b and c (classes of kind)"),
        (["yes"], "", "yes"),
    ],
)
def test_classes_are_those_of_the_target(outputs: list[str], target: str, told: str) -> None:
    targets = [target] if target else []
    explained = pb.Explanation(
        average_loss={"output_names": outputs},
        options={"average_loss": {"target_columns": targets}},
        rows={"used_row_count": 5},
    )
    model = {"has_class_scores": True, "output_names": outputs}
    answer = pb.ExplainResponse(explanations=[explained], model=model)

    assert summary.of_answer(answer)[0] == f"The model predicts {told}; it is explained on 5 rows."


def test_sizes_of_probabilities_are_told_in_percentage_points() -> None:
    explained = related({"a": 1.0, "b": 1.0}, {"a:b": 0.04})
    answer = pb.ExplainResponse(explanations=[explained])
    assert "standard deviation of 0.2 (units of y)." in " ".join(summary.of_answer(answer))

    answer.model.has_class_scores = True
    answer.model.scales.append(ModelDescription.MARGIN)
    assert "standard deviation of 20 percentage points;" in " ".join(summary.of_answer(answer))


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

    assert len(summary.of_answer(answer)) <= 3
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
    assert "worsens predictions most" in html[: html.index("<main>")]


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


def shuffled(*entries: tuple[str, float, float]) -> pb.Explanation:
    """Importances of features: name, value and standard error."""
    return pb.Explanation(
        permutation_importance={
            "output_names": ["y"],
            "baseline_losses": [0.1],
            "importances": [
                {"features": [name], "values": [value], "standard_errors": [error]}
                for name, value, error in entries
            ],
        },
        options={"permutation_importance": {"loss": "SQUARED_ERROR"}},
    )


def losses(groups: dict[str, list[float]], outputs: list[str]) -> pb.Explanation:
    """Average losses of groups, one per output."""
    return pb.Explanation(
        average_loss={
            "output_names": outputs,
            "losses": [{"group": g, "values": values, "weight": 1} for g, values in groups.items()],
        },
        options={"average_loss": {"loss": "AUC"}},
    )


def related(
    overall: dict[str, float],
    pairs: dict[str, float],
    errors: float | None = None,
) -> pb.Explanation:
    """Interactions of features and of pairs, by numerators; denominators are 1."""

    def statistics(numerators: dict[str, float]) -> list[dict[str, object]]:
        spread = {} if errors is None else {"standard_errors": [errors]}
        return [
            {"features": name.split(":"), "numerators": [n], "denominators": [1.0], **spread}
            for name, n in numerators.items()
        ]

    return pb.Explanation(
        interactions={
            "output_names": ["y"],
            "overall": statistics(overall),
            "pairwise": statistics(pairs),
        }
    )


def accumulated(values: list[float]) -> pb.Explanation:
    """Effects of a feature at the points 0, 1, ..."""
    grid = [{"name": "a", "numbers": range(len(values))}]
    curve = {"features": ["a"], "grid": grid, "values": values, "weight": 9.0}
    return pb.Explanation(accumulated_local_effects={"output_names": ["y"], "curves": [curve]})


def concluded(explanation: pb.Explanation, kind: str, features: str, share: float):
    """Add a conclusion, and how many replicates agree."""
    explanation.conclusions.add(
        kind=kind,
        features=features.split(":"),
        output_name="y",
        replicate_share=share,
        is_stable=share >= 0.95,
    )
    return explanation


FOUR = dict.fromkeys("abcd", 1.0)
THREE_PAIRS = {"a:b": 0.04, "a:c": 0.09, "b:c": 0.01}


@pytest.mark.parametrize(
    ("explanation", "said"),
    [
        pytest.param(
            shuffled(("c", 0.00125, 0.00123), ("d", -0.001, 0.001)),
            "Shuffling no feature makes the root mean squared error worse by more than two "
            "standard errors: by 0.00197 at most.",
            id="within its error",
        ),
        pytest.param(
            shuffled(("a", 0.42, 0.02), ("b", 0.4, 0.02), ("c", 0.1, 0.02)),
            "Shuffling a or b worsens predictions most: the root mean squared error rises from "
            "0.316 to values from 0.707 to 0.721 (units of y), which shuffles cannot tell apart.",
            id="two within their error",
        ),
        pytest.param(
            shuffled(("a", 0.42, 0.02), ("b", 0.2, 0.02)),
            "Shuffling a worsens predictions most: the root mean squared error rises from 0.316 "
            "to 0.721 (units of y).",
            id="one beyond its error",
        ),
        pytest.param(
            losses({"u": [0.1], "v": [0.1000001]}, ["y"]),
            "Area under the ROC curve of y is 0.1 for each group.",
            id="groups that tie",
        ),
        pytest.param(
            losses({"u": [0.1], "v": [0.2]}, ["y"]),
            "Area under the ROC curve of y goes from 0.1 for u to 0.2 for v.",
            id="groups that differ",
        ),
        pytest.param(
            losses({"": [0.75, 0.75]}, ["class 0", "class 1"]),
            "Area under the ROC curve is 0.75 for each output.",
            id="outputs that tie",
        ),
        pytest.param(
            related(FOUR, THREE_PAIRS),
            "a × c is the strongest interaction of the 3 pairs looked at, of 6 in all: it has a "
            "standard deviation of 0.3 (units of y).",
            id="some pairs",
        ),
        pytest.param(
            related(FOUR | {"d": 0.0}, THREE_PAIRS),
            "a × c is the strongest interaction of a pair: it has a standard deviation of 0.3 "
            "(units of y).",
            id="all pairs that interact",
        ),
        pytest.param(
            related(FOUR, dict.fromkeys(THREE_PAIRS, 0.0)),
            "None of the 3 pairs looked at, of 6 in all, interacts.",
            id="some pairs at 0",
        ),
        pytest.param(
            related(FOUR | {"d": 0.0}, THREE_PAIRS | {"a:b": 0.09}),
            "a × b and a × c are the strongest interactions of pairs, and cannot be told apart: a "
            "standard deviation of 0.3 (units of y).",
            id="pairs that tie",
        ),
        pytest.param(
            concluded(related(FOUR | {"d": 0.0}, THREE_PAIRS), "STRONGEST_PAIR", "a:c", 0.8),
            "a × c and a × b are the strongest interactions of pairs, and cannot be told apart: "
            "standard deviations of 0.2 to 0.3 (units of y).",
            id="a pair that leads in 80 % of replicates",
        ),
        pytest.param(
            concluded(related(FOUR | {"d": 0.0}, THREE_PAIRS), "STRONGEST_PAIR", "a:c", 0.95),
            "a × c is the strongest interaction of a pair: it has a standard deviation of 0.3 "
            "(units of y).",
            id="a pair that leads in 95 % of replicates",
        ),
        pytest.param(
            concluded(accumulated([-1.0, 1.0]), "SLOPE", "a", 0.8),
            "Along a the accumulated effect on y differs by 2 between a = 0 and a = 1, over rows "
            "as they occur; other rows might show it fall where it rises on the whole, or rise "
            "where it falls.",
            id="a slope of 80 % of replicates",
        ),
        pytest.param(
            concluded(accumulated([-1.0, 1.0]), "SLOPE", "a", 0.96),
            "Along a the accumulated effect on y rises by 2 from a = 0 to a = 1, over rows as "
            "they occur.",
            id="a slope of 96 % of replicates",
        ),
        pytest.param(
            related(FOUR | {"d": 0.0}, {"a:b": 0.01, "a:c": 0.02, "b:c": 0.01}, errors=0.05),
            "No interaction of a pair is above 0 beyond its error.",
            id="pairs within their errors",
        ),
    ],
)
def test_a_superlative_holds_beyond_ties_errors_and_what_was_not_looked_at(
    explanation: pb.Explanation, said: str
) -> None:
    assert summary.of_answer(pb.ExplainResponse(explanations=[explanation])) == [said]


@pytest.mark.parametrize(
    ("operators", "scales", "is_told"),
    [
        (["ai.onnx.ml:LinearClassifier", "ai.onnx.ml:Normalizer"], ["RESPONSE", "MARGIN"], True),
        (["ai.onnx.ml:TreeEnsembleClassifier"], ["RESPONSE", "MARGIN"], False),
        (["MatMul", "Relu", "Sigmoid"], ["RESPONSE"], False),
    ],
    ids=["linear", "trees", "network"],
)
def test_interactions_of_a_linear_model_are_told_as_those_of_its_link(
    operators: list[str], scales: list[str], is_told: bool
) -> None:
    model = {"operators": operators, "scales": scales}
    answer = pb.ExplainResponse(explanations=[related(FOUR, THREE_PAIRS)], model=model)

    assert summary.of_answer(answer)[-1].endswith("before which effects add up.") == is_told


def test_a_loss_on_fewer_rows_than_the_one_beside_it_says_so() -> None:
    own, others = shuffled(("a", 0.42, 0.02)), losses({"": [0.1]}, ["y"])
    own.rows.used_row_count, others.rows.used_row_count = 10_000, 16_281
    answer = pb.ExplainResponse(explanations=[others, own])

    assert summary.of_answer(answer)[-1].endswith("to 0.721 (units of y) (10,000 of the rows).")
    own.rows.used_row_count = 16_281
    answer = pb.ExplainResponse(explanations=[others, own])
    assert summary.of_answer(answer)[-1].endswith("to 0.721 (units of y).")


def test_tables_and_pages_list_the_sentences() -> None:
    answer = answer_of("overview")
    first, *others = summary.of_answer(with_output_names(answer))
    values = [other for other in others if "Shapley values" in other]

    html, text = page.of_response(answer), of_response(answer, to_terminal=False)

    header, _, rest = html.partition("</header>")
    assert header.count('<p class="found">') == 3
    *_, sections = rest.split("<section")[1:-1]  # the last one before the receipt: losses
    listed = sections.partition("</ul>")[0].count("<li>")
    of_losses = "best constant", "for each", "was trained on these 24 rows"
    assert listed == sum(any(part in other for part in of_losses) for other in others) > 1
    (own,) = (each for each in rest.split("<section") if ">Attributions</h2>" in each)
    assert own.partition("</ul>")[0].count("<li>") == len(values) == 2
    assert header.count("<li>") == len(others) - 2 - listed - len(values) > 0
    assert text.startswith(first[:40])
    assert f"• {others[0][:40]}" in text


def test_the_target_names_an_output_that_has_no_name() -> None:
    explanation = shuffled(("a", 0.42, 0.02))
    explanation.permutation_importance.output_names[:] = ["variable"]
    explanation.options.permutation_importance.target_columns[:] = ["price"]
    answer = pb.ExplainResponse(explanations=[explanation], model={"output_names": ["variable"]})

    named = with_output_names(answer)

    assert list(named.explanations[0].permutation_importance.output_names) == ["price"]


def test_the_curve_told_of_is_that_of_the_feature_called_most_important() -> None:
    curve = {"grid": [{"numbers": [0, 1]}]}
    curves = pb.Explanation(
        partial_dependence={
            "output_names": ["y"],
            "curves": [
                {**curve, "features": ["tail"], "values": [0.0, 9.0]},
                {**curve, "features": ["a"], "values": [0.0, 1.0]},
            ],
        }
    )

    def last(*explanations: pb.Explanation) -> str:
        return summary.of_answer(pb.ExplainResponse(explanations=explanations))[-1]

    assert last(shuffled(("a", 2.0, 0.1), ("tail", 1.0, 0.1)), curves).startswith("Along a the")
    assert last(curves).startswith("Along tail, whose curve has the widest range, the")


@pytest.mark.parametrize(
    ("values", "way"),
    [
        ([0.0, 1.0, 5.0], "rises"),
        ([5.0, 1.0, 0.0], "falls"),
        ([1.0, 5.0, 0.0], "up and down, highest at 1, lowest at 2"),
    ],
)
def test_the_second_sentence_names_the_leading_features_and_how_predictions_go(
    values: list[float], way: str
) -> None:
    texts = {"strings": ["red", "blue"]}
    curves = pb.Explanation(
        partial_dependence={
            "output_names": ["y"],
            "curves": [
                {"features": ["a"], "grid": [{"numbers": [0, 1, 2]}], "values": values},
                {"features": ["b"], "grid": [texts], "values": [0.5, 0.25]},
            ],
        },
        rows={"used_row_count": 9},
    )
    importances = shuffled(("b", 1.0, 0.1), ("a", 2.0, 0.1), ("c", 0.5, 0.1), ("d", 0.4, 0.0))
    noise = shuffled(("a", 2.0, 0.1), ("b", 0.1, 0.1))

    def second(*explanations: pb.Explanation, **others: Any) -> str:
        model = {"output_names": ["y"]}
        answer = pb.ExplainResponse(explanations=explanations, model=model, **others)
        answer.explanations[0].rows.used_row_count = 9
        return summary.of_answer(answer)[1]

    head = "Leading features by shuffling, and the average prediction of y along each: "
    assert second(importances, curves) == f"{head}a ({way}), b (highest at red, lowest at blue), c."
    assert second(noise, curves) == f"{head}a ({way})."
    text = shuffled(("c", 2.0, 0.1), ("a, b (c)", 1.0, 0.1), ("b", 0.5, 0.1))
    own = "c, “a, b (c)”, b (highest at red, lowest at blue)."
    assert second(text, curves) == f"{head}{own}"
    texts_alone = [{"code": "SINGLE_TEXTS", "message": "Most rows have texts."}]
    assert second(text, curves, warnings=texts_alone) == (
        f"{head.removesuffix(': ')} that has a curve: {own}"
    )
    assert second(shuffled(("c", 2.0, 0.1)), warnings=texts_alone) == (
        "Leading features by shuffling: c."
    )
    assert not second(curves).startswith("Leading")


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


@pytest.mark.parametrize(
    ("loss", "value", "constant", "sentence"),
    [
        # 1 - 4 / 16, and the roots.
        (
            "SQUARED_ERROR",
            4,
            16,
            "R² is 0.75: the root mean squared error of price is 2, that of its mean 4.",
        ),
        (
            "SQUARED_ERROR",
            1,
            4e6,
            "R² is almost 1: the root mean squared error of price is 1, that of its mean 2,000.",
        ),
        (
            "ABSOLUTE_ERROR",
            1.5,
            3,
            "Mean absolute error of price is 1.5; that of the best constant prediction is 3.",
        ),
    ],
)
def test_a_loss_is_told_beside_that_of_the_best_constant(
    loss: str, value: float, constant: float, sentence: str
) -> None:
    explanation = pb.Explanation(
        average_loss={
            "output_names": ["price"],
            "losses": [{"values": [value], "weight": 10}],
            "constant_losses": [constant],
        },
        options={"average_loss": {"loss": loss}},
    )

    assert sentence in summary.of_answer(pb.ExplainResponse(explanations=[explanation]))


@pytest.mark.parametrize("constant", [0.0, float("inf")])
def test_a_constant_that_is_no_measure_gives_no_share(constant: float) -> None:
    explanation = pb.Explanation(
        average_loss={
            "output_names": ["price"],
            "losses": [{"values": [0.01], "weight": 10}],
            "constant_losses": [constant],
        },
        options={"average_loss": {"loss": "SQUARED_ERROR"}},
    )

    [sentence] = summary.of_answer(pb.ExplainResponse(explanations=[explanation]))

    assert "R²" not in sentence
