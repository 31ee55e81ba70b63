"""Reports of changes: figures of rules, words for one and for many, names in files."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest
from onnxplain.v1.explanation_comparison_pb2 import ExplanationComparison, RuleFinding
from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain_server.methods.changes.found import ComparedSubject
from onnxplain_server.methods.changes.rules import GateFinding
from onnxplain_server.report import page
from onnxplain_server.report.changes.change_files import junit_xml, markdown
from onnxplain_server.report.changes.change_tables import figures, rankings
from onnxplain_server.report.sentences.changes import changed, significant
from onnxplain_server.wire.comparisons.rules import gate_rules, read_rules, write_finding

LOSS = 'statistic = "average_loss"\nholds = "value <= 0.93"'
SHARE = 'statistic = "importance"\nholds = "value <= 0.93"'
LEADING = 'ranking = "importance"\nnew_leading_features = false'


def finding(rule: str, before: float = 0.4351, after: float = 0.9482, **others: Any) -> RuleFinding:
    messages = read_rules(f"[[rule]]\n{rule}".encode())
    (read,) = gate_rules(messages, "rule")
    subject = ComparedSubject(0, read.kind, ("bmi",), "", "charges")
    own = "FAILS", subject, before, after, -0.0276, -0.05, -0.01
    return write_finding(GateFinding(read, *own, **{"count": 1, **others}), messages[0])


def test_margins_of_mean_squares_are_said_to_be_corrected() -> None:
    told = "margin -0.0276, -0.05 to -0.01 at 0.95"

    assert f"0.4351 to 0.9482; {told}, corrected for bias" in figures(finding(SHARE))
    assert figures(finding(LOSS)).endswith(f"0.4351 to 0.9482; {told}")


def test_figures_of_a_feature_that_was_not_used_have_no_rank_for_it() -> None:
    assert figures(finding(LEADING, float("inf"), 4)).startswith(
        "importance of bmi in charges: not used to rank 4"
    )
    assert "charges: rank 3 to rank 2" in figures(finding(LEADING, 3, 2))


def test_figures_tell_the_points_of_curves_that_are_missed() -> None:
    curve = 'statistic = "partial_dependence"\nmax_change = 1'
    found = finding(curve, count=3, missed_count=46)

    assert figures(found).endswith("the curves have 3 of 49 points of the reference in common")


def test_ranks_after_the_last_are_of_features_without_use() -> None:
    ranking = {"kind": "IMPORTANCE", "output_name": "y", "feature_count": 6}
    changes = [{"features": ["d"], "reference_rank": 7, "rank": 4}]
    changes += [{"features": ["e"], "reference_rank": 4, "rank": 6}]
    table = rankings(ExplanationComparison(rankings=[{**ranking, "leading_changes": changes}]))

    assert table.rows[0][-1] == "d: not used to 4, e: 4 to 6"


CURVE = {"kind": "PARTIAL_DEPENDENCE", "features": ["bmi"], "output_name": "charges"}
LOSS_CHANGE = {"kind": "AVERAGE_LOSS", "output_name": "charges"}


@pytest.mark.parametrize(
    ("differences", "curves", "sentence"),
    [
        (["CHANGED"], [], "The only number compared has changed, at 0.95"),
        ([], ["CHANGED"], "The only curve compared has changed, at 0.95"),
        (["NOT_TESTED"], ["CHANGED"], "The only curve compared has changed, at 0.95"),
        (["NOT_SHOWN"], [], "No change is shown in the only number compared, at 0.95"),
        (["NOT_SHOWN"], ["NOT_SHOWN"], "No change is shown in the 2 numbers and curves compared"),
        (["CHANGED", "NOT_SHOWN"], [], "1 of 2 numbers and curves has changed, at 0.95"),
        ([], ["CHANGED", "CHANGED"], "2 of 2 numbers and curves have changed, at 0.95"),
    ],
)
def test_sentences_count_what_is_compared(differences, curves, sentence) -> None:
    verdicts = [*differences, *curves]
    comparison = ExplanationComparison(
        options={"confidence_level": 0.95},
        tested_count=len(verdicts) - verdicts.count("NOT_TESTED"),
        differences=[{**LOSS_CHANGE, "verdict": verdict} for verdict in differences],
        curves=[{**CURVE, "verdict": verdict} for verdict in curves],
    )

    assert next(iter(changed(comparison))).startswith(sentence)


LARGE = {"reference_value": 6.784e9, "value": 3.21e9, "lower": -3.68e9, "upper": -3.46e9}
SMALL = {"reference_value": 0.02, "value": 0.05, "difference": 0.03, "lower": 0.02, "upper": 0.04}


def test_losses_come_first_and_mean_squares_last_without_exponents() -> None:
    square = {"kind": "IMPORTANCE_SQUARE", "features": ["a"], "output_name": "y", **LARGE}
    share = {"kind": "IMPORTANCE", "features": ["a"], "output_name": "y", **SMALL}
    kinds = [square, share, {"kind": "AVERAGE_LOSS", "output_name": "y", **SMALL}]
    differences = [
        {**each, "verdict": "CHANGED", "adjusted_p_value": p}
        for each, p in zip(kinds, (0.0, 0.001, 0.01), strict=True)
    ]
    comparison = ExplanationComparison(tested_count=3, differences=differences)

    assert list(changed(comparison))[1:] == [
        "Average loss rose from 0.02 to 0.05 (change +0.02 to +0.04).",
        "Importance of a rose from 0.02 to 0.05 (change +0.02 to +0.04).",
        (
            "Importance, as a mean square, of a fell from 6,780,000,000 to 3,210,000,000 "
            "(change −3,680,000,000 to −3,460,000,000)."
        ),
    ]
    assert [significant(v, 3) for v in (2.5e-7, 0.00012345, 12345.6)] == [
        "2.5e−07",
        "0.000123",
        "12,300",
    ]


def test_a_report_of_an_answer_with_a_reference_has_what_has_changed_first() -> None:
    comparison = ExplanationComparison(
        tested_count=1,
        pairing_reason="Same rows.",
        differences=[{**LOSS_CHANGE, "verdict": "CHANGED", "value": 2.0, "difference": 2.0}],
    )
    html = page.of_response(ExplainResponse(comparison=comparison))
    _, first, *_ = html.split("<section")

    assert "<h2>What has changed</h2>" in first
    assert "The only number compared has changed" in first
    assert "<li>Same rows.</li>" in first
    assert '<td data-title="after" class="number">2</td>' in first


@pytest.mark.parametrize(
    ("name", "xml", "text"),
    [
        (r'"the\u0001 loss"', "the\ufffd loss", "the\ufffd loss"),
        (r'"the\uffff loss \U0001f600"', "the\ufffd loss \U0001f600", "the\ufffd loss \U0001f600"),
        (r'"the\nloss\r\nstays\u2028here"', "the\nloss\r\nstays\u2028here", "the loss stays here"),
    ],
)
def test_names_of_rules_stay_inside_their_place(name, xml, text) -> None:
    found = ExplanationComparison(findings=[finding(f"name = {name}\n{LOSS}")])
    (case,) = ET.fromstring(junit_xml(found))  # noqa: S314 - written by the function
    rows = [row for row in markdown(found).splitlines() if "FAILS" in row]

    assert case.attrib["name"] == xml
    assert rows[0].startswith(f"| {text} | FAILS | average loss")
