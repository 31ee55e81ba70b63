"""Counts to vectors, and what is read off them."""

import numpy as np
import pytest
from onnxplain_server.methods.feature_vectors import geometry
from onnxplain_server.methods.feature_vectors.embedding import embed
from scipy import sparse
from sklearn.decomposition import TruncatedSVD


def counts(size: int, seed: int = 0) -> np.ndarray:
    """Make symmetric counts with a zero diagonal and two kinds of features."""
    random = np.random.default_rng(seed)
    weight = random.uniform(1, 50, size)
    kind = random.integers(0, 2, size)
    mean = np.outer(weight, weight) * np.where(kind[:, None] == kind, 0.3, 1.0) / 50
    upper = np.triu(random.poisson(mean), 1)
    return upper + upper.T


def test_agrees_with_scikit_learn() -> None:
    matrix = counts(40)
    theirs = TruncatedSVD(2, algorithm="arpack", random_state=0)
    expected = theirs.fit_transform(matrix.astype(float))

    found = embed(sparse.csr_array(matrix), 2)

    assert found.vectors @ found.vectors.T == pytest.approx(expected @ expected.T, rel=1e-6)
    assert found.singular_values[:2] == pytest.approx(theirs.singular_values_)
    assert found.variance_ratio == pytest.approx(theirs.explained_variance_ratio_.sum())


def test_a_feature_near_no_other_is_a_row_of_the_variance_too() -> None:
    """scikit-learn's ratio is that of all columns; one of zeros moves their means."""
    matrix = np.pad(counts(20), ((0, 5), (0, 5)))
    theirs = TruncatedSVD(2, algorithm="arpack", random_state=0).fit(matrix.astype(float))

    found = embed(sparse.csr_array(matrix), 2)

    assert found.variance_ratio == pytest.approx(theirs.explained_variance_ratio_.sum())


@pytest.mark.parametrize("size", [12, 330])
def test_runs_are_no_mirror_images_of_each_other(size: int) -> None:
    """The first component is not negative, the cubes of each further one have a positive sum."""
    for seed in range(8):
        vectors = embed(sparse.csr_array(counts(size, seed)), 4).vectors

        assert (vectors[:, 0] > -1e-9).all()
        assert ((vectors[:, 1:] ** 3).sum(axis=0) > 0).all()


def test_cubes_that_cancel_leave_the_sign_to_the_largest_entry() -> None:
    """The second direction of [[0, 5], [5, 0]] is (1, -1), whose cubes add up to 0."""
    vectors = embed(sparse.csr_array(np.array([[0, 5], [5, 0]])), 2).vectors

    assert vectors[0, 1] == pytest.approx(5 / np.sqrt(2))


def test_the_same_counts_give_the_same_bits() -> None:
    """Also where a few eigenvalues are sought, from a start that is no chance."""
    matrix = sparse.csr_array(counts(350))

    once, again = (embed(matrix, 2).vectors for _ in range(2))

    assert np.array_equal(once, again)


def test_the_gap_is_the_last_singular_value_used_over_the_next() -> None:
    """Pairs that meet 8, 4 and 1 times have the singular values 8, 8, 4, 4, 1 and 1."""
    matrix = np.zeros((6, 6))
    for pair, times in enumerate((8, 4, 1)):
        matrix[2 * pair, 2 * pair + 1] = matrix[2 * pair + 1, 2 * pair] = times

    gaps = [embed(sparse.csr_array(matrix), dimensions).gap for dimensions in (2, 3, 4, 6)]

    assert gaps == pytest.approx([2, 1, 4, np.inf])


def test_many_features_give_the_same_by_another_solver() -> None:
    """Above 300 features only a few eigenvalues are sought; numpy finds them all."""
    matrix = counts(350)
    values, columns = np.linalg.eigh(matrix.astype(float))
    order = np.argsort(-np.abs(values))[:2]
    expected = columns[:, order] * np.abs(values[order])

    found = embed(sparse.csr_array(matrix), 2)

    assert found.vectors @ found.vectors.T == pytest.approx(expected @ expected.T, abs=1e-6)


def test_two_features_that_only_meet_each_other_are_at_right_angles() -> None:
    """[[0, 5], [5, 0]] has the eigenvalues 5 and -5 at (1, 1) and (1, -1), by hand."""
    found = embed(sparse.csr_array(np.array([[0, 5], [5, 0]])), 2)

    assert geometry.norms(found.vectors) == pytest.approx([5, 5])
    assert found.singular_values.tolist() == pytest.approx([5, 5])
    assert geometry.between(found.vectors)[0, 1] == pytest.approx(90)
    assert (found.vectors[:, 0] > 0).all()


def test_exchangeable_features_have_one_direction() -> None:
    """Features 0 and 1 meet 2, 3 and 4 in the same proportions, and not each other."""
    row = np.array([0, 0, 6, 3, 9])
    matrix = np.zeros((5, 5))
    matrix[0], matrix[1] = row, row / 3
    matrix = matrix + matrix.T

    found = embed(sparse.csr_array(matrix), 2)

    assert geometry.between(found.vectors)[0, 1] == pytest.approx(0, abs=1e-5)
    assert geometry.norms(found.vectors)[0] == pytest.approx(3 * geometry.norms(found.vectors)[1])


def synonyms(within: int, across: int) -> np.ndarray:
    """Two pairs: how often the two of a pair meet each other, and how often any of the others."""
    matrix = np.full((4, 4), across)
    matrix[:2, :2] = matrix[2:, 2:] = within
    np.fill_diagonal(matrix, 0)
    return matrix


def test_synonyms_that_meet_seldom_have_one_direction() -> None:
    """By hand: swapping them leaves 5 + 2·8 and 5 - 2·8, and turns two -5 around."""
    apart = geometry.between(embed(sparse.csr_array(synonyms(5, 8)), 2).vectors)

    assert [apart[0, 1], apart[2, 3]] == pytest.approx([0, 0], abs=1e-5)
    assert apart[0, 2] > 50


def test_synonyms_that_meet_often_drift_apart() -> None:
    """The two -8 that swapping turns around outweigh 8 - 2·5."""
    found = embed(sparse.csr_array(synonyms(8, 5)), 2)

    apart = geometry.between(found.vectors)
    assert found.singular_values[:4] == pytest.approx([18, 8, 8, 2])
    assert max(apart[0, 1], apart[2, 3]) > 20


@pytest.mark.parametrize("size", [30, 330])
def test_the_order_of_features_changes_nothing(size: int) -> None:
    matrix = counts(size, seed=1)
    order = np.random.default_rng(2).permutation(size)

    found = embed(sparse.csr_array(matrix), 3).vectors
    shuffled = embed(sparse.csr_array(matrix[np.ix_(order, order)]), 3).vectors

    assert shuffled == pytest.approx(found[order], abs=1e-6)


def test_a_feature_near_no_other_has_a_vector_of_exactly_0() -> None:
    matrix = counts(10)
    matrix[3] = matrix[:, 3] = 0

    vectors = embed(sparse.csr_array(matrix), 2).vectors

    assert vectors[3].tolist() == [0, 0]
    assert np.isnan(geometry.angles(vectors)).nonzero()[0].tolist() == [3]


def test_twice_the_counts_give_vectors_twice_as_long() -> None:
    once, twice = (embed(sparse.csr_array(k * counts(12)), 2) for k in (1, 2))

    assert twice.vectors == pytest.approx(2 * once.vectors)
    assert twice.variance_ratio == pytest.approx(once.variance_ratio)


def test_angles_are_counted_from_the_first_dimension() -> None:
    vectors = np.array([[2.0, 0], [0, 3], [-1, 0], [1, -1]])

    assert geometry.angles(vectors).tolist() == pytest.approx([0, 90, 180, -45])
    assert geometry.difference(np.array([170.0]), np.array([-170.0])).tolist() == [-20]


def directions(*degrees: float) -> np.ndarray:
    radians = np.radians(degrees)
    return np.column_stack([np.cos(radians), np.sin(radians)])


def test_groups_are_features_of_one_direction() -> None:
    vectors = directions(50, 0, 52, 4, -80) * [[1], [1], [1], [1], [0.01]]
    chosen = geometry.important(vectors, 0.05)

    assert chosen.tolist() == [0, 1, 2, 3]
    assert geometry.groups(vectors, chosen, 10.0).tolist() == [1, 2, 1, 2, 0]
    assert geometry.groups(vectors, chosen, 180.0).tolist() == [1, 1, 1, 1, 0]


def test_what_is_long_enough_is_a_share_of_the_longest() -> None:
    vectors = directions(0, 30, 60) * [[1000], [51], [49]]

    assert geometry.important(vectors, 0.05).tolist() == [0, 1]


def test_neighbors_are_the_nearest_in_direction() -> None:
    vectors = directions(0, 30, 40, 100)

    near = geometry.neighbors(vectors, np.arange(4), 2)

    assert [positions.tolist() for positions, _ in near] == [[1, 2], [2, 0], [1, 0], [2, 1]]
    assert near[0][1] == pytest.approx([30, 40])
