"""Accumulated local effects: by hand, by brute force, and by the laws that define them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.accumulated_local_effects import (
    AccumulatedLocalEffect,
    Options,
    Result,
)
from onnxplain_server.methods.partial_dependence import Options as PartialDependence
from onnxplain_server.methods.resampling import Resampling


def explained(make, function, columns, method: Any = None, **given) -> Any:
    """Explain a function of columns; what is no option of the method is one of the question."""
    names = ("weight_column", "row_count", "seed", "host")
    question = {name: given.pop(name) for name in names if name in given}
    used = list(columns)[: function.__code__.co_argcount]
    types = ["string" if isinstance(columns[name][0], str) else "double" for name in used]
    model = make.model(function, used, types, n_outputs=given.pop("n_outputs", 1))
    answer = make.answer(model, make.table(columns), method or Options(**given), **question)
    return answer.explanations[0].result, model.predicted, answer


def accumulated(make, function, columns, **given) -> Result:
    result = explained(make, function, columns, **given)[0]
    assert isinstance(result, Result)
    return result


def effect(make, function, columns, feature: str, **given) -> AccumulatedLocalEffect:
    (curve,) = accumulated(make, function, columns, features=((feature,),), **given).curves
    return curve


def by_definition(function, columns, feature: str, grid, weights=None):
    """Follow the definition, one step at a time: slow, obvious, shared with no one."""
    names = list(columns)[: function.__code__.co_argcount]
    arrays = {name: np.array(columns[name]) for name in names}
    weights = np.ones(len(arrays[feature])) if weights is None else np.array(weights, float)
    order = {value: place for place, value in enumerate(grid)}
    by_value = set(arrays[feature].tolist()) == set(grid)
    level = [0 * np.atleast_1d(function(*(array[:1] for array in arrays.values()))[0])]
    for low, high in pairwise(grid):
        x = arrays[feature]
        inside = (x == low) | (x == high) if by_value else (x > low) & (x <= high)
        inside |= (low == grid[0]) & (x == low)
        ends = [
            function(*(
                np.full(inside.sum(), end) if name == feature else array[inside]
                for name, array in arrays.items()
            ))
            for end in (low, high)
        ]  # fmt: skip
        level.append(level[-1] + np.average(ends[1] - ends[0], axis=0, weights=weights[inside]))
    curve = np.array(level)
    places = [order[v] if v in order else np.interp(v, grid, range(len(grid))) for v in x.tolist()]
    at_rows = [np.interp(places, range(len(grid)), column) for column in curve.T]
    return curve - np.average(at_rows, axis=1, weights=weights)


def correlated(count: int = 400, seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    a = random.normal(size=count)
    return {
        "a": a,
        "b": a + 0.3 * random.normal(size=count),
        "c": random.integers(0, 4, count).astype(float),
        "t": random.choice(["u", "v", "w"], count).tolist(),
    }


def tangled(a, b, c, t):
    letters = np.array([ord(value) for value in t])
    return np.stack([a * b + np.sin(3 * a) * c, np.exp(b / 2) - c * letters * a], axis=1)


def test_a_curve_worked_by_hand(make) -> None:
    """Rows move up and down between values of their own; the docs have the same table."""
    columns = {"a": [0.0, 0, 1, 2], "b": [1.0, 3, 4, 10]}

    curve = effect(make, lambda a, b: a * b, columns, "a")

    # From 0 to 1: rows of 0 and 1 differ by b, (1 + 3 + 4) / 3; from 1 to 2: (4 + 10) / 2.
    raw = np.array([0, 8 / 3, 8 / 3 + 7])
    assert curve.grid[0].tolist() == [0, 1, 2]
    assert curve.values[:, 0] == pytest.approx(raw - (raw[1] + raw[2]) / 4)
    assert curve.bin_weights.tolist() == [3, 2]
    assert curve.row_weights.tolist() == [2, 1, 1]
    assert curve.mean_predictions == pytest.approx([(4 + 20) / 4])
    assert (curve.weight, curve.missing_weight) == (4, 0)


def test_bins_worked_by_hand(make) -> None:
    """Two bins of three values each; edges are the lowest value and the last of each bin."""
    columns = {"a": [1.0, 2, 3, 5, 6, 9], "b": [1.0, 0, 2, 4, 4, 1]}

    curve = effect(make, lambda a, b: a * b, columns, "a", bin_count=2)

    raw = np.array([0, 2 * 1.0, 2 + 6 * 3.0])
    rows = np.array([0, 1, 2, 2 + 18 * 2 / 6, 2 + 18 * 3 / 6, 20])
    assert curve.grid[0].tolist() == [1, 3, 9]
    assert curve.values[:, 0] == pytest.approx(raw - rows.mean())
    assert curve.bin_weights.tolist() == [3, 3]


@pytest.mark.parametrize("feature", ["a", "b", "c", "t"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_curves_are_those_of_the_definition(make, feature: str, is_weighted: bool) -> None:
    columns = correlated()
    random = np.random.default_rng(1)
    weights = random.integers(1, 5, 400).astype(float) if is_weighted else None
    given = {"weight_column": "w"} if is_weighted else {}
    whole = {**columns, "w": weights} if is_weighted else columns

    curve = effect(make, tangled, whole, feature, n_outputs=2, **given)

    expected = by_definition(tangled, columns, feature, curve.grid[0].tolist(), weights)
    assert curve.values == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert curve.row_weights.sum() == pytest.approx(400 if weights is None else weights.sum())
    assert len(curve.grid[0]) == (21 if feature in "ab" else len(set(columns[feature])))
    assert curve.row_weights @ curve.values == pytest.approx([0, 0], abs=1e-9)


@pytest.mark.parametrize("feature", ["a", "c"])
def test_an_additive_model_has_its_centred_terms(make, feature: str) -> None:
    columns = correlated()
    terms = {"a": np.sin, "c": np.square}

    curve = effect(make, lambda a, b, c: np.sin(a) + b**3 + c**2, columns, feature, bin_count=400)

    own = terms[feature](curve.grid[0])
    mean = terms[feature](np.array(columns[feature])).mean()
    assert curve.values[:, 0] == pytest.approx(own - mean, abs=1e-12)


def test_a_correlated_feature_is_credited_only_with_what_it_does_where_rows_are(make) -> None:
    """The model differs in b only far from the rows: partial dependence sees that, as b moves."""
    columns = correlated(2000)

    def far(a, b):
        return a + np.where(np.abs(a - b) > 3, 100.0, 0.0)

    along_b = effect(make, far, columns, "b")
    averages = explained(make, far, columns, PartialDependence(features=(("b",),)))[0]

    assert along_b.values.tolist() == np.zeros((21, 1)).tolist()
    assert np.ptp(averages.curves[0].values) > 10


def test_repeated_rows_are_weights(make) -> None:
    columns, counts = correlated(120), np.random.default_rng(2).integers(1, 4, 120)
    repeated = {name: np.repeat(values, counts).tolist() for name, values in columns.items()}
    weighted = {**columns, "w": counts.astype(float)}

    for feature in columns:
        once = effect(make, tangled, weighted, feature, n_outputs=2, weight_column="w")
        often = effect(make, tangled, repeated, feature, n_outputs=2)
        assert once.grid[0].tolist() == often.grid[0].tolist()
        assert once.values == pytest.approx(often.values, abs=1e-12)
        assert once.bin_weights == pytest.approx(often.bin_weights)


def by_cells(function, columns, names, grids, weights):
    """Follow the definition over two features, cell by cell; shared with no one."""
    used = list(columns)[: function.__code__.co_argcount]
    rows = {name: np.array(columns[name]) for name in used}
    numbers = []
    for name, grid in zip(names, grids, strict=True):
        order = {value: place for place, value in enumerate(grid)}
        known = rows[name].tolist()
        numbers.append(
            np.array(
                [order[v] if v in order else np.interp(v, grid, range(len(grid))) for v in known]
            )
        )
    bins = [np.maximum(np.ceil(at).astype(int) - 1, 0) for at in numbers]
    counts = [len(grid) - 1 for grid in grids]
    found = {}
    for cell in np.ndindex(*counts):
        inside = (bins[0] == cell[0]) & (bins[1] == cell[1])
        if inside.any():
            part = {name: own[inside] for name, own in rows.items()}
            at = {}
            for i, j in np.ndindex(2, 2):
                ends = (grids[0][cell[0] + i], grids[1][cell[1] + j])
                moved = {n: np.full(inside.sum(), e) for n, e in zip(names, ends, strict=True)}
                at[i, j] = function(*(part | moved).values())
            second = at[1, 1] - at[0, 1] - at[1, 0] + at[0, 0]
            found[cell] = np.average(second, axis=0, weights=weights[inside])
    sums = np.zeros((counts[0] + 1, counts[1] + 1, len(next(iter(found.values())))))
    for a, b in np.ndindex(*counts):
        far = {c: ((c[0] - a) ** 2 + (c[1] - b) ** 2, c[1], c[0]) for c in found}
        nearest = found[min(far, key=far.__getitem__)]
        sums[a + 1, b + 1] = sums[a, b + 1] + sums[a + 1, b] - sums[a, b] + nearest
    own_effects = []
    for axis, other in ((0, 1), (1, 0)):
        level = [np.zeros(sums.shape[2])]
        for step in range(counts[axis]):
            own = np.flatnonzero(bins[axis] == step)
            rise = np.take(sums, step + 1, axis) - np.take(sums, step, axis)
            share = (numbers[other] - bins[other])[own, None]
            told = (1 - share) * rise[bins[other][own]] + share * rise[bins[other][own] + 1]
            level.append(level[-1] + np.average(told, axis=0, weights=weights[own]))
        own_effects.append(np.array(level))
    return sums - own_effects[0][:, None] - own_effects[1][None]


@pytest.mark.parametrize("names", [("a", "b"), ("c", "a"), ("t", "c"), ("b", "t")])
def test_surfaces_are_those_of_the_definition(make, names: tuple[str, str]) -> None:
    columns = correlated()
    weights = np.random.default_rng(3).integers(1, 5, 400).astype(float)

    given = {"features": (names,), "bin_count": 30, "weight_column": "w", "n_outputs": 2}
    (curve,) = accumulated(make, tangled, {**columns, "w": weights}, **given).curves

    grids = [list(dict.fromkeys(values.tolist())) for values in curve.grid]
    expected = by_cells(tangled, columns, names, grids, weights)
    got = curve.values.reshape(len(grids[1]), len(grids[0]), 2).swapaxes(0, 1)
    assert got - got[0, 0] == pytest.approx(expected - expected[0, 0], rel=1e-10, abs=1e-10)
    assert curve.row_weights @ curve.values == pytest.approx([0, 0], abs=1e-8)
    assert curve.bin_weights.sum() == weights.sum()


def test_a_surface_is_what_features_do_together(make) -> None:
    """Nothing where effects add up; of a product over all pairs of values its centred part."""
    a, b = (axis.ravel() for axis in np.meshgrid([0.0, 1, 3], [0.0, 2, 3, 7]))
    pair = {"features": (("a", "b"),), "bin_count": 100}

    (none,) = accumulated(make, lambda a, b: a**2 - np.exp(b), {"a": a, "b": b}, **pair).curves
    (both,) = accumulated(make, lambda a, b: a * b, {"a": a, "b": b}, **pair).curves

    assert none.values == pytest.approx(np.zeros((12, 1)), abs=1e-9)
    assert [values.tolist() for values in both.grid] == [a.tolist(), b.tolist()]
    assert both.values[:, 0] == pytest.approx((a - a.mean()) * (b - b.mean()))


def test_a_surface_of_a_constant_feature_is_flat(make) -> None:
    columns = {"a": [1.0, 2, 3], "b": [5.0, 5, 5]}

    (curve,) = accumulated(make, lambda a, b: a * b, columns, features=(("a", "b"),)).curves

    assert curve.values.tolist() == [[0.0]] * 3
    assert curve.bin_weights.tolist() == []


def test_effects_are_linear_in_the_predictions(make) -> None:
    columns = correlated()
    parts = effect(make, tangled, columns, "a", n_outputs=2)
    whole = effect(make, lambda a, b, c, t: tangled(a, b, c, t) @ [2.0, -3.0] + 7, columns, "a")

    assert whole.values[:, 0] == pytest.approx(parts.values @ [2.0, -3.0], abs=1e-10)
    assert whole.mean_predictions == pytest.approx(parts.mean_predictions @ [2.0, -3.0] + 7)


def test_rows_without_a_value_have_no_part_and_are_told(make) -> None:
    columns = {"a": [0.0, np.nan, 1, 2, np.nan], "b": [1.0, 100, 2, 3, 200], "w": [1.0, 2, 3, 4, 5]}
    kept = {name: [values[i] for i in (0, 2, 3)] for name, values in columns.items()}

    def model(a, b):
        return np.nan_to_num(a) * b

    curve = effect(make, model, columns, "a", weight_column="w")
    of_kept = effect(make, model, kept, "a", weight_column="w")

    assert curve.values.tolist() == of_kept.values.tolist()
    assert curve.mean_predictions == pytest.approx(of_kept.mean_predictions)
    assert (curve.weight, curve.missing_weight) == (8, 7)


def test_one_value_or_none_has_no_effect(make) -> None:
    columns = {"a": [3.0, 3, np.nan, np.nan], "b": [1.0, 2, 4, 5], "g": ["u", "u", "v", "v"]}
    asked = {"group_column": "g", "resampling": Resampling(repeat_count=20)}

    given = {"features": (("a",),), **asked}
    one, none = accumulated(make, lambda a, b: np.nan_to_num(a) + b, columns, **given).curves

    assert [curve.values.tolist() for curve in (one, none)] == [[[0.0]], [[0.0]]]
    assert [curve.bin_weights.tolist() for curve in (one, none)] == [[], []]
    assert one.grid[0].tolist() == [3]
    assert np.isnan(none.grid[0]).tolist() == [True]
    assert (none.weight, none.missing_weight) == (0, 2)
    assert np.isnan(none.mean_predictions).all()


def test_infinite_values_are_edges_like_others(make) -> None:
    columns = {"a": [-np.inf, 1.0, 2, 3, 4, np.inf], "b": [1.0, 2, 3, 4, 5, 6]}

    curve = effect(make, lambda a, b: np.clip(a, 0, 5) + b, columns, "a", bin_count=2)

    assert curve.grid[0].tolist() == [-np.inf, 2, np.inf]
    assert np.isfinite(curve.values).all()
    assert np.diff(curve.values[:, 0]).tolist() == [2, 3]


def test_groups_are_tables_of_their_own(make) -> None:
    columns = correlated()
    result = accumulated(
        make, tangled, columns, features=(("a",), ("c",)), group_column="t", n_outputs=2
    )

    assert [(c.features, c.group) for c in result.curves] == [
        ((name,), group) for name in ("a", "c") for group in ("u", "v", "w")
    ]
    for curve in result.curves:
        own = [i for i, value in enumerate(columns["t"]) if value == curve.group]
        part = {name: [values[i] for i in own] for name, values in columns.items()}
        alone = effect(make, tangled, part, curve.features[0], n_outputs=2)
        assert curve.values == pytest.approx(alone.values, abs=1e-12)
        assert curve.weight == len(own)


def test_standard_errors_are_the_spread_over_tables(make) -> None:
    """Of one with the same few values, so that all tables have the same points."""
    given = {"resampling": Resampling(repeat_count=100)}

    def table(seed: int) -> dict[str, Any]:
        return {name: values for name, values in correlated(300, seed).items() if name in "bc"}

    curves = [effect(make, lambda b, c: b * c, table(seed), "c", **given) for seed in range(60)]

    spread = np.std([curve.values for curve in curves], axis=0)
    told = np.mean([curve.band.standard_errors for curve in curves if curve.band], axis=0)
    assert told == pytest.approx(spread, rel=0.2)


def test_intervals_cost_no_prediction_and_hold_the_curve(make) -> None:
    columns = correlated()
    one = {"features": (("a",), ("t",), ("a", "b")), "n_outputs": 2}
    plain, predicted, _ = explained(make, tangled, columns, **one)
    wide, again, _ = explained(
        make, tangled, columns, resampling=Resampling(repeat_count=50, confidence_level=0.9), **one
    )

    assert again == predicted
    assert (plain.confidence_level, wide.confidence_level) == (0, 0.9)
    for without, curve in zip(plain.curves, wide.curves, strict=True):
        assert without.band is None
        assert curve.values.tolist() == without.values.tolist()
        moves = np.abs(without.values).max(axis=0) > 1e-9  # else what adds up leaves roundings
        band, values = curve.band, curve.values
        assert (band.simultaneous_lower <= band.lower + 1e-12)[:, moves].all()
        assert (band.lower < values)[:, moves].all()
        assert band.upper - values == pytest.approx(values - band.lower)
        assert band.simultaneous_upper - values == pytest.approx(values - band.simultaneous_lower)
        assert ((band.standard_errors > 0) == moves).all()


def test_the_cost_is_known_before_and_found_answers_predict_nothing(make) -> None:
    host = make.host()
    columns = correlated()

    _, first, _ = explained(make, tangled, columns, n_outputs=2, host=host)
    assert host.progress[-1] == (first, first)
    _, second, _ = explained(make, tangled, columns, n_outputs=2, host=host)

    # Rows, and both ends of their bins, but for those that are at one; or one neighbour each.
    assert second == 0
    assert first <= 400 * (1 + 2 * 4)


def test_the_model_is_asked_about_no_row_beyond_its_bin(make) -> None:
    columns = {"a": np.arange(100.0), "b": np.arange(100.0)}
    seen: list[float] = []

    def model(a, b):
        seen.extend(np.abs(a - b))
        return a + b

    effect(make, model, columns, "a", bin_count=20)

    assert max(seen) <= 5


@pytest.mark.parametrize(
    ("given", "reason", "text"),
    [
        ({"features": (("z",),)}, Reason.UNKNOWN_FEATURE, "'z' is no feature"),
        ({"features": ((),)}, Reason.UNKNOWN_FEATURE, "is no feature"),
        ({"features": (("a", "b", "c"),)}, Reason.INVALID_OPTION, "3 are given"),
        ({"bin_count": 1}, Reason.INVALID_OPTION, "bin_count"),
        ({"resampling": Resampling(repeat_count=3)}, Reason.INVALID_OPTION, "repeat_count"),
        ({"group_column": "z"}, Reason.MISSING_COLUMN, "'z'"),
    ],
)
def test_what_cannot_be_computed_is_refused(make, given, reason: Reason, text: str) -> None:
    with pytest.raises(ExplainError, match=text) as caught:
        accumulated(make, tangled, correlated(), n_outputs=2, **given)

    assert caught.value.reason is reason
