"""Means of true values beside curves, of the rows nearest to each point."""

import numpy as np
import onnxplain
import pandas as pd
import pytest

PIMA = "examples/gallery/pima.onnx"


@pytest.fixture(scope="module")
def client():
    with onnxplain.local() as made:
        yield made


@pytest.fixture(scope="module")
def pima() -> pd.DataFrame:
    return pd.read_csv("examples/gallery/pima.csv.gz").head(150)


@pytest.mark.parametrize("repeat_count", [0, 20])
def test_true_values_are_averaged_by_weight_in_each_group(client, pima, repeat_count) -> None:
    random = np.random.default_rng(4)
    table = pima.assign(w=random.integers(0, 4, 150), g=random.choice(["left", "right"], 150))
    asked = onnxplain.PartialDependence(
        features=["pregnant", ("pregnant", "age")], group_column="g", repeat_count=repeat_count
    )
    features = list(pima.columns[:-1])
    given = {"target_column": "diabetes", "weight_column": "w", "feature_columns": features}
    left, right, surface, _ = client.explain(PIMA, table, asked, **given).partial_dependence.curves

    for curve in (left, right):
        own = table[(table.g == curve.group) & (table.w > 0)]
        shares = (own.diabetes * own.w).groupby(own.pregnant).sum() / own.w.groupby(
            own.pregnant
        ).sum()
        expected = shares.reindex(curve.grid[0]).to_numpy()
        np.testing.assert_allclose(curve.observed_means[:, 0], expected, rtol=1e-12)
        np.testing.assert_array_equal(np.isnan(expected), curve.row_weights == 0)
    assert surface.observed_means.shape == (0, 1)


@pytest.mark.parametrize("labels", [("no", "yes"), (2, 5)])
def test_an_output_of_a_class_has_the_share_of_its_rows(client, pima, labels) -> None:
    """Doubled rows change no share."""
    named = pima.assign(diabetes=np.array(labels)[pima.diabetes])
    asked = onnxplain.PartialDependence(features=["pregnant"])

    def shares(table: pd.DataFrame, **given) -> np.ndarray:
        answer = client.explain(PIMA, table, asked, target_column="diabetes", **given)
        means: np.ndarray = answer.partial_dependence.curves[0].observed_means
        return means

    expected = shares(pima)
    np.testing.assert_allclose(shares(named, class_labels=labels), expected, rtol=1e-12)
    np.testing.assert_allclose(shares(pd.concat([pima, pima])), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("hole", "told"), [(np.nan, "2 of 150 rows have no"), (np.inf, "2 of 150 rows have no finite")]
)
def test_gaps_of_a_target_leave_no_means_and_plots_say_so(client, pima, hole, told) -> None:
    table = pima.assign(diabetes=pima.diabetes.astype(float).where(pima.index > 1, hole))
    asked = onnxplain.PartialDependence(features=["pregnant", ("pregnant", "age")])
    features = list(pima.columns[:-1])
    answer = client.explain(
        PIMA, table, asked, target_column="diabetes", feature_columns=features, plots=True
    )
    curve = answer.partial_dependence.curves[0]

    assert curve.observed_means.shape == (0, 1)
    (pregnant,) = (p for p in answer.plots if p.name.startswith("curve-pregnant"))
    assert f"No crosses of mean true values: {told} diabetes." in pregnant.description
    assert sum("No crosses" in plot.description for plot in answer.plots) == 1


@pytest.mark.parametrize("given", [{}, {"scale": "MARGIN", "target_column": "diabetes"}])
def test_nothing_is_averaged_that_predictions_do_not_compare_with(client, pima, given) -> None:
    asked = onnxplain.PartialDependence(features=["pregnant"])
    features = {"feature_columns": list(pima.columns[:-1])}
    (curve,) = client.explain(PIMA, pima, asked, **given, **features).partial_dependence.curves

    assert curve.observed_means.shape == (0, 1)
