"""Tables of every kind arrive as the same rows."""

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from onnxplain.tables import to_table
from onnxplain.v1.table_pb2 import Table

ROWS = {"age": [20.0, 30.0, 40.0], "region": ["north", None, "south"]}


def read(message: Table) -> pa.Table:
    return pa.ipc.open_stream(message.arrow).read_all()


class Capsule:
    """Nothing but the Arrow C stream, as DuckDB's relations have it."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table(ROWS).__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(ROWS, id="mapping"),
        pytest.param({k: np.array(v, dtype=object) for k, v in ROWS.items()}, id="of arrays"),
        pytest.param(pa.table(ROWS), id="Arrow table"),
        pytest.param(pa.RecordBatch.from_pydict(ROWS), id="Arrow batch"),
        pytest.param(pd.DataFrame(ROWS), id="pandas"),
        pytest.param(pl.DataFrame(ROWS), id="polars"),
        pytest.param(pl.LazyFrame(ROWS), id="lazy polars"),
        pytest.param(Capsule(), id="C stream"),
    ],
)
def test_any_frame_arrives_as_arrow_with_its_names_and_missing_values(table) -> None:
    assert read(to_table(table)).to_pydict() == ROWS


def test_the_index_of_a_pandas_frame_is_no_column() -> None:
    frame = pd.DataFrame(ROWS).set_index(pd.Index([7, 9, 4], name="id"))

    assert read(to_table(frame)).column_names == ["age", "region"]


def test_an_array_is_named_f0_f1_and_so_on() -> None:
    assert read(to_table(np.eye(2))).to_pydict() == {"f0": [1, 0], "f1": [0, 1]}


@pytest.mark.parametrize("kind", [np.int64, np.float32, ">f8", np.bool_, np.str_, object], ids=str)
def test_what_an_array_masks_is_missing(kind: Any) -> None:
    rows = np.array([[1, 2], [3, 4], [5, 6]]).astype(kind)
    masked = np.ma.array(rows, mask=np.array([[0, 1], [1, 0], [0, 0]], dtype=bool))

    [a, b] = read(to_table(masked)).to_pydict().values()
    [c, d] = read(to_table({"c": masked[:, 0], "d": masked[:, 1]})).to_pydict().values()

    assert a == c == [rows[0, 0], None, rows[2, 0]]
    assert b == d == [None, rows[1, 1], rows[2, 1]]
    assert read(to_table(np.ma.array(rows))) == read(to_table(rows))


def test_an_array_is_named_by_feature_columns() -> None:
    assert read(to_table(np.eye(2), ["a", "b"])).column_names == ["a", "b"]


def test_an_array_of_another_width_than_feature_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="names 1 columns, but the array has 2"):
        to_table(np.eye(2), ["a"])


def test_an_array_of_one_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="two dimensions"):
        to_table(np.ones(3))


def test_what_is_no_table_is_refused_by_its_type() -> None:
    with pytest.raises(TypeError, match="cannot read a table from int: give a path"):
        to_table(7)


def parquet() -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(ROWS), sink)
    return sink.getvalue()


def arrow(new) -> bytes:
    sink = pa.BufferOutputStream()
    with new(sink, pa.table(ROWS).schema) as writer:
        writer.write_table(pa.table(ROWS))
    return bytes(sink.getvalue().to_pybytes())


@pytest.mark.parametrize(
    ("content", "form"),
    [
        pytest.param(b"age,region\n20,north\n", "csv", id="CSV"),
        pytest.param(parquet(), "parquet", id="Parquet"),
        pytest.param(arrow(pa.ipc.new_stream), "arrow", id="Arrow stream"),
        pytest.param(arrow(pa.ipc.new_file), "arrow", id="Arrow file"),
    ],
)
def test_a_file_goes_as_it_is_in_the_form_that_it_has(content, form, tmp_path: Path) -> None:
    path = tmp_path / "rows.data"
    path.write_bytes(content)

    for table in (path, str(path), content, memoryview(content)):
        message = to_table(table)
        assert message.WhichOneof("source") == form
        assert getattr(message, form) == content


@pytest.mark.parametrize(("content", "form"), [(b"a\n1\n", "csv"), (parquet(), "parquet")])
def test_a_file_packed_by_gzip_is_unpacked_here(content: bytes, form: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.gz"
    path.write_bytes(gzip.compress(content))

    for table in (path, path.read_bytes()):
        assert getattr(to_table(table), form) == content


@pytest.mark.parametrize("fault", ["cut off", "no gzip after all", "a wrong checksum"])
def test_a_broken_gzip_file_is_refused_here(fault: str) -> None:
    packed = gzip.compress(b"a\n1\n" * 1000)
    broken = {
        "cut off": packed[:-20],
        "no gzip after all": packed[:2] + b"a,b\n1,2\n",
        "a wrong checksum": packed[:-8] + bytes(8),
    }
    with pytest.raises(ValueError, match="begins like a gzip file, but is broken"):
        to_table(broken[fault])


def test_a_missing_file_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        to_table(tmp_path / "none.csv")


def test_a_message_is_taken_as_it_is() -> None:
    message = to_table(ROWS)
    assert to_table(message) is message
