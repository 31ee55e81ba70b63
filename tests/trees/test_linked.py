"""Effects on probabilities of trees with a link, against their definitions and by hand."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.background import merge
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.weighted_mean import mean_square
from onnxplain_server.methods import interactions
from onnxplain_server.methods.interactions.measurement_plan import Plan
from onnxplain_server.methods.interactions.weighted_measurement import WeightedMeasurement
from onnxplain_server.methods.resampling import Resampling
from onnxplain_server.trees import linked
from onnxplain_server.trees.linked import JointRows, Linked
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble
from onnxplain_server.trees.reading.links import AffineMap, LinkedEnsemble, LinkFunction
from onnxplain_server.trees.stepping import planes, step_functions

MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")
EVERY_ROW = JointRows(500, 500)
FEW = JointRows(20, 10)
STUMP = ((0, "LEQ", 0.0), [-1.0, 0.0], [1.0, 2.0])


class Host:
    """A host that counts progress."""

    done = planned = 0.0

    def advance(self, done: float, planned: float) -> None:
        self.done, self.planned = done, planned


def grown(rng: np.random.Generator, depth: int, width: int, targets: int):
    """A random tree whose thresholds are values of a coarse grid, so that rows tie with them."""
    if depth == 0 or rng.random() < 0.15:
        return rng.normal(size=targets).tolist()
    threshold = float(rng.integers(-3, 4))
    test = (int(rng.integers(width)), str(rng.choice(MODES)), threshold, rng.random() < 0.3)
    return (test, *(grown(rng, depth - 1, width, targets) for _ in range(2)))


def drawn(rng: np.random.Generator, n: int, width: int):
    rows = rng.integers(-4, 5, size=(n, width)) / rng.choice([1.0, 2.0])
    rows[rng.random(size=rows.shape) < 0.1] = np.nan
    return rows


def linking(link: LinkFunction, scores):
    """The link by its definition, with powers in long double."""
    powers = np.exp(scores.astype(np.longdouble))
    if link is LinkFunction.LOGISTIC:
        return (powers / (1 + powers)).astype(float)
    if link is LinkFunction.EXPONENTIAL:
        return powers.astype(float)
    return (powers / powers.sum(axis=1, keepdims=True)).astype(float)


@pytest.fixture
def bind(regressor, brute, threads: ThreadPoolExecutor):
    """Engine and reference: link, trees, rows, weights -> Linked, Brute."""

    def make(
        link: LinkFunction,
        trees,
        rows,
        weights=None,
        outputs=None,
        pool: ThreadPoolExecutor = threads,
        host=None,
        joint_rows: JointRows = EVERY_ROW,
        combination: AffineMap | None = None,
    ):
        rows = np.asarray(rows, dtype=float)
        ensemble = read_ensemble(regressor(trees, rows.shape[1]))
        assert isinstance(ensemble, Ensemble)
        dtypes = tuple(axis.dtype for axis in ensemble.axes)
        names = tuple(f"x{j}" for j in range(len(dtypes)))
        features = Features(names, tuple(rows.T), dtypes, "X")
        weights = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=float)
        background = merge(features, weights, np.arange(len(rows)))
        count = len(ensemble.offset if combination is None else combination.offset)
        chosen = np.arange(count) if outputs is None else np.array(outputs)
        titles = tuple(f"y{k}" for k in range(count))
        watched: Any = host or Host()
        ledger = Ledger(watched)
        linked = LinkedEnsemble(ensemble, link, combination)
        bound = Linked(linked, background, titles, chosen, ledger, pool, joint_rows)
        reference = brute(trees, np.stack(background.columns, axis=1), background.weights)
        add_up = reference.predict
        matrix, offset = combination or AffineMap(np.eye(count), np.zeros(count))
        reference.predict = lambda rows: linking(link, add_up(rows)) @ matrix.T + offset
        return bound, reference

    return make


def close(actual, expected) -> bool:
    return bool(actual == pytest.approx(expected, rel=1e-10, abs=1e-12))


def check(bound: Linked, reference, max_order: int = 3) -> None:
    """Compare all effects up to an order with their definitions."""
    at = reference.rows
    width = at.shape[1]
    assert close(bound.outputs(), reference.predict(at))
    effects: dict[tuple[int, ...], Any] = {}
    for single in bound.single(range(width)):
        j, others = single.feature, [k for k in range(width) if k != single.feature]
        effects[j,] = reference.partial_dependence([j], at[:, [j]])
        assert close(single.own, effects[j,])
        assert close(single.others, reference.partial_dependence(others, at[:, others]))
    for order in range(2, max_order + 1):
        for joint in bound.joint(list(combinations(range(width), order))):
            group = joint.features
            effects[group] = reference.partial_dependence(group, at[:, list(group)])
            parts = [p for size in range(1, order + 1) for p in combinations(group, size)]
            assert close(joint.whole, effects[group])
            assert close(joint.pure, sum((-1) ** (order - len(p)) * effects[p] for p in parts))
    pairs = list(combinations(range(width), 2)) if width == 3 else []
    for group, (own, rest) in zip(pairs, bound.own_and_others(pairs), strict=True):
        away = tuple(k for k in range(width) if k not in group)
        assert close(own, effects[group])
        assert close(rest, effects[away])


@pytest.mark.parametrize("link", LinkFunction)
def test_outputs_may_be_affine_in_the_linked_scores(bind, link: LinkFunction) -> None:
    """Effects by definition, and rounding errors that follow the coefficients."""
    rng = np.random.default_rng(4)
    trees = [grown(rng, 3, 3, 2) for _ in range(3)]
    rows = drawn(rng, 15, 3)
    combination = AffineMap(np.array([[-1.0, 2.0], [0.0, 3.0], [0.5, 0.5]]), np.array([1.0, 0, -2]))

    bound, reference = bind(link, trees, rows, combination=combination)
    plain, _ = bind(link, trees, rows)
    second, _ = bind(link, trees, rows, outputs=[1], combination=combination)

    check(bound, reference)
    assert second.output_names == ("y1",)
    assert close(second.outputs(), bound.outputs()[:, [1]])
    assert bound.rounding_error()[1] == pytest.approx(3 * plain.rounding_error()[1])
    assert (bound.rounding_error() > 0).all()


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    seed=st.integers(0, 2**32 - 1),
    targets=st.integers(1, 3),
    link=st.sampled_from(LinkFunction),
    weigh=st.sampled_from("ewr"),
)
def test_effects_are_those_of_their_definitions(
    bind, seed: int, targets: int, link: LinkFunction, weigh: str
) -> None:
    """Random trees of all modes, with ties, missing values and repeated features on a path."""
    rng = np.random.default_rng(seed)
    trees = [grown(rng, 4, 3, targets) for _ in range(3)]
    rows = drawn(rng, int(rng.integers(2, 14)), 3)
    weights = {"e": None, "w": rng.integers(0, 3, len(rows)) + (np.arange(len(rows)) == 0)}
    weights["r"] = rng.random(len(rows)) + 0.1
    check(*bind(link, trees, rows, weights[weigh]))


@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32 - 1), link=st.sampled_from(LinkFunction))
def test_curves_are_right_at_any_points_in_any_order(bind, seed: int, link: LinkFunction) -> None:
    """Also at points of no row, beyond all rows, missing, or asked for twice."""
    rng = np.random.default_rng(seed)
    trees = [grown(rng, 4, 2, 2) for _ in range(3)]
    bound, reference = bind(link, trees, drawn(rng, 9, 2))
    points = np.append(rng.permutation(np.arange(-6, 7) / 1.5), [np.nan, 0.0, 0.0])
    points = points.astype(np.float32)
    expected = reference.partial_dependence([1], points[:, None])
    assert close(bound.curve([1], [points]), expected)
    pairs = np.stack([points, points[::-1]])
    expected = reference.partial_dependence([0, 1], pairs.T)
    assert close(bound.curve([0, 1], list(pairs)), expected)

    moved = np.repeat(reference.rows[:, None], len(points), axis=1)
    moved[:, :, 0] = points
    answers = reference.predict(moved.reshape(-1, 2)).reshape(len(moved), len(points), -1)
    assert close(bound.individual([0], [points]), answers)


def test_a_stump_by_hand(bind) -> None:
    bound, _ = bind(LinkFunction.LOGISTIC, [STUMP], [[-1.0], [1.0], [1.0]])
    low, high = 1 / (1 + np.exp(1.0)), 1 / (1 + np.exp(-1.0))
    (single,) = bound.single([0])
    assert close(single.own[:, 0], [low, high])
    assert close(single.others[:, 0], [low / 3 + 2 * high / 3] * 2)


def test_outputs_are_selected_after_the_link(bind) -> None:
    """Probabilities of some classes depend on the scores of all."""
    rows = [[-1.0, 0.5], [1.0, 2.0], [0.5, -1.0]]
    trees = [STUMP, ((1, "LEQ", 0.0), [1.0, 2.0], [-1.0, 0.3])]
    everything, _ = bind(LinkFunction.SOFTMAX, trees, rows)
    second, _ = bind(LinkFunction.SOFTMAX, trees, rows, outputs=[1])
    assert second.output_names == ("y1",)
    assert close(second.outputs(), everything.outputs()[:, 1:])
    for single, whole in zip(second.single([0, 1]), everything.single([0, 1]), strict=True):
        assert close(single.own, whole.own[:, 1:])
        assert close(single.others, whole.others[:, 1:])
    assert close(second.curve([0], [np.ones(1)]), everything.curve([0], [np.ones(1)])[:, 1:])
    (joint,), (whole,) = second.joint([(0, 1)]), everything.joint([(0, 1)])
    assert close(joint.pure, whole.pure[:, 1:])
    assert close(
        second.individual([0], [np.zeros(2)]), everything.individual([0], [np.zeros(2)])[:, :, 1:]
    )


def test_extreme_scores_give_probabilities_of_zero_and_one(bind) -> None:
    trees = [((0, "LEQ", 0.0), [-2000.0, 0.0], [2000.0, 0.0])]
    for link, second in ((LinkFunction.LOGISTIC, [0.5, 0.5]), (LinkFunction.SOFTMAX, [1.0, 0.0])):
        bound, _ = bind(link, trees, [[-1.0], [1.0]])
        assert bound.outputs().T.tolist() == [[0.0, 1.0], second]
        (single,) = bound.single([0])
        assert single.own.T.tolist() == [[0.0, 1.0], second]


def test_a_feature_that_no_tree_compares_changes_nothing_at_all(bind) -> None:
    rng = np.random.default_rng(1)
    trees = [grown(rng, 3, 2, 3) for _ in range(5)]
    bound, _ = bind(LinkFunction.SOFTMAX, trees, rng.normal(size=(50, 3)))
    (single,) = bound.single([2])
    assert np.ptp(single.own, axis=0).tolist() == [0, 0, 0]
    assert single.others == pytest.approx(bound.outputs(), rel=1e-12)


def test_permuted_features_are_those_of_the_trees(bind) -> None:
    rng = np.random.default_rng(2)
    trees = [grown(rng, 4, 3, 2) for _ in range(3)]
    bound, reference = bind(LinkFunction.SOFTMAX, trees, rng.normal(size=(20, 3)))
    order = rng.permutation(20)
    moved = reference.rows.copy()
    moved[:, [0, 2]] = moved[order][:, [0, 2]]
    (predictions,) = bound.permuted([0, 2], [order])
    assert close(predictions, reference.predict(moved))


def test_pairs_are_computed_on_a_sample_of_many_rows(bind) -> None:
    """All parts of a pair share the background that was drawn."""
    rng = np.random.default_rng(3)
    trees = [grown(rng, 4, 3, 2) for _ in range(4)]
    bound, _ = bind(
        LinkFunction.LOGISTIC, trees, rng.normal(size=(60, 3)), rng.random(60) + 0.5, joint_rows=FEW
    )
    sampled = bound.for_joint(2)
    assert len(sampled.background) == 20
    assert sampled.background.source.tolist() == sorted(set(sampled.background.source.tolist()))
    assert bound.for_joint(2).background.source.tolist() == sampled.background.source.tolist()

    rows = np.stack(bound.background.columns, axis=1)[sampled.background.source]
    _, reference = bind(LinkFunction.LOGISTIC, trees, rows, sampled.background.weights)
    (joint,) = sampled.joint([(0, 2)])
    whole = reference.partial_dependence([0, 2], rows[:, [0, 2]])
    first, second = (reference.partial_dependence([j], rows[:, [j]]) for j in (0, 2))
    assert close(joint.whole, whole)
    assert close(joint.pure, whole - first - second)


def test_triples_have_a_sample_of_their_own(bind) -> None:
    rng = np.random.default_rng(3)
    trees = [grown(rng, 4, 3, 2) for _ in range(4)]
    rows = rng.normal(size=(60, 3))
    bound, _ = bind(LinkFunction.LOGISTIC, trees, rows, joint_rows=FEW)
    assert len(bound.for_joint(2).background) == 20
    assert len(bound.for_joint(3).background) == 10

    measure = WeightedMeasurement(bound, Plan((0, 1, 2), 3, 3, None))
    measure.run(bound.background.weights)
    (triple,) = bound.for_joint(3).joint([(0, 1, 2)])
    part = measure.parts["threeway", (0, 1, 2)][0]
    assert close(part.numerators, mean_square(triple.pure, bound.for_joint(3).background.weights))


def test_resampled_pairs_use_the_weights_of_their_own_rows(bind) -> None:
    rng = np.random.default_rng(9)
    trees = [grown(rng, 4, 2, 1) for _ in range(4)]
    bound, _ = bind(LinkFunction.LOGISTIC, trees, rng.normal(size=(60, 2)), joint_rows=FEW)
    weights = rng.integers(0, 4, size=(1, 60)).astype(float)
    measure = WeightedMeasurement(bound, Plan((0, 1), 2, 0, None))
    measure.run(bound.background.weights)
    measure.run(weights)

    sampled = bound.for_joint(2)
    own = weights[:, sampled.background.source]
    (joint,) = sampled.joint([(0, 1)], own)
    part = measure.parts["pairwise", (0, 1)][1]
    assert close(part.numerators, mean_square(joint.pure, own))
    assert part.numerators[0, 0] > 0


def test_pairs_are_tested_with_the_true_values_of_their_own_rows(bind) -> None:
    """Pairs see 20 of 60 rows, and there the target is the model itself; elsewhere it is noise."""
    rng = np.random.default_rng(9)
    trees = [grown(rng, 4, 2, 1) for _ in range(4)]
    bound, _ = bind(LinkFunction.LOGISTIC, trees, rng.normal(size=(60, 2)), joint_rows=FEW)
    actual = rng.normal(size=(60, 1))
    own = bound.for_joint(2).background.source
    actual[own] = bound.outputs()[own]
    options = interactions.Options(("x0", "x1"), permutation_count=200)

    result = interactions.compute(bound, options, 0, actual)
    resampled = replace(options, resampling=Resampling(10))
    again = interactions.compute(bound, resampled, 0, actual)

    assert result.pairwise[0].p_values == pytest.approx(1 / 201, abs=0.01)
    assert result.total.p_values is not None
    assert result.total.p_values[0] > 0.05
    for order in ("overall", "pairwise", "importance"):
        for one, other in zip(getattr(result, order), getattr(again, order), strict=True):
            assert one.p_values == other.p_values


def test_few_rows_are_all_used_for_pairs(bind) -> None:
    bound, _ = bind(LinkFunction.LOGISTIC, [STUMP], [[-1.0], [1.0]])
    assert bound.for_joint(2) is bound


def test_effects_under_replicate_weights_equal_those_of_reweighted_rows(bind) -> None:
    rng = np.random.default_rng(4)
    trees = [grown(rng, 4, 3, 2) for _ in range(3)]
    rows = rng.normal(size=(15, 3))
    bound, _ = bind(LinkFunction.SOFTMAX, trees, rows)
    weights = rng.integers(1, 4, size=(2, 15)).astype(float)
    singles = list(bound.single([0, 1], weights))
    (joint,) = bound.joint([(0, 1)], weights)
    for i, replicate in enumerate(weights):
        alone, _ = bind(LinkFunction.SOFTMAX, trees, rows, replicate)
        for single, expected in zip(singles, alone.single([0, 1]), strict=True):
            assert close(single.own[i], expected.own)
            assert close(single.others[i], expected.others)
        (expected,) = alone.joint([(0, 1)])
        assert close(joint.pure[i], expected.pure)


def test_results_do_not_depend_on_threads_and_progress_ends_where_it_was_planned(
    bind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_functions, "_BLOCK", 7)
    monkeypatch.setattr(planes, "_BLOCK", 5)
    monkeypatch.setattr(linked, "_MAX_HYBRID_ROWS", 100)
    rng = np.random.default_rng(5)
    trees = [grown(rng, 4, 3, 3) for _ in range(4)]
    rows, results = drawn(rng, 130, 3), []
    for count in (1, 3):
        with ThreadPoolExecutor(count) as pool:
            host = Host()
            bound, _ = bind(LinkFunction.SOFTMAX, trees, rows, pool=pool, host=host)
            n = len(bound.background)
            singles = [np.hstack([s.own, s.others]) for s in bound.single(range(3))]
            assert host.done == sum(bound.cost((j,)) for j in range(3)) == 3 * n
            pairs = [j.pure for j in bound.joint([(0, 1)])]
            assert host.done == 3 * n + bound.cost((0, 1))
            triples = [j.pure for j in bound.for_joint(3).joint([(0, 1, 2)])]
            results.append(np.hstack(singles + pairs + triples).tobytes())
    assert results[0] == results[1]
