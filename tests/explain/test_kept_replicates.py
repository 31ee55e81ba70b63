"""Kept replicates: those that standard errors are of, in each method; and refusals."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from onnxplain_server.cli.comparing.compare_flags import COMPARED_METHODS
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.explain.answers.kept_replicates import with_kept_replicates
from onnxplain_server.methods.accumulated_local_effects import Options as AccumulatedLocalEffects
from onnxplain_server.methods.attributions import Options as Attributions
from onnxplain_server.methods.average_loss import Options as AverageLoss
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.firm import Options as Firm
from onnxplain_server.methods.individual_conditional_expectation import Options as Curves
from onnxplain_server.methods.interactions import Options as Interactions
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.partial_dependence import Options as PartialDependence
from onnxplain_server.methods.permutation_importance import Options as PermutationImportance
from onnxplain_server.methods.registry import METHODS
from onnxplain_server.methods.resampling import KEPT_REPEATS, Resampling, Scheme

N = 60


def product(a, b):
    return a * b + a


def explained(make, method, **question) -> Any:
    random = np.random.default_rng(0)
    columns = {"a": random.normal(size=N), "b": random.normal(size=N), "c": np.arange(N) // 2.0}
    columns["y"] = product(columns["a"], columns["b"]) + random.normal(size=N)
    model = make.model(product, ["a", "b"], ["double", "double"])
    (own,) = with_kept_replicates((method,))
    answer = make.answer(model, make.table(columns), own, target_column="y", **question)
    return answer.explanations[0].result


def told(result: Any) -> list[Any]:
    """Standard errors of a result, in the order of its kept statistics."""
    if hasattr(result, "curves"):
        return [curve.band.standard_errors for curve in result.curves]
    if hasattr(result, "losses"):
        return [loss.standard_errors for loss in result.losses]
    if hasattr(result, "mean_absolute_values"):
        return [*result.mean_absolute_standard_errors]
    statistics = [result.total, *result.overall, *result.pairwise, *result.importance]
    return [each for own in statistics for each in (own.spread, own.numerator_spread)]


CURVES = [
    pytest.param(PartialDependence((("a",),), grid_size=4), id="partial dependence"),
    pytest.param(
        PartialDependence((("a", "b"),), grid_size=3, group_column="a", group_count=2),
        id="surfaces of groups",
    ),
    pytest.param(AccumulatedLocalEffects((("a",),), 4), id="accumulated local effects"),
    pytest.param(AverageLoss(group_column="a", group_count=3), id="average loss"),
]


@pytest.mark.parametrize("clusters", ["", "c"])
@pytest.mark.parametrize("method", CURVES)
def test_standard_errors_are_the_spread_of_the_kept_replicates(make, method, clusters) -> None:
    result = explained(make, method, cluster_column=clusters)

    assert len(result.replicates) == len(told(result)) > 0
    for kept, errors in zip(result.replicates, told(result), strict=True):
        assert len(kept.replicates) == KEPT_REPEATS
        assert np.nanstd(kept.replicates, axis=0, ddof=1).squeeze() == pytest.approx(
            np.squeeze(errors)
        )


@pytest.mark.parametrize("clusters", ["", "c"])
def test_interactions_keep_shares_and_mean_squares(make, clusters) -> None:
    result = explained(make, Interactions(), cluster_column=clusters)

    statistics = {
        "TOTAL_INTERACTION": [result.total],
        "OVERALL_INTERACTION": result.overall,
        "PAIRWISE_INTERACTION": result.pairwise,
        "IMPORTANCE": result.importance,
    }
    kept = {(each.kind, each.features): each for each in result.replicates}
    for kind, listed in statistics.items():
        for one in listed:
            share, square = (kept.pop((name, one.features)) for name in (kind, f"{kind}_SQUARE"))
            errors = [part.replicates.std(axis=(0, 1), ddof=1) for part in (share, square)]
            assert errors[0] == pytest.approx(one.spread.standard_errors)
            assert errors[1] == pytest.approx(one.numerator_spread.standard_errors)
            assert [*share.values[0], *square.values[0]] == [*one.values, *one.numerators]
    assert not kept


@pytest.mark.parametrize("clusters", ["", "c"])
def test_permutation_importance_keeps_increases_of_the_loss(make, clusters) -> None:
    """Twice: averages that the cache may have tell nothing of single rows."""
    method = PermutationImportance(repeat_count=50, comparison=Comparison(Loss.SQUARED_ERROR))
    once, again = (explained(make, method, cluster_column=clusters) for _ in range(2))

    assert [each.features for each in once.replicates] == [("a",), ("b",)]
    for kept, same, told in zip(once.replicates, again.replicates, once.importances, strict=True):
        assert kept.values[0] == pytest.approx(told.values)
        assert kept.replicates.mean() == pytest.approx(told.values[0], rel=0.1)
        assert kept.unit_count == (N / 2 if clusters else N)
        assert np.array_equal(kept.replicates, same.replicates)


def test_permutation_importance_by_a_score_keeps_nothing(make) -> None:
    method = PermutationImportance(comparison=Comparison(Loss.PAIRWISE_ACCURACY))

    assert explained(make, method).replicates == ()


@pytest.mark.parametrize("is_standardized", [True, False])
def test_firm_keeps_squares_whose_spread_its_intervals_have(make, is_standardized) -> None:
    """Of the scale of the output: scores of a unit far from 1 are scaled on the way."""
    method = Firm(features=("a", "b"), bin_count=4, standardize=is_standardized)
    result = explained(make, method)

    for kept, importance in zip(result.replicates, result.importances, strict=True):
        assert kept.kind == "FIRM_IMPORTANCE_SQUARE"
        spread = np.sqrt(np.maximum(kept.replicates[:, 0], 0)).std(axis=0, ddof=1)
        assert spread == pytest.approx(importance.spread.standard_errors)
        assert np.sqrt(np.maximum(kept.values[0], 0)) == pytest.approx(importance.values)


def test_attributions_keep_replicates_of_mean_sizes(make) -> None:
    """By another way: the standard error of a mean over the rows explained."""
    result = explained(make, Attributions(explained_row_count=N))

    assert [each.features for each in result.replicates] == [("a",), ("b",)]
    for kept, mean, error in zip(
        result.replicates,
        result.mean_absolute_values,
        result.mean_absolute_standard_errors,
        strict=True,
    ):
        assert kept.values[0] == pytest.approx(mean)
        assert kept.replicates.std(axis=(0, 1), ddof=1) == pytest.approx(error, rel=0.2)


def test_the_repetitions_of_a_request_stay() -> None:
    (own,) = with_kept_replicates((Interactions(resampling=Resampling(30)),))

    assert isinstance(own, Interactions)
    assert (own.resampling.repeat_count, own.resampling.is_kept) == (30, True)


def test_results_keep_nothing_unless_asked(make) -> None:
    columns = {"a": np.arange(N) + 0.0, "b": np.arange(N) % 7.0}
    model = make.model(product, ["a", "b"], ["double", "double"])
    method = Interactions(resampling=Resampling(20))
    answer = make.answer(model, make.table(columns), method)

    assert not answer.explanations[0].result.replicates


@pytest.mark.parametrize(
    ("methods", "path"),
    [
        pytest.param((), "replicates", id="an overview"),
        pytest.param((Curves(),), "replicates", id="none with replicates"),
        pytest.param((Attributions(row_indices=(1,)),), "replicates", id="chosen rows"),
        pytest.param(
            (Interactions(resampling=Resampling(20, Scheme.JACKKNIFE)),),
            "methods[0].resampling",
            id="jackknife",
        ),
    ],
)
def test_what_has_no_replicates_is_refused(methods, path) -> None:
    with pytest.raises(ExplainError) as refused:
        with_kept_replicates(methods)

    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_OPTION, path)


def test_the_methods_that_compare_names_are_those_that_keep_replicates() -> None:
    keeping = []
    for method in METHODS.values():
        with suppress(ExplainError):
            with_kept_replicates((method.options(),))
            keeping.append(method.name)

    assert sorted(keeping) == sorted(COMPARED_METHODS)
