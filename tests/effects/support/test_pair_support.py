"""Support by pairs of values: by hand, by brute force over rows, by known densities, and laws."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnxplain_server.effects.support.pair_support import PairSupport
from scipy.special import ndtri

GAUSSIAN_COUNT = 5_000


def own_shares(support: PairSupport, feature: int, points) -> list[float]:
    """Return the shares at points of one feature, of the table's own rows."""
    found = support.outside([feature], [np.asarray(points)], support.own_rows)
    return [*found.shares]


def bins_by_definition(column, weights, count, least):
    """Give each row the number of its bin, one row at a time; None where nothing is told of it."""
    total = sum(weights)
    if column.dtype == object:
        held = {text: weights[column == text].sum() for text in set(column)}
        return [text if held[text] / total >= least else None for text in column]
    known = column[~np.isnan(column)]
    whole = weights[~np.isnan(column)].sum()
    ends = {
        min(v for v in known if weights[column <= v].sum() >= whole * k / count - 1e-9)
        for k in range(1, count)
    }
    return ["missing" if np.isnan(v) else sum(v > end for end in ends) for v in column]


def shares_by_definition(columns, weights, feature):
    """Move each row to the value of each row, and look up all its pairs among all rows."""
    effective = weights.sum() ** 2 / (weights**2).sum()
    count = min(10, int((effective / 10) ** 0.5))
    bins = [bins_by_definition(c, weights, count, 10 / effective) for c in columns]
    n = len(weights)
    shares = []
    lacks = {}
    for j in range(len(columns)):
        if j == feature:
            continue
        for a, b in product(set(bins[feature]), set(bins[j])):
            of_a = np.array([own == a for own in bins[feature]])
            of_b = np.array([own == b for own in bins[j]])
            even = weights[of_a].sum() * weights[of_b].sum() / weights.sum() ** 2
            held = weights[of_a & of_b].sum() / weights.sum()
            told = None not in {a, b} and even * effective >= 10
            lacks[j, a, b] = told and held < 0.1 * even
    for at in range(n):
        outside = [
            any(
                lacks[j, bins[feature][at], bins[j][row]]
                for j in range(len(columns))
                if j != feature
            )
            for row in range(n)
        ]
        shares.append(weights[outside].sum() / weights.sum())
    return shares


def test_four_cells_by_hand() -> None:
    """Of 40 rows, (0, 0) stands in 20, (1, 1) in 19, and (1, 0) in one."""
    first = np.repeat([0.0, 1.0], [20, 20])
    second = np.repeat([0.0, 1.0, 0.0], [20, 19, 1])

    support = PairSupport([first, second], np.ones(40))

    # Even: 20 · 19 / 40 = 9.5 rows of (0, 1), below the 10 from which a cell can be told to lack.
    assert own_shares(support, 0, [0.0, 1.0]) == pytest.approx([0.0, 21 / 40])
    # Even: 20 · 21 / 40 = 10.5 rows of (1, 0), of which one is less than a tenth.
    assert own_shares(support, 1, [0.0, 1.0]) == pytest.approx([0.5, 0.0])


@st.composite
def _tables(draw):
    count = draw(st.integers(40, 130))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    first = rng.normal(size=count)
    kinds = {
        "tied": np.round(first),
        "close": first + draw(st.sampled_from([0.0, 0.3, 2.0])) * rng.normal(size=count),
        "text": np.array(["a" if v < 0 else "b" if v < 1 else "" for v in first], object),
        "gaps": np.where(first > 1, np.nan, -first),
        "many": np.array([f"t{k}" for k in range(count)], object),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=3, unique=True))
    weights = rng.integers(1, 4, count) if draw(st.booleans()) else np.ones(count)
    return [first, *(kinds[name] for name in chosen)], weights.astype(float)


@given(_tables(), st.integers(0, 1))
@settings(max_examples=30, deadline=None)
def test_shares_are_those_of_each_moved_row_looked_up_among_all_rows(table, feature) -> None:
    columns, weights = table

    found = own_shares(PairSupport(columns, weights), feature, columns[feature])

    assert found == pytest.approx(shares_by_definition(columns, weights, feature), abs=1e-9)


@pytest.mark.parametrize(
    ("correlation", "within"), [(0.0, 0.0005), (0.5, 0.02), (0.7, 0.02), (0.9, 0.05)]
)
def test_shares_of_normal_features_are_near_those_of_their_density(correlation, within) -> None:
    """A pair lacks by its density where it is less than a tenth of the product of both densities.

    Bins of a tenth of the rows blur it, so that less is told of narrow distributions.
    """
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(2, GAUSSIAN_COUNT))
    y = correlation * x + np.sqrt(1 - correlation**2) * noise
    a, b = np.meshgrid(*2 * [ndtri((np.arange(1_000) + 0.5) / 1_000)])
    rest = 1 - correlation**2
    powers = (2 * correlation * a * b - correlation**2 * (a * a + b * b)) / (2 * rest)
    truth = float((np.exp(powers) / np.sqrt(rest) < 0.1).mean())

    found = float(np.mean(own_shares(PairSupport([x, y], np.ones(len(x))), 0, x)))

    assert abs(found - truth) <= within


def test_the_share_does_not_depend_on_the_units() -> None:
    """Ranks alone count, so increasing functions of features change nothing."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=500)
    y = x + 0.3 * rng.normal(size=500)

    plain = own_shares(PairSupport([x, y], np.ones(500)), 0, x)
    bent = own_shares(PairSupport([np.exp(x), y**3], np.ones(500)), 0, np.exp(x))

    assert plain == bent
    assert max(plain) > 0.3


def test_doubling_a_weight_is_repeating_the_row() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=3_000)
    y = x + 0.3 * rng.normal(size=3_000)
    twice = np.arange(3_000.0) % 2

    repeated = np.repeat(np.arange(3_000), 1 + twice.astype(int))
    by_rows = PairSupport([x[repeated], y[repeated]], np.ones(len(repeated)))
    by_weights = PairSupport([x, y], 1.0 + twice)

    assert own_shares(by_weights, 0, x) == pytest.approx(own_shares(by_rows, 0, x))


def test_a_cell_of_a_surface_that_the_table_lacks_has_all_rows_outside() -> None:
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, 2_000))
    support = PairSupport([x, x + 0.1 * rng.normal(size=2_000), z], np.ones(2_000))
    corners = np.array([-2.0, -2.0, 2.0, 2.0]), np.array([-2.0, 2.0, -2.0, 2.0])

    found = support.outside([0, 1], corners, support.own_rows)

    assert found.shares.tolist() == [0, 1, 1, 0]


def test_a_row_with_several_pairs_that_lack_counts_once_and_the_worst_partner_is_known() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=2_000)
    close, closer = x + 0.5 * rng.normal(size=2_000), x + 0.1 * rng.normal(size=2_000)
    support = PairSupport([x, close, closer], np.ones(2_000))

    both = support.outside([0], [x], support.own_rows)
    one = PairSupport([x, close], np.ones(2_000))

    assert both.by_partner[1] == pytest.approx(own_shares(one, 0, x))
    assert (both.shares <= both.by_partner.sum(axis=0) + 1e-12).all()
    assert (both.shares >= both.by_partner.max(axis=0) - 1e-12).all()
    assert both.by_partner.mean(axis=1).argmax() == 2
    assert not both.by_partner[0].any()


def test_features_that_the_model_ignores_do_not_count() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=1_000)
    columns = [x, x + 0.1 * rng.normal(size=1_000)]

    ignoring = PairSupport(columns, np.ones(1_000), ignored=[1])

    assert max(own_shares(PairSupport(columns, np.ones(1_000)), 0, x)) > 0.5
    assert set(own_shares(ignoring, 0, x)) == {0.0}


def test_rare_texts_are_not_told_to_lack_though_together_they_are_many() -> None:
    """Each of 500 texts is in one row with x below 0, where "common" is not."""
    x = np.repeat([0.0, 1.0], 500)
    texts = np.array([*(f"t{k}" for k in range(500)), *["common"] * 500], object)
    support = PairSupport([x, texts], np.ones(1_000))

    assert own_shares(support, 0, [0.0, 1.0]) == pytest.approx([0.5, 0.0])
    found = support.outside([1], [np.array(["t7", "common"], object)], support.own_rows)
    assert found.shares.tolist() == pytest.approx([0.0, 0.5])


@pytest.mark.parametrize(("count", "is_known"), [(39, False), (40, True)])
def test_fewer_than_40_rows_tell_nothing(count: int, is_known: bool) -> None:
    column = np.arange(float(count))

    assert PairSupport([column, column], np.ones(count)).is_known == is_known
    heavy = np.where(np.arange(count) < 39, 1.0, 1e-6)
    assert not PairSupport([column, column], heavy).is_known
