"""Results as tables that people read."""

import math

import pytest
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain_server.report.finding import Finding
from onnxplain_server.report.registry import of_explanation, of_explanations, of_method


def tables(answer: pb.ExplainResponse, index: int) -> dict[str, Finding]:
    return {f.title: f for f in of_explanation(answer.explanations[index])}


def titles(finding: Finding) -> list[str]:
    return [column.title for column in finding.columns]


def test_statistics_have_their_share_and_their_size(answer: pb.ExplainResponse) -> None:
    total = tables(answer, 0)["All interactions"]

    assert titles(total) == ["output", "share", "size (units of the output)"]
    assert total.rows == (("low", "0.25", "2"), ("high", "0.0625", "1"))


def test_features_that_interact_most_come_first(answer: pb.ExplainResponse) -> None:
    overall = tables(answer, 0)["Interactions of one feature"]

    assert overall.rows == (
        ("bmi", "low", "0.0156", "0.5"),
        ("bmi", "high", "0.25", "2"),
        ("age", "low", "0.0625", "1"),
        ("age", "high", "0", "0"),
    )


def test_large_interactions_stand_before_large_shares_of_small_effects(
    answer: pb.ExplainResponse,
) -> None:
    for statistic in answer.explanations[0].interactions.overall:
        if statistic.features == ["age"]:
            statistic.values[:] = [0.9, 0.9]

    overall = tables(answer, 0)["Interactions of one feature"]

    assert [row[0] for row in overall.rows] == ["bmi", "bmi", "age", "age"]


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
        (
            "age × region",
            "",
            "1.25",
            "age = 30; region = missing",
            "1.5",
            "age = 20; region = east",
        ),
    )


def test_a_curve_that_lacks_a_number_says_where(answer: pb.ExplainResponse) -> None:
    answer.explanations[1].partial_dependence.curves[0].values[1] = float("nan")
    found = tables(answer, 1)["Average predictions"]

    assert found.rows[0] == ("age", "north", "no number", "30", "no number", "30")


def test_statistics_of_resampled_rows_have_their_interval(answer: pb.ExplainResponse) -> None:
    result = answer.explanations[0].interactions
    result.confidence_level = 0.9
    for statistic in result.overall:
        statistic.lower[:] = [value / 2 for value in statistic.values]
        statistic.upper[:] = [value * 2 for value in statistic.values]
    overall = tables(answer, 0)["Interactions of one feature"]

    assert titles(overall)[2:4] == ["share", "90 % interval"]
    assert overall.rows[1] == ("bmi", "high", "0.25", "0.125 to 0.5", "2")


def test_statistics_that_were_tested_have_their_p_value(answer: pb.ExplainResponse) -> None:
    result = answer.explanations[0].interactions
    for statistic in result.overall:
        statistic.p_values[:] = [0.001, float("nan")]
    overall = tables(answer, 0)["Interactions of one feature"]

    assert titles(overall)[2:4] == ["share", "p-value"]
    assert [row[3] for row in overall.rows[:2]] == ["0.001", "no number"]
    assert overall.note.endswith(
        "p-value: whether the term explains the target, on rows not trained on"
    )
    assert "p-value" not in titles(tables(answer, 0)["Pairs"])


def test_of_many_statistics_the_strongest_are_shown_and_the_others_counted(
    answer: pb.ExplainResponse,
) -> None:
    pairs = answer.explanations[0].interactions.pairwise
    pairs[0].numerators[0] = 1
    for index in range(434):
        pairs.add(features=["x", str(index)], numerators=[0, 0], denominators=[1, 1], values=[0, 0])
    found = tables(answer, 0)["Pairs"]

    assert len(found.rows) == 30
    assert found.rows[0][0] == "age × bmi"
    assert found.left_out == "420 weaker ones are left out here; the JSON has all."


def test_curves_of_single_rows_tell_how_far_they_move_by_group(
    every_answer: pb.ExplainResponse,
) -> None:
    found = tables(every_answer, 2)["Change along the curves of single rows"]

    assert titles(found) == [
        "feature",
        "group",
        "rows",
        "typical change (units of price)",
        "largest change",
        "in row",
    ]
    assert found.rows == (
        ("age", "f", "3", "4", "9", "5"),
        ("age", "m", "1", "1", "1", "1,234"),
        ("bmi", "f", "3", "0.5", "0.5", "7"),
        ("bmi", "m", "1", "0.5", "0.5", "1,234"),
    )


def test_features_that_are_worth_most_come_first_with_their_errors(
    every_answer: pb.ExplainResponse,
) -> None:
    found = tables(every_answer, 3)["Permutation importance"]

    assert titles(found)[:2] == ["shuffled", "increase (units of price)"]
    assert found.note.startswith("increase of the mean absolute error")
    assert found.rows == (
        ("bmi", "2.35", "0.125"),
        ("age + bmi", "0.5", "no number"),
        ("age", "−0.01", "0"),
    )
    assert tables(every_answer, 3)["Loss before shuffling"].rows == (("1.5",),)


def test_what_is_infinitely_important_comes_first_and_what_is_no_number_last(
    every_answer: pb.ExplainResponse,
) -> None:
    entries = every_answer.explanations[3].permutation_importance.importances
    entries[0].values[0], entries[1].values[0] = math.inf, math.nan
    found = tables(every_answer, 3)["Permutation importance"]

    assert [row[0] for row in found.rows] == ["age", "age + bmi", "bmi"]


def test_normalised_importances_are_shares(every_answer: pb.ExplainResponse) -> None:
    every_answer.explanations[3].options.permutation_importance.normalize = True
    found = tables(every_answer, 3)["Permutation importance"]
    assert titles(found)[1] == "increase (share of that before)"


def test_thousands_of_a_point_are_told_from_its_next_feature(answer: pb.ExplainResponse) -> None:
    curve = answer.explanations[1].partial_dependence.curves[1]
    curve.grid[0].numbers[:] = [36_835 + 1_000 * i for i in range(len(curve.grid[0].numbers))]
    found = tables(answer, 1)["Average predictions"]

    assert "age = 36,835; region = east" in found.rows[1]


def test_a_weight_is_written_in_full(every_answer: pb.ExplainResponse) -> None:
    every_answer.explanations[4].average_loss.losses[0].weight = 16_281
    every_answer.explanations[4].average_loss.losses[1].weight = 1_234.56
    found = tables(every_answer, 4)["Root mean squared error of price, by region"]

    assert [row[2] for row in found.rows] == ["16,281", "1,234.56"]


def test_losses_stay_in_the_order_of_their_groups(every_answer: pb.ExplainResponse) -> None:
    found = tables(every_answer, 4)["Root mean squared error of price, by region"]

    assert titles(found) == ["region", "root mean squared error (units of price)", "weight"]
    assert found.rows == (("north", "2", "12"), ("south", "3", "7.5"))


@pytest.mark.parametrize("index", range(5))
def test_each_table_says_how_to_read_it_and_when_not_to_rely_on_it(
    every_answer: pb.ExplainResponse, index: int
) -> None:
    for found in tables(every_answer, index).values():
        assert found.note
        assert found.limit
        assert {len(row) for row in found.rows} == {len(found.columns)}


@pytest.mark.parametrize("method", [f.name for f in pb.MethodOptions.DESCRIPTOR.fields])
def test_each_method_of_the_contract_has_a_guide(method: str) -> None:
    guide = of_method(method)

    assert guide.question.endswith("?")
    assert len(guide.limits) >= 3
    assert all(limit.endswith(".") for limit in guide.limits)


def test_classes_stand_beside_the_outputs_that_score_them(every_answer: pb.ExplainResponse) -> None:
    number = len(every_answer.explanations) - 1
    assert "Classes of the target" not in tables(every_answer, number)
    every_answer.explanations[number].class_pairings.extend(
        [pb.ClassPairing(label="no"), pb.ClassPairing(label="yes", output_name="chance")]
    )

    found = tables(every_answer, number)["Classes of the target"]

    assert titles(found) == ["class", "output"]
    assert found.rows == (("no", "none: 0 of the only output"), ("yes", "chance"))


def test_a_table_that_was_shown_is_not_shown_again(every_answer: pb.ExplainResponse) -> None:
    every_answer.explanations.append(every_answer.explanations[4])

    *_, last = of_explanations(every_answer.explanations)

    assert last == []
    assert all(of_explanations(every_answer.explanations)[:-1])
