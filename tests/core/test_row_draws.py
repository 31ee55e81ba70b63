"""Draws by hashes of row numbers: reference values, laws of blocks, and distributions."""

from __future__ import annotations

from math import exp, factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.core.row_draws import (
    Purpose,
    draw,
    jackknife_groups,
    poisson_counts,
    row_hashes,
    shuffles,
)
from scipy.stats import chisquare, kstest

SEEDS = st.integers(0, 2**31 - 1)
ROW_NUMBERS = st.lists(st.integers(0, 2**40), min_size=1, max_size=200, unique=True).map(
    lambda numbers: np.array(sorted(numbers))
)
MANY = np.arange(100_000)


@st.composite
def blocks(drawer):
    """Row numbers, and the same in blocks."""
    rows = drawer(ROW_NUMBERS)
    ends = drawer(st.lists(st.integers(0, len(rows)), max_size=5).map(sorted))
    return rows, np.split(rows, ends)


@pytest.mark.parametrize(
    ("row", "numbers", "expected"),
    [
        (0, (0, 1), 4964578127960768432),
        (1, (0, 1), 12049418925942065841),
        (99_999, (2**31 - 1, 1), 12176685979693312827),
        (7, (5, 2, 0), 15841342714055882447),
        (7, (5, 2, 1), 13087043564462421452),
        (7, (5, 3), 7917054460160423742),
        (7, (5, 4, 1, 2, 0), 1653022846848763396),
    ],
)
def test_hashes_are_those_of_the_authors_own_generator(
    row: int, numbers: tuple[int, ...], expected: int
) -> None:
    """Numbers from java.util.SplittableRandom of OpenJDK 17, by row_hashes.jsh."""
    seed, purpose, *others = numbers

    assert row_hashes(np.array([row]), seed, Purpose(purpose), *others).tolist() == [expected]


def by_hand(row: int, *numbers: int) -> int:
    """Follow the definition in whole numbers of Python."""
    key = 0
    for number in numbers:
        key = mixed((key ^ number) + 0x9E3779B97F4A7C15)
    return mixed(key + (row + 1) * 0x9E3779B97F4A7C15)


def mixed(state: int) -> int:
    state %= 2**64
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ state >> 27) * 0x94D049BB133111EB % 2**64
    return state ^ state >> 31


@given(
    rows=ROW_NUMBERS,
    seed=SEEDS,
    purpose=st.sampled_from(Purpose),
    others=st.lists(st.integers(0, 2**31), max_size=3),
)
def test_hashes_follow_their_definition(rows, seed, purpose, others) -> None:
    expected = [by_hand(row, seed, purpose.value, *others) for row in rows.tolist()]

    assert row_hashes(rows, seed, purpose, *others).tolist() == expected


@pytest.mark.parametrize("purpose", Purpose)
def test_hashes_are_uniform_in_their_high_and_their_low_bits(purpose: Purpose) -> None:
    hashes = row_hashes(MANY, 3, purpose)

    assert len(np.unique(hashes)) == len(MANY)
    assert kstest(hashes / 2**64, "uniform").pvalue > 1e-3
    assert chisquare(np.bincount((hashes % np.uint64(1000)).astype(int))).pvalue > 1e-3


def test_each_bit_of_a_hash_depends_on_each_bit_of_the_row_number() -> None:
    """Half of the bits change, up to chance: of 4,096 rows, a standard deviation of 0.008."""
    rows = np.arange(4_096)
    hashes = row_hashes(rows, 0, Purpose.DRAW)
    for bit in range(40):
        changed = hashes ^ row_hashes(rows ^ (1 << bit), 0, Purpose.DRAW)
        shares = np.unpackbits(changed.view(np.uint8).reshape(-1, 8), axis=1).mean(axis=0)
        assert np.abs(shares - 0.5).max() < 6 * 0.008


NUMBERED: list[tuple[int, Purpose, list[int]]] = [
    (0, Purpose.DRAW, []),
    (1, Purpose.DRAW, []),
    (0, Purpose.BOOTSTRAP, []),
    (0, Purpose.BOOTSTRAP, [0]),
    (0, Purpose.BOOTSTRAP, [1]),
    (1, Purpose.BOOTSTRAP, [0]),
    (0, Purpose.SHUFFLE, [1, 2]),
    (0, Purpose.SHUFFLE, [2, 1]),
    (0, Purpose.SHUFFLE, [1, 2, 0]),
]


def test_seeds_purposes_and_numbers_give_uncorrelated_hashes() -> None:
    """Also between neighbouring rows: chance alone gives correlations of 0.003."""
    uniform = np.array(
        [row_hashes(MANY, seed, purpose, *others) / 2**64 for seed, purpose, others in NUMBERED]
    )
    both = np.concatenate([uniform, np.roll(uniform, 1, axis=1)])
    correlations = np.corrcoef(both) - np.eye(len(both))

    assert np.abs(correlations).max() < 6 * 0.0032


@given(split=blocks(), count=st.integers(1, 200), seed=SEEDS)
def test_a_draw_from_the_draws_of_blocks_is_the_draw_from_all(split, count, seed) -> None:
    rows, parts = split
    kept = np.concatenate([part[draw(part, count, seed)] for part in parts])

    assert kept[draw(kept, count, seed)].tolist() == rows[draw(rows, count, seed)].tolist()


@given(rows=ROW_NUMBERS, count=st.integers(1, 250), seed=SEEDS)
def test_drawn_are_the_rows_with_the_smallest_hashes_in_their_order(rows, count, seed) -> None:
    drawn = draw(rows, count, seed)
    hashes = row_hashes(rows, seed, Purpose.DRAW)

    assert drawn.tolist() == sorted(np.argsort(hashes)[:count].tolist())
    assert len(drawn) == min(len(rows), count)


@given(rows=ROW_NUMBERS, counts=st.lists(st.integers(1, 200), min_size=2, max_size=2), seed=SEEDS)
def test_a_smaller_draw_is_part_of_a_larger_one(rows, counts, seed) -> None:
    few, many = (draw(rows, count, seed) for count in sorted(counts))

    assert set(few.tolist()) <= set(many.tolist())
    assert many[draw(rows[many], len(few), seed)].tolist() == few.tolist()


@given(rows=ROW_NUMBERS, count=st.integers(1, 200), seed=SEEDS, left_out=st.data())
def test_a_row_stays_drawn_where_others_are_left_out(rows, count, seed, left_out) -> None:
    drawn = rows[draw(rows, count, seed)]
    rest = np.array([row for row in rows.tolist() if left_out.draw(st.booleans())], np.intp)

    assert set(drawn.tolist()) & set(rest.tolist()) <= set(rest[draw(rest, count, seed)].tolist())


def test_of_equal_hashes_the_first_rows_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "onnxplain_server.core.row_draws.row_hashes"
    monkeypatch.setattr(path, lambda rows, *_: np.array([5, 3, 5, 1, 5], np.uint64)[rows])

    assert draw(np.arange(5), 3, 0).tolist() == [0, 1, 3]


def test_every_row_and_every_pair_is_drawn_equally_often() -> None:
    draws = np.zeros((2_000, 10))
    for seed, is_drawn in enumerate(draws):
        is_drawn[draw(np.arange(10), 4, seed)] = 1
    pairs = (draws.T @ draws)[np.triu_indices(10, 1)]

    # 800 and 2000 · 4/10 · 3/9 expected, standard deviations 22 and 15.
    assert np.abs(draws.sum(axis=0) - 800).max() < 5 * 22
    assert np.abs(pairs - 2_000 * 12 / 90).max() < 5 * 15


@given(split=blocks(), seed=SEEDS, repeats=st.lists(st.integers(0, 10**4), max_size=3))
def test_weights_and_groups_of_blocks_are_those_of_all_rows(split, seed, repeats) -> None:
    rows, parts = split
    counts = [poisson_counts(part, seed, repeats) for part in parts]
    groups = [jackknife_groups(part, 7, seed) for part in parts]

    assert np.array_equal(np.concatenate(counts, axis=1), poisson_counts(rows, seed, repeats))
    assert np.array_equal(np.concatenate(groups), jackknife_groups(rows, 7, seed))


@given(rows=ROW_NUMBERS, seed=SEEDS, order=st.randoms())
def test_rows_take_their_weights_and_groups_along_in_any_order(rows, seed, order) -> None:
    places = np.array(order.sample(range(len(rows)), len(rows)))

    weights = poisson_counts(rows, seed, range(3))
    assert np.array_equal(poisson_counts(rows[places], seed, range(3)), weights[:, places])
    groups = jackknife_groups(rows, 5, seed)
    assert np.array_equal(jackknife_groups(rows[places], 5, seed), groups[places])


def test_the_weights_of_a_replicate_do_not_depend_on_how_many_there_are() -> None:
    few, many = (poisson_counts(MANY[:50], 0, range(count)) for count in (3, 9))

    assert np.array_equal(few, many[:3])
    assert poisson_counts(MANY[:50], 0, []).shape == (0, 50)


def test_bootstrap_weights_are_poisson_numbers_of_mean_1() -> None:
    counts = poisson_counts(MANY, 4, range(10)).ravel()
    expected = [exp(-1) / factorial(k) * counts.size for k in range(6)]
    observed = [np.count_nonzero(counts == k) for k in range(6)]
    rest = counts.size - sum(observed), counts.size - sum(expected)

    assert counts.mean() == pytest.approx(1, abs=5e-3)
    assert counts.var() == pytest.approx(1, abs=1e-2)
    assert chisquare([*observed, rest[0]], [*expected, rest[1]]).pvalue > 1e-3


def test_weights_of_replicates_and_of_rows_are_uncorrelated() -> None:
    counts = poisson_counts(np.arange(20_000), 0, range(30))
    between = np.corrcoef(counts) - np.eye(30)
    neighbours = np.corrcoef(counts[:, 1:].ravel(), counts[:, :-1].ravel())[0, 1]

    assert np.abs(between).max() < 5 / np.sqrt(20_000)
    assert abs(neighbours) < 5 / np.sqrt(counts.size)


def test_jackknife_groups_are_of_binomial_size() -> None:
    sizes = np.bincount(jackknife_groups(MANY, 100, 1), minlength=100)

    assert sizes.sum() == len(MANY)
    assert chisquare(sizes).pvalue > 1e-3
    assert sizes.std() == pytest.approx(np.sqrt(1_000 * 0.99), rel=0.25)


def test_a_sorted_table_has_no_groups_of_neighbours() -> None:
    """Groups by runs of rows would understate the spread of a table that is sorted."""
    rows = np.arange(1_000)
    sizes = [
        np.bincount(jackknife_groups(rows[start : start + 10], 10, 0), minlength=10)
        for start in range(0, 1_000, 10)
    ]

    assert np.mean(sizes) == 1
    assert np.var(sizes) == pytest.approx(0.9, abs=0.15)


@given(rows=ROW_NUMBERS, seed=SEEDS, left_out=st.data())
def test_two_rows_keep_their_order_in_a_shuffle_without_others(rows, seed, left_out) -> None:
    rest = np.array([row for row in rows.tolist() if left_out.draw(st.booleans())], np.intp)
    order = rows[shuffles(rows, 3, seed)[2]].tolist()

    assert sorted(order) == rows.tolist()
    assert [row for row in order if row in rest] == rest[shuffles(rest, 3, seed)[2]].tolist()


def test_all_orders_of_three_rows_are_shuffled_equally_often() -> None:
    orders = shuffles(np.arange(3), 6_000, 0)
    _, counts = np.unique(orders, axis=0, return_counts=True)

    assert len(counts) == 6
    assert chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize(
    "made",
    [
        lambda seed: draw(MANY, 50, seed),
        lambda seed: poisson_counts(MANY, seed, [0]),
        lambda seed: jackknife_groups(MANY, 9, seed),
        lambda seed: shuffles(MANY, 1, seed)[0],
    ],
    ids=["draw", "bootstrap", "jackknife", "shuffle"],
)
def test_the_same_seed_gives_the_same_and_another_one_others(made) -> None:
    assert np.array_equal(made(1), made(1))
    assert not np.array_equal(made(1), made(2))
