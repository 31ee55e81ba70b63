"""Predictions and descriptions of tables by the Python client, in the own process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pandas as pd
import pytest
from onnxplain.results.predictions import Predictions
from onnxplain.v1.explanation_service_pb2 import DescribeTableRequest, PredictRequest

MODEL = Path(__file__).parents[1] / "models" / "sklearn_random_forest_3class.onnx"
FRAME = pd.DataFrame(
    {
        "a": [5.1, 6.4, 5.8],
        "b": [3.5, 3.2, 2.7],
        "c": [1.4, 4.5, 5.1],
        "d": [0.2, 1.5, 1.9],
        "kind": ["x", None, "y"],
    }
)
FEATURES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def client() -> Iterator[onnxplain.Client]:
    with onnxplain.local() as local:
        yield local


def test_predictions_are_arrays_and_frames(client: onnxplain.Client) -> None:
    found = client.predict(MODEL, FRAME, rows=[2, 0], feature_columns=FEATURES)

    assert isinstance(found, Predictions)
    assert found.output_names == ("setosa", "versicolor", "virginica")
    assert np.asarray(found).shape == (2, 3)
    assert np.asarray(found, dtype=np.float32).dtype == np.float32
    assert found.to_pandas()["row"].tolist() == [2, 0]
    assert found.to_pandas()["setosa"].tolist() == found.values[:, 0].tolist()
    assert repr(found) == "Predictions of 2 rows: setosa, versicolor, virginica"


def test_predictions_may_not_write_the_values_of_a_copy(client: onnxplain.Client) -> None:
    found = client.predict(MODEL, FRAME, rows=[0], feature_columns=FEATURES)

    np.array(found, copy=True)[:] = 7

    assert found.values.max() <= 1


def test_outputs_and_expressions_are_chosen(client: onnxplain.Client) -> None:
    one = client.predict(MODEL, FRAME, feature_columns=FEATURES, outputs="virginica")
    other = client.predict(MODEL, FRAME, feature_columns=FEATURES, prediction="q = 2 * virginica")

    assert other.output_names == ("q",)
    np.testing.assert_allclose(other.values, 2 * one.values)


def test_warnings_come_with_the_predictions(client: onnxplain.Client) -> None:
    found = client.predict(MODEL, FRAME[FEATURES])

    assert [warning.code for warning in found.warnings] == ["COLUMNS_BY_POSITION"]


def test_tables_are_described_with_their_rows(client: onnxplain.Client) -> None:
    found = client.describe_table(FRAME, MODEL, target_column="kind", row_count=2)

    assert found.row_count == 3
    assert found.row_indices == (0, 1)
    assert found.rows.to_pydict()["a"] == [5.1, 6.4]
    assert found.rows.to_pydict()["kind"] == ["x", ""]
    assert found.columns[4].frequent_values == {"x": 1, "y": 1}
    assert found.columns[4].missing_count == 1
    assert found.columns[4].minimum is None
    assert found.matching is not None
    assert found.matching.feature_columns == tuple(FEATURES)
    assert found.to_pandas()["name"].tolist() == list(FRAME.columns)


def test_nearest_rows_have_distances(client: onnxplain.Client) -> None:
    found = client.describe_table(FRAME, near={"a": 5.8, "kind": "y"}, row_count=1)

    assert (found.row_indices, found.distances.tolist(), found.matching) == ((2,), [0.0], None)


def test_uploaded_files_go_in_the_place_of_files(client: onnxplain.Client) -> None:
    model, table = client.upload_model(MODEL), client.upload_table(FRAME)

    by_id = client.predict(model, table, feature_columns=FEATURES)

    assert (
        by_id.values.tolist()
        == client.predict(MODEL, FRAME, feature_columns=FEATURES).values.tolist()
    )
    assert client.describe_table(table, model).row_count == 3


def test_a_refusal_names_its_field(client: onnxplain.Client) -> None:
    with pytest.raises(onnxplain.ExplainError) as refused:
        client.predict(MODEL, FRAME, rows=[3], feature_columns=FEATURES)

    assert (refused.value.reason, refused.value.field) == ("INVALID_OPTION", "row_indices")


def test_a_table_that_is_read_in_blocks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    FRAME.to_parquet(path)

    with onnxplain.local(memory_bytes=1) as client:
        for call in (
            lambda: client.predict(MODEL, path.as_uri(), feature_columns=FEATURES),
            lambda: client.describe_table(path.as_uri()),
        ):
            with pytest.raises(onnxplain.ExplainError, match="read in blocks"):
                call()


def test_the_client_for_asyncio_makes_the_same_requests(server) -> None:
    async def ask() -> None:
        async with onnxplain.connect_async(server.endpoint) as client:
            predicted = await client.predict(b"model", FRAME, rows=[1])
            assert predicted.row_indices == (1,)
            described = await client.describe_table(FRAME, row_count=1)
            assert described.row_count == 7

    asyncio.run(ask())

    predict, describe = server.service.requests[-2:]
    assert isinstance(predict, PredictRequest)
    assert list(predict.row_indices) == [1]
    assert isinstance(describe, DescribeTableRequest)
    assert describe.row_count == 1


def test_expected_predictions_are_columns_or_numbers(client: onnxplain.Client) -> None:
    expected = client.predict(MODEL, FRAME, feature_columns=FEATURES).values
    names = [f"p{k}" for k in range(3)]
    frame = FRAME.assign(**dict(zip(names, expected.T, strict=True)))
    asked: dict[str, Any] = {"feature_columns": FEATURES}

    assert client.check(MODEL, FRAME, expected, **asked).agrees
    assert client.check(MODEL, frame, names, **asked).agrees
    assert client.check(MODEL, FRAME[FEATURES].to_numpy(), pd.DataFrame(expected)).agrees
    wrong = client.check(MODEL, FRAME, expected + np.diag([1, 0, 0])[:, ::-1], **asked)
    assert not wrong.agrees
    assert wrong.to_arrow()["largest_difference"].to_pylist() == pytest.approx([0, 0, 1], abs=1e-6)
    assert repr(wrong).startswith("PredictionComparison: 1 of 3 rows differs, by up to 1")
    one = client.check(MODEL, FRAME[:1], [[0, 0, 1]], **asked)
    assert repr(one).startswith("PredictionComparison: the only row differs, by up to ")
    assert "in the only row: by up to " in one.warnings[0].message
    assert repr(client.check(MODEL, FRAME[:1], expected[:1], **asked)) == (
        "PredictionComparison: the only row agrees"
    )


def test_expected_predictions_of_other_rows_are_refused(client: onnxplain.Client) -> None:
    for rows, told in ((2, "2 rows"), (1, "1 row")):
        with pytest.raises(ValueError, match=f"expected has {told}, and the table has 3"):
            client.check(MODEL, FRAME, np.zeros((rows, 3)), feature_columns=FEATURES)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (onnxplain.TableUris("s3://bucket/rows.csv"), "at an address"),
        ("s3://bucket/rows.csv", "at an address"),
        ("rows.csv", "a file"),
        (b"a,b\n1,2\n", "a file"),
    ],
)
def test_predictions_beside_rows_that_are_elsewhere_are_refused(
    client: onnxplain.Client, table: Any, told: str
) -> None:
    with pytest.raises(TypeError, match=f"the table is {told}, .* give the rows as a frame"):
        client.check(MODEL, table, np.zeros((3, 3)))


@pytest.mark.parametrize("labels", [["x", "y", "x"], np.array(["x", "y", "z"]), pd.Series(["x"])])
def test_labels_are_no_predictions(client: onnxplain.Client, labels: Any) -> None:
    with pytest.raises(TypeError, match=r"expected has texts, as 'x'.* probabilities"):
        client.check(MODEL, FRAME, labels)


def test_a_file_may_have_the_columns_of_expected_predictions(
    client: onnxplain.Client, tmp_path: Path
) -> None:
    expected = client.predict(MODEL, FRAME, feature_columns=FEATURES).values
    names = [f"p{k}" for k in range(3)]
    path = tmp_path / "rows.csv"
    FRAME.assign(**dict(zip(names, expected.T, strict=True))).to_csv(path, index=False)

    for table in (path, path.as_uri()):
        assert client.check(MODEL, table, names, feature_columns=FEATURES).agrees
