"""The gate: what holds, what fails, and what is not decided; rules that cannot be read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.methods.changes.comparison import ChangeOptions, compare
from onnxplain_server.methods.changes.found import Changes
from onnxplain_server.methods.changes.gate import judge
from onnxplain_server.methods.changes.matching import KeptStatistics
from onnxplain_server.methods.changes.rules import GateFinding
from onnxplain_server.methods.resampling import ReplicatedStatistic
from onnxplain_server.wire.comparisons.rules import gate_rules, read_rules

NAMES = ("zip", "age", "sex", "pay")


def number(kind, features, value, error, seed) -> ReplicatedStatistic:
    random = np.random.default_rng(seed)
    numbers = np.vstack([[[value]], random.normal(value, error, (300, 1))])
    return ReplicatedStatistic.of_numbers(kind, features, numbers, 1e4)


def curve(values, seed) -> ReplicatedStatistic:
    random = np.random.default_rng(seed)
    replicates = np.array(values)[None, :, None] + random.normal(0, 0.01, (300, 3, 1))
    grid = (np.arange(3.0),)
    own = "PARTIAL_DEPENDENCE", ("age",), "", grid, np.array(values)[:, None], replicates, 1e4
    return ReplicatedStatistic(*own)


def side(importances, loss, error, seed, curve_values=(1.0, 2.0, 3.0)) -> KeptStatistics:
    squares = [
        number("IMPORTANCE_SQUARE", (name,), value, error, seed + i)
        for i, (name, value) in enumerate(zip(NAMES, importances, strict=True))
    ]
    others = number("AVERAGE_LOSS", (), loss, error, seed + 9), curve(curve_values, seed + 10)
    return KeptStatistics(("y",), (*squares, *others))


BEFORE = (0.02, 0.5, 0.3, 0.1)


def judged(
    rule: str, after=BEFORE, loss=1.0, error=0.002, curve_values=(1.0, 2.0, 3.0)
) -> GateFinding:
    sides = side(BEFORE, 1.0, error, 0), side(after, loss, error, 100, curve_values)
    how = {"is_paired": True, "are_classes": False}
    pairs = [(0, *sides)]
    changes = compare(pairs, ChangeOptions(leading_count=2), **how)
    (found,) = judge(
        gate_rules(read_rules(f"[[rule]]\n{rule}".encode()), "rule"), pairs, changes, **how
    )
    return found


ZIP = 'statistic = "importance_square"\nfeatures = ["zip"]\nholds = "value <= 0.05"'
LOSS = 'statistic = "average_loss"\nholds = "change <= 0.01"'
ALL = 'statistic = "importance_square"\nmax_change = 0.1'
CURVE = 'statistic = "partial_dependence"\nmax_change = 0.2'
RATIO = 'statistic = "average_loss"\nholds = "value < 1.1 * reference"'
LEADING = 'ranking = "importance"\nnew_leading_features = false'


@pytest.mark.parametrize(
    ("rule", "after", "expected"),
    [
        pytest.param(ZIP, {}, "HOLDS", id="a value below its bound"),
        pytest.param(ZIP, {"after": (0.2, 0.5, 0.3, 0.1)}, "FAILS", id="above"),
        pytest.param(ZIP, {"after": (0.051, 0.5, 0.3, 0.1)}, "UNDECIDED", id="near"),
        pytest.param(LOSS, {"loss": 0.9}, "HOLDS", id="a loss that falls"),
        pytest.param(LOSS, {"loss": 1.05}, "FAILS", id="that rises"),
        pytest.param(LOSS, {"error": 0.05}, "UNDECIDED", id="of which little is known"),
        pytest.param(ALL, {}, "HOLDS", id="no change at all"),
        pytest.param(ALL, {"after": (0.02, 0.3, 0.3, 0.1)}, "FAILS", id="one falls too far"),
        pytest.param(ALL, {"after": (0.02, 0.7, 0.3, 0.1)}, "FAILS", id="one rises too far"),
        pytest.param(CURVE, {}, "HOLDS", id="a curve"),
        pytest.param(CURVE, {"curve_values": (1.0, 2.0, 2.5)}, "FAILS", id="a point of a curve"),
        pytest.param(RATIO, {"loss": 1.05}, "HOLDS", id="a ratio"),
        pytest.param(RATIO, {"loss": 1.2}, "FAILS", id="a ratio that is too large"),
        pytest.param(LEADING, {}, "HOLDS", id="the same leading features"),
        pytest.param(LEADING, {"after": (0.9, 0.5, 0.3, 0.1)}, "FAILS", id="a new one"),
        pytest.param(LEADING, {"after": (0.02, 0.5, 0.3, 0.301)}, "UNDECIDED", id="perhaps"),
        pytest.param(LEADING, {"after": (0, 0, 0, 0), "error": 0}, "HOLDS", id="none any more"),
    ],
)
def test_each_rule_has_each_outcome(rule, after, expected) -> None:
    found = judged(rule, **after)

    assert found.verdict == expected
    if found.rule.condition:
        assert found.lower <= found.margin <= found.upper
        assert (found.lower >= 0) is (expected == "HOLDS")
        assert (found.upper < 0) is (expected == "FAILS")


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [
        ("value > reference", "FAILS"),
        ("value < reference", "FAILS"),
        ("value >= reference", "HOLDS"),
        ("value <= reference", "HOLDS"),
        ("abs(change) < 0", "FAILS"),
        ("abs(change) <= 0", "HOLDS"),
        ("value > 0.5 * reference", "HOLDS"),
        ("value < 0.5 * reference", "FAILS"),
    ],
)
def test_equal_numbers_are_neither_larger_nor_smaller(holds, verdict) -> None:
    own = KeptStatistics(("y",), (number("AVERAGE_LOSS", (), 1.0, 0.1, 0),))
    rules = gate_rules(
        read_rules(f'[[rule]]\nstatistic = "average_loss"\nholds = "{holds}"'.encode()), "rule"
    )
    (found,) = judge(rules, [(0, own, own)], Changes(), is_paired=True, are_classes=False)

    assert found.verdict == verdict


def test_a_feature_that_comes_into_use_is_a_new_leading_one() -> None:
    sides = [side((*BEFORE[:3], value), 1.0, 0.0, 0) for value in (0.0, 0.01)]
    how = {"is_paired": True, "are_classes": False}
    pairs = [(0, sides[0], sides[1])]
    changes = compare(pairs, ChangeOptions(), **how)
    (found,) = judge(
        gate_rules(read_rules(f"[[rule]]\n{LEADING}".encode()), "rule"), pairs, changes, **how
    )

    assert found.verdict == "FAILS"
    assert found.subject is not None
    assert found.subject.features == ("pay",)
    assert (found.reference_value, found.value) == (float("inf"), 4)


@pytest.mark.parametrize(
    ("shift", "verdict", "counts"),
    [(0.0, "HOLDS", (3, 0)), (1.5, "HOLDS", (1, 2)), (9.0, "UNDECIDED", (0, 0))],
)
def test_points_that_a_curve_does_not_reach_are_counted(shift, verdict, counts) -> None:
    own = curve((1.0, 1.0, 1.0), 0)
    sides = [
        KeptStatistics(("y",), (each,)) for each in (own, replace(own, grid=(own.grid[0] + shift,)))
    ]
    rules = gate_rules(read_rules(f"[[rule]]\n{CURVE}".encode()), "rule")
    pairs = [(0, sides[0], sides[1])]
    (found,) = judge(rules, pairs, Changes(), is_paired=True, are_classes=False)

    assert (found.verdict, found.count, found.missed_count) == (verdict, *counts)
    assert ("points in common" in found.reason) is (verdict == "UNDECIDED")


def test_tables_that_draw_the_same_numbers_are_independent() -> None:
    """Replicates of one seed are equal by number, though the rows of two tables are not."""
    own = number("AVERAGE_LOSS", (), 1.0, 0.1, 0)
    side = KeptStatistics(("y",), (own,))
    rules = gate_rules(
        read_rules(b'[[rule]]\nstatistic = "average_loss"\nholds = "change <= 0.01"'), "rule"
    )
    widths = []
    for is_paired in (True, False):
        (found,) = judge(
            rules, [(0, side, side)], Changes(), is_paired=is_paired, are_classes=False
        )
        widths.append(found.upper - found.lower)

    assert widths[0] == 0
    assert widths[1] == pytest.approx(2 * 1.97 * 2**0.5 * 0.1, rel=0.15)


def test_the_statistic_nearest_to_failing_is_named() -> None:
    found = judged(ALL, after=(0.02, 0.7, 0.3, 0.1))

    assert found.subject is not None
    assert found.subject.features == ("age",)
    assert (found.reference_value, found.value) == (0.5, 0.7)
    assert found.margin == pytest.approx(-0.1, abs=0.01)
    assert found.count == 4


def test_the_leading_feature_is_named_with_its_ranks() -> None:
    found = judged(LEADING, after=(0.9, 0.5, 0.3, 0.1))

    assert found.subject is not None
    assert (found.subject.features, found.reference_value, found.value) == (("zip",), 4, 1)


def test_a_rule_about_nothing_is_not_passed_in_silence() -> None:
    found = judged('statistic = "firm_importance"\nmax_change = 1')

    assert (found.verdict, found.reason) == ("UNDECIDED", "both answers have no such statistic")


def test_a_rule_about_many_statistics_is_held_to_one_level() -> None:
    """Of 60 tables without a change, at most a few fail: each has 6 statistics at 0.1 errors."""
    fails = 0
    for seed in range(60):
        values = np.random.default_rng([seed, 1]).normal(0.5, 0.05, (2, 6))
        sides = [
            KeptStatistics(
                ("y",),
                tuple(
                    number("FIRM_IMPORTANCE", (f"x{i}",), value, 0.05, seed + 50 * i + 1000 * k)
                    for i, value in enumerate(own)
                ),
            )
            for k, own in enumerate(values)
        ]
        how = {"is_paired": False, "are_classes": False}
        rules = gate_rules(
            read_rules(b'[[rule]]\nstatistic = "firm_importance"\nmax_change = 0\nlevel = 0.9'),
            "rule",
        )
        pairs = [(0, sides[0], sides[1])]
        (found,) = judge(rules, pairs, compare(pairs, ChangeOptions(), **how), **how)
        fails += found.verdict == "FAILS"

    assert fails <= 15


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rule = 1", "a list of"),
        ("[[rule]", "no TOML"),
        ('[[rule]]\nstatistic = "importance"', "a rule has one of"),
        ('[[rule]]\nstatistic = "weight"\nmax_change = 1', "this rule has a statistic, one of"),
        ('[[rule]]\nstatistic = "importance"\nmax_change = -1', "0 or more"),
        ('[[rule]]\nstatistic = "importance"\nmax_change = "1"', "of the type float"),
        ('[[rule]]\nstatistic = "importance"\nholds = "value"', "one comparison by"),
        ('[[rule]]\nstatistic = "importance"\nholds = "p < 1"', "there is no 'p'"),
        ('[[rule]]\nstatistic = "importance"\nmax_change = 1\nlevel = 2', "level"),
        ('[[rule]]\nstatistic = "importance"\nmax_change = 1\nfeature = "a"', "no 'feature'"),
        ('[[rule]]\nranking = "importance"\nnew_leading_features = true', "only be false"),
        ('[[rule]]\nstatistic = "importance"\nnew_leading_features = false', "has a ranking"),
    ],
)
def test_rules_that_say_nothing_are_refused(text, message) -> None:
    with pytest.raises(ExplainError, match=message):
        read_rules(text.encode())


BOUND = '[[rule]]\nstatistic = "importance"\nmax_change = 1\nlevel = 0.9'


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ('[[rule]]\nname="top"\nranking="importance"\nfeatures=[]\nnew_leading_features = false',
         "rule[0].features", "'top'"),
        ('[[rule]]\nranking = "importance"\ngroup = "x"\nnew_leading_features = false',
         "rule[0].group", "'importance x: no new leading features'"),
        (BOUND.replace("max_change = 1", f"max_change = {'9' * 400}"), "rule[0].max_change",
         "too large"),
        (BOUND.replace("level = 0.9", f"level = -{'9' * 400}"), "rule[0].level", "too large"),
        (BOUND.replace("max_change = 1", "max_change = inf"), "rule[0].max_change", "finite"),
        (BOUND.replace("max_change = 1", "max_change = 1e999"), "rule[0].max_change", "finite"),
        (BOUND.replace("max_change = 1", "max_change = nan"), "rule[0].max_change", "finite"),
        (BOUND.replace("level = 0.9", "level = nan"), "rule[0].level", "nan"),
        (BOUND.replace("max_change = 1", f"max_change = {'9' * 5000}"), "rules", "4300"),
        (f"x = {'[' * 3000}", "rules", "nested"),
        ("[[rule]]\nname = '\x00'", "rules", "no TOML"),
    ],
)  # fmt: skip
def test_what_a_rule_cannot_have_is_refused_with_its_place(text, path, message) -> None:
    with pytest.raises(ExplainError) as refused:
        read_rules(text.encode())

    assert refused.value.field == path
    assert message in str(refused.value)
