"""Groups of features in requests: engines agree, and answers name groups as features."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pytest

MODELS = Path(__file__).parents[1] / "models"


@pytest.fixture(scope="module")
def client() -> Iterator[onnxplain.Client]:
    with onnxplain.local() as client:
        yield client


def table_of(name: str) -> dict[str, Any]:
    columns = json.loads((MODELS / f"{name}.json").read_text())["columns"]
    return {column: np.array(values) for column, values in columns.items()}


def ask(client: onnxplain.Client, name: str, table, *methods, **more) -> onnxplain.Explanations:
    features = list(table_of(name))
    return client.explain(
        MODELS / f"{name}.onnx", table, *methods, feature_columns=features, **more
    )


def numbers(found: onnxplain.Explanations) -> dict[tuple[str, ...], list[float]]:
    result = found.interactions
    every = (result.total, *result.overall, *result.pairwise, *result.threeway, *result.importance)
    mean = np.array(result.mean_squares)
    return {
        (str(k), *one.features): [*(np.array(one.numerators) / mean), *one.denominators]
        for k, one in enumerate(every)
    }


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("lightgbm_regressor", "TREES"),
        ("lightgbm_3class", "TREES"),
        ("sklearn_logistic_3class_double", "ADDITIVE"),
    ],
)
def test_engines_agree_on_groups(client: onnxplain.Client, name: str, engine: str) -> None:
    """Of the model's own float32 predictions within their rounding; replicates too."""
    table = table_of(name)
    first, _, third, *_ = table
    asked = onnxplain.Interactions(
        groups=[(third, first)],
        pairwise_feature_count=20,
        threeway_feature_count=3,
        repeat_count=10,
    )
    more: dict[str, Any] = {"row_count": 30, "plots": False}

    own = ask(client, name, table, asked, engine=engine, **more)
    other = ask(client, name, table, asked, engine="BLACK_BOX", **more)

    assert own.receipt.engine == engine
    found, expected = numbers(own), numbers(other)
    assert found.keys() == expected.keys()
    assert [*found.values()] == [
        pytest.approx(each, rel=1e-4, abs=1e-6) for each in expected.values()
    ]
    spreads = [(one.standard_errors, two.standard_errors) for one, two in zip(
        own.interactions.overall, other.interactions.overall, strict=True
    )]  # fmt: skip
    for errors, expected_errors in spreads:
        assert errors == pytest.approx(expected_errors, rel=1e-2, abs=1e-6)


def test_behind_a_link_groups_are_of_fewer_rows_as_is_what_explains_the_target(
    client: onnxplain.Client,
) -> None:
    """Predictions that are too cautious leave a rest that they explain, of their own rows only."""
    table = table_of("lightgbm_binary")
    response = json.loads((MODELS / "lightgbm_binary.json").read_text())["response"]
    shift = 1 + 1e-6 * np.arange(20 * len(response))  # no two rows are equal
    copies = {name: np.tile(values, 20) * shift for name, values in table.items()}
    copies["class"] = np.tile(np.array(response)[:, 1] > 0.5, 20).astype(float)
    first, second, *_ = table
    asked = onnxplain.Interactions(
        groups=[(first, second)], pairwise_feature_count=0, permutation_count=99
    )

    found = ask(client, "lightgbm_binary", copies, asked, target_column="class", plots=False)

    (rows,) = (each.rows for each in found.message.explanations)
    assert rows.used_row_count == 500
    strongest = max(found.interactions.importance, key=lambda one: one.numerators[0])
    assert strongest.p_values == pytest.approx([0.01])


def test_answers_name_groups(client: onnxplain.Client) -> None:
    table = table_of("lightgbm_regressor")
    first, second, *rest = table
    asked = onnxplain.Interactions(groups=[(second, first)], pairwise_feature_count=3)

    found = ask(client, "lightgbm_regressor", table, asked)

    group = f"{first} + {second}"
    players = [group, *rest]
    assert [one.features for one in found.interactions.overall] == [(name,) for name in players]
    assert set(found.interactions.to_pandas()["features"]) >= {"", *players}
    (options,) = (each.options.interactions for each in found.message.explanations)
    assert [list(each.names) for each in options.groups] == [[first, second]]
    assert any(group in str(plot.vega_lite) for plot in found.plots)


def test_kept_answers_are_compared_by_group_and_not_with_others(client: onnxplain.Client) -> None:
    table = table_of("lightgbm_regressor")
    first, second, *_ = table
    more: dict[str, Any] = {"row_count": 50, "plots": False, "replicates": True}
    grouped = onnxplain.Interactions(groups=[(first, second)], pairwise_feature_count=0)
    kept = ask(client, "lightgbm_regressor", table, grouped, **more)

    again = ask(client, "lightgbm_regressor", table, reference=kept, row_count=50, plots=False)

    assert again.comparison is not None
    assert (f"{first} + {second}",) in [one.features for one in again.comparison.differences]
    assert not again.comparison.changed


def test_text_columns_of_a_pipeline_are_one_feature_each(client: onnxplain.Client) -> None:
    """Adult, whose pipeline makes 100 one-hot columns of 8 texts: no method tells these."""
    gallery = Path(__file__).parents[2] / "examples" / "gallery"
    methods: list[Any] = [
        onnxplain.Interactions(pairwise_feature_count=0),
        onnxplain.Attributions(explained_row_count=5),
        onnxplain.PermutationImportance(repeat_count=2),
        onnxplain.Firm(),
        onnxplain.FeatureVectors(source="SURROGATE", sentence_count=100, depth=3),
    ]

    found = client.explain(
        gallery / "adult.onnx", gallery / "adult.csv.gz", *methods,
        target_column="income", row_count=200,
    )  # fmt: skip

    with gzip.open(gallery / "adult.csv.gz", "rt") as lines:
        columns = next(lines).strip().split(",")[:-1]
    attributed = found.message.explanations[1].attributions.features
    told = [
        [name for one in found.interactions.overall for name in one.features],
        [name for one in attributed for name in one.names],
        [name for one in found.permutation_importance.importances for name in one.features],
        [one.feature for one in found.firm.importances],
        list(found.feature_vectors.features),
    ]
    assert [sorted(each) for each in told] == [sorted(columns)] * 5
    bars = [plot for plot in found.plots if plot.name in {"overall", "firm"}]
    assert len(bars) == 2
    assert not any("Never-married" in str(plot.vega_lite) for plot in bars)
