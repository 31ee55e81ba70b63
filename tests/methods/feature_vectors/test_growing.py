"""Forests grown to be read."""

from typing import Any

import numpy as np
import pytest
from onnxplain_server.methods.feature_vectors.encoding import encode
from onnxplain_server.methods.feature_vectors.growing import LearningTask, fit, grow
from onnxplain_server.methods.feature_vectors.options import Growth


def task(function, n: int = 300, d: int = 5, seed: int = 0) -> LearningTask:
    values = np.random.default_rng(seed).normal(size=(n, d))
    return LearningTask(encode(tuple(values.T)), function(values)[:, None], np.ones(n), False, d)


def additive(values: np.ndarray) -> np.ndarray:
    return np.asarray(values[:, 0] + values[:, 1] * (values[:, 2] > 0))


def test_trees_are_grown_until_there_are_paths_enough(run) -> None:
    grown = grow(task(additive), 4, 1_000, 0, run).paths

    fewer = np.bincount(grown.tree)[:-1].sum()
    assert fewer < 1_000 <= len(grown)


def test_paths_are_those_of_scikit_learns_trees(run) -> None:
    """Depth 1: each path is one split, on the feature that the stump splits on."""
    lesson = task(lambda values: values[:, 3])
    random = np.random.default_rng((7, 0))
    expected = [int(lesson.tree(1, random).tree_.feature[0]) for _ in range(16)]

    paths = grow(lesson, 1, 32, 7, run).paths

    assert paths.feature[paths.parent[paths.leaf]][::2].tolist() == expected


def test_a_split_looks_at_some_features_only(run) -> None:
    """3 of 5, so a tree splits on the only one that matters where it can look at it."""
    paths = grow(task(lambda values: values[:, 3]), 1, 2_000, 0, run).paths

    share = np.mean(paths.feature[paths.parent[paths.leaf]] == 3)
    assert share == pytest.approx(3 / 5, abs=0.06)


def test_each_tree_is_grown_on_rows_drawn_anew() -> None:
    """With one column to split on, trees of the same rows would have the same threshold."""
    lesson, random = task(lambda values: values[:, 0], d=1), np.random.default_rng(0)

    thresholds = {float(lesson.tree(1, random).tree_.threshold[0]) for _ in range(20)}

    assert len(thresholds) > 5


def test_rows_of_weight_0_teach_nothing(run) -> None:
    """In half of the rows column 0 tells the target, but only the others count."""
    lesson = task(lambda values: values[:, 3])
    counts = np.arange(300) % 2 == 0
    target = np.where(counts[:, None], lesson.target, 100 * lesson.rows.values[:, :1])
    weighted = LearningTask(lesson.rows, target, counts * 1.0, False, 5)

    paths = grow(weighted, 1, 400, 0, run).paths

    share = np.mean(paths.feature[paths.parent[paths.leaf]] == 3)
    assert share == pytest.approx(3 / 5, abs=0.15)


def test_the_number_of_threads_changes_nothing(run) -> None:
    def backwards(function, parts) -> list[Any]:
        return [function(part) for part in reversed(list(parts))][::-1]

    one, other = (grow(task(additive), 3, 2_000, 1, how).paths for how in (run, backwards))

    assert np.array_equal(one.feature, other.feature)
    assert np.array_equal(one.parent, other.parent)


def test_another_seed_grows_another_forest(run) -> None:
    one, other = (grow(task(additive), 3, 500, seed, run).paths for seed in (0, 1))

    assert not np.array_equal(one.feature[:100], other.feature[:100])


def test_text_is_split_on_as_the_column_that_it_is(run) -> None:
    random = np.random.default_rng(0)
    kind = random.choice(["red", "green", "blue"], 300).astype(object)
    number = random.normal(size=300)
    rows = encode((number, kind))
    target = ((kind == "red") + number)[:, None]

    paths = grow(LearningTask(rows, target, np.ones(300), False, 2), 3, 500, 0, run).paths

    assert rows.column_of.tolist() == [0, 1, 1, 1]
    assert set(paths.feature.tolist()) == {-1, 0, 1}


def test_a_column_of_two_words_is_one_column() -> None:
    rows = encode((np.array(["no", "yes", "no"], dtype=object),))

    assert rows.values.tolist() == [[0], [1], [0]]


def test_rare_words_share_the_absence_of_all_others() -> None:
    words = np.array([f"w{i}" for i in range(70)] + [f"w{i}" for i in range(60)], dtype=object)

    rows = encode((words,))

    assert rows.values.shape[1] == 64
    assert rows.values.sum() == 60 * 2 + 4


@pytest.mark.parametrize(
    "numbers", [1e160 * np.arange(6.0), 2.0**60 + np.arange(6) * 2.0**10, 1e-60 * np.arange(6.0)]
)
def test_numbers_that_float32_holds_for_one_are_told_apart(numbers) -> None:
    rows = encode((np.append(numbers, np.nan),))

    assert (np.diff(rows.values[:-1, 0]) > 0).all()
    assert np.isnan(rows.values[-1, 0])


def test_missing_and_infinite_numbers_can_be_learned_from(run) -> None:
    values = np.random.default_rng(0).normal(size=200)
    values[:50], values[50:60] = np.nan, np.inf
    rows = encode((values, np.arange(200.0)))

    paths = grow(
        LearningTask(rows, np.isnan(values)[:, None] * 1.0, np.ones(200), False, 2), 2, 200, 0, run
    )

    assert len(paths.paths) >= 200


def test_one_threshold_is_told_almost_wholly(run) -> None:
    fitted = fit(task(lambda values: (values[:, 0] > 0) * 1.0, d=1), Growth(), run)

    assert fitted.fidelity > 0.95


@pytest.mark.slow
def test_trees_are_as_deep_as_tells_most_of_other_rows(run) -> None:
    """A straight line is told the better the finer; of a step under noise, all else is noise."""
    noise = np.random.default_rng(5).normal(size=300)

    fine = fit(task(lambda values: values[:, 0], d=1), Growth(), run)
    coarse = fit(task(lambda values: (values[:, 0] > 0) + noise, d=1), Growth(), run)

    assert fine.depth >= 6
    assert coarse.depth <= 3


def test_fidelity_is_the_mean_over_folds(run) -> None:
    """Told on rows held out, so a line is not told wholly, and folds differ."""
    lesson = task(lambda values: values[:, 0] * values[:, 1], n=60)
    scores: list[list[float]] = []

    def kept(function, parts) -> list[Any]:
        scores.append(run(function, parts))
        return scores[-1]

    fitted = fit(lesson, Growth(depth=4), kept)

    assert len(set(scores[0])) == 3
    assert fitted.fidelity == pytest.approx(np.mean(scores[0]))


@pytest.mark.slow
def test_noise_cannot_be_told(run) -> None:
    noise = np.random.default_rng(5).normal(size=300)

    fitted = fit(task(lambda _values: noise), Growth(), run)

    assert fitted.fidelity < 0.1


def test_fidelity_to_classes_is_the_share_that_is_told(run) -> None:
    rows = encode(tuple(np.random.default_rng(0).normal(size=(2, 300))))
    names = np.where(rows.values[:, 0] > 0, "up", "down")

    fitted = fit(LearningTask(rows, names, np.ones(300), True, 2), Growth(depth=3), run)

    assert fitted.depth == 3
    assert 0.95 < fitted.fidelity <= 1


@pytest.mark.parametrize("weight", [2.0, 0.5])
def test_the_unit_of_weights_changes_nothing(run, weight: float) -> None:
    lesson = task(additive)
    heavier = LearningTask(lesson.rows, lesson.target, weight * lesson.weights, False, 5)

    one, other = (grow(each, 3, 500, 0, run).paths for each in (lesson, heavier))

    assert np.array_equal(one.feature, other.feature)


def test_each_row_asked_for_ends_one_path_of_each_tree(run) -> None:
    lesson = task(additive)

    grown = grow(lesson, 4, 500, 0, run, lesson.rows.take(np.array([3, 3, 9])))

    assert grown.visits is not None
    per_tree = np.bincount(grown.paths.tree, grown.visits)
    assert per_tree.tolist() == [3] * grown.paths.tree_count


def test_two_rows_are_enough_to_choose_a_depth(run) -> None:
    """There are no three parts to leave out."""
    assert fit(task(additive, n=2), Growth(), run).depth >= 1
