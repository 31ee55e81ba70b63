"""Choice of pairs: bounds of features, and what a screen leaves unexplained."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.methods.interactions.pair_choice import choose_pairs, smaller_overall

SIZE = st.integers(0, 3).map(float)


def test_features_that_do_not_interact_have_no_pairs() -> None:
    assert smaller_overall({}) == {}
    assert smaller_overall({j: np.zeros(2) for j in range(5)}) == {}


@given(st.lists(SIZE, min_size=8, max_size=9), st.data())
def test_pairs_are_those_of_the_screen_and_of_what_it_leaves(overall, data) -> None:
    """With one output, as the rule says it pair by pair; ties are decided by the table's order."""
    bounds = smaller_overall({j: np.array([size]) for j, size in enumerate(overall)})
    assert {pair: bound.item() for pair, bound in bounds.items()} == {
        (i, j): min(overall[i], overall[j])
        for i, j in combinations(range(len(overall)), 2)
        if min(overall[i], overall[j]) > 0
    }
    limit = 10
    if len(bounds) <= limit:
        return
    screened = data.draw(st.dictionaries(st.sampled_from(sorted(bounds)), SIZE, max_size=12))
    sizes = {pair: min(size, bounds[pair].item()) for pair, size in screened.items()}
    first = sorted(sizes, key=lambda pair: -sizes[pair])[:7]
    largest = {
        j: max(bound.item() for pair, bound in bounds.items() if j in pair)
        for j in {j for pair in bounds for j in pair}
    }
    rest = {
        j: size - sum(own for pair, own in sizes.items() if j in pair)
        for j, size in largest.items()
    }
    left = {
        pair: max(min(rest[pair[0]], rest[pair[1]]) + sizes.get(pair, 0.0), 0.0)
        for pair in bounds
        if pair not in first
    }
    others = sorted(left, key=lambda pair: -left[pair])[: limit - len(first)]

    given_sizes = {pair: np.array([size]) for pair, size in screened.items()}
    assert choose_pairs(bounds, given_sizes, limit) == sorted((*first, *others))
