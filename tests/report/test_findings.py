"""Results as tables that people read."""

from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain_server.report import findings
from onnxplain_server.report.finding import Finding


def tables(answer: pb.ExplainResponse, index: int) -> dict[str, Finding]:
    return {f.title: f for f in findings.of_explanation(answer.explanations[index])}


def titles(finding: Finding) -> list[str]:
    return [column.title for column in finding.columns]


def test_statistics_have_their_share_and_their_size(answer: pb.ExplainResponse) -> None:
    total = tables(answer, 0)["All interactions"]

    assert titles(total) == ["output", "share", "size (unit of the output)"]
    assert total.rows == (("low", "0.25", "2"), ("high", "0.0625", "1"))


def test_features_that_interact_most_come_first(answer: pb.ExplainResponse) -> None:
    overall = tables(answer, 0)["Interactions of one feature"]

    assert overall.rows == (
        ("bmi", "low", "0.0156", "0.5"),
        ("bmi", "high", "0.25", "2"),
        ("age", "low", "0.0625", "1"),
        ("age", "high", "0", "0"),
    )


def test_a_number_that_is_none_is_not_shown_as_zero(answer: pb.ExplainResponse) -> None:
    pairs = tables(answer, 0)["Pairs"]
    assert pairs.rows[0] == ("age × bmi", "low", "no number", "no number")


def test_statistics_that_were_not_computed_have_no_table(answer: pb.ExplainResponse) -> None:
    assert list(tables(answer, 0)) == ["All interactions", "Interactions of one feature", "Pairs"]


def test_curves_tell_where_they_are_lowest_and_highest(answer: pb.ExplainResponse) -> None:
    found = tables(answer, 1)["Average predictions"]

    assert titles(found) == ["features", "group", "lowest", "at", "highest", "at"]
    assert found.rows == (
        ("age", "north", "101.99", "30", "104.12", "20"),
        ("age × region", "", "1.25", "30, missing", "1.5", "20, east"),
    )


def test_a_curve_that_lacks_a_number_says_where(answer: pb.ExplainResponse) -> None:
    answer.explanations[1].partial_dependence.curves[0].values[1] = float("nan")
    found = tables(answer, 1)["Average predictions"]

    assert found.rows[0] == ("age", "north", "no number", "30", "no number", "30")
