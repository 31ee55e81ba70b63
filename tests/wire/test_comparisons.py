"""Kept answers on the wire: whatever numbers they hold, they are compared or refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain.v1.explanation_comparison_pb2 import ReplicatedStatistic
from onnxplain.v1.table_pb2 import Column
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.plots.changes import plots
from onnxplain_server.wire.comparisons.comparison import compare_answers
from onnxplain_server.wire.comparisons.rules import read_rules

RULES = read_rules(
    b'[[rule]]\nstatistic = "importance_square"\nmax_change = 1\n'
    b'[[rule]]\nstatistic = "partial_dependence"\nholds = "value < 2 * reference"\n'
    b'[[rule]]\nranking = "importance"\nnew_leading_features = false'
)


def answer(*statistics: dict[str, Any], table: str = "1") -> pb.ExplainResponse:
    made = pb.ExplainResponse(receipt={"table_digest": table})
    explanation = made.explanations.add()
    explanation.interactions.SetInParent()
    explanation.options.interactions.SetInParent()
    explanation.replicates.output_names.append("y")
    for each in statistics:
        explanation.replicates.statistics.append(ReplicatedStatistic(unit_count=200, **each))
    return made


anything = st.floats(allow_nan=True, allow_infinity=True)
drawn = st.lists(anything, min_size=4, max_size=4)


@given(st.lists(st.tuples(anything, drawn), min_size=4, max_size=4), drawn, drawn, st.booleans())
def test_any_numbers_are_compared_judged_and_drawn(numbers, curve, grid, is_paired) -> None:
    sides = []
    for k in range(2):
        importances = [
            {"kind": "IMPORTANCE_SQUARE", "features": [name], "values": [value], "replicates": own}
            for name, (value, own) in zip("ab", numbers[2 * k : 2 * k + 2], strict=True)
        ]
        importances += [{**each, "kind": "IMPORTANCE"} for each in importances]
        curves = {
            "kind": "PARTIAL_DEPENDENCE",
            "features": ["a"],
            "grid": [Column(name="a", numbers=grid if k else sorted(grid, key=str))],
            "values": curve,
            "replicates": curve * 3,
        }
        sides.append(answer(*importances, curves, table="1" if is_paired else str(k)))
    compared = compare_answers(pb.Reference(answer=sides[0], rules=RULES), sides[1])
    message = compared.message

    assert message.is_paired is is_paired
    assert len(message.differences) == 4
    assert len(message.findings) == 3
    assert plots(compared.changes) is not None


@pytest.mark.parametrize(
    "statistic",
    [
        pytest.param({"values": [1.0, 2.0]}, id="values of two outputs"),
        pytest.param({"values": []}, id="no value"),
        pytest.param(
            {"grid": [Column(name="a", numbers=[1, 2])], "values": [1.0, 2.0], "replicates": [1.0]},
            id="replicates of one point",
        ),
        pytest.param(
            {
                "grid": [Column(name="a", numbers=[1, 2]), Column(name="b", numbers=[1])],
                "features": ["a", "b"],
                "values": [1.0, 2.0],
            },
            id="grids of two lengths",
        ),
        pytest.param({"kind": 99, "values": [1.0]}, id="a kind of later versions"),
        pytest.param({"kind": 0, "values": [1.0]}, id="no kind"),
    ],
)
def test_replicates_that_do_not_fit_are_refused(statistic) -> None:
    kept = answer({"kind": "IMPORTANCE", "features": ["a"], **statistic})

    with pytest.raises(ExplainError) as refused:
        compare_answers(pb.Reference(answer=kept), answer())

    assert refused.value.reason in {Reason.INVALID_REQUEST, Reason.INVALID_OPTION}


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"confidence_level": 2}, "reference.options.confidence_level"),
        ({"leading_count": 0}, "reference.options.leading_count"),
        ({"correction": 99}, "reference.options.correction"),
    ],
)
def test_options_outside_their_limits_are_refused(options, field) -> None:
    own = answer({"kind": "IMPORTANCE", "features": ["a"], "values": [1.0]})

    with pytest.raises(ExplainError) as refused:
        compare_answers(pb.Reference(answer=own, options=options), own)

    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_OPTION, field)


def test_methods_whose_numbers_mean_different_things_are_refused() -> None:
    sides = []
    for column in ("", "city"):
        own = pb.ExplainResponse()
        explanation = own.explanations.add()
        explanation.average_loss.SetInParent()
        explanation.options.average_loss.group_column = column
        explanation.replicates.output_names.append("y")
        sides.append(own)

    with pytest.raises(ExplainError, match="differ in 'group_column'"):
        compare_answers(pb.Reference(answer=sides[0]), sides[1])


def importance(name: str) -> dict[str, Any]:
    return {
        "kind": "IMPORTANCE_SQUARE",
        "features": [name],
        "values": [1],
        "replicates": [1, 2, 3, 4],
    }


@pytest.mark.parametrize(
    ("receipt", "field"),
    [
        ({"scale": "MARGIN"}, "scale"),
        ({"prediction": ["2 * y"]}, "prediction"),
        ({"request": {"target_column": "z"}}, "target_column"),
        ({"request": {"target_columns": ["y", "z"]}}, "target_column"),
        ({"request": {"weight_column": "w"}}, "weight_column"),
        ({"request": {"class_labels": ["0", "1"]}}, "class_labels"),
    ],
)
def test_answers_of_requests_that_mean_something_else_are_refused(receipt, field) -> None:
    sides = [answer(importance("a")) for _ in range(2)]
    for side in sides:
        side.receipt.request.target_column = "y"
    if "target_columns" in receipt.get("request", {}):
        sides[1].receipt.request.ClearField("target_column")
    sides[1].receipt.MergeFrom(pb.Receipt(**receipt))

    for one, other in (sides, sides[::-1]):
        with pytest.raises(ExplainError, match="mean different things") as refused:
            compare_answers(pb.Reference(answer=one), other)
        assert refused.value.field == field


def test_explanations_of_one_method_are_paired_by_what_they_are_about() -> None:
    """The one that is left on either side is told."""
    first, second = answer(importance("a")), answer(importance("b"))
    first.explanations.extend(answer(importance("b")).explanations)
    loss = second.explanations.add()
    loss.average_loss.SetInParent()
    loss.options.average_loss.SetInParent()
    loss.replicates.output_names.append("y")

    message = compare_answers(pb.Reference(answer=first), second).message

    assert [list(each.features) for each in message.differences] == [["b"]]
    assert {each.reason for each in message.unmatched} >= {
        "average_loss: the reference has no such explanation.",
        "interactions: only the reference has this explanation.",
    }


@pytest.mark.parametrize("is_reference", [True, False])
def test_an_answer_that_was_cut_is_refused(is_reference: bool) -> None:
    sides = [answer(importance("a")) for _ in range(2)]
    sides[0].explanations[0].ClearField("options")

    one, other = sides if is_reference else sides[::-1]
    with pytest.raises(ExplainError, match="does not tell the options of interactions"):
        compare_answers(pb.Reference(answer=one), other)
