"""Co-occurrence counts of features on decision paths."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.methods.feature_vectors.cooccurrence import (
    CountingUnit,
    Rule,
    count,
    counted_paths,
)
from onnxplain_server.methods.feature_vectors.paths import Paths, of_children, of_sentences

SENTENCES = st.lists(st.lists(st.integers(0, 4), max_size=7), min_size=1, max_size=8)
PER_PATH = CountingUnit.PER_PATH


def slowly(sentences: Sequence[Sequence[int]], rule: Rule) -> np.ndarray:
    """Follow the definition, one path and one window at a time."""
    found: Counter[tuple[int, ...]] = Counter()
    for sentence in sentences:
        if len(sentence) < rule.min_split_count:
            continue
        if rule.counting is PER_PATH:
            pairs = [
                tuple(sorted((sentence[p], sentence[q])))
                for p, q in combinations(range(len(sentence)), 2)
                if q - p < rule.window
            ]
        else:
            starts = range(max(len(sentence) - rule.window, 0) + 1)
            windows = [sentence[start : start + rule.window] for start in starts]
            pairs = [p for w in windows for p in {tuple(sorted(p)) for p in combinations(w, 2)}]
        found.update(pairs)
    matrix = np.zeros((5, 5), dtype=int)
    for (i, j), times in found.items():
        if i != j or rule.fill_diagonal:
            matrix[i, j] += times
            matrix[j, i] += times
    return matrix


def forest(seed: int) -> tuple[Paths, list[list[int]]]:
    """Grow random trees, and write their paths down one by one."""
    random = np.random.default_rng(seed)
    trees, sentences = [], []
    for _ in range(5):
        left, right, column = [-1], [-1], [-2]
        on_path: list[list[int]] = [[]]
        for node in range(25):
            if node >= len(left) or (node and random.random() < 0.3):
                continue
            column[node] = int(random.integers(5))
            left[node], right[node] = len(left), len(left) + 1
            on_path += [[*on_path[node], column[node]]] * 2
            left, right, column = [*left, -1, -1], [*right, -1, -1], [*column, -2, -2]
        trees.append((np.array(left), np.array(right), np.array(column)))
        sentences += [path for path, child in zip(on_path, left, strict=True) if child < 0]
    return of_children(trees, np.arange(5), 5), sentences


def test_the_paper_counts_four_windows_with_x1_and_x3() -> None:
    """Figure 1: x1 x3 x2, x1 x3 x1, and x1 x3 x1 with x3 x1 x4 in the longest path."""
    paths = of_sentences([[0, 2, 1], [0, 2, 0], [0, 2, 0, 3]], 4)

    assert count(paths, Rule()).toarray()[0, 2] == 4


@pytest.mark.parametrize("fill", [False, True])
@pytest.mark.parametrize("counting", list(CountingUnit))
@given(sentences=SENTENCES, window=st.integers(2, 8), shortest=st.integers(0, 4))
def test_counts_are_those_of_the_definition(
    sentences: list[list[int]], window: int, shortest: int, counting: CountingUnit, fill: bool
) -> None:
    rule = Rule(window, counting, fill, shortest)

    found = count(of_sentences(sentences, 5), rule).toarray()

    assert found.tolist() == slowly(sentences, rule).tolist()


@pytest.mark.parametrize("counting", list(CountingUnit))
@pytest.mark.parametrize("seed", range(4))
def test_trees_count_as_their_paths_do_one_by_one(seed: int, counting: CountingUnit) -> None:
    paths, sentences = forest(seed)
    rule = Rule(3, counting)

    assert len(paths) == len(sentences)
    assert count(paths, rule).toarray().tolist() == slowly(sentences, rule).tolist()


def test_a_path_that_counts_twice_is_two_paths() -> None:
    sentences = [[0, 1, 2], [2, 3], [4, 0, 1, 3]]
    doubled = count(of_sentences([*sentences, sentences[2]], 5), Rule())

    weighted = count(of_sentences(sentences, 5), Rule(), np.array([1, 1, 2]))

    assert weighted.toarray().tolist() == doubled.toarray().tolist()


def test_a_path_that_counts_for_nothing_is_none() -> None:
    found = count(of_sentences([[0, 1], [2, 3]], 5), Rule(), np.array([1, 0]))

    assert found.nnz == 2


def test_splits_on_other_features_keep_their_places() -> None:
    """Of 0 9 1, without 9, 0 and 1 are as far apart as before: two steps."""
    paths = of_sentences([[0, 2, 1]], 3).of_features(np.array([0, 1]))

    assert count(paths, Rule(window=2)).nnz == 0
    assert count(paths, Rule(window=3)).toarray().tolist() == [[0, 1], [1, 0]]


def test_order_of_paths_does_not_matter() -> None:
    paths, sentences = forest(7)
    random = np.random.default_rng(0)
    shuffled = [sentences[i] for i in random.permutation(len(sentences))]

    found = count(of_sentences(shuffled, 5), Rule())

    assert found.toarray().tolist() == count(paths, Rule()).toarray().tolist()


@pytest.mark.parametrize("least", [0, 1, 2, 4, 9])
def test_paths_that_count_are_those_not_shorter_than_the_least(least: int) -> None:
    paths, sentences = forest(4)
    weights = np.random.default_rng(1).integers(0, 3, len(sentences))
    kept = [len(sentence) >= least for sentence in sentences]
    trees = {tree for tree, w, k in zip(paths.tree, weights, kept, strict=True) if w and k}

    assert counted_paths(paths, Rule(min_split_count=least))[0] == sum(kept)
    found = counted_paths(paths, Rule(min_split_count=least), weights)
    assert found == (int(weights[np.array(kept)].sum()), len(trees))
