"""Interchangeable features: by hand, by laws, and where the truth is known."""

import importlib.util
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from onnxplain_server.methods.feature_vectors.cooccurrence import Rule
from onnxplain_server.methods.feature_vectors.growing import Fit
from onnxplain_server.methods.feature_vectors.interchange import (
    Interchange,
    compare,
    similarity_order,
    split_pairs,
    stable_pairs,
)
from onnxplain_server.methods.feature_vectors.options import Options, PathSource
from onnxplain_server.methods.feature_vectors.paths import of_sentences
from onnxplain_server.methods.feature_vectors.result import PathCounts, embed_counts, finish
from scipy import sparse

STUDY = Path(__file__).parents[3] / "bench/accuracy/interchangeable.py"


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("interchangeable", STUDY)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["interchangeable"] = module
    spec.loader.exec_module(module)
    return module


def of_counts(counts: np.ndarray) -> Interchange:
    return compare(sparse.csr_array(counts), np.arange(len(counts)))


def split(counts: np.ndarray, feature: int, share: float) -> np.ndarray:
    """Hand the splits of a feature out to itself, with this share, and a copy, the last one."""
    shares = np.eye(len(counts), len(counts) + 1)
    shares[feature, [feature, -1]] = share, 1 - share
    return np.asarray(shares.T @ counts @ shares)


def drawn(size: int, seed: int = 0) -> np.ndarray:
    """Symmetric counts far from independence."""
    half = np.random.default_rng(seed).integers(1, 100, (size, size))
    return np.asarray(half + half.T, dtype=np.float64)


def test_pairs_of_splits_are_counted_by_hand() -> None:
    """Path a b a c, window 3: ab, aa, ba, bc, ac; each in both orders."""
    counts = split_pairs(of_sentences([[0, 1, 0, 2]], 3), Rule()).toarray()

    assert counts.tolist() == [[2, 2, 1], [2, 0, 1], [1, 1, 0]]


def test_similarity_and_lift_are_those_of_the_definition() -> None:
    """Another program: residuals written out, rows by numpy's cosine."""
    counts = drawn(6)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=1)) / counts.sum()
    residuals = (counts - expected) / np.sqrt(expected)
    unit = residuals / np.linalg.norm(residuals, axis=1, keepdims=True)

    found = of_counts(counts)

    assert found.similarity == pytest.approx(unit @ unit.T)
    assert found.lift == pytest.approx(counts / expected)
    diagonal = np.diag(counts / expected) + 0.05
    assert found.over_own == pytest.approx(
        (counts / expected + 0.05) / np.sqrt(np.outer(diagonal, diagonal))
    )


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_a_feature_handed_out_to_two_gives_a_pair(share: float) -> None:
    """A law: what is split in two has proportional rows, whatever the shares."""
    counts = drawn(6)
    counts[2, 2] = 5

    found = of_counts(split(counts, 2, share))

    assert found.similarity[2, 6] == pytest.approx(1)
    assert found.lift[2, 6] == pytest.approx(found.lift[2, 2])
    assert found.over_own[2, 6] == pytest.approx(1)
    assert [(pair.first, pair.second) for pair in stable_pairs(found, [])] == [(2, 6)]


def test_counts_of_independent_features_have_no_similarity() -> None:
    """By hand: counts are what independence gives, so that nothing is left to compare."""
    found = of_counts(np.outer([1.0, 2, 3, 4], [1.0, 2, 3, 4]))

    assert np.isnan(found.similarity).all()
    assert found.lift == pytest.approx(np.ones((4, 4)))
    assert stable_pairs(found, []) == ()


def test_features_that_meet_more_often_than_by_chance_are_no_pair() -> None:
    """Alike, but complements: lift 2 where 1.04 is the most."""
    counts = np.kron(np.eye(2), np.ones((2, 2))) * 10

    found = of_counts(counts)

    assert found.similarity[0, 1] == pytest.approx(1)
    assert found.lift[0, 1] == pytest.approx(2)
    assert stable_pairs(found, []) == ()


def test_similarity_does_not_change_with_the_number_of_trees() -> None:
    counts = drawn(6)

    assert of_counts(7 * counts).similarity == pytest.approx(of_counts(counts).similarity)


def test_a_pair_must_hold_in_half_of_the_repetitions() -> None:
    counts = drawn(6)
    counts[2, 2] = 5
    found = of_counts(split(counts, 2, 0.5))
    never = np.zeros_like(found.holds)

    (pair,) = stable_pairs(found, [found.holds, never])
    assert pair.repeat_share == 0.5
    assert stable_pairs(found, [found.holds, never, never]) == ()


def test_features_that_are_not_compared_have_no_number() -> None:
    found = compare(sparse.csr_array(drawn(5)), np.array([0, 2, 3]))

    assert np.isnan(found.whole[1]).all()
    assert np.isfinite(found.whole[np.ix_([0, 2, 3], [0, 2, 3])]).all()


def test_similar_features_stand_side_by_side_and_those_without_numbers_last() -> None:
    close = np.array([[1, 0.1, 0.9, np.nan], [0.1, 1, 0.2, np.nan], [0.9, 0.2, 1, np.nan]])
    order = similarity_order(np.vstack([close, np.full(4, np.nan)])).tolist()

    assert order[-1] == 3
    assert abs(order.index(0) - order.index(2)) == 1


@pytest.mark.parametrize(
    ("fit", "is_boosted", "count", "reason"),
    [
        (Fit(3, 0.51), False, 7, ""),
        (Fit(3, 0.49), False, 7, "the fidelity of the surrogate forest is only 0.49"),
        (None, True, 7, "the model's trees are boosted"),
        (None, False, 3, "fewer than 4 features have too few neighbours"),
    ],
)
def test_no_pair_is_told_where_the_rule_does_not_apply(
    fit: Fit | None, is_boosted: bool, count: int, reason: str
) -> None:
    counts = split(drawn(count - 1), 0, 0.5)
    counts[np.ix_([0, -1], [0, -1])] = 1
    matrix = sparse.csr_array(counts.round().astype(int))
    options = Options(PathSource.LABELS, tuple(f"x{j}" for j in range(count)))
    trunk = PathCounts(matrix, matrix, 100, 10, fit, is_boosted=is_boosted)

    result = finish(options, trunk, embed_counts(matrix, options))

    assert result.no_pairs_reason == reason
    assert bool(result.interchangeable) == (not reason)


@pytest.mark.slow
def test_few_independent_features_and_nearly_all_copies_are_told(study) -> None:
    """Ten tables, and trees such as the method grows to compare features.

    The figures of all kinds of forests are in docs/studies/feature-vectors.md.
    """
    kind = study.random_forest(320, max_features="sqrt", max_depth=6)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        run = lambda function, parts: list(pool.map(function, parts))  # noqa: E731
        scores = [
            study.score(kind, table, number, run)
            for number, table in enumerate(study.tables(2024).values())
        ]

    wrong, independent, right, copies = np.sum(scores, axis=0)
    assert len(scores) == 10
    assert wrong / independent <= 0.05
    assert right / copies >= 0.9
