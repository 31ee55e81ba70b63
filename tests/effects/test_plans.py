"""Plans of rows: an upper bound at every moment, which falls as the engine learns more."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain_server.core.arrays import Vector
from onnxplain_server.methods import interactions, swarm
from onnxplain_server.methods.interactions.measurement_plan import Plan
from onnxplain_server.methods.resampling import Resampling

NAMES = "abcdefgh"
RANDOM = np.random.default_rng(4)
ROWS = {name: RANDOM.normal(size=60) for name in NAMES}


def products(*columns: Vector):
    return sum(columns[i] * columns[i + 1] for i in range(len(columns) - 1))


def progress_of(
    make, function, columns, *methods, n_outputs: int = 1, **question
) -> list[tuple[float, float]]:
    """Explain, and return what was told on the way: rows done and planned."""
    host = make.host()
    names = tuple(name for name in columns if name != "target")
    model = make.model(function, names, ["double"] * len(names), n_outputs=n_outputs)
    answer = make.answer(model, make.table(columns), *methods, host=host, **question)
    progress = [step for step in host.progress if step[1]]
    plans = [planned for _, planned in progress]
    assert plans == sorted(plans, reverse=True)
    assert all(done <= planned for done, planned in progress)
    assert progress[-1] == (answer.predicted_row_count, answer.predicted_row_count)
    return progress


def test_pairs_of_features_with_few_values_are_planned_by_their_values(make) -> None:
    n = 60
    columns = {name: RANDOM.integers(0, 3, n) * 1.0 for name in NAMES[:-1]}
    columns["h"] = RANDOM.normal(size=n)

    options = interactions.Options(pairwise_feature_count=5)
    (_, planned), *_ = progress_of(make, products, columns, options)

    # Two features of 3 values have 9 pairs of values; with the dense one, they have n.
    assert planned == n + (7 * 3 + n) * n + (6 * 9 + 4 * n) * n


def test_groups_of_features_are_planned_by_their_values(make) -> None:
    """Done are as many rows as the rows have combinations of values, which the plan falls to."""
    n = 60
    columns = {name: RANDOM.integers(0, 3, n) * 1.0 for name in NAMES[:-1]}
    columns["h"] = RANDOM.normal(size=n)

    options = interactions.Options(
        groups=(("a", "b"), ("c", "d", "e")), pairwise_feature_count=5, threeway_feature_count=3
    )
    (_, planned), *_ = progress_of(make, products, columns, options)

    # Groups of two and three features of 3 values have 9 and 27, any two of which have n.
    pairs = [27, 27, *[n] * 5, 9, n, n]
    triples = [n]
    assert planned == n + (9 + 27 + 2 * 3 + n) * n + (sum(pairs) + sum(triples)) * n


def test_the_plan_falls_while_features_drop_out_of_the_pairs(make) -> None:
    """Both classes choose the same 2 features of 8, which nobody knows at the start."""

    def both(*columns: Vector):
        score = columns[0] * columns[1]
        return np.stack([score, 1 - score], axis=1)

    options = interactions.Options(pairwise_feature_count=2)
    progress = progress_of(make, both, ROWS, options, n_outputs=2)

    n = len(ROWS["a"])
    singles = n + 8 * n * n
    assert progress[0][1] == singles + 6 * n * n
    while_singles = {planned for done, planned in progress if done < singles}
    assert len(while_singles) > 1
    assert min(while_singles) <= singles + 3 * n * n
    assert progress[-1][1] == singles + n * n


def test_rows_that_differ_in_moved_features_only_are_not_planned_once_that_is_known(
    make,
) -> None:
    columns = {name: RANDOM.integers(0, 4, 60) * 1.0 for name in "abc"}

    progress = progress_of(make, products, columns, interactions.Options())

    assert progress[-1][1] < progress[0][1]


@pytest.mark.parametrize("knot_count", [0, 5])
def test_plans_of_any_mixture_of_features_hold(make, knot_count: int) -> None:
    columns = {
        name: RANDOM.integers(0, 2 + 3 * i, 40) * 1.0 if i < 5 else RANDOM.normal(size=40)
        for i, name in enumerate(NAMES)
    }
    options = interactions.Options(threeway_feature_count=3, knot_count=knot_count)

    progress_of(make, products, columns, options)


@pytest.mark.parametrize("search", [swarm.Search.PUBLISHED, swarm.Search.DIFFERENTIAL_EVOLUTION])
def test_weights_that_were_tried_before_leave_the_plan_at_once(make, search) -> None:
    def chances(*columns: Vector):
        first = 1 / (1 + np.exp(-20 * columns[0]))
        return np.stack([1 - first, first], axis=1)

    table = {"a": ROWS["a"], "b": ROWS["b"]}
    table["target"] = np.array(["y0", "y1"], dtype=object)[(ROWS["a"] > 0).astype(int)]
    # Wide steps lead to an end of the weights soon, where particles meet.
    options = swarm.Options(
        search=search, search_settings=swarm.SearchSettings(velocity_limit=10.0)
    )

    progress = progress_of(make, chances, table, options, n_outputs=2, target_column="target")

    assert len({planned for _, planned in progress}) > 3


def test_as_many_pairs_are_planned_as_an_engine_counts_rows_for(make) -> None:
    """Trees count each pair as one row of the background, and not as its square."""

    class Counted:
        output_names = ("y",)

        def cost(self, features, n_points: int | None = None) -> int:
            return 100

    assert Plan((0, 1, 2, 3), 3, 3, None).joint_bound(Counted()) == 100 * (3 + 1)  # type: ignore[arg-type]


def test_resampled_rows_are_planned_once_for_a_black_box(make) -> None:
    options = interactions.Options(resampling=Resampling(repeat_count=20))

    progress_of(make, products, ROWS, options)
