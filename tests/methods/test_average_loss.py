"""Average loss, over all rows and by groups of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.methods.average_loss import Options, Result
from onnxplain_server.methods.comparison import Comparison, constant_losses
from onnxplain_server.methods.losses import Loss

NAN = float("nan")
PROBABILITIES = arrays(np.float64, (3, 5, 2), elements=st.floats(0.01, 0.99))


def identity(x):
    return x


def answer(make, columns, function=identity, **options):
    """Explain a function of the column x; what is no option of the method is one of the question.

    Options of the comparison may stand among those of the method.
    """
    question = {
        name: options.pop(name)
        for name in ("weight_column", "row_count", "seed", "output_indices", "host")
        if name in options
    }
    methods = {
        name: options.pop(name) for name in ("group_column", "group_count") if name in options
    }
    n_outputs = options.pop("n_outputs", 1)
    model = make.model(function, ("x",), ("double",), n_outputs=n_outputs)
    method = Options(comparison=Comparison(**options), **methods)
    return make.answer(model, make.table(columns), method, target_column="y", **question)


def losses(make, columns, function=identity, **options) -> Result:
    result = answer(make, columns, function, **options).explanations[0].result
    assert isinstance(result, Result)
    return result


def by_group(result: Result) -> dict[str, list[float]]:
    return {one.group: one.values.tolist() for one in result.losses}


def test_the_standard_error_worked_by_hand(make) -> None:
    """Squares 1, 4, 0 have the variance 13/3, and their mean a third of it."""
    found = losses(make, {"x": [1.0, 2, 3], "y": [0.0, 4, 3]}).losses[0]

    assert found.row_count == 3
    assert found.standard_errors == pytest.approx([np.sqrt(13 / 9)])


def test_the_average_worked_by_hand(make) -> None:
    """Predictions 1, 2, 3 against 0, 4, 3: squares 1, 4, 0."""
    found = losses(make, {"x": [1.0, 2, 3], "y": [0.0, 4, 3]})

    assert by_group(found) == {"": [pytest.approx(5 / 3)]}
    assert found.losses[0].weight == 3
    assert found.output_names == ("y0",)
    assert found.loss is Loss.SQUARED_ERROR


def test_the_weighted_average_worked_by_hand(make) -> None:
    columns = {"x": [1.0, 2, 3], "y": [0.0, 4, 3], "w": [2.0, 0, 6]}

    found = losses(make, columns, weight_column="w", loss=Loss.ABSOLUTE_ERROR)

    assert by_group(found) == {"": [2 / 8]}
    assert found.losses[0].weight == 8


def test_groups_have_the_average_of_their_own_rows_by_ascending_value(make) -> None:
    columns = {"x": [1.0, 2, 3, 4], "y": [0.0, 4, 3, 7], "g": [10.0, 9, 10, NAN]}

    found = losses(make, columns, group_column="g")

    assert list(by_group(found).items()) == [("9", [4]), ("10", [0.5]), ("missing", [9])]
    assert [one.weight for one in found.losses] == [1, 2, 1]
    assert found.group_column == "g"


def test_groups_of_text_are_sorted_and_the_missing_is_last(make) -> None:
    columns = {"x": [1.0, 2, 3, 4], "y": [0.0, 4, 3, 7], "g": ["", "b", "a", "b"]}

    found = losses(make, columns, group_column="g")

    assert list(by_group(found).items()) == [("a", [0]), ("b", [6.5]), ("missing", [1])]


def test_many_numbers_are_cut_into_groups(make) -> None:
    x = np.arange(8.0)

    found = losses(make, {"x": x, "y": x - x, "g": x}, group_column="g", group_count=2)

    # The halves 0 to 3 and 4 to 7, by quantiles of type 1.
    assert list(by_group(found).items()) == [("[0,3]", [3.5]), ("(3,7]", [31.5])]


def test_groups_add_up_to_the_whole(make) -> None:
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=60) for name in ("x", "y", "g")} | {"w": rng.random(60)}

    whole = losses(make, columns, weight_column="w")
    parts = losses(make, columns, weight_column="w", group_column="g", group_count=5)

    assert len(parts.losses) == 5
    total = sum(one.weight * one.values[0] for one in parts.losses)
    weight = sum(one.weight for one in parts.losses)
    assert weight == pytest.approx(whole.losses[0].weight)
    assert total / weight == pytest.approx(whole.losses[0].values[0])


def test_equal_rows_with_other_true_values_are_compared_one_by_one(make) -> None:
    """Engines merge equal rows, which would lose a true value here."""
    found = losses(make, {"x": [1.0, 1, 1], "y": [1.0, 2, 4]})

    assert by_group(found) == {"": [pytest.approx(10 / 3)]}


def test_several_outputs_have_a_loss_each_or_their_sum(make) -> None:
    columns = {"x": [1.0, 2], "y": [0.0, 2]}

    def two(x):
        return np.stack([x, 2 * x], axis=1)

    each = losses(make, columns, two, n_outputs=2, target_columns=("y", "y"))
    total = losses(make, columns, two, n_outputs=2, target_columns=("y", "y"), sum_outputs=True)
    second = losses(make, columns, two, n_outputs=2, output_indices=(1,))

    assert (each.output_names, by_group(each)) == (("y0", "y1"), {"": [0.5, 4]})
    assert (total.output_names, by_group(total)) == (("total",), {"": [4.5]})
    assert (second.output_names, by_group(second)) == (("y1",), {"": [4]})


def test_classes_are_compared_with_their_shares(make) -> None:
    """The share of the true class is 1/2 in row 0 and 1/4 in row 1."""

    def shares(x):
        return np.stack([1 - x, x], axis=1)

    columns = {"x": [0.5, 0.25], "y": ["y0", "y1"]}
    found = losses(make, columns, shares, n_outputs=2, loss=Loss.MLOGLOSS)

    assert found.output_names == ("total",)
    assert by_group(found) == {"": [pytest.approx(1.5 * np.log(2))]}


def test_an_infinite_loss_is_infinite(make) -> None:
    found = losses(make, {"x": [0.0, 0.5], "y": [1.0, 1]}, loss=Loss.LOGLOSS)

    assert by_group(found) == {"": [np.inf]}


def test_every_row_of_the_table_counts_unless_fewer_are_asked_for(make) -> None:
    x = np.arange(3000.0)

    every = answer(make, {"x": x, "y": x})
    fewer = answer(make, {"x": x, "y": x}, row_count=30)

    assert every.explanations[0].result.losses[0].weight == 3000
    assert every.predicted_row_count == 3000
    assert fewer.explanations[0].result.losses[0].weight == 30
    assert fewer.explanations[0].result.losses[0].values == [0], "each row with its own true value"
    assert fewer.predicted_row_count == 30


def test_asked_again_it_predicts_nothing(make) -> None:
    host = make.host()
    columns = {"x": [1.0, 2, 3], "y": [0.0, 4, 3], "z": [1.0, 1, 1]}

    first = answer(make, columns, host=host)
    again = answer(make, columns, host=host, target_columns=("z",), loss=Loss.ABSOLUTE_ERROR)

    assert (first.predicted_row_count, again.predicted_row_count) == (3, 0)
    assert again.explanations[0].result.losses[0].values == pytest.approx([1])


def test_a_group_of_weight_zero_is_no_group(make) -> None:
    columns = {"x": [1.0, 2, 3], "y": [1.0, 2, 4], "g": ["a", "b", "a"], "w": [1.0, 0, 1]}

    found = losses(make, columns, group_column="g", weight_column="w")

    assert by_group(found) == {"a": [0.5]}


def test_the_weight_is_told_as_the_table_has_it_however_large(make) -> None:
    """By hand: 1e308 and 3e307 add up to 1.3e308; a third of 1e308 leaves float64."""
    columns = {"x": [1.0, 2, 3], "y": [1.0, 2, 4], "w": [1e308, 3e307, 0]}

    whole, more = (
        losses(make, columns | {"w": [1e308, 3e307, third]}, weight_column="w").losses[0]
        for third in (0, 1e308)
    )

    assert whole.weight == pytest.approx(1.3e308)
    assert more.weight == np.inf
    assert [*whole.values, *more.values] == pytest.approx([0, 1 / 2.3])


@pytest.mark.parametrize("count", [0, 101])
def test_an_impossible_number_of_groups_is_refused(make, count: int) -> None:
    with pytest.raises(ExplainError, match=r"\[1, 100\]") as refused:
        losses(make, {"x": [1.0, 2], "y": [1.0, 2]}, group_count=count)

    assert refused.value.field == "methods[0].average_loss.group_count"


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        # The weighted mean of 0, 4, 9 by 2, 1, 1 is 3.25; squares 10.5625, 0.5625, 33.0625.
        (Loss.SQUARED_ERROR, (2 * 10.5625 + 0.5625 + 33.0625) / 4),
        # The median is 0: half of the weight.
        (Loss.ABSOLUTE_ERROR, (4 + 9) / 4),
    ],
)
def test_the_best_constant_worked_by_hand(make, loss: Loss, expected: float) -> None:
    """A row of weight 0 counts nothing."""
    columns = {"x": [1.0, 2, 3, 4], "y": [0.0, 4, 9, 1e6], "w": [2.0, 1, 1, 0]}

    found = losses(make, columns, weight_column="w", loss=loss)

    assert found.constant_losses.tolist() == [pytest.approx(expected)]


@given(
    loss=st.sampled_from(
        [Loss.SQUARED_ERROR, Loss.ABSOLUTE_ERROR, Loss.PINBALL, Loss.MAPE, Loss.POISSON, Loss.GAMMA]
    ),
    actual=arrays(float, (7, 2), elements=st.floats(0.5, 9)),
    weights=arrays(float, 7, elements=st.sampled_from([0.5, 1.0, 3.0])),
    constant=st.floats(0.5, 9),
)
def test_no_constant_is_better_than_the_best(loss, actual, weights, constant) -> None:
    comparison = Comparison(loss=loss)
    other = comparison.average(actual, np.full_like(actual, constant), weights)

    assert (constant_losses(comparison, actual, weights) <= other + 1e-9).all()


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (Loss.AUC, 0.5),
        (Loss.ACCURACY, 0.75),
        (Loss.LOGLOSS, -0.75 * np.log(0.75) - 0.25 * np.log(0.25)),
    ],
)
def test_the_best_constant_of_classes_worked_by_hand(loss: Loss, expected: float) -> None:
    """Three of four rows are of class 0."""
    actual = np.array([[1.0, 0], [1, 0], [1, 0], [0, 1]])
    comparison = Comparison(loss=loss, one_hot_target=True)

    found = constant_losses(comparison, actual, np.ones(4))

    assert found.tolist() == pytest.approx([expected] * len(found))


@given(
    loss=st.sampled_from([Loss.ACCURACY, Loss.BALANCED_ACCURACY, Loss.F1]),
    classes=arrays(int, 9, elements=st.integers(0, 3)),
    weights=arrays(float, 9, elements=st.sampled_from([0.5, 1.0, 3.0])),
)
def test_the_best_constant_of_a_score_is_the_best_single_class(loss, classes, weights) -> None:
    actual = np.eye(4)[classes]
    comparison = Comparison(loss=loss, one_hot_target=True)
    with np.errstate(invalid="ignore"):
        scores = [
            comparison.average(actual, np.broadcast_to(row, actual.shape), weights)
            for row in np.eye(4)
        ]
    best = np.nanmax(scores, axis=0)

    np.testing.assert_allclose(constant_losses(comparison, actual, weights), best, rtol=1e-12)


def test_the_best_constant_of_a_constant_has_no_loss() -> None:
    """The mean of ten times 0.1 is not 0.1 in binary, if it is added up."""
    found = constant_losses(Comparison(loss=Loss.SQUARED_ERROR), np.full((10, 1), 0.1), np.ones(10))

    assert found.tolist() == [0.0]


def test_the_best_constant_of_some_classes_is_one_of_their_rows() -> None:
    """Half of the rows are of no class explained; of the others 2 in 5 are of the first."""
    actual = np.array([[1.0, 0]] * 2 + [[0, 1]] * 3 + [[0, 0]] * 5)
    comparison = Comparison(loss=Loss.MLOGLOSS, one_hot_target=True)

    found = constant_losses(comparison, actual, np.ones(10))

    assert found.tolist() == pytest.approx([-(2 * np.log(0.4) + 3 * np.log(0.6)) / 10])


def test_no_constant_is_known_of_an_expression(make) -> None:
    found = losses(make, {"x": [1.0, 2], "y": [0.0, 4]}, loss_expression="abs(y - p)")

    assert found.constant_losses.size == 0


@given(
    PROBABILITIES,
    arrays(np.float64, 5, elements=st.sampled_from([0.0, 1.0, 2.5])).filter(np.any),
    st.sampled_from([Loss.SQUARED_ERROR, Loss.LOGLOSS, Loss.MLOGLOSS, Loss.ACCURACY]),
    st.booleans(),
)
def test_averages_of_several_predictions_are_those_of_each(predicted, weights, loss, total) -> None:
    comparison = Comparison(loss=loss, sum_outputs=total and loss is Loss.SQUARED_ERROR)
    actual = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])

    together = comparison.averages(actual, list(predicted), weights)

    each = [comparison.average(actual, one, weights) for one in predicted]
    np.testing.assert_allclose(together, each, rtol=1e-12)
