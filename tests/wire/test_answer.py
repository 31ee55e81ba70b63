"""Answers to responses: every number in its field, every option as it was used."""

from __future__ import annotations

import json

import numpy as np
import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain_server.core.model import Description, Input, Note
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.methods import average_loss, interactions, partial_dependence
from onnxplain_server.wire import answer, question

COLUMNS = {"x": [0.0, 1, 2, 4], "t": ["a", "b", "a", ""], "g": [1.0, 1, 2, 2]}


def function(x, t):
    length = np.array([len(value) for value in t])
    return np.stack([x * length, x + length], axis=1)


@pytest.fixture(scope="module")
def given(make):
    model = make.model(function, ("x", "t"), ["double", "string"], n_outputs=2)
    model.notes = (Note(InputWarning.LABELS_ONLY, "only labels"),)
    return make.answer(
        model,
        make.table(COLUMNS),
        interactions.Options(threeway_feature_count=0, absolute_threshold=1e-9),
        partial_dependence.Options(
            features=(("x",), ("x", "t")),
            grids=(
                {"x": np.array([3.0, 1, 3])},
                None,
            ),
            group_column="g",
            group_count=2,
        ),
        plots=True,
    )


@pytest.fixture(scope="module")
def written(given) -> ExplainResponse:
    return answer.write(given)


def test_statistics_keep_their_parts_and_their_order(given, written) -> None:
    result, message = given.explanations[0].result, written.explanations[0].interactions

    assert list(message.output_names) == ["y0", "y1"]
    assert list(message.mean_squares) == result.mean_squares.tolist()
    assert list(message.total.features) == []
    for order in ("overall", "pairwise", "threeway", "importance"):
        statistics, messages = getattr(result, order), getattr(message, order)
        assert [tuple(m.features) for m in messages] == [s.features for s in statistics]
        for field in ("numerators", "denominators", "values"):
            assert [list(getattr(m, field)) for m in messages] == [
                getattr(s, field).tolist() for s in statistics
            ]
    assert len(message.overall) == 2
    assert len(message.pairwise) == 1


def test_errors_of_numerators_are_written_where_effects_are_interpolated(make) -> None:
    columns = {"x": np.arange(20.0) ** 2, "y": np.sin(np.arange(20.0))}
    model = make.model(lambda x, y: x * np.exp(y), ("x", "y"), ["double", "double"])
    for knot_count, written in ((0, 0), (5, 1)):
        options = interactions.Options(knot_count=knot_count)
        found = make.answer(model, make.table(columns), options)
        message = answer.write(found).explanations[0].interactions
        result = found.explanations[0].result
        for statistic in (message.total, *message.overall, *message.pairwise, *message.importance):
            assert len(statistic.numerator_errors) == written
        if written:
            expected = [s.numerator_errors.tolist() for s in result.overall]
            assert [list(s.numerator_errors) for s in message.overall] == expected


def test_curves_are_written_row_by_row(given, written) -> None:
    curves = written.explanations[1].partial_dependence.curves

    assert [(list(c.features), c.group, c.weight) for c in curves] == [
        (["x"], "1", 2),
        (["x"], "2", 2),
        (["x", "t"], "1", 2),
        (["x", "t"], "2", 2),
    ]
    # Group 1 has texts of one letter; outputs are x · 1 and x + 1.
    assert list(curves[0].values) == [3, 4, 1, 2, 3, 4]
    assert [(c.name, list(c.numbers)) for c in curves[0].grid] == [("x", [3, 1, 3])]
    assert [list(c.numbers or c.strings) for c in curves[2].grid] == [
        [0, 1, 2, 4] * 2,
        ["a"] * 4 + ["b"] * 4,
    ]


def test_p_values_stand_beside_values_where_terms_were_tested(make, written) -> None:
    model = make.model(lambda a, b: a * b, ("a", "b"), ["double"] * 2)
    table = make.table({"a": [1.0, 2, 3], "b": [3.0, 1, 2], "y": [1.0, 0, 1]})
    tested = make.answer(model, table, interactions.Options(permutation_count=9), target_column="y")

    message = answer.write(tested).explanations[0]

    result = tested.explanations[0].result
    assert message.options.interactions.permutation_count == 9
    for order in ("overall", "pairwise", "importance"):
        for one, other in zip(
            getattr(message.interactions, order), getattr(result, order), strict=True
        ):
            assert list(one.p_values) == other.p_values.tolist() != []
    assert list(message.interactions.total.p_values) == result.total.p_values.tolist()
    assert list(written.explanations[0].interactions.total.p_values) == []


def test_classes_stand_beside_the_outputs_that_score_them(make, written) -> None:
    model = make.model(lambda x: np.stack([x, 1 - x], axis=1), ("x",), ["double"], n_outputs=2)
    table = make.table({"x": [0.25, 0.5, 1], "y": ["no", "yes", "no"]})
    compared = make.answer(
        model,
        table,
        average_loss.Options(),
        target_column="y",
        class_labels=("no", "yes"),
    )

    pairings = answer.write(compared).explanations[0].class_pairings

    assert [(p.label, p.output_name) for p in pairings] == [("no", "y0"), ("yes", "y1")]
    assert list(written.explanations[0].class_pairings) == []


def test_the_options_that_were_used_ask_the_same_question_again(given, written) -> None:
    request = ExplainRequest(methods=[e.options for e in written.explanations])

    strengths, curves = question.read(request).methods
    assert isinstance(curves, partial_dependence.Options)

    assert strengths == given.explanations[0].options
    expected = given.explanations[1].options
    for name in ("features", "grid_size", "strategy", "trim_lower", "trim_upper", "group_column"):
        assert getattr(curves, name) == getattr(expected, name)
    assert expected.grids[1] is curves.grids[1] is None
    assert {name: values.tolist() for name, values in (curves.grids[0] or {}).items()} == {
        "x": [3, 1, 3]
    }


def test_every_default_is_said(written) -> None:
    options = written.explanations[0].options.interactions

    assert list(options.features) == ["x", "t"]
    assert options.HasField("threeway_feature_count")
    assert options.HasField("quantile_bin_count")
    assert options.HasField("knot_count")
    assert options.absolute_threshold == 1e-9


def test_a_threshold_that_follows_the_predictions_is_left_open(make) -> None:
    model = make.model(function, ("x", "t"), ["double", "string"], n_outputs=2)

    message = answer.write(make.answer(model, make.table(COLUMNS), interactions.Options()))

    assert not message.explanations[0].options.interactions.HasField("absolute_threshold")


def test_the_receipt_and_the_warnings_are_those_of_the_computation(given, written) -> None:
    receipt = written.receipt

    assert receipt.row_count == 4
    assert receipt.predicted_row_count == given.predicted_row_count > 0
    assert receipt.cache_hit_count == given.cache_hit_count
    assert receipt.cache_miss_count == given.cache_miss_count > 0
    assert receipt.engine == ExplainRequest.BLACK_BOX
    assert receipt.engine_reason
    assert [(w.code, w.message) for w in written.warnings] == [("LABELS_ONLY", "only labels")]


def test_plots_are_json_text_with_a_title_and_a_description(given, written) -> None:
    for explanation, message in zip(given.explanations, written.explanations, strict=True):
        assert len(message.plots) == len(explanation.plots) > 0
        for plot, sent in zip(explanation.plots, message.plots, strict=True):
            assert json.loads(sent.vega_lite) == json.loads(json.dumps(plot.vega_lite))
            assert (sent.name, sent.title) == (plot.name, plot.title)
            assert sent.description == plot.description != ""


@pytest.mark.parametrize(
    ("refusal", "scales"), [("", ["RESPONSE", "MARGIN"]), ("it averages", ["RESPONSE"])]
)
def test_a_model_is_described(refusal: str, scales: list[str]) -> None:
    message = answer.write_description(
        Description(
            digest="sha256:00",
            inputs=(Input("X", "float", 3), Input("rest", "string", None)),
            output_names=("a", "b"),
            margin_refusal=refusal,
            operators=("ai.onnx.ml:Scaler", "Gemm"),
            producer="skl2onnx",
            has_class_scores=True,
        )
    )

    assert message.has_class_scores

    assert message.digest == "sha256:00"
    assert [(i.name, i.type, i.width) for i in message.inputs] == [
        ("X", "float", 3),
        ("rest", "string", 0),
    ]
    assert list(message.output_names) == ["a", "b"]
    assert [message.scales[i] for i in range(len(scales))] == [
        type(message).Scale.Value(scale) for scale in scales
    ]
    assert message.margin_refusal == refusal
    assert list(message.operators) == ["ai.onnx.ml:Scaler", "Gemm"]
    assert message.producer == "skl2onnx"
