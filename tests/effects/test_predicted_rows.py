"""Number of rows that the black-box engine predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def rows(n: int, width: int) -> dict[str, Any]:
    random = np.random.default_rng(1)
    return {f"x{j}": random.permutation(n).astype(float) for j in range(width)}


def total(*columns):
    return np.sum([np.asarray(c, float) for c in columns], axis=0)


@pytest.mark.parametrize(("n", "width"), [(21, 3), (40, 4), (150, 2)])
def test_all_distinct_rows_cost_n_times_n_for_each_feature_and_n_once(
    make, n: int, width: int
) -> None:
    engine = make.engine(total, rows(n, width))

    engine.effects.outputs()
    list(engine.effects.single(range(width)))

    assert engine.model.predicted == width * n * n + n
    assert engine.ledger.predicted == engine.model.predicted


@pytest.mark.parametrize("n_levels", [1, 2, 5, 20])
def test_a_coarse_feature_costs_its_values_less_the_one_that_each_row_has(
    make, n_levels: int
) -> None:
    n = 60
    columns = {"coarse": np.arange(n) % n_levels, "fine": np.arange(n)}
    engine = make.engine(total, columns)
    engine.effects.outputs()

    list(engine.effects.single([0]))

    assert engine.model.predicted == n + n * (n_levels - 1)


def test_a_feature_of_some_values_costs_n_for_each(make) -> None:
    n, n_levels = 60, 30
    engine = make.engine(total, {"some": np.arange(n) % n_levels, "fine": np.arange(n)})

    list(engine.effects.single([0]))

    assert engine.model.predicted == n * n_levels


def test_rows_that_differ_in_the_moved_feature_only_are_predicted_once_for_each_point(
    make,
) -> None:
    n, apart = 60, 4
    engine = make.engine(total, {"x": np.arange(n), "y": np.arange(n) % apart})

    list(engine.effects.single([0]))

    assert engine.model.predicted == n * apart


def test_the_cheaper_of_two_savings_is_used(make) -> None:
    """Merged apart from x, 60 rows are 20: 3 · 20, where skipping known values asks 2 · 60."""
    n = 60
    engine = make.engine(total, {"x": np.arange(n) % 3, "y": np.arange(n) // 3})
    engine.effects.outputs()

    list(engine.effects.single([0]))

    assert engine.model.predicted - n == 3 * 20


def test_pairs_merge_rows_that_differ_in_both_features_only(make) -> None:
    n, apart = 60, 3
    columns = {"x": np.arange(n), "y": np.arange(n) // 2, "z": np.arange(n) % apart}
    engine = make.engine(total, columns)
    list(engine.effects.single([0, 1, 2]))
    before = engine.model.predicted

    list(engine.effects.joint([(0, 1)]))

    assert engine.model.predicted - before == n * apart


def test_a_pair_of_few_values_costs_only_rows_that_differ_in_both(make) -> None:
    n = 60
    columns = {"x": np.arange(n) % 2, "y": np.arange(n) % 3, "z": np.arange(n)}
    engine = make.engine(total, columns)
    list(engine.effects.single([0, 1]))
    before = engine.model.predicted

    list(engine.effects.joint([(0, 1)]))

    # Of 60 rows, 30 have the value of x, 20 that of y, 10 both; in 6 combinations.
    assert engine.model.predicted - before == 6 * (60 - 30 - 20 + 10)


def test_a_pair_with_few_reusable_rows_is_predicted_in_full(make) -> None:
    """Only a third: less than it takes to put the others together."""
    n = 60
    columns = {"x": np.arange(n) % 4, "y": np.arange(n) % 6, "z": np.arange(n)}
    engine = make.engine(total, columns)
    list(engine.effects.single([0, 1]))
    before = engine.model.predicted

    list(engine.effects.joint([(0, 1)]))

    # Remainders by 4 and 6 occur together in 12 combinations out of 24.
    assert engine.model.predicted - before == 12 * n


def test_two_valued_features_cost_n_for_each_group_of_any_size(make) -> None:
    """Only the rows that differ in all features of the group are new: one in 2, 4, 8."""
    n = 64
    columns = {f"b{bit}": np.arange(n) >> bit & 1 for bit in range(3)} | {"z": np.arange(n)}
    engine = make.engine(total, columns)
    engine.effects.outputs()
    groups: list[list[tuple[int, ...]]] = [
        [(0,), (1,), (2,)],
        [(0, 1), (0, 2), (1, 2)],
        [(0, 1, 2)],
    ]
    predicted = [engine.model.predicted]

    list(engine.effects.single([0, 1, 2]))
    predicted.append(engine.model.predicted)
    for joints in groups[1:]:
        list(engine.effects.joint(joints))
        predicted.append(engine.model.predicted)

    assert np.diff(predicted).tolist() == [n * len(of_one_size) for of_one_size in groups]


def test_a_pair_with_a_feature_of_many_values_is_predicted_in_full(make) -> None:
    n = 60
    columns = {"b": np.arange(n) % 2, "many": np.arange(n), "z": np.arange(n) * 2.0}
    engine = make.engine(total, columns)
    list(engine.effects.single([0, 1]))
    before = engine.model.predicted

    list(engine.effects.joint([(0, 1)]))

    assert engine.model.predicted - before == n * n


def test_equal_rows_are_predicted_once(make) -> None:
    once = make.engine(total, rows(30, 2))
    columns = {name: np.tile(values, 3) for name, values in rows(30, 2).items()}
    thrice = make.engine(total, columns)

    for engine in (once, thrice):
        engine.effects.outputs()
        list(engine.effects.single([0, 1]))

    assert thrice.model.predicted == once.model.predicted


def test_rows_of_weight_zero_are_not_predicted(make) -> None:
    engine = make.engine(total, rows(30, 2), np.arange(30) % 2)

    engine.effects.outputs()

    assert engine.model.predicted == 15


def test_values_that_are_equal_for_the_model_are_one_value(make) -> None:
    """Near 2^24, float32 tells only every second whole number apart."""
    values = 2.0**24 + np.arange(0, 60)
    engine = make.engine(total, {"x": values, "y": np.arange(60)}, types=["float", "float"])

    list(engine.effects.single([0]))

    assert engine.model.predicted == 60 * len(np.unique(values.astype(np.float32)))


def test_missing_values_are_one_value(make) -> None:
    n = 60
    x = np.where(np.arange(n) % 2, np.nan, np.arange(n))
    engine = make.engine(total, {"x": x, "y": np.arange(n)})

    assert [len(levels) for levels in engine.background.levels] == [n // 2 + 1, n]


def test_a_curve_costs_its_distinct_points(make) -> None:
    engine = make.engine(total, rows(30, 2))

    engine.effects.curve([0], [np.array([1.0, 2.0, 1.0, 1.0])])

    assert engine.model.predicted == 2 * 30


def test_the_rows_are_predicted_once(make) -> None:
    engine = make.engine(total, rows(30, 2))

    for _ in range(3):
        engine.effects.outputs()

    assert engine.model.predicted == 30
