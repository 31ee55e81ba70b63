"""Groups of features as one in interactions: by their definition, by laws, and told by name."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods import interactions
from onnxplain_server.methods.interactions import Options, Result
from onnxplain_server.methods.resampling import Resampling, Scheme

GROUPS = (("d", "a"), ("c", "e"))
PLAYERS = {"a + d": (0, 3), "b": (1,), "c + e": (2, 4), "f": (5,)}


def curved(a, b, c, d, e, f):
    return a * b + np.sin(c * d) + b * np.exp(e / 3) * f + a * d * e


@pytest.fixture(scope="module")
def columns() -> dict[str, Any]:
    random = np.random.default_rng(7)
    return {
        "a": random.integers(0, 2, 25).astype(float),
        **{name: random.normal(size=25).round(1) for name in "bcd"},
        "e": random.integers(0, 3, 25).astype(float),
        "f": random.normal(size=25),
    }


def measure(make, function, columns, weights=None, seed: int = 0, **given) -> Result:
    options = interactions.resolve(Options(**given), tuple(columns), "p")
    engine = make.engine(function, columns, weights, n_outputs=1)
    return interactions.compute(interactions.grouped(engine.effects, options), options, seed)


class Definition:
    """Effects of sets of features, centred, by moving one row's values at a time."""

    def __init__(self, function, columns, weights) -> None:
        self._function = function
        self.rows = np.stack(list(columns.values()))
        self.weights = weights

    def mean(self, values):
        return np.average(values, weights=self.weights)

    def effect(self, features):
        curve = []
        for row in self.rows.T:
            moved = self.rows.copy()
            moved[list(features)] = row[list(features), None]
            curve.append(self.mean(self._function(*moved)))
        return np.array(curve) - self.mean(curve)

    def union(self, *names: str):
        return self.effect([j for name in names for j in PLAYERS[name]])


def parts(statistic) -> list[float]:
    return [statistic.numerators[0], statistic.denominators[0]]


def test_statistics_of_groups_are_those_of_their_definition(make, columns) -> None:
    weights = np.random.default_rng(1).uniform(0.5, 2, 25)
    found = measure(
        make, curved, columns, weights, groups=GROUPS,
        pairwise_feature_count=4, threeway_feature_count=4,
    )  # fmt: skip

    by = Definition(curved, columns, weights)
    f = by.effect(range(6))
    single = {name: by.union(name) for name in PLAYERS}
    exactly = pytest.approx
    total = by.mean((f - sum(single.values())) ** 2)
    assert parts(found.total) == exactly([total, by.mean(f**2)], rel=1e-9)
    assert [s.features for s in found.overall] == [(name,) for name in PLAYERS]
    for overall, importance in zip(found.overall, found.importance, strict=True):
        (name,) = overall.features
        others = by.union(*(other for other in PLAYERS if other != name))
        assert overall.numerators == exactly([by.mean((f - single[name] - others) ** 2)], rel=1e-9)
        assert importance.numerators == exactly([by.mean((f - others) ** 2)], rel=1e-9)
    assert [s.features for s in found.pairwise] == list(combinations(PLAYERS, 2))
    for pair in found.pairwise:
        j, k = pair.features
        whole = by.union(j, k)
        pure = whole - single[j] - single[k]
        assert parts(pair) == exactly([by.mean(pure**2), by.mean(whole**2)], rel=1e-9)
    assert [s.features for s in found.threeway] == list(combinations(PLAYERS, 3))
    for triple in found.threeway:
        whole = by.union(*triple.features)
        pairs = [by.union(*pair) for pair in combinations(triple.features, 2)]
        pure = whole - sum(pairs) + sum(single[name] for name in triple.features)
        assert parts(triple) == exactly([by.mean(pure**2), by.mean(whole**2)], rel=1e-9)


def test_two_groups_of_all_features_share_one_interaction(make, columns) -> None:
    """What is no single effect of two players is their interaction, whoever asks."""
    found = measure(make, curved, columns, groups=[("a", "b", "c"), ("d", "e", "f")])

    (total,) = found.total.numerators
    assert total > 0
    others = [s.numerators[0] for s in (*found.overall, *found.pairwise)]
    assert others == pytest.approx([total] * 3)


def test_a_group_that_holds_all_interactions_has_none(make, columns) -> None:
    def within(a, b, c, d, e, f):
        return a * b * c + d * e - f**2

    found = measure(make, within, columns, groups=[("a", "b", "c"), ("d", "e")])

    assert found.total.values.tolist() == [0]
    assert {s.features: s.values.tolist() for s in found.overall} == {
        ("a + b + c",): [0], ("d + e",): [0], ("f",): [0]
    }  # fmt: skip


@pytest.mark.parametrize("scheme", ["BOOTSTRAP", "JACKKNIFE"])
def test_one_hot_columns_as_a_group_are_their_category(make, columns, scheme: str) -> None:
    def of_category(category, b, f):
        return np.where(category == 1, b * f, category * b) + f

    def of_one_hot(one, two, b, f):
        return of_category(one + 2 * two, b, f)

    raw = {"category": columns["e"], "b": columns["b"], "f": columns["f"]}
    hot = {"one": columns["e"] == 1, "two": columns["e"] == 2, "b": raw["b"], "f": raw["f"]}
    asked: dict[str, Any] = {
        "pairwise_feature_count": 3,
        "threeway_feature_count": 3,
        "resampling": Resampling(20, Scheme(scheme), 0.9),
    }

    expected = measure(make, of_category, raw, **asked)
    found = measure(make, of_one_hot, hot, groups=[("one", "two")], **asked)

    for order in ("overall", "pairwise", "threeway", "importance"):
        pairs = zip(getattr(found, order), getattr(expected, order), strict=True)
        for one, other in pairs:
            assert one.features == tuple(
                "one + two" if n == "category" else n for n in other.features
            )
            assert parts(one) == pytest.approx(parts(other), rel=1e-9)
            assert one.spread.lower == pytest.approx(other.spread.lower, rel=1e-6)


def test_features_of_groups_that_are_known_to_be_unused_cost_nothing(make, columns) -> None:
    def of_three(a, c, e):
        return a * c + np.exp(e / 3) * a

    def of_six(a, _b, c, _d, e, _f):
        return of_three(a, c, e)

    given: dict[str, Any] = {"pairwise_feature_count": 4, "threeway_feature_count": 4}
    grouped = Options(groups=(("a", "b"), ("d", "f")), **given)
    columns = columns | {"c": np.arange(25.0)}  # so that no two rows are equal
    used = {name: columns[name] for name in "ace"}
    engines = {
        "known": make.engine(of_six, columns, without={0: [1, 3, 5]}),
        "unknown": make.engine(of_six, columns),
        "without": make.engine(of_three, used),
    }
    found = {}
    for name, engine in engines.items():
        own = Options(**given) if name == "without" else grouped
        options = interactions.resolve(own, engine.background.features.names, "p")
        effects = interactions.grouped(engine.effects, options)
        found[name] = interactions.compute(effects, options, 0)

    for order in ("overall", "pairwise", "threeway", "importance"):
        known, unknown = (getattr(found[name], order) for name in ("known", "unknown"))
        for one, other in zip(known, unknown, strict=True):
            assert parts(one) == pytest.approx(parts(other), rel=1e-9)
    assert engines["known"].model.predicted == engines["without"].model.predicted


@pytest.mark.parametrize(
    ("given", "said", "reason"),
    [
        ({"groups": [("a", "g")]}, "'g' is no feature of the model", Reason.UNKNOWN_FEATURE),
        ({"groups": [("a",)]}, "a group has at least two", Reason.INVALID_OPTION),
        ({"groups": [()]}, "is no feature of the model", Reason.UNKNOWN_FEATURE),
        ({"groups": [("a", "b"), ("b", "c")]}, "'b' is named twice", Reason.INVALID_OPTION),
        ({"groups": [tuple("abcdef")]}, "at least 2 features", Reason.INVALID_OPTION),
        (
            {"groups": [("a", "b")], "features": ("a", "c", "d")},
            "'b', which features leaves out",
            Reason.INVALID_OPTION,
        ),
        ({"groups": [("a", "b")], "knot_count": 5}, "not along groups", Reason.INVALID_OPTION),
    ],
)
def test_groups_that_make_no_sense_are_refused(given, said: str, reason: Reason) -> None:
    with pytest.raises(ExplainError, match=said) as refused:
        interactions.resolve(Options(**given), tuple("abcdef"), "p")

    assert refused.value.reason is reason


def test_a_group_has_a_name_of_its_own() -> None:
    with pytest.raises(ExplainError, match="rename a column"):
        interactions.resolve(Options(groups=(("a", "b"),)), ("a", "b", "a + b"), "p")


def test_features_that_are_left_out_are_no_players(make, columns) -> None:
    found = measure(make, curved, columns, groups=[("a", "d")], features=("a", "b", "d"))

    assert [s.features for s in found.overall] == [("a + d",), ("b",)]
