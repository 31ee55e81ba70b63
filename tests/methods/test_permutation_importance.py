"""Permutation importance, on models whose expected increase of the loss is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.permutation_importance import Options, PermutedLoss, Result

RNG = np.random.default_rng(7)
A, B, C = RNG.normal(size=50), RNG.gamma(2.0, size=50), RNG.normal(size=50)
COLUMNS = {"a": A, "b": B, "c": C, "y": 2 * A - B}
QUESTION = ("weight_column", "row_count", "seed", "output_indices", "host", "target_column")
METHOD = ("features", "repeat_count", "normalize")


def linear(a, b, c):
    return 2 * a - b + 0 * c


def answer(make, function=linear, columns=None, **given):
    """Explain a function; `given` holds options of question, method and comparison."""
    question = {"target_column": "y"} | {k: given.pop(k) for k in QUESTION if k in given}
    method = {name: given.pop(name) for name in METHOD if name in given}
    n_outputs = given.pop("n_outputs", 1)
    columns = columns or COLUMNS
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    model = make.model(function, names, ["double"] * len(names), n_outputs=n_outputs)
    options = Options(comparison=Comparison(**given), **method)
    return make.answer(model, make.table(columns), options, **question)


def measure(make, function=linear, columns=None, **given) -> Result:
    result = answer(make, function, columns, **given).explanations[0].result
    assert isinstance(result, Result)
    return result


def named(result: Result) -> dict[str, PermutedLoss]:
    return {" + ".join(one.features): one for one in result.importances}


def numbers(result: Result) -> list[list[float]]:
    return [[*one.values.tolist(), *one.standard_errors.tolist()] for one in result.importances]


def near(one: PermutedLoss, expected: float) -> bool:
    """Tell whether a value is within five standard errors of what is expected."""
    return bool(abs(one.values[0] - expected) <= 5 * one.standard_errors[0])


def test_the_squared_error_grows_by_twice_the_variance_of_the_effect(make) -> None:
    """For x and a shuffled x, the mean of (x − x')² is 2 var(x) on average."""
    found = named(measure(make, repeat_count=400))

    assert near(found["a"], 2 * 4 * A.var())
    assert near(found["b"], 2 * B.var())
    assert found["a"].standard_errors[0] < 0.05 * found["a"].values[0]


def test_a_feature_without_effect_is_worth_exactly_nothing(make) -> None:
    noisy = {**COLUMNS, "y": COLUMNS["y"] + C}

    unused = named(measure(make, columns=noisy, repeat_count=3))["c"]

    assert (unused.values.tolist(), unused.standard_errors.tolist()) == ([0], [0])


def test_a_feature_that_misleads_is_worth_less_than_nothing(make) -> None:
    """For −x against x − mean: (2x)² shrinks to a mean of 2 var(x), from 4 var(x)."""
    x = A - A.mean()

    (found,) = measure(make, lambda x: -x, {"x": x, "y": x}, repeat_count=400).importances

    assert found.values[0] < 0
    assert near(found, -2 * x.var())


def test_features_shuffled_together_keep_what_they_share(make) -> None:
    """Of two equal features, only the difference counts; it never changes."""
    columns = {"a": A, "b": A.copy(), "y": np.zeros(50)}

    found = measure(make, lambda a, b: a - b, columns, features=(("a", "b"), ("a",), ("b",)))

    joint, *alone = found.importances
    assert joint.features == ("a", "b")
    assert (joint.values.tolist(), joint.standard_errors.tolist()) == ([0], [0])
    assert min(one.values[0] for one in alone) > 0.5 * A.var()


def test_all_features_together_are_worth_all_that_they_tell(make) -> None:
    found = measure(make, features=(("a", "b", "c"),), repeat_count=400)

    assert near(found.importances[0], 2 * COLUMNS["y"].var())


# Two rows: a shuffle leaves them, or exchanges them at a loss of (2 · 1)² = 4 in each.
TWO = {"x": [0.0, 1.0], "y": [0.0, 2.0]}


def double(x):
    return 2 * x


def test_the_standard_error_is_that_of_a_mean_over_shuffles(make) -> None:
    """Of m shuffles with a share p of exchanges: 4 √(p (1 − p) / (m − 1))."""
    (found,) = measure(make, double, TWO, repeat_count=50).importances

    share = found.values[0] / 4
    assert share * 50 == pytest.approx(round(share * 50))
    assert 0.2 < share < 0.8
    assert found.standard_errors[0] == pytest.approx(4 * np.sqrt(share * (1 - share) / 49))


def test_one_shuffle_tells_no_standard_error(make) -> None:
    (found,) = measure(make, double, TWO, repeat_count=1).importances

    assert np.isnan(found.standard_errors).all()
    assert np.isfinite(found.values).all()


def test_weights_stay_with_their_rows_and_values_come_from_all(make) -> None:
    """Row 0 alone counts; its value is that of row 1 in half of the shuffles."""
    columns = {"x": [0.0, 1.0], "y": [0.0, 2.0], "w": [1.0, 1e-12]}

    result = measure(make, double, columns, weight_column="w", repeat_count=50)

    assert result.baseline_losses.tolist() == [0]
    share = result.importances[0].values[0] / 4
    assert share * 50 == pytest.approx(round(share * 50))
    assert 0.2 < share < 0.8


def test_rows_of_weight_zero_give_no_values(make) -> None:
    columns = {"x": [0.0, 1.0, 5.0], "y": [0.0, 2.0, 99.0], "w": [1.0, 1.0, 0.0]}

    found = measure(make, double, columns, weight_column="w")

    assert numbers(found) == numbers(measure(make, double, {"x": [0.0, 1], "y": [0.0, 2]}))


def test_weights_count_rows_as_often(make) -> None:
    """Of x in {0, 1} with weights 3 and 1, an exchange costs 4 in either row."""
    columns = TWO | {"w": [3.0, 1.0]}

    weighted = measure(make, double, columns, weight_column="w", repeat_count=50)
    equal = measure(make, double, TWO, repeat_count=50)

    assert numbers(weighted) == numbers(equal)


def test_normalised_values_are_shares_of_the_loss_before(make) -> None:
    off = {**COLUMNS, "y": COLUMNS["y"] + 2}

    plain, shares = measure(make, columns=off), measure(make, columns=off, normalize=True)

    assert plain.baseline_losses == pytest.approx([4])
    assert shares.baseline_losses == pytest.approx([4])
    assert 4 * np.array(numbers(shares)) == pytest.approx(np.array(numbers(plain)))
    assert (plain.normalize, shares.normalize) == (False, True)


@pytest.mark.parametrize(("shift", "size"), [(0.0, "0"), (1e-9, "almost 0")])
def test_shares_of_a_loss_of_zero_are_refused(make, shift: float, size: str) -> None:
    off = {**COLUMNS, "y": COLUMNS["y"] + shift}
    with pytest.raises(ExplainError, match=f"which is {size}; leave normalize out") as refused:
        measure(make, columns=off, normalize=True)

    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_OPTION, "normalize")


def test_shares_of_a_loss_of_zero_are_named_where_other_outputs_have_some(make) -> None:
    def two(a, b):
        return np.stack([a, a + 1], axis=1)

    found = answer(
        make, two, {"a": A, "b": B, "y": A}, n_outputs=2, normalize=True, target_columns=("y", "y")
    )

    (note,) = [note for note in found.notes if note.code == "ZERO_BASELINE"]
    assert "'y0'" in note.message
    assert "'y1'" not in note.message
    values = named(found.explanations[0].result)["a"].values
    assert values[0] == np.inf
    assert np.isfinite(values[1])


X = np.array([0.0, 0.5, 1.0, 0.0])


def test_a_loss_that_is_infinite_before_is_refused_with_its_rows_and_a_cure(make) -> None:
    """By hand: in the rows 0 and 3 the probability of what is true is 0."""
    with pytest.raises(ExplainError) as refused:
        measure(make, lambda x: x, {"x": X, "y": np.ones(4)}, loss=Loss.LOGLOSS)

    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_OPTION, "loss")
    assert (
        "rows 0, 3 (counted from 0) the true class has a predicted probability of 0"
        in refused.value.message
    )
    assert "SQUARED_ERROR" in refused.value.message


def test_the_cures_that_an_infinite_loss_names_are_cures(make) -> None:
    columns = {"x": X, "y": np.ones(4), "w": [0, 1.0, 1, 0]}

    brier = measure(make, lambda x: x, columns)
    without = measure(make, lambda x: x, columns, loss=Loss.LOGLOSS, weight_column="w")

    for result in (brier, without):
        assert np.isfinite(numbers(result)).all()


def test_an_output_whose_loss_is_infinite_before_is_named_where_others_are_not(make) -> None:
    def two(x, _z):
        return np.stack([x, 0 * x + 0.5], axis=1)

    model = make.model(two, ("x", "z"), ["double"] * 2, n_outputs=2)
    table = make.table({"x": X, "z": X, "y": np.ones(4)})
    options = Options(comparison=Comparison(Loss.LOGLOSS, ("y", "y")))

    found = make.answer(model, table, options, target_column="y")

    (note,) = [note for note in found.notes if note.code == "INFINITE_LOSS"]
    assert "outputs 'y0': in rows 0, 3 (counted from 0)" in note.message
    result = found.explanations[0].result
    assert result.baseline_losses.tolist() == [np.inf, pytest.approx(np.log(2))]
    for one in result.importances:
        assert np.isnan(one.values[0])
        assert one.values[1] == 0


def test_a_loss_that_is_infinite_after_shuffling_is_infinite_and_told(make) -> None:
    """By hand: as they are, all probabilities are 1; shuffled, some row gets the other's 0."""
    columns = {"x": [0.0, 1, 0, 1, 0, 1], "z": [1.0, 2, 3, 4, 5, 6], "y": [0.0, 1, 0, 1, 0, 1]}

    found = answer(make, lambda x, z: x + 0 * z, columns, loss=Loss.LOGLOSS)

    importances = named(found.explanations[0].result)
    assert importances["x"].values.tolist() == [np.inf]
    assert importances["z"].values.tolist() == [0]
    (note,) = [note for note in found.notes if note.code == "INFINITE_LOSS"]
    assert "after shuffling of 'x', because" in note.message


def test_a_squared_error_beyond_float64_is_refused(make) -> None:
    columns = {"x": [1e200, 2e200], "y": [0.0, 0.0]}

    with pytest.raises(ExplainError, match="exceeds the range of float64") as refused:
        measure(make, lambda x: x, columns)

    assert "ABSOLUTE_ERROR" in refused.value.message


def test_every_feature_is_shuffled_by_itself_by_default_in_table_order(make) -> None:
    assert list(named(measure(make, repeat_count=1))) == ["a", "b", "c"]


def test_importances_come_in_the_order_asked_for(make) -> None:
    asked = (("c",), ("b", "a"), ("a",))

    assert [one.features for one in measure(make, features=asked).importances] == list(asked)


def test_a_seed_gives_the_same_shuffles_whatever_else_is_asked(make) -> None:
    every = named(measure(make, seed=3))
    alone = named(measure(make, seed=3, features=(("c",), ("b",))))
    other = named(measure(make, seed=4))

    assert every["b"].values.tolist() == alone["b"].values.tolist()
    assert every["b"].standard_errors.tolist() == alone["b"].standard_errors.tolist()
    assert every["b"].values.tolist() != other["b"].values.tolist()


def test_features_are_shuffled_independently(make) -> None:
    """Under one order for all, a − b of equal features would never change."""
    columns = {"a": A, "b": A.copy(), "y": 2 * A}

    found = named(measure(make, lambda a, b: a + b, columns, repeat_count=5))

    assert found["a"].values.tolist() != found["b"].values.tolist()


def test_several_outputs_have_a_number_each_or_their_sum(make) -> None:
    def two(a, b):
        return np.stack([a, 3 * b], axis=1)

    columns = {"a": A, "b": B, "y": A, "z": 3 * B}
    given = {"target_columns": ("y", "z"), "n_outputs": 2, "repeat_count": 200}

    each, total = (measure(make, two, columns, sum_outputs=s, **given) for s in (False, True))

    assert each.output_names == ("y0", "y1")
    assert named(each)["a"].values[1] == 0
    assert named(each)["b"].values[0] == 0
    assert named(each)["b"].values[1] == pytest.approx(18 * B.var(), rel=0.1)
    assert total.output_names == ("total",)
    for name, one in named(total).items():
        assert one.values == pytest.approx([named(each)[name].values.sum()])


def test_equal_rows_with_other_true_values_are_compared_one_by_one(make) -> None:
    columns = {"x": [1.0, 1, 1], "y": [2.0, 3, 5]}

    assert measure(make, double, columns).baseline_losses == pytest.approx([10 / 3])


def test_rows_are_predicted_once_and_once_a_shuffle(make) -> None:
    found = answer(make, features=(("a",), ("b", "c")), repeat_count=6)

    assert found.predicted_row_count == 50 * (1 + 2 * 6)


def test_ten_thousand_rows_are_drawn_unless_another_number_is_asked_for(make) -> None:
    x = np.arange(10_050.0)
    columns = {"x": x, "y": 2 * x}

    drawn = answer(make, double, columns, repeat_count=1)
    fewer = answer(make, double, columns, repeat_count=1, row_count=20)

    assert drawn.predicted_row_count == 20_000
    assert fewer.predicted_row_count == 40
    assert fewer.explanations[0].result.baseline_losses == [0], "each row with its own true value"


def test_asked_again_it_predicts_nothing_and_says_the_same(make) -> None:
    host = make.host()

    first = answer(make, host=host, repeat_count=3)
    again = answer(make, host=host, repeat_count=3)

    assert (first.predicted_row_count, again.predicted_row_count) == (50 * 10, 0)
    assert numbers(again.explanations[0].result) == numbers(first.explanations[0].result)
    assert (first.cache_miss_count, again.cache_hit_count) == (4, 4)
    assert again.cache_miss_count == 0


def test_what_is_asked_anew_is_all_that_is_predicted(make) -> None:
    host = make.host()
    given: Any = {"host": host, "columns": COLUMNS | {"y": A}, "repeat_count": 3}
    answer(make, features=(("a",),), **given)

    more = answer(make, features=(("a",), ("b",)), **given)
    shares = answer(make, features=(("a",), ("b",)), normalize=True, **given)

    assert (more.predicted_row_count, shares.predicted_row_count) == (50 * 3, 0)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"seed": 1}, id="seed"),
        pytest.param({"repeat_count": 5}, id="repetitions"),
        pytest.param({"loss": Loss.ABSOLUTE_ERROR}, id="loss"),
        pytest.param({"target_column": "z"}, id="target"),
        pytest.param({"target_columns": ("z",)}, id="target of the method"),
        pytest.param({"features": (("a", "b"),)}, id="features"),
        pytest.param({"weight_column": "w"}, id="weights"),
        pytest.param({"columns": "other true values"}, id="true values"),
        pytest.param({"columns": "other values"}, id="values"),
    ],
)
def test_another_question_has_an_answer_of_its_own(make, changed: dict[str, Any]) -> None:
    """Not that of the question before, which the cache holds."""
    columns = {**COLUMNS, "z": COLUMNS["y"] ** 2, "w": B}
    other = {
        "other true values": {**columns, "y": columns["y"] + 1},
        "other values": {**columns, "a": A * 2},
    }
    asked: Any = {"features": (("a",),), "repeat_count": 3} | changed
    asked["columns"] = other.get(asked.get("columns"), columns)
    host = make.host()
    answer(make, columns=columns, host=host, features=(("a",),), repeat_count=3)

    found = answer(make, host=host, **asked).explanations[0].result

    assert numbers(found) == numbers(measure(make, **asked))


def test_equal_rows_of_other_numbers_have_an_answer_of_their_own(make) -> None:
    """A row of weight 0 before all others gives them other numbers, and so other shuffles."""
    columns: Any = {**COLUMNS, "w": np.ones(len(A))}
    later = {name: np.insert(np.asarray(values), 0, 0.0) for name, values in columns.items()}
    asked: Any = {"features": (("a",),), "repeat_count": 3, "weight_column": "w"}
    host = make.host()
    first = measure(make, columns=columns, host=host, **asked)

    found = measure(make, columns=later, host=host, **asked)

    assert numbers(found) == numbers(measure(make, columns=later, **asked))
    assert numbers(found) != numbers(first)


def test_another_output_has_an_answer_of_its_own(make) -> None:
    def two(a, b):
        return np.stack([a, 3 * b], axis=1)

    host, given = make.host(), {"columns": {"a": A, "b": B, "y": A}, "n_outputs": 2}

    found = [
        answer(make, two, host=host, output_indices=(k,), **given).explanations[0].result
        for k in (0, 1)
    ]

    assert named(found[0])["a"].values[0] > 0
    assert named(found[1])["a"].values[0] == 0


@pytest.mark.parametrize(
    ("given", "reason", "field", "message"),
    [
        ({"features": (("a",), ("q",))}, Reason.UNKNOWN_FEATURE, "features[1].names", "'q'"),
        ({"features": (("a", "a"),)}, Reason.INVALID_OPTION, "features[0].names", "twice"),
        ({"features": ((),)}, Reason.UNKNOWN_FEATURE, "features[0].names", "no feature"),
        ({"repeat_count": 0}, Reason.INVALID_OPTION, "repeat_count", r"\[1, 1000\]"),
        ({"repeat_count": 1001}, Reason.INVALID_OPTION, "repeat_count", r"\[1, 1000\]"),
        ({"target_columns": ("q",)}, Reason.MISSING_COLUMN, "target_columns", "'q'"),
    ],
)
def test_what_is_impossible_is_refused(
    make, given, reason: Reason, field: str, message: str
) -> None:
    with pytest.raises(ExplainError, match=message) as refused:
        answer(make, **given)

    assert refused.value.reason is reason
    assert refused.value.field == f"methods[0].permutation_importance.{field}"


def test_a_model_that_breaks_on_shuffled_rows_is_named(make) -> None:
    columns = {"a": [1.0, 2, 3, 4], "b": [1.0, 2, 3, 4], "y": [1.0, 1, 1, 1]}

    def ratio(a, b):
        return np.where(a == b, 1.0, np.inf)

    with pytest.raises(ExplainError, match="not finite for shuffled rows") as refused:
        measure(make, ratio, columns)

    assert refused.value.reason is Reason.NON_FINITE_PREDICTION
