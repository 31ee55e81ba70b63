"""Addresses in place of models and tables."""

from pathlib import Path
from typing import Any

import onnxplain
import pytest
from onnxplain.requests.models import to_model, to_model_name
from onnxplain.tables import to_table
from onnxplain.v1.table_pb2 import TableFilter


@pytest.mark.parametrize(
    "uri", ["s3://b/m.onnx", "gs://b/m", "https://host/m", "file:///m", "models:/churn@champion"]
)
def test_a_text_with_a_scheme_is_an_address(uri: str) -> None:
    assert to_model(uri).uri == uri
    assert list(to_table(uri).uris.uris) == [uri]
    assert to_model_name("", uri) == uri.rpartition("/")[2]


def test_a_path_stays_a_path(tmp_path: Path) -> None:
    path = tmp_path / "s3:"
    path.write_bytes(b"model")

    assert to_model(str(path)).content == b"model"
    with pytest.raises(OSError, match="models"):
        to_model(Path("models:/churn@champion"))


def test_a_model_is_pinned() -> None:
    assert to_model(onnxplain.ModelUri("s3://b/m", sha256="ab")).sha256 == "ab"


def test_tables_have_formats_and_filters() -> None:
    filters: list[Any] = [("year", "==", [2025, 2026]), ("age", ">=", 18), ("is_new", "!=", True)]
    table = onnxplain.TableUris(["s3://b/1", "s3://b/2"], format="csv", filters=filters)

    message = to_table(table).uris

    assert (list(message.uris), message.format) == (["s3://b/1", "s3://b/2"], 3)
    assert list(message.filters) == [
        TableFilter(column="year", comparison="EQUAL", values=["2025", "2026"]),
        TableFilter(column="age", comparison="GREATER_OR_EQUAL", values=["18"]),
        TableFilter(column="is_new", comparison="NOT_EQUAL", values=["true"]),
    ]


@pytest.mark.parametrize(
    "table",
    [
        onnxplain.TableUris("s3://b/1", format="xml"),  # type: ignore[arg-type] # refused
        onnxplain.TableUris("s3://b/1", filters=[("a", "=", 1)]),
    ],
)
def test_other_formats_and_comparisons_are_refused(table: onnxplain.TableUris) -> None:
    with pytest.raises(ValueError, match=r"csv|>="):
        to_table(table)
