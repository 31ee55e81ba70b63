"""Unused features: exactly no effect, and no predictions."""

import numpy as np
import pytest

N = 30
RANDOM = np.random.default_rng(3)
COLUMNS = {name: RANDOM.normal(size=N) for name in "abcd"}
WEIGHTS = RANDOM.uniform(0.5, 2, N)


def function(a, _b, c, _d):
    return np.exp(a) * c + a


def centered(pure):
    """Pure effects are given up to a constant."""
    return pure - pure.mean(axis=-2, keepdims=True)


@pytest.fixture
def engines(make):
    """The same model, of which it is known that b and d are unused, and of which it is not."""
    return [
        make.engine(function, COLUMNS, WEIGHTS, without=without) for without in ({0: [1, 3]}, {})
    ]


def test_an_unused_feature_has_the_mean_as_its_effect(engines) -> None:
    engine, _ = engines

    (single,) = engine.effects.single([1])

    outputs = engine.effects.outputs()
    assert np.ptp(single.own) == 0
    assert single.own[0] == pytest.approx(np.average(outputs, axis=0, weights=WEIGHTS))
    assert single.others.tolist() == outputs.tolist()
    assert engine.model.predicted == N


def test_effects_with_unused_features_equal_those_by_prediction(engines) -> None:
    random = np.random.default_rng(4)
    groups = [(0, 1), (0, 2), (1, 3)], [(0, 1, 2), (0, 1, 3)]
    pairs = {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)} - set(groups[0])
    for weights in (None, random.uniform(1, 2, (3, N))):
        effects = []
        for engine in engines:
            singles = list(engine.effects.single(range(4), weights))
            joints = list(engine.effects.joint([*groups[0], *sorted(pairs)], weights))
            joints += engine.effects.joint(groups[1], weights)
            effects.append(
                [
                    *((s.own, s.others) for s in singles),
                    *((j.whole, centered(j.pure)) for j in joints),
                ]
            )
        for ours, theirs in zip(*effects, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_an_unused_feature_has_no_interaction(engines) -> None:
    engine, _ = engines
    list(engine.effects.single(range(4)))
    before = engine.model.predicted

    joints = list(engine.effects.joint([(0, 1), (1, 3), (2, 3)]))

    assert all((joint.pure == 0).all() for joint in joints)
    assert engine.model.predicted == before


@pytest.mark.parametrize(("moved", "new"), [((1,), 0), ((1, 3), 0), ((0, 1), 2 * N)])
def test_curves_move_only_what_is_used(engines, moved, new: int) -> None:
    points = [np.array([0.0, 0.0, 1.0])] * len(moved)
    engine, plain = engines
    engine.effects.outputs()

    curve = engine.effects.curve(moved, points)

    np.testing.assert_allclose(curve, plain.effects.curve(moved, points), rtol=1e-12)
    assert engine.model.predicted == N + new


def test_an_unused_feature_moved_to_a_non_finite_value_is_predicted(make) -> None:
    """A coefficient of 0 times infinity is no number."""
    engine = make.engine(lambda a, b: a + 0 * b, {"a": [1.0, 2.0], "b": [1, 2]}, without={0: [1]})

    with pytest.raises(Exception, match="not finite"), np.errstate(invalid="ignore"):
        engine.effects.curve([1], [np.array([np.inf])])


def test_individual_curves_of_an_unused_feature_are_flat(engines) -> None:
    engine, plain = engines
    points, order = np.array([0.0, 5.0]), np.arange(N)[::-1]

    # Exponentials may differ in their last digit by where a row lies in a call.
    np.testing.assert_allclose(
        engine.effects.individual([1], [points]),
        plain.effects.individual([1], [points]),
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        engine.effects.permuted([1, 3], [order]),
        plain.effects.permuted([1, 3], [order]),
        rtol=1e-12,
    )
    assert engine.model.predicted == N


def test_rows_that_differ_in_unused_features_only_are_predicted_once(make) -> None:
    columns = {"x": np.arange(20.0), "y": np.arange(20) % 2, "z": np.arange(20.0)}
    engine = make.engine(lambda x, y, _z: x * y, columns, without={0: [2]})

    list(engine.effects.single([0]))

    assert engine.model.predicted == 20 * 2


def test_a_feature_is_unused_only_if_no_selected_output_depends_on_it(make) -> None:
    def both(a, b):
        return np.stack([a, a * b], axis=1)

    columns = {name: COLUMNS[name] for name in "ab"}
    for outputs, predicted in (([0], N), ([1], N + N * N), ([0, 1], N + N * N)):
        engine = make.engine(both, columns, n_outputs=2, outputs=outputs, without={0: [1]})
        engine.effects.outputs()
        list(engine.effects.single([1]))
        assert engine.model.predicted == predicted
