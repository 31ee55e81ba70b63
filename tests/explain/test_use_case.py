"""The use case as a whole: rows drawn, columns bound, methods run, and a receipt that is true."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note, Scale
from onnxplain_server.core.row_draws import Purpose, row_hashes
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.explain import Engine
from onnxplain_server.methods import (
    individual_conditional_expectation,
    interactions,
    partial_dependence,
    swarm,
)
from onnxplain_server.methods.losses import Loss

Interactions = interactions.Options
Curves = partial_dependence.Options

RANDOM = np.random.default_rng(11)
COLUMNS = {name: RANDOM.normal(size=40) for name in "abcd"}
COARSE = {"a": np.arange(40.0) % 3, "b": np.arange(40.0) % 4, "c": RANDOM.normal(size=40)}


def function(a, b, c, d):
    return np.sin(a * b) + c * d + a * c


def model_of(make, function, names, n_outputs: int = 1):
    return make.model(function, tuple(names), ["double"] * len(names), n_outputs=n_outputs)


def refused(make, *asked, **question) -> ExplainError:
    with pytest.raises(ExplainError) as refusal:
        make.answer(*asked, **question)
    return refusal.value


def statistics(answer) -> list[Any]:
    result = answer.explanations[0].result
    every = (result.total, *result.overall, *result.pairwise, *result.threeway, *result.importance)
    return [(s.features, s.numerators.tolist(), s.denominators.tolist()) for s in every]


def alike(one, other) -> bool:
    """Whether answers have the same statistics, but for last digits, which follow call sizes."""
    pairs = [*zip(statistics(one), statistics(other), strict=True)]
    return all(a[0] == b[0] and np.allclose(a[1:], b[1:], rtol=1e-9, atol=1e-12) for a, b in pairs)


# Rows


def test_the_same_seed_gives_the_same_numbers_and_another_one_others(make) -> None:
    first, again, other = (
        make.answer(
            model_of(make, function, "abcd"),
            make.table(COLUMNS),
            Interactions(),
            row_count=15,
            seed=seed,
        )
        for seed in (1, 1, 2)
    )

    assert alike(first, again)
    assert not alike(first, other)


def test_rows_are_drawn_only_where_there_are_more_than_asked_for(make) -> None:
    def count(n: int, **question) -> tuple[int, list[Note]]:
        table = make.table({"a": np.arange(n) % 5, "b": np.arange(n) % 7})
        model = model_of(make, lambda a, b: a * b, "ab")
        answer = make.answer(model, table, Interactions(), **question)
        return answer.row_count, list(answer.notes)

    assert count(500) == (500, [])
    assert count(40, row_count=40) == (40, [])
    drawn, notes = count(501)
    assert drawn == 500
    assert [note.code for note in notes] == ["ROWS_DRAWN"]
    drawn, (note,) = count(1234, row_count=30, seed=7)
    assert drawn == 30
    assert "30 of 1,234 rows" in note.message
    assert "seed 7" in note.message


def smallest(n_rows: int, count: int, seed: int):
    """Return the rows with the smallest hashes, in their order."""
    hashes = row_hashes(np.arange(n_rows), seed, Purpose.DRAW)
    return np.sort(np.argsort(hashes)[:count])


def test_rows_drawn_are_those_that_drawing_by_hand_gives(make) -> None:
    rows = smallest(40, 12, 3)
    taken = make.table({name: values[rows] for name, values in COLUMNS.items()})
    model = model_of(make, function, "abcd")

    whole = make.answer(model, make.table(COLUMNS), Interactions(), row_count=12, seed=3)
    by_hand = make.answer(model, taken, Interactions())

    assert alike(whole, by_hand)


def test_broken_predictions_are_named_by_the_tables_rows_even_after_drawing(make) -> None:
    drawn = smallest(1000, 20, 0)
    broken = drawn[[4, 9]]
    table = make.table({"a": np.arange(1000.0), "b": np.arange(1000.0)})
    model = model_of(make, lambda a, b: np.where(np.isin(a, broken), np.nan, b), "ab")

    refusal = refused(make, model, table, Interactions(), row_count=20)

    assert refusal.reason is Reason.NON_FINITE_PREDICTION
    assert f"rows {broken[0]}, {broken[1]} (counted from 0)" in refusal.message


MISSING_IN_B = {"a": np.arange(40.0), "b": np.where(np.isin(np.arange(40), [7, 9]), np.nan, 1)}


@pytest.mark.parametrize(
    "method",
    [
        Interactions(),
        partial_dependence.Options(features=(("a",),)),
        individual_conditional_expectation.Options(features=("a",)),
        swarm.Options(),
    ],
)
def test_rows_whose_own_predictions_are_not_finite_are_named_with_what_is_missing(
    make, method
) -> None:
    """No grid point of another feature is to blame."""
    columns = {**MISSING_IN_B, "y": np.ones(40)}
    model = model_of(make, lambda a, b: a + b, "ab")

    error = refused(make, model, make.table(columns), method, target_column="y")

    assert error.reason is Reason.NON_FINITE_PREDICTION
    assert "rows 7, 9 (counted from 0): 'b' has no value in any of them" in error.message


def test_infinite_values_that_a_model_takes_are_told_with_their_rows(make) -> None:
    a = np.where(np.arange(40) >= 30, np.inf, np.arange(40.0))
    model = model_of(make, lambda a, b: np.minimum(a, 10) + b, "ab")

    answer = make.answer(model, make.table({"a": a, "b": np.arange(40.0)}), Interactions())

    [note] = [note for note in answer.notes if note.code == "INFINITE_VALUES"]
    assert "'a' in rows 30, 31, 32, 33, 34 and 5 more (counted from 0)" in note.message


def test_swarm_raises_the_usual_loss_of_a_model_that_predicts_numbers(make) -> None:
    columns = {"a": np.arange(40.0), "b": np.ones(40), "y": np.arange(40.0) + 2}
    model = model_of(make, lambda a, b: a + b, "ab")

    answer = make.answer(model, make.table(columns), swarm.Options(), target_column="y")

    options = answer.explanations[0].options
    assert (options.loss, options.score) == (Loss.SQUARED_ERROR, None)


@pytest.mark.parametrize("n", [0, 1])
def test_a_table_of_fewer_than_two_rows_is_refused(make, n: int) -> None:
    table = make.table({"a": np.ones(n), "b": np.ones(n)})

    refusal = refused(make, model_of(make, lambda a, b: a * b, "ab"), table, Interactions())

    assert (refusal.reason, refusal.field) == (Reason.EMPTY_TABLE, "table")
    assert f"{n} rows" in refusal.message


def test_two_rows_are_enough_for_an_answer_though_they_show_no_interaction(make) -> None:
    """For any f: F_a and F_b of the first row less those of the second are f of it less f."""
    table = make.table({"a": [0.0, 1], "b": [0.0, 1]})

    answer = make.answer(model_of(make, lambda a, b: a * b, "ab"), table, Interactions())

    assert answer.explanations[0].result.total.values.tolist() == [0]
    assert answer.explanations[0].result.mean_squares.tolist() == [0.25]


def test_features_that_are_constant_are_named(make) -> None:
    table = make.table({"a": [0.0, 1], "b": [3.0, 3], "c": [np.nan, 2]})
    model = model_of(make, lambda a, b, _c: a + b, "abc")
    model.notes = (Note(InputWarning.LABELS_ONLY, "only labels"),)

    notes = make.answer(model, table, Interactions()).notes

    assert [note.code for note in notes] == ["LABELS_ONLY", "CONSTANT_FEATURE"]
    assert "'b'" in notes[1].message
    assert "'a'" not in notes[1].message
    assert "'c'" not in notes[1].message


# Columns


def test_weight_and_target_are_no_features(make) -> None:
    table = make.table(COLUMNS | {"y": np.zeros(40), "w": np.arange(40.0)})
    matrix = make.model(function, tuple("abcd"), ["double"] * 4, matrix=True)

    answer = make.answer(matrix, table, Interactions(), target_column="y", weight_column="w")

    result = answer.explanations[0].result
    assert [s.features for s in result.overall] == [("a",), ("b",), ("c",), ("d",)]


def test_weights_count(make) -> None:
    model = model_of(make, function, "abcd")
    weights = np.arange(40) % 3
    repeated = {name: np.repeat(values, weights) for name, values in COLUMNS.items()}

    weighted = make.answer(
        model, make.table(COLUMNS | {"w": weights}), Interactions(), weight_column="w"
    )
    by_repetition = make.answer(model, make.table(repeated), Interactions())

    assert alike(weighted, by_repetition)


@pytest.mark.parametrize("field", ["target_column", "weight_column"])
def test_a_target_or_weight_column_that_is_not_there_is_refused(make, field: str) -> None:
    model = model_of(make, function, "abcd")

    refusal = refused(make, model, make.table(COLUMNS), Interactions(), **{field: "z"})

    assert (refusal.reason, refusal.field) == (Reason.MISSING_COLUMN, field)
    assert "'z'" in refusal.message


def test_two_rows_must_weigh_something(make) -> None:
    table = make.table({"a": np.arange(1000), "b": np.arange(1000), "w": np.arange(1000) == 7})
    model = model_of(make, lambda a, b: a * b, "ab")

    refusal = refused(make, model, table, Interactions(), row_count=5, weight_column="w")

    assert (refusal.reason, refusal.field) == (Reason.EMPTY_TABLE, "table")
    assert "1 rows of a weight above 0" in refusal.message


def test_rows_are_drawn_from_those_that_weigh_something(make) -> None:
    weights = np.isin(np.arange(1000), [3, 500, 999])
    table = make.table({"a": np.arange(1000), "b": np.arange(1000) % 7, "w": weights})
    model = model_of(make, lambda a, b: a * b, "ab")

    found = make.answer(model, table, Interactions(), row_count=3, weight_column="w")

    assert found.row_count == 3
    assert not [note for note in found.notes if note.code == "ROWS_DRAWN"]


# Outputs


def three(a, b, c, d):
    return np.stack([a * b, c * d, a + d], axis=1)


def test_outputs_come_in_the_order_asked_for(make) -> None:
    model = model_of(make, three, "abcd", 3)
    every = make.answer(model, make.table(COLUMNS), Interactions(pairwise_feature_count=4))
    some = make.answer(
        model,
        make.table(COLUMNS),
        Interactions(pairwise_feature_count=4),
        output_indices=(2, 0),
    )

    one, other = every.explanations[0].result, some.explanations[0].result
    assert one.output_names == ("y0", "y1", "y2")
    assert other.output_names == ("y2", "y0")
    assert other.mean_squares == pytest.approx(one.mean_squares[[2, 0]])
    for a, b in zip(one.overall, other.overall, strict=True):
        assert b.numerators == pytest.approx(a.numerators[[2, 0]])


@pytest.mark.parametrize("indices", [(3,), (-1,), (0, 0), (0, 1, 2, 3)])
def test_outputs_that_the_model_does_not_have_are_refused(make, indices: tuple[int, ...]) -> None:
    model = model_of(make, three, "abcd", 3)

    refusal = refused(make, model, make.table(COLUMNS), Interactions(), output_indices=indices)

    assert (refusal.reason, refusal.field) == (Reason.INVALID_OPTION, "output_indices")
    assert "[0, 2]" in refusal.message


# Methods


def test_methods_answer_in_their_order_with_their_options_after_defaults(make) -> None:
    answer = make.answer(
        model_of(make, function, "abcd"),
        make.table(COLUMNS),
        Curves(features=(("b",),)),
        Interactions(features=("d", "a")),
    )

    curves, strengths = answer.explanations
    assert curves.options.features == (("b",),)
    assert curves.options.grids == (None,)
    assert strengths.options.features == ("a", "d")
    assert isinstance(curves.result, partial_dependence.Result)
    assert isinstance(strengths.result, interactions.Result)
    assert (curves.plots, strengths.plots) == ((), ())
    assert answer.engine is Engine.BLACK_BOX
    assert answer.engine_reason


def test_plots_come_with_the_results_where_they_are_wanted(make) -> None:
    model = model_of(make, function, "abcd")

    answer = make.answer(
        model, make.table(COLUMNS), Interactions(), Curves(features=(("a",),)), plots=True
    )

    assert [len(explanation.plots) > 0 for explanation in answer.explanations] == [True, True]


def test_a_refusal_tells_which_of_the_methods_it_is_about(make) -> None:
    refusal = refused(
        make,
        model_of(make, function, "abcd"),
        make.table(COLUMNS),
        Interactions(),
        Curves(grid_size=1),
    )

    assert refusal.field == "methods[1].partial_dependence.grid_size"


def test_nothing_is_predicted_before_all_methods_are_known_to_be_possible(make) -> None:
    model = model_of(make, function, "abcd")

    refused(make, model, make.table(COLUMNS), Interactions(), Curves(group_column="nowhere"))

    assert model.calls == []


def test_binned_features_give_the_numbers_of_a_table_binned_by_hand(make) -> None:
    model = model_of(make, function, "abcd")
    by_hand = dict(COLUMNS)
    for name in "ab":
        edges = np.quantile(COLUMNS[name], np.linspace(0, 1, 6))
        place = np.clip(np.searchsorted(edges, COLUMNS[name], side="right") - 1, 0, 4)
        by_hand[name] = (edges[place] + edges[place + 1]) / 2

    binned = make.answer(
        model, make.table(COLUMNS), Interactions(features=("a", "b"), quantile_bin_count=5)
    )
    expected = make.answer(model, make.table(by_hand), Interactions(features=("a", "b")))

    assert alike(binned, expected)


def test_bins_are_those_of_the_rows_drawn(make) -> None:
    rows = smallest(40, 25, 0)
    taken = make.table({name: values[rows] for name, values in COLUMNS.items()})
    model, options = model_of(make, function, "abcd"), Interactions(quantile_bin_count=5)

    found = make.answer(model, make.table(COLUMNS), options, row_count=25)

    assert alike(found, make.answer(model, taken, options))


def test_binning_makes_single_features_cheap(make) -> None:
    n = 40
    model = model_of(make, function, "abcd")

    answer = make.answer(
        model,
        make.table(COLUMNS),
        Interactions(quantile_bin_count=5, pairwise_feature_count=0),
    )

    assert answer.predicted_row_count <= n + 4 * 5 * n


def curved(a, b, c, d):
    return np.sin(a) * np.exp(b / 4) + c * d**2


def test_knots_make_single_features_cheap_and_tell_their_error(make) -> None:
    n, table = 40, make.table(COLUMNS)
    options = [Interactions(knot_count=count, pairwise_feature_count=2) for count in (0, 9)]

    exact, interpolated = (
        make.answer(model_of(make, curved, "abcd"), table, each) for each in options
    )

    assert interpolated.predicted_row_count <= n + 4 * 9 * n + n * n
    found, truth = (answer.explanations[0].result for answer in (interpolated, exact))
    for statistic in (truth.total, *truth.overall, *truth.pairwise, *truth.importance):
        assert statistic.numerator_errors is None
    for name in ("overall", "importance"):
        for ours, theirs in zip(getattr(found, name), getattr(truth, name), strict=True):
            off = np.abs(ours.numerators - theirs.numerators)
            assert (off <= ours.numerator_errors + 1e-12).all()


def test_pairs_that_pad_the_list_have_an_error_of_nothing(make) -> None:
    options = Interactions(knot_count=9, pairwise_feature_count=3)
    model = model_of(make, lambda a, b, c, d: a * b + c + d, "abcd")

    pairwise = make.answer(model, make.table(COLUMNS), options).explanations[0].result.pairwise

    assert [s.numerator_errors.tolist() == [0] for s in pairwise] == [False, True, True]


def test_knots_that_are_too_few_are_noted_and_only_those(make) -> None:
    table = make.table({name: np.linspace(-3, 3, 40) ** (i + 1) for i, name in enumerate("abcd")})

    def notes(count: int) -> list[str]:
        model = model_of(make, lambda a, b, _c, d: np.sin(9 * a) * d + b, "abcd")
        answer = make.answer(model, table, Interactions(knot_count=count))
        return [note.message for note in answer.notes if note.code == "KNOTS_TOO_FEW"]

    (message,) = notes(4)
    assert "'a', 'a:d'" in message
    assert "b:c" not in message
    assert notes(40) == []


def test_binning_in_one_method_does_not_reach_another(make) -> None:
    model, table = model_of(make, function, "abcd"), make.table(COLUMNS)

    together = make.answer(model, table, Interactions(quantile_bin_count=5), Interactions())
    alone = make.answer(model, table, Interactions())

    one, other = together.explanations[1].result, alone.explanations[0].result
    assert one.total.numerators == pytest.approx(other.total.numerators)


# Receipts


def test_the_receipt_counts_what_the_model_predicted(make) -> None:
    model = model_of(make, function, "abcd")

    answer = make.answer(model, make.table(COLUMNS), Interactions(pairwise_feature_count=0))

    assert answer.predicted_row_count == model.predicted == 40 + 4 * 40 * 40
    assert (answer.cache_hit_count, answer.cache_miss_count) == (0, 1 + 2 * 4)


def test_after_interactions_curves_at_the_same_values_predict_nothing(make) -> None:
    host, table = make.host(), make.table(COLUMNS)
    make.answer(model_of(make, function, "abcd"), table, Interactions(), host=host)

    later = make.answer(model_of(make, function, "abcd"), table, Curves(), host=host)

    assert later.predicted_row_count == 0
    assert (later.cache_hit_count, later.cache_miss_count) == (4, 0)


def test_more_pairs_predict_only_the_new_pairs(make) -> None:
    host, table = make.host(), make.table(COLUMNS)

    def ask(count: int, host):
        model = model_of(make, function, "abcd")
        return make.answer(model, table, Interactions(pairwise_feature_count=count), host=host)

    ask(2, host)
    larger = ask(4, host)

    assert larger.predicted_row_count == 5 * 40 * 40
    assert (larger.cache_hit_count, larger.cache_miss_count) == (1 + 2 * 4 + 1, 5)
    assert alike(larger, ask(4, make.host()))


def test_another_scale_shares_nothing(make) -> None:
    host, table = make.host(), make.table(COLUMNS)
    make.answer(model_of(make, function, "abcd"), table, Interactions(), host=host)

    later = make.answer(
        model_of(make, function, "abcd"), table, Interactions(), host=host, scale=Scale.MARGIN
    )

    assert later.cache_hit_count == 0


# Progress


def law_of_progress(host) -> None:
    """Plans never rise, nothing is done beyond them, and in the end all of them is done."""
    done, planned = np.array(host.progress).T
    assert (np.diff(planned) <= 0).all()
    assert (np.diff(done) >= 0).all()
    assert (done <= planned).all()
    assert done[-1] == planned[-1]


ALL = Interactions(pairwise_feature_count=4, threeway_feature_count=4)
GROUPED = Interactions(groups=(("a", "d"),), pairwise_feature_count=4, threeway_feature_count=4)
KNOTS = Interactions(pairwise_feature_count=4, threeway_feature_count=3, knot_count=4)
ASKED = [
    pytest.param(COLUMNS, (Interactions(pairwise_feature_count=0),), id="single features"),
    pytest.param(COLUMNS, (Interactions(pairwise_feature_count=2),), id="some pairs"),
    pytest.param(COLUMNS, (ALL,), id="pairs and triples"),
    pytest.param(COLUMNS | {"d": np.ones(40)}, (ALL,), id="a constant"),
    pytest.param(COARSE | {"d": np.arange(40.0) % 2}, (ALL,), id="coarse features"),
    pytest.param(COLUMNS, (Interactions(quantile_bin_count=5),), id="bins"),
    pytest.param(COLUMNS, (KNOTS,), id="knots"),
    pytest.param(COLUMNS, (GROUPED,), id="groups of features"),
    pytest.param(COARSE | {"d": np.arange(40.0) % 2}, (GROUPED,), id="coarse groups of features"),
    pytest.param(COARSE | {"d": np.arange(40.0)}, (KNOTS,), id="knots of some features"),
    pytest.param(COLUMNS, (Curves(),), id="curves"),
    pytest.param(COARSE | {"d": np.arange(40.0)}, (Curves(group_column="a"),), id="groups"),
    pytest.param(
        COLUMNS,
        (Curves(features=(("a",),), grids=({"a": np.array([1.0, 2, 1])},)),),
        id="a grid with duplicates",
    ),
    pytest.param(COLUMNS, (ALL, Curves(features=(("a", "b"), ("a",)))), id="two methods"),
    pytest.param(COLUMNS, (ALL, ALL), id="a method twice"),
]


@pytest.mark.parametrize(("columns", "methods"), ASKED)
@pytest.mark.parametrize("weighted", [False, True])
def test_progress_ends_where_it_was_planned_to(make, columns, methods, weighted: bool) -> None:
    host = make.host()
    if weighted:
        columns = columns | {"w": np.arange(40) % 5}
    for _ in range(2):  # The second time everything is found in the cache.
        host.progress.clear()
        make.answer(
            model_of(make, function, "abcd"),
            make.table(columns),
            *methods,
            host=host,
            weight_column="w" if weighted else "",
        )
        law_of_progress(host)


def test_progress_of_an_additive_model_takes_back_all_pairs(make) -> None:
    host = make.host()

    make.answer(
        model_of(make, lambda a, b, c, d: a + b + c + d, "abcd"),
        make.table(COLUMNS),
        ALL,
        host=host,
    )

    law_of_progress(host)
    assert host.progress[-1][0] == 40 + 4 * 40 * 40


def test_progress_of_several_outputs(make) -> None:
    host = make.host()

    make.answer(
        model_of(make, three, "abcd", 3),
        make.table(COLUMNS),
        Interactions(pairwise_feature_count=2, threeway_feature_count=0),
        host=host,
    )

    law_of_progress(host)


# Size


def test_memory_does_not_grow_with_the_square_of_the_rows(make) -> None:
    """2,000 rows: one value for each pair of rows would be 16 MB in float32 already."""
    n = 2_000
    columns = {f"x{j}": np.arange(n) * (j + 1.0) for j in range(20)}
    model = make.model(lambda *x: x[0] * x[1], tuple(columns), ["float"] * 20, matrix=True)
    table = make.table(columns)

    tracemalloc.start()
    make.answer(
        model,
        table,
        Interactions(features=("x0", "x1")),
        row_count=n,
        feature_columns=tuple(columns),
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 12e6
    assert model.predicted == n + 2 * n * n + n * n
