"""Clusters of rows: resampled as wholes, in each method with replicates, or refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.row_draws import poisson_counts
from onnxplain_server.methods.accumulated_local_effects import Options as AccumulatedLocalEffects
from onnxplain_server.methods.average_loss import Options as AverageLoss
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.firm import Options as Firm
from onnxplain_server.methods.interactions import Options as Interactions
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.partial_dependence import Options as PartialDependence
from onnxplain_server.methods.permutation_importance import Options as PermutationImportance
from onnxplain_server.methods.resampling import Resampling, Scheme

N = 40
REPEATED = Resampling(30)
METHODS: dict[str, Any] = {
    "interactions": Interactions(resampling=REPEATED),
    "jackknife": Interactions(resampling=Resampling(10, Scheme.JACKKNIFE)),
    "accumulated local effects": AccumulatedLocalEffects((("a",),), 4, resampling=REPEATED),
    "partial dependence": PartialDependence((("a",),), grid_size=4, resampling=REPEATED),
    "average loss": AverageLoss(resampling=REPEATED),
    "AUC": AverageLoss(Comparison(Loss.AUC, one_hot_target=True), resampling=REPEATED),
    "FIRM": Firm(features=("a", "b > 0"), bin_count=4, resampling=REPEATED),
}


def product(a, b):
    return a * b + a


def columns(**more) -> dict[str, Any]:
    random = np.random.default_rng(0)
    return {"a": random.normal(size=N), "b": random.normal(size=N), **more}


def spreads(result: Any) -> list[tuple[Any, Any, Any]]:
    """Standard errors and intervals of a result, whatever its method."""
    if hasattr(result, "curves"):
        parts = [curve.band for curve in result.curves]
    elif hasattr(result, "losses"):
        parts = [loss.band for loss in result.losses]
    elif hasattr(result, "importances"):
        parts = [each.spread for each in result.importances]
    else:
        parts = [each.spread for each in (result.total, *result.overall, *result.pairwise)]
    return [(part.standard_errors, part.lower, part.upper) for part in parts]


def asked(make, method, table, **question):
    table = {"y": (table["a"] > 0) + 0.0, **table}
    model = make.model(product, ["a", "b"], ["double", "double"])
    answer = make.answer(model, make.table(table), method, **{"target_column": "y", **question})
    return answer.explanations[0], answer


@pytest.fixture(params=METHODS, ids=str)
def method(request) -> Any:
    return METHODS[request.param]


def test_clusters_of_one_row_are_rows(make, method) -> None:
    table = columns(row=np.arange(N) + 0.0)

    alone, _ = asked(make, method, table)
    found, _ = asked(make, method, table, cluster_column="row")

    assert str(spreads(found.result)) == str(spreads(alone.result))
    assert (alone.rows.clusters, found.rows.clusters) == (0, N)


def test_rows_that_are_there_three_times_count_once_as_a_cluster(make, method) -> None:
    """By law: the same spread as of the single rows; three independent rows would have less."""
    once = columns(house=np.arange(N) + 0.0)
    thrice = {name: np.tile(values, 3) for name, values in once.items()}

    single, _ = asked(make, method, once)
    whole, answer = asked(make, method, thrice, cluster_column="house")
    by_rows, _ = asked(make, method, thrice)

    for expected, found, wrong in zip(
        *map(spreads, (single.result, whole.result, by_rows.result)), strict=True
    ):
        if isinstance(method, Firm):  # a bias is subtracted that depends on the count of rows
            assert np.all(wrong[0] < found[0])
            continue
        for one, another in zip(expected, found, strict=True):
            np.testing.assert_allclose(another, one, rtol=1e-9, atol=1e-12)
        assert np.all(wrong[0] < expected[0])
    (note,) = [note for note in answer.notes if note.code == "FEW_ROWS"]
    assert "an effective sample of 40 clusters" in note.message


def test_neither_names_nor_the_order_of_rows_change_which_clusters_are_drawn(make) -> None:
    method, random = METHODS["accumulated local effects"], np.random.default_rng(1)
    table = columns(patient=np.array([f"p{i % 13}" for i in range(N)], object))
    order = random.permutation(N)
    mixed = {name: values[order] for name, values in table.items()}

    found, _ = asked(make, method, table, cluster_column="patient")
    other, _ = asked(make, method, mixed, cluster_column="patient")

    np.testing.assert_allclose(spreads(other.result)[0][0], spreads(found.result)[0][0])
    assert found.rows.clusters == 13


def test_rows_of_weight_zero_need_no_cluster(make) -> None:
    gaps = np.where(np.arange(N) < 5, np.nan, np.arange(N) // 2)
    table = columns(day=gaps, w=(np.arange(N) >= 5) + 0.0)

    found, _ = asked(make, METHODS["interactions"], table, cluster_column="day", weight_column="w")

    assert found.rows.clusters == len({*gaps[5:]})


def test_replicates_of_a_ranking_draw_its_queries(make) -> None:
    """By law: as of the score of each query, averaged under the replicates of the queries."""
    random = np.random.default_rng(3)
    queries = np.arange(N) // 4
    table = columns(query=queries + 0.0, y=random.integers(0, 3, N) + 1.0)
    ranking = AverageLoss(Comparison(Loss.NDCG, query_column="query"), resampling=REPEATED)
    model = make.model(product, ["a", "b"], ["double", "double"])

    def score(own, **more) -> Any:
        asked = make.table({name: values[own] for name, values in table.items()})
        answer = make.answer(model, asked, replace(ranking, **more), target_column="y")
        return answer.explanations[0].result.losses[0]

    found = score(np.full(N, fill_value=True))
    each = [score(queries == q, resampling=Resampling()).values[0] for q in range(N // 4)]
    counts = poisson_counts(np.arange(N // 4), 0, range(REPEATED.repeat_count))
    drawn = counts @ each / counts.sum(axis=1)
    assert found.standard_errors[0] == pytest.approx(drawn.std(ddof=1))


def test_methods_that_resample_no_rows_are_named_beside_others(make) -> None:
    """The same method once with replicates, and once without."""
    repeated, plain = METHODS["interactions"], Interactions()
    importance = PermutationImportance(repeat_count=2)
    model = make.model(product, ["a", "b"], ["double", "double"])
    table = make.table(columns(id=np.arange(N) % 9 + 0.0, y=np.arange(N) + 0.0))

    def told(*methods) -> list[str]:
        clusters = {"target_column": "y", "cluster_column": "id"}
        answer = make.answer(model, table, *methods, **clusters)
        return [note.message for note in answer.notes if note.code == "ROWS_NOT_CLUSTERED"]

    (message,) = told(importance, repeated, plain)
    assert "'id' change nothing for permutation_importance and interactions:" in message
    assert told(repeated) == []


@pytest.mark.parametrize(
    ("options", "question", "reason", "words"),
    [
        pytest.param(Interactions(), {}, Reason.INVALID_OPTION, "no method of", id="no replicates"),
        pytest.param(AverageLoss(), {}, Reason.INVALID_OPTION, "no method of", id="no such method"),
        pytest.param(
            Interactions(resampling=REPEATED, permutation_count=9),
            {},
            Reason.INVALID_OPTION,
            "shuffles single rows",
            id="tests",
        ),
        pytest.param(
            AverageLoss(Comparison(Loss.NDCG, query_column="id"), resampling=REPEATED),
            {},
            Reason.INVALID_OPTION,
            "draw its queries; leave",
            id="queries",
        ),
        pytest.param(
            AverageLoss(Comparison(Loss.NDCG), resampling=REPEATED),
            {"cluster_column": ""},
            Reason.INVALID_OPTION,
            "all rows are one",
            id="one query",
        ),
        pytest.param(
            Interactions(resampling=REPEATED),
            {"cluster_column": "gaps"},
            Reason.INVALID_OPTION,
            "no value in rows 0, 1 ",
            id="gaps",
        ),
        pytest.param(
            Interactions(resampling=REPEATED),
            {"cluster_column": "other"},
            Reason.MISSING_COLUMN,
            "no column 'other'",
            id="missing",
        ),
    ],
)
def test_clusters_that_cannot_hold_are_refused(
    make, options, question: dict[str, Any], reason: Reason, words: str
) -> None:
    table = columns(id=np.arange(N) % 9 + 0.0, gaps=[np.nan, np.nan, *np.arange(N - 2.0)])

    with pytest.raises(ExplainError, match=words) as refused:
        asked(make, options, table, **{"cluster_column": "id", **question})

    assert refused.value.reason is reason
