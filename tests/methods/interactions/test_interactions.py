"""Interaction statistics, on cases worked by hand, by hstats, or by their definition."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.methods import interactions
from onnxplain_server.methods.interactions import Options, Statistic
from onnxplain_server.methods.resampling import Resampling

NAN = float("nan")


def grid(*names: str, values=(-1.0, 1.0)) -> dict[str, Any]:
    """Every combination of the values once: features are balanced and independent."""
    rows = list(product(values, repeat=len(names)))
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def measure(
    make,
    function,
    columns,
    weights=None,
    *,
    n_outputs: int = 1,
    rounding: float = 2.0**-53,
    **given,
) -> interactions.Result:
    options = interactions.resolve(Options(**given), tuple(columns), "p")
    engine = make.engine(function, columns, weights, n_outputs=n_outputs, rounding=rounding)
    return interactions.compute(engine.effects, options, 0)


def shown(statistics) -> dict[str, list[float]]:
    return {":".join(s.features): s.values.tolist() for s in statistics}


# From hstats 1.2.2, with
#   X <- data.frame(x1 = c(1, 1, 1, 2), x2 = c(0, 0, 2, 1), x3 = c(2, 2, 1, 4))
#   f <- function(model, rows) rows$x1 + rows$x2 * sqrt(rows$x3)
#   print(h2_pairwise(hstats(NULL, X = X, pred_fun = f, w = w, verbose = FALSE)), digits = 10)
ROWS = {"x1": [1.0, 1, 1, 2], "x2": [0.0, 0, 2, 1], "x3": [2.0, 2, 1, 4]}


def with_root(x1, x2, x3):
    return x1 + x2 * np.sqrt(x3)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        pytest.param(None, 0.078125, id="equal weights"),
        pytest.param([0, 1, 2, 3], 0.1010093008, id="weights 0 to 3"),
        pytest.param([2, 0, 1, 1], 0.078125, id="one of two equal rows weighs as both"),
        pytest.param([5, 5, 5, 5], 0.078125, id="equal weights of 5"),
    ],
)
def test_agrees_with_hstats(make, weights, expected: float) -> None:
    found = measure(make, with_root, ROWS, weights)

    assert shown(found.pairwise)["x2:x3"] == pytest.approx([expected])
    assert shown(found.pairwise)["x1:x2"] == [0]
    assert shown(found.pairwise)["x1:x3"] == [0]


def test_effects_that_add_up_have_exactly_no_interaction(make) -> None:
    random = np.random.default_rng(0)
    columns = {name: random.normal(size=30) for name in "abc"}

    found = measure(make, lambda a, b, c: np.exp(a) - 3 * b + np.sin(c), columns)

    assert found.total.values.tolist() == [0]
    assert shown(found.overall) == {"a": [0], "b": [0], "c": [0]}
    assert shown(found.pairwise) == {"a:b": [0], "a:c": [0], "b:c": [0]}
    assert min(s.values[0] for s in found.importance) > 0.01


def test_a_product_of_two_worked_by_hand(make) -> None:
    """On {0, 1}²: ab − a/2 − b/2 + 1/4 = (a − 1/2)(b − 1/2), of mean square 1/16."""
    found = measure(make, lambda a, b: a * b, grid("a", "b", values=(0.0, 1.0)))

    assert found.mean_squares == pytest.approx([3 / 16])
    (pair,) = found.pairwise
    for statistic in (found.total, *found.overall, pair):
        assert statistic.numerators == pytest.approx([1 / 16])
        assert statistic.denominators == pytest.approx([3 / 16])
        assert statistic.values == pytest.approx([1 / 3])
    # f − F_b = b (a − 1/2), of mean square 1/8.
    assert [s.numerators[0] for s in found.importance] == pytest.approx([1 / 8, 1 / 8])


def test_a_product_of_three_worked_by_hand(make) -> None:
    """On {0, 1}³, by the variances of orthogonal parts: 1/64 for each subset of features."""
    found = measure(
        make,
        lambda a, b, c: a * b * c,
        grid("a", "b", "c", values=(0.0, 1.0)),
        threeway_feature_count=3,
    )

    assert found.mean_squares == pytest.approx([7 / 64])
    assert found.total.values == pytest.approx([4 / 7])
    assert [s.values[0] for s in found.overall] == pytest.approx([3 / 7] * 3)
    assert [s.values[0] for s in found.importance] == pytest.approx([4 / 7] * 3)
    assert [s.values[0] for s in found.pairwise] == pytest.approx([1 / 3] * 3)
    assert [s.denominators[0] for s in found.pairwise] == pytest.approx([3 / 64] * 3)
    (triple,) = found.threeway
    assert triple.features == ("a", "b", "c")
    assert triple.numerators == pytest.approx([1 / 64])
    assert triple.denominators == pytest.approx([7 / 64])


def test_pairs_are_no_interaction_of_three(make) -> None:
    found = measure(
        make, lambda a, b, c: a * b + b * c + a * c, grid("a", "b", "c"), threeway_feature_count=3
    )

    assert shown(found.threeway) == {"a:b:c": [0]}
    assert shown(found.pairwise) == {"a:b": [1], "a:c": [1], "b:c": [1]}


def test_of_two_features_every_statistic_says_the_same(make) -> None:
    random = np.random.default_rng(3)
    columns = {"a": random.normal(size=25), "b": random.normal(size=25)}

    found = measure(make, lambda a, b: np.sin(a * b) + a, columns, random.random(25))

    value = found.total.values[0]
    assert 0.1 < value < 1
    assert [s.values[0] for s in found.overall] == pytest.approx([value, value])
    assert found.pairwise[0].values == pytest.approx([value])


def centred(values, weights):
    return values - np.average(values, axis=0, weights=weights)


def defined(function, rows, weights, moved: tuple[int, ...]):
    """Partial dependence at the rows, centred: slow, obvious, shared with no one."""
    effect = []
    for row in rows:
        hybrid = rows.copy()
        hybrid[:, moved] = row[list(moved)]
        effect.append(np.average(function(*hybrid.T), axis=0, weights=weights))
    return centred(np.array(effect), weights)


@given(
    rows=st.lists(
        st.tuples(*[st.sampled_from([-1.0, 0.0, 0.5, 2.0])] * 4), min_size=2, max_size=8
    ).map(np.array),
    weights=st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=8, max_size=8),
    subset=st.sampled_from([("a", "b", "c", "d"), ("a", "b", "d"), ("b", "c")]),
    seed=st.integers(0, 99),
)
def test_every_statistic_equals_its_definition(
    make, rows, weights: list[float], subset: tuple[str, ...], seed: int
) -> None:
    w = np.array([1.0, *weights[1 : len(rows)]])
    sides = np.random.default_rng(seed).normal(size=(2, 4))

    def function(*columns):
        return np.sin(3 * np.stack(columns, axis=1) @ sides.T)

    def mean(values):
        return np.average(values**2, axis=0, weights=w)

    columns = dict(zip("abcd", rows.T, strict=True))
    found = measure(
        make,
        function,
        columns,
        w,
        n_outputs=2,
        features=subset,
        threeway_feature_count=4,
        absolute_threshold=1e-13,
    )

    wanted = ["abcd".index(name) for name in subset]
    F = {s: defined(function, rows, w, s) for k in range(5) for s in combinations(range(4), k)}
    f = centred(function(*rows.T), w)
    expected = {"": mean(f - sum(F[j,] for j in wanted))}
    for j in wanted:
        others = F[tuple(i for i in range(4) if i != j)]
        expected["abcd"[j]] = mean(f - F[j,] - others)
        expected["importance " + "abcd"[j]] = mean(f - others)
    for j, k in combinations(wanted, 2):
        expected["abcd"[j] + "abcd"[k]] = mean(F[j, k] - F[j,] - F[k,])
    for j, k, m in combinations(wanted, 3):
        pairs = F[j, k] + F[j, m] + F[k, m]
        pure = F[j, k, m] - pairs + F[j,] + F[k,] + F[m,]
        expected["".join("abcd"[i] for i in (j, k, m))] = mean(pure)

    assert found.mean_squares == pytest.approx(mean(f), abs=1e-12)
    for statistic in (found.total, *found.overall, *found.pairwise, *found.threeway):
        name = "".join(statistic.features)
        if (statistic.denominators == 1).all() and len(name) > 1:
            continue  # Not computed, because a feature does not interact.
        assert statistic.numerators == pytest.approx(expected[name], abs=1e-12)
        moved = tuple("abcd".index(letter) for letter in name)
        whole = F[moved] if len(name) > 1 else f
        assert statistic.denominators == pytest.approx(mean(whole), abs=1e-12)
    for statistic in found.importance:
        name = "importance " + statistic.features[0]
        assert statistic.numerators == pytest.approx(expected[name], abs=1e-12)


def chosen(*a):
    """3 bd + 2 bc: b interacts most, then d, then c; a not at all."""
    return 3 * a[1] * a[3] + 2 * a[1] * a[2] + a[0]


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, []),
        (1, []),
        (2, ["b:d"]),
        (3, ["b:c", "b:d", "c:d"]),
        (4, ["a:b", "a:c", "a:d", "b:c", "b:d", "c:d"]),
        (100, ["a:b", "a:c", "a:d", "b:c", "b:d", "c:d"]),
    ],
)
def test_the_features_that_interact_most_are_paired_in_table_order(
    make, count: int, expected: list[str]
) -> None:
    found = measure(make, chosen, grid(*"abcd"), pairwise_feature_count=count)

    assert list(shown(found.pairwise)) == expected


def test_features_that_do_not_interact_pad_the_list_and_are_not_computed(make) -> None:
    """Only c and d interact; a is the first that does not."""
    found = measure(make, lambda a, b, c, d: a + b + c * d, grid(*"abcd"), pairwise_feature_count=3)

    assert list(shown(found.pairwise)) == ["a:c", "a:d", "c:d"]
    assert [s.numerators.tolist() for s in found.pairwise] == [[0], [0], [1]]
    assert [s.denominators.tolist() for s in found.pairwise] == [[1], [1], [1]]


def test_padding_costs_nothing(make) -> None:
    counts = []
    for count in (2, 4):
        engine = make.engine(lambda a, b, c, d: a + b + c * d, grid(*"abcd"))
        options = Options(tuple("abcd"), pairwise_feature_count=count)
        interactions.compute(engine.effects, options, 0)
        counts.append(engine.model.predicted)

    assert counts[0] == counts[1]


def test_equally_strong_features_are_chosen_in_table_order(make) -> None:
    found = measure(make, lambda a, b, c, d: a * b + c * d, grid(*"abcd"), pairwise_feature_count=2)

    assert list(shown(found.pairwise)) == ["a:b"]


def test_of_each_output_so_many_features_are_chosen(make) -> None:
    found = measure(
        make,
        lambda a, b, c, d: np.stack([9 * a * b + c, c * d], axis=1),
        grid(*"abcd"),
        n_outputs=2,
        pairwise_feature_count=2,
    )

    values = shown(found.pairwise)
    assert list(values) == ["a:b", "a:c", "a:d", "b:c", "b:d", "c:d"]
    assert values["a:b"] == [1, 0]
    assert values["c:d"] == [0, 1]
    assert [s.numerators.tolist() for s in (found.pairwise[0], found.pairwise[5])] == [
        [81, 0],
        [0, 1],
    ]


def test_strength_in_one_output_does_not_outweigh_another_output(make) -> None:
    """Not normalised, and chosen for each output apart: units may differ."""
    found = measure(
        make,
        lambda a, b, c, d: np.stack([1e6 * a * b, a + b * d + 0.1 * c * d], axis=1),
        grid(*"abcd"),
        n_outputs=2,
        pairwise_feature_count=2,
    )

    assert list(shown(found.pairwise)) == ["a:b", "a:d", "b:d"]


@pytest.mark.parametrize(
    ("pairwise", "threeway", "expected"),
    [
        (4, 0, []),
        (4, 2, []),
        (4, 3, ["a:b:c"]),
        (3, 50, ["a:b:c"]),
        (2, 3, []),
        (4, 4, ["a:b:c", "a:b:d", "a:c:d", "b:c:d"]),
    ],
)
def test_triples_are_of_so_many_features_and_never_more_than_pairs(
    make, pairwise: int, threeway: int, expected: list[str]
) -> None:
    found = measure(
        make,
        lambda a, b, c, d: a * b * c + d,
        grid(*"abcd"),
        pairwise_feature_count=pairwise,
        threeway_feature_count=threeway,
    )

    assert list(shown(found.threeway)) == expected
    numerators = [s.numerators[0] for s in found.threeway]
    assert numerators == ([1] + [0] * (len(expected) - 1) if expected else [])


def test_features_left_out_stay_part_of_the_model(make) -> None:
    found = measure(make, lambda a, b, c: a * c + b, grid("a", "b", "c"), features=("a", "b"))

    assert list(shown(found.overall)) == ["a", "b"]
    assert shown(found.overall) == {"a": [0.5], "b": [0]}
    assert found.total.values.tolist() == [0.5]
    assert shown(found.pairwise) == {"a:b": [0]}


def slightly(offset: float, slope: float, share: float):
    """A model on ±1 whose numerators are share²: offset + slope · a + share · ab."""
    return lambda a, b: offset + slope * a + share * a * b


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize(
    ("offset", "slope", "limit"),
    [
        pytest.param(0, 1, 1e-5, id="a share of 1e-10 of the mean square"),
        pytest.param(1, 0.01, 4 * 2.0**-24 * 1.01, id="float32 rounding of the largest"),
        pytest.param(-1, 0.01, 4 * 2.0**-24 * 1.01, id="largest, whatever its sign"),
    ],
)
def test_numerators_that_may_be_rounding_count_as_nothing(
    make, unit: float, offset: float, slope: float, limit: float
) -> None:
    below, above = (
        measure(
            make,
            slightly(offset * unit, slope * unit, factor * limit * unit),
            grid("a", "b"),
            rounding=2.0**-24,
        )
        for factor in (0.99, 1.01)
    )

    assert below.total.numerators.tolist() == [0]
    assert shown(below.overall) == {"a": [0], "b": [0]}
    expected = pytest.approx([(1.01 * limit * unit) ** 2], rel=1e-3, abs=0)
    assert above.total.numerators == expected
    assert above.pairwise[0].numerators == expected


@pytest.mark.parametrize("base", [0.0, 1e5, -1e9])
def test_a_large_number_in_all_predictions_hides_nothing_in_float64(make, base: float) -> None:
    """By hand: on ±1, b + 0.01 ab has the numerator 1e-4, whatever is added to it."""
    found = measure(make, lambda a, b: base + b + 0.01 * a * b, grid("a", "b"))

    assert found.total.numerators == pytest.approx([1e-4], rel=1e-3)
    assert found.notes == ()


def test_what_float32_may_hide_is_told_where_it_is_hidden(make) -> None:
    """By hand: 0.01 is below 4 · 2^-24 · 1e5 = 0.024, and its square 1e-4 of 1.0001."""
    found = measure(make, lambda a, b: 1e5 + b + 0.01 * a * b, grid("a", "b"), rounding=2.0**-24)

    assert found.total.numerators.tolist() == [0]
    (note,) = found.notes
    assert note.code == "BELOW_THRESHOLD"
    assert note.message.startswith("overall 'a', importance 'a', overall 'b', total: reported as 0")
    assert "up to 0.0001 of the mean square" in note.message


@pytest.mark.parametrize(("share", "is_told"), [(0.9e-3, False), (1.1e-3, True)])
def test_what_is_negligible_is_not_told(make, share: float, is_told: bool) -> None:
    """A thousandth of the standard deviation is the border."""
    found = measure(make, slightly(0, 1, share), grid("a", "b"), absolute_threshold=0.1)

    assert [note.code for note in found.notes] == ["BELOW_THRESHOLD"] * is_told
    assert all("lower it" in note.message for note in found.notes)


@pytest.mark.parametrize("base", [0.0, 1e5, 1e9])
@pytest.mark.parametrize("n", [20, 700])
def test_effects_that_add_up_have_none_whatever_is_added_to_all(make, base: float, n: int) -> None:
    random = np.random.default_rng(n)
    columns = {name: random.normal(size=n) for name in "abc"}

    found = measure(make, lambda a, b, c: base + np.exp(a) - 3 * b + np.sin(c), columns)

    assert found.total.values.tolist() == [0]
    assert shown(found.overall) == {"a": [0], "b": [0], "c": [0]}
    assert found.notes == ()


@pytest.mark.parametrize(
    ("threshold", "expected"), [(0.0, 0.25), (0.2, 0.25), (0.25, 0.25), (0.2500001, 0.0)]
)
def test_an_absolute_threshold_counts_what_is_below_as_nothing(
    make, threshold: float, expected: float
) -> None:
    found = measure(make, slightly(0, 1, 0.5), grid("a", "b"), absolute_threshold=threshold)

    numerators = [s.numerators[0] for s in (found.total, *found.overall, *found.pairwise)]
    assert numerators == [expected] * 4
    assert found.importance[0].numerators.tolist() == [1.25]
    assert found.importance[1].numerators.tolist() == [expected]


def test_the_unit_of_the_predictions_does_not_matter(make) -> None:
    """An absolute threshold of 1e-10 would see no interaction in the smaller unit."""
    usual = measure(make, with_root, ROWS, threeway_feature_count=3)

    for unit in (1e-6, 1e-3, 1e3):
        scaled = measure(make, lambda *x, u=unit: u * with_root(*x), ROWS, threeway_feature_count=3)
        assert scaled.total.values == pytest.approx(usual.total.values)
        for order in ("overall", "pairwise", "threeway", "importance"):
            for one, other in zip(getattr(usual, order), getattr(scaled, order), strict=True):
                assert other.values == pytest.approx(one.values)
                if (one.numerators > 0).all():
                    assert other.numerators == pytest.approx(
                        unit**2 * one.numerators, rel=1e-9, abs=0
                    )


def test_shifting_the_predictions_changes_nothing(make) -> None:
    usual, shifted = (
        measure(make, lambda *x, c=c: with_root(*x) + c, ROWS, threeway_feature_count=3)
        for c in (0.0, 100.0)
    )

    for one, other in zip(usual.pairwise, shifted.pairwise, strict=True):
        assert other.numerators == pytest.approx(one.numerators, abs=1e-12)
        assert other.denominators == pytest.approx(one.denominators)


@pytest.mark.parametrize("constant", [0.0, 0.1, -1e9])
def test_a_model_that_says_always_the_same_has_no_interactions(make, constant: float) -> None:
    found = measure(make, lambda a, _b: 0 * a + constant, grid("a", "b", values=(1.0, 2.0, 3.0)))

    assert found.total.values.tolist() == [0]
    for statistic in (*found.overall, *found.importance, *found.pairwise):
        assert statistic.values.tolist() == [0]


def test_an_output_that_is_constant_leaves_the_others_as_they_are(make) -> None:
    found = measure(
        make,
        lambda *x: np.stack([with_root(*x), 0 * x[0] + 0.3], axis=1),
        ROWS,
        n_outputs=2,
    )

    assert shown(found.pairwise)["x2:x3"] == pytest.approx([0.078125, 0])


def test_a_model_that_predicts_nan_gets_no_answer(make) -> None:
    with pytest.raises(ExplainError, match="not finite"):
        measure(make, lambda a, b: a * b + NAN, grid("a", "b"))


def test_a_share_of_what_does_not_vary_is_0_and_nan_stays() -> None:
    statistic = Statistic((), np.array([0.0, 1.0, NAN, 1.0]), np.array([0.0, 4.0, 1.0, 0.0]))

    np.testing.assert_array_equal(statistic.values, [0, 0.25, NAN, 0])


def test_dense_numbers_of_the_chosen_features_become_bin_midpoints(make) -> None:
    columns: dict[str, Any] = {
        "a": np.arange(9.0),
        "b": np.arange(9.0),
        "whole": np.arange(9.0),
        "few": np.arange(9.0) % 2,
        "text": [f"t{i}" for i in range(9)],
    }
    types = ["double", "double", "int64", "double", "string"]
    features = make.engine(lambda *_: 0, columns, types=types).background.features
    options = Options(("a", "whole", "few", "text"), quantile_bin_count=3)

    found = interactions.approximate(features, options).columns

    # Thirds of 0 to 8: 0, 8/3, 16/3, 8.
    np.testing.assert_allclose(found[0], np.repeat([4 / 3, 4, 20 / 3], 3))
    assert found[1].tolist() == list(range(9))
    assert found[2].tolist() == [1, 1, 1, 4, 4, 4, 7, 7, 7]
    assert found[3].tolist() == columns["few"].tolist()
    assert found[4].tolist() == columns["text"]


def test_without_bins_features_are_as_they_are(make) -> None:
    features = make.engine(lambda *_: 0, grid("a", "b")).background.features

    assert interactions.approximate(features, Options(("a", "b"))) is features


COLUMNS_OF_THREE = {"a": [0.1, 1.7, 2.3, 3.1], "b": [5.0, 6.0, 7.0, 8.0], "c": [1.0, 3.0, 2.0, 0.3]}


def test_a_feature_that_the_model_does_not_use_has_numerators_of_exactly_zero(make) -> None:
    engine = make.engine(
        lambda a, _b, c: a * c + a, COLUMNS_OF_THREE, [1.0, 2.0, 0.7, 1.3], without={0: [1]}
    )

    found = interactions.compute(
        engine.effects, Options(("a", "b", "c"), absolute_threshold=0.0), 0
    )

    assert found.overall[1].numerators.tolist() == [0]
    assert found.importance[1].numerators.tolist() == [0]
    assert [s.numerators[0] == 0 for s in found.pairwise] == [True, False, True]
    # The rows; a and c at 3 further values each; both together, which leaves but one row.
    assert engine.model.predicted == 4 + 2 * 4 * 3 + 4


def weak_pair(make, seed: int, rows: int = 100) -> interactions.Result:
    """Effects of a and b are weak beside the product of a and c: H² of a and b is 1/2."""
    random = np.random.default_rng(seed)
    columns = {
        "a": random.normal(size=rows),
        "b": np.repeat([0.0, 1.0], rows // 2),
        "c": random.normal(size=rows),
    }
    return measure(
        make,
        lambda a, b, c: a * c + 0.05 * a * b,
        columns,
        resampling=Resampling(50, confidence_level=0.9),
    )


def test_intervals_of_weak_pairs_allow_for_the_chance_in_what_they_divide_by(make) -> None:
    """By the ratio alone, most of these 90 % intervals miss the truth."""
    found = [weak_pair(make, seed) for seed in range(10)]

    pairs = [next(s for s in result.pairwise if s.features == ("a", "b")) for result in found]
    spreads = [pair.spread for pair in pairs if pair.spread]
    inside = [spread.lower[0] <= 0.5 <= spread.upper[0] for spread in spreads]
    warned = ["'a' × 'b'" in note.message for r in found for note in r.notes]
    assert sum(inside) >= 9
    assert sum(warned) >= 8
    assert {note.code for result in found for note in result.notes} == {"WEAK_EFFECT"}


def test_pairs_of_strong_effects_keep_their_intervals_without_a_warning(make) -> None:
    random = np.random.default_rng(1)
    columns = {name: random.normal(size=100) for name in "abc"}

    found = measure(make, lambda a, b, c: a * b + a + np.exp(c), columns, resampling=Resampling(50))

    assert found.notes == ()


def web(*features):
    """Five features that all act together a little, and two that act together more."""
    little = sum(first * second for first, second in combinations(features[:5], 2))
    return 0.8 * little + 1.2 * features[5] * features[6] + sum(features)


@pytest.mark.parametrize("count", [10, 24], ids=["as many as a screen takes", "more"])
@pytest.mark.parametrize("seed", range(3))
def test_strongest_pair_is_found_though_its_features_do_not_interact_most(
    make, seed: int, count: int
) -> None:
    random = np.random.default_rng(seed)
    signs = random.choice([-1, 1], size=(count, 120))
    columns = {f"x{j}": own + random.normal(size=120) / 99 for j, own in enumerate(signs)}

    found = measure(make, web, columns)

    overall = sorted(found.overall, key=lambda s: -s.numerators[0])
    assert not {"x5", "x6"} & {s.features[0] for s in overall[:5]}
    assert max(found.pairwise, key=lambda s: s.numerators[0]).features == ("x5", "x6")
    assert len(found.pairwise) == 10


def test_strongest_pair_is_found_though_it_acts_in_few_rows(make) -> None:
    random = np.random.default_rng(0)
    columns = {f"x{j}": random.normal(size=300) for j in range(9)}

    def rare(*features):
        little = sum(first * second for first, second in combinations(features[:5], 2))
        return 0.1 * little + 20.0 * (features[7] > 2.2) * (features[8] > 0)

    found = measure(make, rare, columns)

    assert max(found.pairwise, key=lambda s: s.numerators[0]).features == ("x7", "x8")


def test_all_pairs_are_measured_where_they_cost_little(make) -> None:
    columns = grid(*"abcdefgh")

    found = measure(make, lambda *features: np.prod(features, axis=0), columns)

    assert len(found.pairwise) == 28
