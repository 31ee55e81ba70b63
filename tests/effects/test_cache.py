"""Effect cache: keys hold all that an effect depends on, and nothing else."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

COLUMNS: dict[str, list[Any]] = {"x": [0.0, 1, 2, 4], "y": [1.0, 3, 1, 0], "t": ["a", "b", "a", ""]}


def function(x, y, t):
    text = np.array([len(value) for value in t])
    return np.stack([x * y + text, np.sin(x) * text], axis=1)


def engine(make, host, *columns, **options):
    given = columns[0] if columns else COLUMNS
    return make.engine(function, given, host=host, n_outputs=2, **options)


def singles(built, features=(0, 1, 2)):
    effects = [(s.own, s.others) for s in built.effects.single(features)]
    return np.array(effects)


def test_a_repeated_request_predicts_nothing_and_returns_the_same_bits(make) -> None:
    host = make.host()
    pairs = list(combinations(range(3), 2))
    answers = []
    for _ in range(2):
        built = engine(make, host)
        answers.append(
            [
                built.effects.outputs().tobytes(),
                singles(built).tobytes(),
                *(j.pure.tobytes() for j in built.effects.joint(pairs)),
                *(j.pure.tobytes() for j in built.effects.joint([(0, 1, 2)])),
            ]
        )

    assert answers[0] == answers[1]
    assert built.model.predicted == 0
    assert (built.ledger.hits, built.ledger.misses) == (1 + 2 * 3 + 3 + 1, 0)


def test_cache_misses_are_counted(make) -> None:
    built = engine(make, make.host())

    built.effects.outputs()
    singles(built)

    assert (built.ledger.hits, built.ledger.misses) == (0, 1 + 2 * 3)


def test_a_cache_is_asked_once_for_all_features_and_once_for_all_pairs(make) -> None:
    host = make.host()
    built = engine(make, host)
    built.effects.outputs()
    before = host.round_trips

    singles(built)
    list(built.effects.joint(list(combinations(range(3), 2))))

    assert host.round_trips - before == 2


def test_a_cache_is_asked_once_for_all_curves(make) -> None:
    host = make.host()
    asked = [([0], [np.array([0.0, 1])]), ([1], [np.array([2.0])]), ([0, 1], [np.ones(2)] * 2)]
    first = [curve.tolist() for curve in engine(make, host).effects.curves(asked)]
    before = host.round_trips

    built = engine(make, host)
    again = [curve.tolist() for curve in built.effects.curves(asked)]

    assert again == first
    assert built.model.predicted == 0
    assert host.round_trips - before == 1


def test_a_curve_at_the_rows_values_is_cached_by_single_effects(make) -> None:
    host = make.host()
    first = engine(make, host)
    own = singles(first)[0][0]

    later = engine(make, host)
    curve = later.effects.curve([0], [np.array([4.0, 0, 1, 2])])

    assert later.model.predicted == 0
    assert curve.tolist() == own[[3, 0, 1, 2]].tolist()


def test_single_effects_are_predicted_again_after_a_curve(make) -> None:
    """F_j is there, but not the average over the other features: both are predicted again."""
    host = make.host()
    engine(make, host).effects.curve([0], [np.array([0.0, 1, 2, 4])])

    later = engine(make, host)
    effects = singles(later, [0])

    assert later.ledger.hits == 2  # F_j, and the predictions of the rows
    np.testing.assert_allclose(effects, singles(engine(make, make.host()), [0]), rtol=1e-12)


def test_more_pairs_predict_only_the_new_ones(make) -> None:
    host = make.host()
    first = engine(make, host)
    singles(first)
    list(first.effects.joint([(0, 1)]))
    later = engine(make, host)
    singles(later)
    list(later.effects.joint([(0, 1), (0, 2)]))

    # Four combinations of x and t, each with the three values of y.
    assert later.model.predicted == 4 * 3


def test_a_subset_of_the_outputs_is_served_from_the_cache(make) -> None:
    host = make.host()
    every = singles(engine(make, host))

    later = engine(make, host, outputs=[1])

    assert singles(later).tolist() == every[..., [1]].tolist()
    assert later.model.predicted == 0


def test_more_outputs_than_before_are_predicted(make) -> None:
    host = make.host()
    singles(engine(make, host, outputs=[1]))

    later = engine(make, host)

    fresh = singles(engine(make, make.host()))
    np.testing.assert_allclose(singles(later), fresh, rtol=1e-12)
    assert later.model.predicted > 0


def test_rows_in_another_place_of_the_table_are_the_same_rows(make) -> None:
    host = make.host()
    singles(engine(make, host, source=[0, 1, 2, 3]))

    later = engine(make, host, source=[5, 6, 7, 8])
    singles(later)

    assert later.model.predicted == 0


RENAMED = {"z": COLUMNS["x"], "y": COLUMNS["y"], "t": COLUMNS["t"]}
OTHER_NUMBER = COLUMNS | {"y": [1.0, 3, 1, 1e-9]}
OTHER_TEXT = COLUMNS | {"t": ["a", "b", "a", "c"]}
MOVED_TEXT = COLUMNS | {"t": ["a", "", "ab", "a"]}
OTHER_ORDER = {name: values[::-1] for name, values in COLUMNS.items()}
FEWER = {name: values[:3] for name, values in COLUMNS.items()}


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        pytest.param(COLUMNS, {"weights": [1, 1, 1, 2]}, id="weights"),
        pytest.param(COLUMNS, {"weights": [1, 1, 1, 0]}, id="a weight of zero"),
        pytest.param(COLUMNS, {"scale": "MARGIN"}, id="scale"),
        pytest.param(COLUMNS, {"types": ["float", "double", "string"]}, id="types"),
        pytest.param(RENAMED, {}, id="names"),
        pytest.param(OTHER_NUMBER, {}, id="a number"),
        pytest.param(OTHER_TEXT, {}, id="a text"),
        pytest.param(MOVED_TEXT, {}, id="texts that run together alike"),
        pytest.param(OTHER_ORDER, {}, id="order of rows"),
        pytest.param(FEWER, {}, id="fewer rows"),
    ],
)
def test_another_request_is_a_cache_miss(
    make, columns: dict[str, Any], options: dict[str, Any]
) -> None:
    host = make.host()
    singles(engine(make, host))

    later = engine(make, host, columns, **options)
    later.effects.outputs()
    singles(later)

    assert later.ledger.hits == 0


def test_another_feature_or_other_points_are_cache_misses(make) -> None:
    host, points = make.host(), np.array([1.0, 2.0])
    first = engine(make, host)
    first.effects.curve([0], [points])
    later = engine(make, host)

    later.effects.curve([1], [points])
    later.effects.curve([0], [points + 1])
    later.effects.curve([0], [points[:1]])
    later.effects.curve([0, 1], [points, points])
    later.effects.curve([1, 0], [points, points])

    assert later.ledger.hits == 0


def names_read(make, host) -> set[str]:
    """Return the names of the cached numbers that a repeated request reads."""
    read: set[str] = set()

    class Watching(make.host):  # type: ignore[misc]
        def cache_get(self, names, byte_limit=math.inf):
            read.update(names)
            return super().cache_get(names, byte_limit)

    watching = Watching()
    watching.values = host.values
    later = engine(make, watching)
    later.effects.outputs()
    singles(later)
    return read


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda value: value[:-1], id="truncated"),
        pytest.param(lambda _value: b"", id="empty"),
        pytest.param(lambda value: b"XXXX" + value[4:], id="not ours"),
        pytest.param(lambda value: value[:4] + b"\x09" + value[5:], id="of another version"),
        pytest.param(lambda value: value + value[-8:], id="with a number too many"),
        pytest.param(lambda _value: None, id="absent"),
    ],
)
def test_a_damaged_number_is_computed_again(make, damage) -> None:
    host = make.host()
    expected = singles(engine(make, host))
    whole = dict(host.values)
    read = names_read(make, host)

    for name, value in whole.items():
        if name not in read:  # predictions that only larger groups use
            continue
        host.values = whole | {name: damage(value)}
        later = engine(make, host)
        later.effects.outputs()
        np.testing.assert_allclose(singles(later), expected, rtol=1e-12)
        assert later.ledger.misses == 1
        assert later.model.predicted > 0
        assert host.values == whole


def test_a_cache_that_stores_nothing_costs_time_only(make) -> None:
    class Forgetful(make.host):  # type: ignore[misc]
        def cache_put(self, entries) -> None:
            """Drop them."""

    host = Forgetful()

    first, again = (singles(engine(make, host)) for _ in range(2))

    np.testing.assert_allclose(again, first, rtol=1e-12)
    assert host.values == {}


def test_individual_curves_are_cached(make) -> None:
    host, points = make.host(), np.array([0.0, 2.0, 1.0])
    first = engine(make, host).effects.individual([0], [points])
    host.progress.clear()

    later = engine(make, host)
    again = later.effects.individual([0], [points])

    assert again.tobytes() == first.tobytes()
    assert again.shape == (4, 3, 2)
    assert later.model.predicted == 0
    assert host.progress[-1][0] == 4 * 3


@pytest.mark.parametrize(("feature", "points"), [(1, [0.0, 2.0, 1.0]), (0, [0.0, 1.0, 2.0])])
def test_other_individual_curves_are_predicted(make, feature: int, points) -> None:
    host = make.host()
    engine(make, host).effects.individual([0], [np.array([0.0, 2.0, 1.0])])

    later = engine(make, host)
    predictions = later.effects.individual([feature], [np.array(points)])

    assert later.model.predicted == 4 * 3
    alone = engine(make, make.host()).effects.individual([feature], [np.array(points)])
    np.testing.assert_allclose(predictions, alone, rtol=1e-12)
