"""Results in Python, of the response in conftest.py."""

import json

import numpy as np
import onnxplain
import pytest
from onnxplain import Explanations
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Explanation


@pytest.fixture
def found(answer: ExplainResponse) -> Explanations:
    return Explanations(answer)


def test_results_are_found_by_method_and_by_index(found: Explanations) -> None:
    assert found.interactions is found[0]
    assert found.partial_dependence is found[1]
    assert list(found) == [found[0], found[1]]


def test_a_method_that_was_not_asked_for_is_a_lookup_error(answer: ExplainResponse) -> None:
    del answer.explanations[0]
    with pytest.raises(LookupError, match="0 of the 1 results are InteractionsResult"):
        Explanations(answer).interactions  # noqa: B018 - looking is the test


def test_a_method_asked_for_twice_is_taken_by_its_index(answer: ExplainResponse) -> None:
    answer.explanations.append(answer.explanations[0])
    with pytest.raises(LookupError, match="2 of the 3 results"):
        Explanations(answer).interactions  # noqa: B018 - looking is the test


def test_a_result_that_cannot_be_read_is_not_passed_over() -> None:
    with pytest.raises(ValueError, match="cannot read the result of the method 'unknown'"):
        Explanations(ExplainResponse(explanations=[Explanation()]))


def test_statistics_are_arrays_with_one_number_per_output(found: Explanations) -> None:
    (pair,) = found.interactions.pairwise

    assert pair.features == ("age", "bmi")
    assert pair.numerators.tolist() == [0.25, 0.5]
    assert pair.denominators.tolist() == [1, 2]
    assert pair.values.tolist() == [0.25, 0.25]
    assert found.interactions.options.pairwise_feature_count == 5


def test_statistics_become_one_row_each_per_output(found: Explanations) -> None:
    rows = found.interactions.to_arrow().to_pylist()

    assert len(rows) == 2 * (1 + 2 + 1 + 2)
    assert list(rows[0].values())[:4] == ["total", "", None, None]
    assert list(rows[0].values())[5:9] == ["low", 1.0, 4.0, 0.25]
    assert rows[7] == {
        "statistic": "pairwise",
        "features": "age × bmi",
        "feature_1": "age",
        "feature_2": "bmi",
        "feature_3": None,
        "output": "high",
        "numerator": 0.5,
        "denominator": 2.0,
        "value": 0.25,
        "standard_error": 0.125,
        "lower": 0.125,
        "upper": 0.375,
        "bias": 0.125,
        "p_value": 0.125,
        "numerator_error": 0.25,
    }


def test_statistics_have_no_interval_where_rows_were_not_resampled(found: Explanations) -> None:
    total, (pair,) = found.interactions.total, found.interactions.pairwise

    assert (pair.lower.tolist(), pair.upper.tolist()) == ([0.125, 0.125], [0.375, 0.375])
    assert np.isnan([total.standard_errors, total.lower, total.upper, total.biases]).all()
    assert found.interactions.confidence_level == 0.95


def test_statistics_have_a_p_value_where_they_were_tested(found: Explanations) -> None:
    total, (pair,) = found.interactions.total, found.interactions.pairwise

    assert pair.p_values.tolist() == [0.125, 0.125]
    assert np.isnan(total.p_values).all()


def test_numerators_have_an_error_where_effects_were_interpolated(found: Explanations) -> None:
    total, (pair,) = found.interactions.total, found.interactions.pairwise

    assert pair.numerator_errors.tolist() == [0.25, 0.25]
    assert np.isnan(total.numerator_errors).all()


def test_statistics_in_pandas_can_be_grouped_by_their_features(found: Explanations) -> None:
    frame = found.interactions.to_pandas()

    strongest = frame[frame.statistic == "importance"].groupby("features").value.max()
    assert strongest.to_dict() == {"age": 0.5, "bmi": 0.25}


BANDS = ("standard_error", "lower", "upper", "simultaneous_lower", "simultaneous_upper")


def test_curves_are_arrays_of_points_by_outputs(found: Explanations) -> None:
    curve, surface = found.partial_dependence.curves

    assert curve.grid[0].tolist() == [20, 30, 40]
    assert np.array_equal(curve.values, [[1, 10], [2, 20], [3, 30]])
    assert (surface.features, surface.group, surface.weight) == (("age", "output"), "north", 3)
    assert surface.grid[1].tolist() == ["a", ""]


def test_a_frame_has_no_column_that_is_empty_or_of_other_features(found: Explanations) -> None:
    curves = found.partial_dependence.to_pandas()

    assert list(curves.columns) == ["curve", "features", "at", "group", "output", "value"]
    assert curves["at"].tolist()[:3] == [20, 20, 30]
    assert curves["at"].iloc[-1] == (curves["at"].iloc[-1][0], "")
    assert set(curves["features"]) == {"age", "age × output"}
    assert not curves.isna().any(axis=None)


def test_a_frame_of_interactions_has_only_the_numbers_that_were_asked_for() -> None:
    one = {"numerators": [1.0], "denominators": [2.0], "values": [0.5]}
    answer = ExplainResponse(
        explanations=[
            {"interactions": {"output_names": ["y"], "mean_squares": [2.0], "total": one}}
        ]
    )

    frame = Explanations(answer).interactions.to_pandas()

    assert list(frame.columns) == [
        "statistic", "features", "output", "numerator", "denominator", "value",
    ]  # fmt: skip


def test_a_frame_may_have_one_output_only(every: Explanations) -> None:
    for result in every:
        whole = result.to_pandas()
        one = result.to_pandas(output=whole["output"].iloc[0])
        assert "output" not in one
        assert 0 < len(one) == (whole["output"] == whole["output"].iloc[0]).sum()
    with pytest.raises(ValueError, match="no output 'none'; there are: 'low', 'high'"):
        every.average_loss.to_pandas(output="none")


def test_a_curve_becomes_one_row_per_point_and_output(found: Explanations) -> None:
    table = found.partial_dependence.curves[0].to_arrow()

    assert table.column_names == ["age", "group", "output", "value", *BANDS]
    own = {"age": 20.0, "group": "", "output": "high", "value": 10.0}
    assert table.to_pylist()[1] == own | dict.fromkeys(BANDS)
    assert table["value"].to_pylist() == [1, 10, 2, 20, 3, 30]


def test_a_feature_called_like_one_of_our_columns_keeps_both(found: Explanations) -> None:
    table = found.partial_dependence.curves[1].to_arrow()

    assert table.column_names == ["age", "output (feature)", "group", "output", "value", *BANDS]
    assert table["output (feature)"].to_pylist() == ["a", "a", "", ""]


def test_all_curves_stand_under_each_other(found: Explanations) -> None:
    table = found.partial_dependence.to_arrow()

    own = ["curve", "age", "output (feature)", "group", "output", "value"]
    assert table.column_names == [*own, *BANDS]
    assert table["curve"].to_pylist() == [0] * 6 + [1] * 4
    assert table["output (feature)"].to_pylist()[:7] == [None] * 6 + ["a"]
    assert found.partial_dependence.to_pandas().shape == (10, 6)


@pytest.fixture
def every(every_answer: ExplainResponse) -> Explanations:
    return Explanations(every_answer)


def test_curves_of_rows_are_arrays_of_rows_by_points_by_outputs(every: Explanations) -> None:
    curves, _ = every.individual_conditional_expectation.curves

    assert (curves.features, curves.grid[0].tolist()) == (("age",), [20, 30, 40])
    assert (curves.row_indices.tolist(), curves.groups) == ([4, 1], ("f / old", "m / old"))
    assert curves.values[1].tolist() == [[6, 7], [8, 9], [10, 11]]


def test_curves_of_rows_become_one_row_per_row_point_and_output(every: Explanations) -> None:
    table = every.individual_conditional_expectation.curves[0].to_arrow()

    assert table["row_index"].to_pylist() == [4] * 6 + [1] * 6
    assert table["value"].to_pylist() == list(range(12))
    assert table.slice(9, 1).to_pylist() == [
        {
            "age": 30.0,
            "row_index": 1,
            "group": "m / old",
            "group_1": "m",
            "group_2": "old",
            "output": "high",
            "value": 9.0,
        }
    ]


def test_curves_of_all_features_stand_under_each_other(every: Explanations) -> None:
    table = every.individual_conditional_expectation.to_arrow()

    of_rows = ["row_index", "group", "group_1", "group_2"]
    names = ["curve", "age", "group (feature)", *of_rows, "output", "value"]
    assert table.column_names == names
    assert table.slice(12, 1).to_pylist() == [
        dict(zip(names, [1, None, "a", 4, "f / old", None, None, "low", 0.0], strict=True))
    ]


def test_importances_have_their_errors_and_the_loss_to_compare_with(every: Explanations) -> None:
    found = every.permutation_importance

    assert found.baseline_losses.tolist() == [2, 4]
    assert found.importances[1].features == ("age", "bmi")
    assert found.to_arrow().to_pylist()[1] == {
        "features": "age",
        "feature_1": "age",
        "feature_2": None,
        "output": "high",
        "value": 2.0,
        "standard_error": 0.25,
        "baseline_loss": 4.0,
    }
    assert np.isnan(found.to_pandas().standard_error.iloc[3])
    assert found.to_pandas().groupby("features").value.max().to_dict() == {
        "age": 2,
        "age × bmi": 3,
    }


def test_losses_become_one_row_per_group_and_output(every: Explanations) -> None:
    rows, unknown = every.average_loss.to_arrow().to_pylist(), dict.fromkeys(BANDS[:3])

    assert rows[2:] == [
        {"group": "m", "output": "low", "value": 3.0, "weight": 4.0, **unknown},
        {"group": "m", "output": "high", "value": float("inf"), "weight": 4.0, **unknown},
    ]
    assert every.average_loss.losses[0].values.tolist() == [1, 2]


def test_every_result_is_tidy(every: Explanations) -> None:
    """One number per row under "value" (or a ratio's parts), told apart by all other columns."""
    for result in every:
        frame = result.to_pandas()
        numbers = frame.columns[list(frame.columns).index("output") + 1 :]
        assert len(frame) > 1
        assert numbers.str.fullmatch(
            "value|numerator|denominator|standard_error|lower|upper|bias|p_value|numerator_error"
            "|baseline_loss|weight"
        ).all()
        assert not frame.drop(columns=numbers).duplicated().any()


def test_every_result_is_also_the_contracts_json(every: Explanations) -> None:
    read = json.loads(every.average_loss.to_json())

    own = {"group": "m", "values": [3.0, "Infinity"], "weight": 4.0}
    assert read["losses"][1] == own | {"standardErrors": [], "lower": [], "upper": []}
    assert json.loads(every.partial_dependence.curves[0].to_json())["features"] == ["age"]


def test_a_plot_is_found_by_its_name(found: Explanations) -> None:
    assert found.plot("overall").title == "Overall"
    with pytest.raises(LookupError, match="0 plots are called 'pairwise'; there are: overall"):
        found.plot("pairwise")


def test_without_a_name_the_only_plot_is_found_or_all_are_named(found: Explanations) -> None:
    assert found.plot().name == "overall"
    with pytest.raises(LookupError, match="0 plots are there; there are: none"):
        Explanations(ExplainResponse()).plot()


def test_a_plot_shows_no_specification_where_it_is_printed(found: Explanations) -> None:
    assert "mark" not in repr(found.plots[0])


def test_json_is_the_canonical_one(found: Explanations) -> None:
    read = json.loads(found.to_json())

    assert read["receipt"]["predictedRowCount"] == 56
    assert read["explanations"][0]["interactions"]["outputNames"] == ["low", "high"]
    assert "InteractionsResult, PartialDependenceResult" in repr(found)


def test_each_result_tells_the_rows_that_it_is_computed_on(every_answer: ExplainResponse) -> None:
    found = Explanations(every_answer)

    assert found.average_loss.rows == onnxplain.RowsUsed(1600, 1500, 1234.5, 3)
    assert str(found.average_loss.rows) == (
        "1,600 rows, 1,500 of them used, total weight 1,234.5 (seed 3)"
    )
    assert found.interactions.rows is None


def test_rows_that_all_count_as_one_are_told_in_short() -> None:
    assert str(onnxplain.RowsUsed(500, 500, 500.0, 0)) == "500 rows (seed 0)"
