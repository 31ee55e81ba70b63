"""Corrected surrogates: unbiased whatever the surrogate, and intervals of their coverage."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from onnxplain_server.methods.interactions.surrogate_measurement import share_out
from onnxplain_server.methods.interactions.surrogate_statistics import EstimatedSquare, _spread
from onnxplain_server.methods.surrogates import contrasts
from onnxplain_server.methods.surrogates.boosted_trees import fit_trees
from onnxplain_server.methods.surrogates.corrected import CorrectedBlocks, Correction
from onnxplain_server.methods.surrogates.cross_fit import CrossFit, FoldSurrogate
from onnxplain_server.methods.surrogates.row_blocks import (
    BACKGROUND,
    BASE,
    HYBRIDS,
    as_block_values,
    draw_blocks,
    sources,
)
from onnxplain_server.methods.surrogates.shrinkage import estimate
from scipy.stats import t as student
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import ThreadpoolController, threadpool_limits

ROWS = np.random.default_rng(1).normal(size=(12, 3))
GROUPS = [(0,), (1,), (2,), *combinations(range(3), 2)]
EQUAL, UNEQUAL = np.ones(12), np.arange(1.0, 13.0)


def model(rows):
    return rows[:, 0] * rows[:, 1] + np.sin(2 * rows[:, 2]) + 0.7 * (rows[:, 0] > 0) * rows[:, 2]


def near(rows):
    return 0.6 * rows[:, 0] * rows[:, 1] + rows[:, 2]


def other(rows):
    return rows[:, 2] * rows[:, 1] ** 2


def constant(rows):
    return np.zeros(len(rows))


def additive(rows):
    return rows[:, 0] ** 3 + np.sin(rows[:, 1]) - rows[:, 2]


def full(f, group):
    """Values at all hybrids: base by background."""
    pairs = np.moveaxis(np.indices((12, 12)), 0, -1).reshape(-1, 2)
    rows = ROWS[pairs[:, 1]]
    rows[:, list(group)] = ROWS[pairs[:, 0]][:, list(group)]
    return f(rows).reshape(12, 12)


def term_of(f, order, group, weights):
    """A term by its definition."""
    own = {g: np.average(full(f, g), axis=1, weights=weights) for g in GROUPS}
    others = {g: np.average(full(f, g), axis=0, weights=weights) for g in GROUPS}
    match order:
        case "overall":
            return f(ROWS) - own[group] - others[group]
        case "importance":
            return f(ROWS) - others[group]
        case "total":
            return f(ROWS) - own[0,] - own[1,] - own[2,]
        case "pairwise":
            return own[group] - own[group[:1]] - own[group[1:]]
        case _:
            return own[group]


CONTRASTS = {
    "overall": contrasts.overall((0,)),
    "importance": contrasts.importance((0,)),
    "total": contrasts.total([(0,), (1,), (2,)]),
    "pairwise": contrasts.pairwise((0,), (1,), (0, 1)),
    "joint": contrasts.whole((0, 1)),
}
GROUP_OF = {"overall": (0,), "importance": (0,), "total": (), "pairwise": (0, 1), "joint": (0, 1)}


def numerator(f, order, weights):
    term = term_of(f, order, GROUP_OF[order], weights)
    return np.average((term - np.average(term, weights=weights)) ** 2, weights=weights)


def block_values(f, blocks):
    hybrids = {
        g: f(
            ROWS[sources(blocks, g, 3), np.arange(3)],
        ).reshape(-1, HYBRIDS)
        for g in GROUPS
    }
    return as_block_values(blocks, hybrids, f(ROWS)[blocks])


def corrected(f, surrogate, order, blocks, weights):
    """Correct a surrogate that is given, in two folds."""
    fold = np.arange(len(blocks)) % 2
    values = block_values(surrogate, blocks)
    folds = tuple(FoldSurrogate(fold == k, None, values) for k in range(2))  # type: ignore[arg-type]
    term = term_of(surrogate, order, GROUP_OF[order], weights)
    correction = Correction(block_values(f, blocks), CrossFit(folds, 1.0), weights)
    return correction.of(CONTRASTS[order], lambda _fold: term, len(blocks))


@pytest.mark.parametrize("weights", [EQUAL, UNEQUAL], ids=["equal", "weighted"])
@pytest.mark.parametrize("surrogate", [near, other, constant])
@pytest.mark.parametrize("order", CONTRASTS)
def test_blocks_are_unbiased_whatever_the_surrogate(order, surrogate, weights):
    blocks = draw_blocks(weights, 8_000, np.random.default_rng(0))

    found = corrected(model, surrogate, order, blocks, weights).numerators

    error = found.std() / np.sqrt(len(found))
    assert found.mean() == pytest.approx(numerator(model, order, weights), abs=4 * error)


@pytest.mark.parametrize("surrogate", [near, constant])
def test_intervals_have_their_coverage(surrogate):
    truth = [numerator(model, order, EQUAL) for order in ("overall", "pairwise")]
    random = np.random.default_rng(2)
    held = []
    for _ in range(120):
        blocks = draw_blocks(EQUAL, 16, random)
        for value, order in zip(truth, ("overall", "pairwise"), strict=True):
            own = estimate([corrected(model, surrogate, order, blocks, EQUAL)])
            reach = student.ppf(0.95, own.freedom) * own.errors
            held.append(abs(own.unbiased - value) <= reach)

    assert 0.83 < np.mean(held) < 0.97


def test_a_better_surrogate_has_smaller_errors():
    blocks = draw_blocks(EQUAL, 2_000, np.random.default_rng(0))

    errors = [
        corrected(model, surrogate, "pairwise", blocks, EQUAL).numerators.std()
        for surrogate in (near, constant)
    ]

    assert errors[0] < 0.7 * errors[1]


@pytest.mark.parametrize("order", ["overall", "pairwise", "total"])
def test_interactions_of_a_surrogate_are_none_of_an_additive_model(order):
    blocks = draw_blocks(EQUAL, 8, np.random.default_rng(0))

    own = estimate([corrected(additive, other, order, blocks, EQUAL)])

    assert own.values == pytest.approx([0], abs=1e-12)
    assert own.errors == pytest.approx([0], abs=1e-12)


def test_numerators_scale_with_the_square_of_the_output():
    blocks = draw_blocks(EQUAL, 8, np.random.default_rng(0))

    small = estimate([corrected(model, near, "pairwise", blocks, EQUAL)])
    large = estimate([
        corrected(
            lambda rows: 1e3 * model(rows), lambda rows: 1e3 * near(rows), "pairwise", blocks, EQUAL
        )
    ])  # fmt: skip

    assert large.values == pytest.approx(1e6 * small.values)
    assert large.errors == pytest.approx(1e6 * small.errors)


def test_a_correction_unlike_the_others_is_shrunk_by_one_standard_error():
    """Twenty statistics are as their surrogate says, which says little of the last one."""
    random, known = np.random.default_rng(3), np.full(50, 0.5)
    alike = [0.5 + 0.02 * random.normal(size=50) for _ in range(20)]
    unlike = 0.6 + 0.1 * random.normal(size=50)
    statistics = [CorrectedBlocks(own, known, 0.5, 0.05) for own in (*alike, unlike)]

    own = estimate(statistics)

    assert (np.abs(own.values - own.unbiased) <= own.errors * (1 + 1e-9)).all()
    assert own.values[-1] == pytest.approx(own.unbiased[-1] - own.errors[-1])
    assert own.unbiased[-1] - 0.5 > 2 * own.errors[-1]


@pytest.mark.parametrize(("value", "unbiased"), [(0.0, -1.0), (0.5, 0.8), (0.8, 0.5)])
def test_intervals_hold_the_value_that_is_told(value, unbiased):
    """Also at low levels, where one standard error is more than half an interval."""
    lower, upper = EstimatedSquare(value, unbiased, error=0.3, reach=0.1).ends

    assert lower <= value <= upper


@pytest.mark.parametrize(
    ("unbiased", "reach", "interval"), [(-0.2, 0.1, (0, 1)), (0.0, 0.1, (0, 1)), (0.0, 0.0, (0, 0))]
)
def test_a_ratio_to_an_estimate_of_nothing_is_not_known_to_be_0(unbiased, reach, interval):
    """Where it is known that there is no joint effect, the ratio is 0."""
    above = EstimatedSquare(0.01, 0.01, error=0.005, reach=0.01)
    below = EstimatedSquare(0.0, unbiased, error=reach / 2, reach=reach)

    error, *ends, bias = _spread(0.0, above, below)

    assert tuple(ends) == interval
    assert (error, bias) == (interval[1], 0)


def test_blocks_go_where_interactions_are_strong_within_the_budget():
    sizes = {(0,): 0.5, (1,): 0.5, (2,): 0.0, (0, 1): 0.5, (0, 2): 0.0, (1, 2): 0.0}

    counts = share_out(sizes, 100, 4, 8, dict.fromkeys([(0,), (1,), (2,)], 4))

    added = sum(counts.values()) - 3 * 4
    assert 80 < added <= 100
    assert counts[0, 1] > 3 * counts[0, 2] >= 3 * 4
    assert counts[0,] >= counts[0, 1]


def test_blocks_of_earlier_rounds_are_kept_and_count_towards_no_further_ones():
    sizes = {(0,): 0.5, (1,): 0.5, (2,): 0.0, (0, 1): 0.5, (0, 2): 0.0, (1, 2): 0.0}
    known = {(0,): 8, (1,): 8, (2,): 8, (0, 1): 0, (0, 2): 20, (1, 2): 4}

    counts = share_out(sizes, 60, 8, 8, known)

    assert all(counts[group] >= count for group, count in known.items())
    assert 50 < sum(counts.values()) - sum(known.values()) <= 60


def test_pairs_of_the_smallest_sizes_go_without_blocks_where_there_are_too_few():
    sizes = {(0,): 0.5, (1,): 0.5, (2,): 0.1, (0, 1): 0.5, (0, 2): 0.1, (1, 2): 0.0}

    counts = share_out(sizes, 5, 2, 8, dict.fromkeys([(0,), (1,), (2,)], 2))

    assert counts[0, 1] >= 2
    assert (1, 2) not in counts


def test_each_place_of_blocks_has_each_row_equally_often():
    blocks = draw_blocks(EQUAL, 36, np.random.default_rng(0))

    counts = [np.bincount(place, minlength=12).tolist() for place in blocks.T]

    assert counts == [[3] * 12] * 5
    assert len(BASE) == len(BACKGROUND) == HYBRIDS


def test_trees_are_fitted_and_predict_by_one_thread_whatever_openmp_has(
    monkeypatch: pytest.MonkeyPatch,
):
    """Several would wait for each other busily, beside fits of other folds above all."""
    counts: list[int] = []

    def counted(method):
        def run(estimator, *arguments):
            pools = ThreadpoolController().select(user_api="openmp").info()
            counts.extend(pool["num_threads"] for pool in pools)
            return method(estimator, *arguments)

        return run

    for name in ("fit", "predict"):
        own = getattr(HistGradientBoostingRegressor, name)
        monkeypatch.setattr(HistGradientBoostingRegressor, name, counted(own))
    rows = np.random.default_rng(0).normal(size=(60, 2))
    with threadpool_limits(2, user_api="openmp"):
        fit_trees(rows, rows[:, 0], seed=0, tree_count=2).predict(rows)

    assert len(counts) >= 2
    assert set(counts) == {1}
