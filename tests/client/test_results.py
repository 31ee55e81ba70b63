"""What an answer looks like in Python; the answer is that of conftest.py."""

import json

import numpy as np
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
    assert rows[0] == {
        "statistic": "total",
        "features": [],
        "output": "low",
        "numerator": 1.0,
        "denominator": 4.0,
        "value": 0.25,
    }
    assert rows[7] == {
        "statistic": "pairwise",
        "features": ["age", "bmi"],
        "output": "high",
        "numerator": 0.5,
        "denominator": 2.0,
        "value": 0.25,
    }


def test_statistics_in_pandas_can_be_grouped_by_their_features(found: Explanations) -> None:
    frame = found.interactions.to_pandas()

    strongest = frame[frame.statistic == "importance"].groupby("features").value.max()
    assert strongest.to_dict() == {("age",): 0.5, ("bmi",): 0.25}


def test_curves_are_arrays_of_points_by_outputs(found: Explanations) -> None:
    curve, surface = found.partial_dependence.curves

    assert curve.grid[0].tolist() == [20, 30, 40]
    assert np.array_equal(curve.values, [[1, 10], [2, 20], [3, 30]])
    assert (surface.features, surface.group, surface.weight) == (("age", "output"), "north", 3)
    assert surface.grid[1].tolist() == ["a", ""]


def test_a_curve_becomes_one_row_per_point_and_output(found: Explanations) -> None:
    table = found.partial_dependence.curves[0].to_arrow()

    assert table.column_names == ["age", "group", "output", "value"]
    assert table.to_pylist()[1] == {"age": 20.0, "group": "", "output": "high", "value": 10.0}
    assert table["value"].to_pylist() == [1, 10, 2, 20, 3, 30]


def test_a_feature_called_like_one_of_our_columns_keeps_both(found: Explanations) -> None:
    table = found.partial_dependence.curves[1].to_arrow()

    assert table.column_names == ["age", "output (feature)", "group", "output", "value"]
    assert table["output (feature)"].to_pylist() == ["a", "a", "", ""]


def test_all_curves_stand_under_each_other(found: Explanations) -> None:
    table = found.partial_dependence.to_arrow()

    assert table.column_names == ["curve", "age", "output (feature)", "group", "output", "value"]
    assert table["curve"].to_pylist() == [0] * 6 + [1] * 4
    assert table["output (feature)"].to_pylist()[:7] == [None] * 6 + ["a"]
    assert found.partial_dependence.to_pandas().shape == (10, 6)


def test_plots_are_data_that_a_notebook_shows(found: Explanations) -> None:
    (plot,) = found.plots

    assert plot.spec == {"mark": "bar"}
    assert plot._repr_mimebundle_() == {
        "application/vnd.vegalite.v6+json": {"mark": "bar"},
        "text/plain": "Two bars.",
    }


def test_json_is_the_canonical_one(found: Explanations) -> None:
    read = json.loads(found.to_json())

    assert read["receipt"]["predictedRowCount"] == 56
    assert read["explanations"][0]["interactions"]["outputNames"] == ["low", "high"]
    assert "InteractionsResult, PartialDependenceResult" in repr(found)
