"""Arrow IPC and CSV, formats by name, and filters of all types."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from onnxplain_server.adapters.sources.interfaces import TableFormat
from onnxplain_server.core.errors import ExplainError, Reason

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"], "c": [0.5, 1.5, 2.5]})


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_columns_and_rows_are_chosen_in_all_formats(files, write, ending) -> None:
    contents = {f"{name}.{ending}": write[ending](TABLE) for name in "pq"}

    found = files.read(contents, ["c", "a"], [("b", "!=", "x"), ("a", ">", "1")])

    # The second row's b is missing, and meets no filter; CSV writes it as an empty field.
    rows = (
        {"a": [2, 3] * 2, "c": [1.5, 2.5] * 2}
        if ending == "csv"
        else {"a": [3, 3], "c": [2.5, 2.5]}
    )
    assert found.to_pydict() == rows


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_keys_alone_have_the_rows_of_their_files(files, write, ending) -> None:
    contents = {f"k={k}/x.{ending}": write[ending](TABLE) for k in (1, 2)}

    assert files.read(contents, ["k"]).to_pydict() == {"k": [1, 1, 1, 2, 2, 2]}


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_text_to_the_model_stands_as_in_csv_and_in_folders_names(files, write, ending) -> None:
    table = pa.table({"a": ["007", "1e3"] if ending == "csv" else [7, 1_000], "c": [0.5, 1.5]})
    contents = {f"k={k}/x.{ending}": write[ending](table) for k in ("07", "8")}

    found = files.read(contents, None, [("c", ">", "1")], texts=["a", "k"])

    a = "1e3" if ending == "csv" else 1_000
    assert found.to_pydict() == {"a": [a, a], "c": [1.5, 1.5], "k": ["07", "8"]}


def test_a_stream_and_a_file_of_arrow_are_one_table(files) -> None:
    contents = {"1.arrow": files.arrow(TABLE), "2.ipc": files.arrow(TABLE, stream=True)}

    assert files.read(contents).equals(pa.concat_tables([TABLE, TABLE]))


def test_a_long_arrow_file_is_read_in_parts(files) -> None:
    table = pa.table({f"x{j}": np.arange(200_000.0) + j for j in range(8)})
    reader = files.reader({"x.arrow": files.arrow(table, 50_000)})

    assert files.read_of(reader, ["x3", "x5"]).equals(table.select(["x3", "x5"]))
    assert max(length for _, _, length in reader.ranges) <= 4 << 20


def test_arrow_with_offsets_outside_of_its_buffers_is_refused(files) -> None:
    content = bytearray(files.arrow(pa.table({"x": ["a", "bc"]}), stream=True))
    offsets = np.array([0, 1, 3], "<i4").tobytes()
    position = bytes(content).index(offsets)
    content[position + 4 : position + 8] = (2**30).to_bytes(4, "little")

    with pytest.raises(ExplainError) as caught:
        files.read({"x.arrow": bytes(content)})

    assert caught.value.reason is Reason.INVALID_TABLE


def test_csv_files_share_numbers_with_and_without_points(files) -> None:
    found = files.read({"1.csv": b"x,y\n1,a\n", "2.csv": b"y,x\nb,2.5\n"})

    assert found.to_pydict() == {"x": [1.0, 2.5], "y": ["a", "b"]}


def test_csv_with_text_in_one_file_and_numbers_in_another_is_refused(files) -> None:
    with pytest.raises(ExplainError, match=r"'x' is int64 in .*1\.csv and string in .*2\.csv"):
        files.read({"1.csv": b"x\n1\n", "2.csv": b"x\nb\n"})


def test_a_csv_header_may_be_long_and_have_line_breaks(files) -> None:
    names = [f"column {j:06d}\nof {j}" for j in range(5_000)]
    content = ",".join(f'"{name}"' for name in names) + "\n" + ",".join(["7"] * 5_000)

    found = files.read({"x.csv": content.encode()}, names[-1:])

    assert found.to_pydict() == {names[-1]: [7]}


def test_excels_separator_line_is_left_out(files) -> None:
    found = files.read({"x.csv": b"sep=;\na;b\n1,5;2\n"}, ["a"])

    assert found.to_pydict() == {"a": [1.5]}


def test_a_csv_file_above_the_limit_is_refused_with_its_size(files) -> None:
    with pytest.raises(ExplainError, match=r"x\.csv has 195\.3 KiB, and the limit is 97\.7 KiB"):
        files.read({"x.csv": b"x\n" + b"1\n" * 99_999}, byte_limit=100_000)


def test_the_format_is_told_by_names_unless_it_is_given(files) -> None:
    contents = {"rows": files.parquet(TABLE)}

    assert files.read(contents, table_format=TableFormat.PARQUET).equals(TABLE)
    with pytest.raises(ExplainError, match="bucket/rows ends with none of") as caught:
        files.read(contents)
    assert caught.value.reason is Reason.INVALID_REQUEST
    with pytest.raises(ExplainError, match=r"1\.parquet and s3://bucket/2\.csv differ"):
        files.read({"1.parquet": b"", "2.csv": b""})


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_other_content_than_the_name_tells_is_refused(files, ending) -> None:
    with pytest.raises(ExplainError) as caught:
        files.read({f"x.{ending}": b"\xff\xfe\n\x00\x01" * 50})

    assert caught.value.reason is Reason.INVALID_TABLE


def test_a_name_that_stands_twice_is_refused(files) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])

    with pytest.raises(ExplainError, match="'x' more than once"):
        files.read({"x.arrow": files.arrow(table)})


def test_a_filter_on_a_column_that_is_missing_is_refused(files) -> None:
    with pytest.raises(ExplainError) as caught:
        files.read({"x.parquet": files.parquet(TABLE)}, ["a"], [("d", "==", "1")])

    assert caught.value.reason is Reason.MISSING_COLUMN


@pytest.mark.parametrize(
    ("column", "value"), [("a", "1.5"), ("a", "one"), ("c", "nan"), ("c", "1 000"), ("l", "1")]
)
def test_a_value_that_is_none_of_the_columns_type_is_refused(files, column, value) -> None:
    table = TABLE.append_column("l", pa.array([[1]] * 3))

    with pytest.raises(ExplainError) as caught:
        files.read({"x.parquet": files.parquet(table)}, ["a"], [(column, "==", value)])

    assert caught.value.reason is Reason.INVALID_REQUEST


def test_a_missing_number_meets_no_filter(files) -> None:
    table = pa.table({"x": pa.array([1.0, np.nan, None, 3.0], from_pandas=False)})
    contents = {"x.arrow": files.arrow(table)}

    assert files.read(contents, None, [("x", "!=", "1")]).to_pydict() == {"x": [3.0]}


def test_equal_is_one_of_the_values_and_not_equal_none_of_them(files) -> None:
    contents = {"x.arrow": files.arrow(TABLE)}

    assert files.read(contents, ["a"], [("a", "==", "1,3")]).to_pydict() == {"a": [1, 3]}
    assert files.read(contents, ["a"], [("a", "!=", "1,3")]).to_pydict() == {"a": [2]}
