"""Attributions as a Parquet table at `result_uri`: its rows, and an answer that lacks them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from onnxplain import AttributionsResult
from onnxplain_server.wire.result_tables import attribution_rows

MODELS = Path(__file__).parents[1] / "models"
TREES = MODELS / "sklearn_gradient_boosting.onnx"
FOREST = MODELS / "sklearn_random_forest_3class.onnx"
CLASSES = MODELS / "lightgbm_3class.onnx"


def some_rows(*names: str) -> dict[str, Any]:
    """Rows in which no two features go together, on both sides of thresholds."""
    steps = np.arange(60)
    return {name: (steps * (2 * j + 3) % 61) / 5 - 4 for j, name in enumerate(names)}


def both(
    folder: Path, model: Path, rows: dict[str, Any], asked: onnxplain.Attributions
) -> tuple[AttributionsResult, onnxplain.Explanations, pa.Table]:
    """Return a whole answer, the answer beside a table, and the table."""
    path = folder / "rows.parquet"
    with onnxplain.local() as client:
        whole = client.explain(model, rows, asked, scale="RESPONSE", plots=False)
        uri = f"file://{path}"
        found = client.explain(model, rows, asked, scale="RESPONSE", result_uri=uri)
    assert whole.attributions.values.any()
    return whole.attributions, found, pq.read_table(path)


def columns(table: pa.Table, first: int, last: int | None = None) -> np.ndarray:
    return np.stack([column.to_numpy() for column in table.columns[first:last]], axis=1)


def test_a_table_has_a_row_for_each_row_and_output_which_the_answer_then_lacks(
    tmp_path: Path,
) -> None:
    rows = some_rows("a", "b", "c", "d")
    asked = onnxplain.Attributions(row_indices=[3, 40], groups=[("a", "b")], order=2)
    whole, found, table = both(tmp_path, FOREST, rows, asked)

    assert table.column_names[4:] == ["a + b", "c", "d", "a + b × c", "a + b × d", "c × d"]
    assert table["row_index"].to_pylist() == [3, 3, 3, 40, 40, 40]
    assert table["output"].to_pylist() == [*whole.output_names] * 2
    assert table["base_value"].to_pylist() == pytest.approx([*whole.base_values] * 2)
    assert table["prediction"].to_numpy() == pytest.approx(whole.predictions.ravel())
    by_output = columns(table, 4).reshape(2, 3, 6).transpose(0, 2, 1)
    assert whole.interactions is not None
    assert by_output[:, :3] == pytest.approx(whole.values)
    assert by_output[:, 3:] == pytest.approx(whole.interactions)

    result = found.attributions
    assert result.explained_row_count == whole.explained_row_count == 2
    assert result.values.shape == (0, 3, 3)
    assert len(result.row_indices) == len(result.predictions) == len(result.feature_values) == 0
    assert result.mean_absolute_values == pytest.approx(whole.mean_absolute_values)
    assert result.plots
    # Without the values, it is not known whether the rows weigh the same.
    assert any("over the rows explained, by their weights" in each for each in found.summary)


def test_a_table_tells_what_its_numbers_are_of(tmp_path: Path) -> None:
    asked = onnxplain.Attributions(row_indices=[1], perturbation="PATH_DEPENDENT")
    _, found, table = both(tmp_path, TREES, some_rows(*"abcdefghij"), asked)

    told = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    receipt = found.receipt
    assert told["onnxplain.model_digest"] == receipt.model_digest
    assert told["onnxplain.seed"] == str(receipt.seed)
    assert told["onnxplain.server_version"] == receipt.server_version
    assert told["onnxplain.scale"] == "RESPONSE"
    assert (told["onnxplain.perturbation"], told["onnxplain.value"]) == (
        "PATH_DEPENDENT",
        "SHAPLEY",
    )
    assert json.loads(told["onnxplain.options"])["attributions"]["rowIndices"] == [1]
    assert json.loads(told["onnxplain.receipt"])["tableDigest"] == receipt.table_digest


def test_estimated_values_have_their_standard_errors_beside_them(tmp_path: Path) -> None:
    asked = onnxplain.Attributions(explained_row_count=7, permutation_count=5)
    whole, found, table = both(tmp_path, CLASSES, some_rows(*"abcd"), asked)

    assert whole.standard_errors is not None
    n_rows, n_features, n_outputs = whole.values.shape
    by_output = columns(table, 4).reshape(n_rows, n_outputs, 2 * n_features).transpose(0, 2, 1)
    assert table.column_names[4 + n_features] == f"{table.column_names[4]} standard error"
    assert by_output[:, :n_features] == pytest.approx(whole.values)
    assert by_output[:, n_features:] == pytest.approx(whole.standard_errors)
    largest = found.attributions.largest_standard_errors
    assert largest == pytest.approx(whole.standard_errors.max(axis=(0, 1)))
    assert found.attributions.standard_errors is None
    assert any("estimated" in sentence for sentence in found.summary)


def test_names_of_columns_are_distinct_and_described(tmp_path: Path) -> None:
    names = ("prediction", "a", "b", "a + b", "output", "e", "f", "g", "h", "i")
    asked = onnxplain.Attributions(row_indices=[0], groups=[("a", "b")])
    whole, _, table = both(tmp_path, TREES, some_rows(*names), asked)

    assert table.column_names[4:9] == [
        *("prediction (2)", "a + b", "a + b (2)", "output (2)", "e"),
    ]
    described = json.loads(table.schema.metadata[b"onnxplain.columns"])
    assert [each["name"] for each in described] == table.column_names[4:]
    assert [tuple(each["features"][0]) for each in described] == [*whole.features]
    assert columns(table, 4)[0] == pytest.approx(whole.values[0, :, 0])


def test_rows_are_written_in_groups_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attribution_rows, "_GROUP_NUMBERS", 200)
    asked = onnxplain.Attributions(explained_row_count=50)
    whole, found, table = both(tmp_path, TREES, some_rows(*"abcdefghij"), asked)

    assert pq.ParquetFile(tmp_path / "rows.parquet").num_row_groups == 4
    assert table["row_index"].to_pylist() == whole.row_indices.tolist()
    assert columns(table, 4) == pytest.approx(whole.values[:, :, 0])
    assert {plot.name for plot in found.attributions.plots} >= {"attributions-size"}


@pytest.mark.parametrize(
    "methods",
    [
        (),
        (onnxplain.Interactions(),),
        (onnxplain.Attributions(), onnxplain.Interactions()),
        (onnxplain.Attributions(), onnxplain.Attributions(value="BANZHAF")),
    ],
)
def test_other_methods_have_no_such_table(tmp_path: Path, methods: Any) -> None:
    path = tmp_path / "rows.parquet"
    asked = (TREES, some_rows(*"abcdefghij"), *methods)
    with onnxplain.local() as client:
        for call in (client.explain, client.plan):
            with pytest.raises(onnxplain.ExplainError) as refused:
                call(*asked, result_uri=f"file://{path}")
            assert (refused.value.reason, refused.value.field) == ("INVALID_OPTION", "result_uri")
    assert not path.exists()


def test_a_plan_counts_the_bytes_of_an_answer_without_rows(tmp_path: Path) -> None:
    asked = (TREES, some_rows(*"abcdefghij"), onnxplain.Attributions(explained_row_count=50))
    with onnxplain.local() as client:
        whole = client.plan(*asked, plots=False)
        without = client.plan(*asked, plots=False, result_uri=f"file://{tmp_path}/rows.parquet")

    assert without.answer_byte_count
    assert whole.answer_byte_count
    assert without.answer_byte_count < whole.answer_byte_count / 4
    assert not any(tmp_path.iterdir())


def test_parts_of_such_an_answer_have_no_rows_either(tmp_path: Path) -> None:
    asked = (TREES, some_rows(*"abcdefghij"), onnxplain.Attributions(explained_row_count=50))
    uri = f"file://{tmp_path}/rows.PARQUET"  # the ending in either case
    with onnxplain.local() as client:
        events = [*client.explain_stream(*asked, partial=True, result_uri=uri)]

    (part,) = [event for event in events if isinstance(event, onnxplain.PartialExplanation)]
    result = part.explanations.attributions
    assert result.values.shape == (0, 10, 1)
    assert result.explained_row_count == 50
    assert len(pq.read_table(tmp_path / "rows.PARQUET")) == 50
