"""Averages over rows with two features moved, against predicting every row at every point."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.background import Background, merge
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.trees.counting.ranked_rows import rank_rows
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.summing import sum_leaves
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble
from onnxplain_server.trees.reading.links import IDENTITY, LinkedEnsemble, LinkFunction
from onnxplain_server.trees.stepping import plane_kernels
from onnxplain_server.trees.stepping.planes import Planes
from onnxplain_server.trees.stepping.step_functions import StepFunctions

MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")
WIDTH = 4


def grown(rng: np.random.Generator, depth: int, targets: int, columns=range(WIDTH)):
    """A random tree; the tests for equality let missing values pass, so that sets have runs."""
    if depth == 0:
        return rng.normal(size=targets).tolist()
    test = (
        int(rng.choice(list(columns))),
        str(rng.choice(MODES)),
        float(rng.integers(-6, 7)) / 4,
        rng.random() < 0.3,
    )
    return (test, *(grown(rng, depth - 1, targets, columns) for _ in range(2)))


def drawn(rng: np.random.Generator, count: int):
    """Rows of which some values are on a threshold, and some missing."""
    rows = rng.normal(size=(count, WIDTH)).astype(np.float32)
    rows[:, 0] = np.rint(rows[:, 0] * 4) / 4
    rows[rng.random(rows.shape) < 0.05] = np.nan
    return rows


class Plane:
    """Trees with a link on rows, whose averages are taken at points of two features."""

    def __init__(self, content, link: LinkFunction, rows, weights, pool: BlockPool) -> None:
        ensemble = read_ensemble(content)
        assert isinstance(ensemble, Ensemble)
        self.linked, self.pool = LinkedEnsemble(ensemble, link), pool
        names = tuple(f"x{j}" for j in range(WIDTH))
        dtypes = tuple(axis.dtype for axis in ensemble.axes)
        features = Features(names, tuple(np.asarray(rows, dtype=float).T), dtypes, "X")
        self.background: Background = merge(features, weights, np.arange(len(rows)))
        self.ranked = rank_rows(ensemble, self.background, pool)
        sums = sum_leaves(ensemble, self.ranked.codes, pool)
        self.steps = StepFunctions(ensemble, self.linked.scale, self.ranked, sums)
        self.planes = Planes(ensemble, self.linked.scale, self.steps.rows, pool)

    def means(self, pair: tuple[int, int], points):
        cells = np.stack([self.linked.ensemble.codes(j, points[:, j]) for j in pair])
        return self.planes.means(self.ranked.shares, pair, cells)

    def single(self, feature: int, points):
        cells, inverse = np.unique(
            self.linked.ensemble.codes(feature, points[:, feature]), return_inverse=True
        )
        return self.steps.means(feature, cells, np.zeros(len(cells)), self.pool).own[inverse]


@pytest.fixture
def plane(regressor, nowhere):
    with ThreadPoolExecutor(2) as threads:

        def make(trees, link: LinkFunction, rows, weights=None, pool=threads) -> Plane:
            weights = np.ones(len(rows)) if weights is None else weights
            ledger = Ledger(nowhere)
            return Plane(regressor(trees, WIDTH), link, rows, weights, BlockPool(pool, ledger))

        yield make


def linked(link: LinkFunction, scores):
    powers = np.exp(scores.astype(np.longdouble))
    if link is LinkFunction.LOGISTIC:
        powers = powers / (1 + powers)
    if link is LinkFunction.SOFTMAX:
        powers = powers / powers.sum(axis=1, keepdims=True)
    return powers.astype(float)


@pytest.mark.parametrize("link", LinkFunction)
@pytest.mark.parametrize("pair", [(0, 2), (2, 3), (3, 1)])
def test_averages_are_those_of_predicting(
    plane, brute, link: LinkFunction, pair: tuple[int, int]
) -> None:
    """More rows than a word and a block have, more points than a tile."""
    rng = np.random.default_rng(list(LinkFunction).index(link))
    trees = [grown(rng, 4, 2) for _ in range(6)]
    rows, weights = drawn(rng, 330), rng.random(330) + 0.1
    moved = plane(trees, link, rows, weights)
    points = np.concatenate([rows, drawn(rng, 60) * 2])

    means = moved.means(pair, points)

    reference = brute(trees, rows, weights)
    add_up = reference.predict
    reference.predict = lambda hybrid: linked(link, add_up(hybrid))
    some = rng.choice(len(points), 12, replace=False)
    expected = reference.partial_dependence(pair, points[some][:, list(pair)])
    assert means[some] == pytest.approx(expected, rel=1e-12)
    assert np.ptp(means, axis=0).min() > 1e-3


@pytest.mark.parametrize("link", [None, *LinkFunction])
@pytest.mark.parametrize("features", [(2,), (3, 1)], ids=["line", "plane"])
def test_outputs_of_rows_are_those_of_predicting(plane, brute, link, features) -> None:
    """More rows than a word and a block have, points in no order, more of them than a tile."""
    rng = np.random.default_rng(7)
    trees = [grown(rng, 4, 2) for _ in range(6)]
    rows, points = drawn(rng, 330), drawn(rng, 270)
    moved = plane(trees, link or LinkFunction.LOGISTIC, rows)
    scale = moved.linked.scale if link else moved.linked.scale._replace(link=IDENTITY)
    ensemble = moved.linked.ensemble
    cells = np.stack([ensemble.codes(j, points[:, j]) for j in features])

    outputs = Planes(ensemble, scale, moved.steps.rows, moved.pool).outputs(features, cells)

    some = rng.choice(len(rows), 9, replace=False)
    hybrid = np.repeat(rows[some], len(points), axis=0)
    hybrid[:, features] = np.tile(points[:, features], (len(some), 1))
    scores = brute(trees, rows, np.ones(len(rows))).predict(hybrid)
    expected = linked(link, scores) if link else scores
    found = outputs[some].reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("link", LinkFunction)
def test_averages_at_a_point_do_not_depend_on_the_others(plane, link: LinkFunction) -> None:
    """Points of no row: then rows have cells that are not on the plane."""
    rng = np.random.default_rng(6)
    trees = [grown(rng, 5, 2) for _ in range(6)]
    rows = drawn(rng, 100)
    moved = plane(trees, link, rows)
    few = np.full((3, WIDTH), [0.1, 0.1, 0.1, 0.1]) + np.arange(3)[:, None] / 100
    together = moved.means((1, 2), np.concatenate([rows, few]))
    assert moved.means((1, 2), few) == pytest.approx(together[100:], rel=1e-12)


def test_the_order_of_the_features_changes_nothing(plane) -> None:
    """Whichever of them the sweep follows."""
    rng = np.random.default_rng(1)
    trees = [grown(rng, 5, 3) for _ in range(5)]
    rows = drawn(rng, 150)
    moved = plane(trees, LinkFunction.SOFTMAX, rows)
    assert moved.means((0, 3), rows) == pytest.approx(moved.means((3, 0), rows), rel=1e-13)


def test_exponentials_of_additive_scores_have_effects_that_multiply(plane) -> None:
    """E exp(a + b + c) = exp(a) · exp(b) · E exp(c), where no tree compares two features."""
    rng = np.random.default_rng(2)
    trees = [grown(rng, 3, 1, [j]) for j in range(WIDTH)]
    rows = drawn(rng, 200)
    moved = plane(trees, LinkFunction.EXPONENTIAL, rows)
    first, second = (moved.single(j, rows) for j in (1, 3))
    whole = moved.means((1, 3), rows)
    ratio = whole / (first * second)
    assert ratio == pytest.approx(np.full(whole.shape, ratio[0, 0]), rel=1e-12)
    assert np.ptp(whole) > 1e-2


def test_features_that_no_tree_compares_leave_the_mean(plane) -> None:
    rng = np.random.default_rng(3)
    trees = [grown(rng, 3, 1, [0, 1]) for _ in range(3)]
    rows = drawn(rng, 70)
    moved = plane(trees, LinkFunction.LOGISTIC, rows)
    whole = moved.means((2, 3), rows)
    assert whole == pytest.approx(np.full(whole.shape, whole[0, 0]), rel=1e-14)
    assert moved.means((0, 3), rows) == pytest.approx(moved.single(0, rows), rel=1e-12)


def test_averages_do_not_depend_on_threads(plane) -> None:
    rng = np.random.default_rng(4)
    trees = [grown(rng, 4, 2) for _ in range(6)]
    rows = drawn(rng, 700)
    results = []
    for count in (1, 3):
        with ThreadPoolExecutor(count) as pool:
            moved = plane(trees, LinkFunction.SOFTMAX, rows, pool=pool)
            results.append(moved.means((1, 2), rows).tobytes())
    assert results[0] == results[1]


def test_extreme_scores_give_probabilities_of_zero_and_one(plane) -> None:
    trees = [((0, "LEQ", 0.0), [-2000.0], ((1, "LEQ", 0.0), [0.0], [2000.0]))]
    rows = np.array([[-1, -1, 0, 0], [1, -1, 0, 0], [1, 1, 0, 0]], dtype=float)
    means = plane(trees, LinkFunction.LOGISTIC, rows).means((0, 1), rows)
    assert means[:, 0] == pytest.approx([0, 0.5, 1], abs=1e-300)
    assert plane(trees, LinkFunction.EXPONENTIAL, rows).means((0, 1), rows)[2, 0] == np.inf


def test_exponential_is_that_of_a_library() -> None:
    """Within four units in the last place, wherever the result is a normal number."""
    rng = np.random.default_rng(5)
    powers = np.concatenate([rng.uniform(-708, 709, 2_000), rng.normal(size=2_000), [0.0, 709.0]])
    ours = np.array([plane_kernels._exponential(float(power)) for power in powers])
    assert ours == pytest.approx(np.exp(powers.astype(np.longdouble)).astype(float), rel=2**-50)
    assert plane_kernels._exponential(709.5) == np.inf
    assert plane_kernels._exponential(-800.0) == pytest.approx(0, abs=1e-300)
    assert plane_kernels._exponential(0.0) == 1
