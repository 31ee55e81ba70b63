"""Order in which similar items stand together."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.core.arrays import Matrix
from onnxplain_server.plots.matrices.seriation import seriate
from scipy.cluster import hierarchy


def symmetric(numbers: list[float]) -> Matrix:
    """Fill the largest matrix that has no more pairs than there are numbers."""
    n = int((1 + np.sqrt(1 + 8 * len(numbers))) / 2)
    similarities = np.zeros((n, n))
    for number, (i, j) in zip(numbers, itertools.combinations(range(n), 2), strict=False):
        similarities[i, j] = similarities[j, i] = number
    return similarities


def lazy_length(order: tuple[int, ...], similarities: Matrix) -> float:
    """Follow the definition, with the largest similarity minus similarity as dissimilarity."""
    n = len(order)
    steps = [similarities.max() - similarities[i, j] for i, j in itertools.pairwise(order)]
    return float(sum((n - 1 - k) * step for k, step in enumerate(steps)))


Cluster = tuple[int, ...]


def allowed_orders(similarities: Matrix) -> list[Cluster]:
    """List the orders in which clusters are contiguous; joins by means over all pairs of items."""
    orders: dict[Cluster, list[Cluster]] = {(i,): [(i,)] for i in range(len(similarities))}
    while len(orders) > 1:
        first, second = max(
            itertools.combinations(orders, 2), key=lambda pair: similarities[np.ix_(*pair)].mean()
        )
        both = list(itertools.product(orders.pop(first), orders.pop(second)))
        orders[first + second] = [a + b for a, b in both] + [b + a for a, b in both]
    return next(iter(orders.values()))


def is_contiguous(order: tuple[int, ...], items: set[int]) -> bool:
    places = [order.index(item) for item in items]
    return max(places) - min(places) == len(items) - 1


distinct_numbers = st.lists(st.integers(1, 10_000), min_size=3, max_size=21, unique=True)


@pytest.mark.parametrize("n", [3, 4, 6, 7, 9])
def test_no_order_that_keeps_clusters_together_has_a_shorter_lazy_path(n: int) -> None:
    """By trying all of them, on sizes as skewed as those of interactions."""
    random = np.random.default_rng(n)
    for _ in range(30):
        similarities = symmetric(random.gamma(0.3, size=n * (n - 1) // 2).tolist())
        allowed = allowed_orders(similarities)

        order = tuple(seriate(similarities))

        assert len(allowed) == 2 ** (n - 1)
        assert order in allowed
        shortest = min(lazy_length(other, similarities) for other in allowed)
        assert lazy_length(order, similarities) == pytest.approx(shortest)


@pytest.mark.parametrize("n", [5, 20, 40])
def test_clusters_are_those_of_scipy(n: int) -> None:
    similarities = symmetric(np.random.default_rng(n).gamma(0.3, size=n * (n - 1) // 2).tolist())
    distances = similarities.max() - similarities[np.triu_indices(n, 1)]
    members = {i: {i} for i in range(n)}
    for step, (first, second, *_) in enumerate(hierarchy.linkage(distances, "average")):
        members[n + step] = members[int(first)] | members[int(second)]

    order = tuple(seriate(similarities))

    assert all(is_contiguous(order, items) for items in members.values())


def test_a_case_by_hand() -> None:
    """0 and 2 join, then 1 by (3 + 1) / 2. From 2: 3 · 2 + 1 · 1; from 1: 2 · 3 + 1 · 5.

    Orders that keep {0, 2} together: 0 2 1 with 2 · 5 + 1, 2 0 1 with 2 · 5 + 3, 1 0 2 with
    2 · 3 + 5 and 1 2 0 with 2 · 1 + 5.
    """
    similarities = np.array([[0.0, 3, 5], [3, 0, 1], [5, 1, 0]])

    assert seriate(similarities) == [2, 0, 1]


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_groups_that_act_together_stand_together(sizes: list[int], random, is_star: bool) -> None:
    """Also stars, whose rays are similar to the centre only."""
    items = list(range(sum(sizes)))
    random.shuffle(items)
    similarities = np.zeros((len(items), len(items)))
    groups = [{items.pop() for _ in range(size)} for size in sizes]
    for group in groups:
        centre = min(group)
        for i, j in itertools.combinations(sorted(group), 2):
            if not is_star or centre in {i, j}:
                similarities[i, j] = similarities[j, i] = random.uniform(0.1, 1)

    order = tuple(seriate(similarities))

    assert all(is_contiguous(order, group) for group in groups)


def test_a_chain_is_followed_from_its_strong_end() -> None:
    chain = [4, 1, 5, 0, 3, 2]
    similarities = np.zeros((6, 6))
    for weight, (i, j) in zip((9.0, 7, 5, 3, 1), itertools.pairwise(chain), strict=True):
        similarities[i, j] = similarities[j, i] = weight

    assert seriate(similarities) == chain


@given(distinct_numbers, st.integers(-30, 30))
def test_the_unit_does_not_matter(numbers: list[int], power: int) -> None:
    similarities = symmetric([float(number) for number in numbers])

    assert seriate(2.0**power * similarities) == seriate(similarities)


@pytest.mark.parametrize("n", [0, 1, 2, 40])
def test_without_any_similarity_the_order_stays(n: int) -> None:
    assert seriate(np.zeros((n, n))) == list(range(n))
