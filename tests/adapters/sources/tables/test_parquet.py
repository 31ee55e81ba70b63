"""Parquet: which ranges are read, and what is refused."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from onnxplain_server.adapters.sources.interfaces import TableQuery
from onnxplain_server.adapters.sources.table_reader import open_table
from onnxplain_server.core.errors import ExplainError, Reason

from tools.stores.readers import MemoryReader

FOOTER_READ = 64 << 10


def wide(n_columns: int, n_rows: int) -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table({f"x{j}": rng.normal(size=n_rows) for j in range(n_columns)})


def chunk_bytes(content: bytes, names=None) -> int:
    """Count the bytes of columns by pyarrow's own metadata."""
    metadata = pq.read_metadata(io.BytesIO(content))
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    columns = [group.column(j) for group in groups for j in range(metadata.num_columns)]
    return sum(
        column.total_compressed_size
        for column in columns
        if names is None or column.path_in_schema in names
    )


def test_ten_columns_of_500_read_no_others(files) -> None:
    table = wide(500, 2000)
    content = files.parquet(table, row_group_size=1000)
    reader = files.reader({"x.parquet": content})
    names = [f"x{j}" for j in range(0, 500, 50)]

    found = files.read_of(reader, names)

    assert found.equals(table.select(names))
    footer = len(content) - chunk_bytes(content) - 4
    assert footer > FOOTER_READ
    assert reader.byte_count == footer + chunk_bytes(content, names)


def test_row_groups_that_cannot_match_are_not_read(files) -> None:
    table = pa.table({"t": range(100_000), "x": np.random.default_rng(0).normal(size=100_000)})
    content = files.parquet(table, row_group_size=10_000)
    reader = files.reader({"x.parquet": content})

    found = files.read_of(reader, ["x"], [("t", ">=", "42000"), ("t", "<", "42010")])

    assert found.equals(table.slice(42_000, 10).select(["x"]))
    assert reader.byte_count < FOOTER_READ + chunk_bytes(content) / 9


def test_folders_that_cannot_match_are_not_read(files) -> None:
    parts = {f"year={year}/x.parquet": files.parquet(wide(1, 10)) for year in range(2020, 2026)}
    reader = files.reader(parts)

    found = files.read_of(reader, ["year"], [("year", ">", "2023"), ("year", "!=", "2025")])

    assert found.column("year").to_pylist() == [2024] * 10
    assert {path for path, _, _ in reader.ranges} == {"year=2024/x.parquet"}


def test_where_no_folder_matches_the_table_has_its_columns_and_no_rows(files) -> None:
    found = files.read(
        {"year=2020/x.parquet": files.parquet(wide(2, 10))}, None, [("year", ">", "2020")]
    )

    assert (found.column_names, found.num_rows) == (["x0", "x1", "year"], 0)


def test_a_key_that_the_files_hold_as_a_column_is_read_from_them(files) -> None:
    table = pa.table({"year": pa.array(["2020", "2020"]), "x": [1.0, 2.0]})

    assert files.read({"year=2020/x.parquet": files.parquet(table)}).equals(table)


def test_columns_are_those_of_all_files_in_the_order_in_which_they_appear(files) -> None:
    first = pa.table({"b": [1], "a": [2]})
    second = pa.table({"a": [4], "c": [5], "b": [3]})
    contents = {"1.parquet": files.parquet(first), "2.parquet": files.parquet(second)}

    opened = open_table(MemoryReader(contents), TableQuery(None, (), 1 << 20))

    assert opened.column_names == ["b", "a", "c"]
    assert files.read(contents, ["a", "b"]).to_pydict() == {"b": [1, 3], "a": [2, 4]}
    with pytest.raises(ExplainError, match=r"1\.parquet lacks column 'c', which .*2\.parquet has"):
        files.read(contents)


def test_a_column_without_values_takes_the_type_of_other_files(files) -> None:
    empty, full = pa.table({"x": pa.nulls(2)}), pa.table({"x": [1.5]})

    found = files.read({"1.parquet": files.parquet(empty), "2.parquet": files.parquet(full)})

    assert found.to_pydict() == {"x": [None, None, 1.5]}


def test_categories_of_different_files_are_their_values(files) -> None:
    kinds = [pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int16(), pa.string())]
    contents = {
        f"{i}.parquet": files.parquet(pa.table({"x": pa.array(["a", "b"]).cast(kind)}))
        for i, kind in enumerate(kinds)
    }

    assert files.read(contents, None, [("x", "==", "b")]).to_pydict() == {"x": ["b", "b"]}


def test_different_types_are_refused_with_both_files(files) -> None:
    whole, number = pa.table({"x": [1]}), pa.table({"x": [1.5]})
    contents = {"1.parquet": files.parquet(whole), "2.parquet": files.parquet(number)}

    with pytest.raises(ExplainError) as caught:
        files.read(contents)

    assert caught.value.reason is Reason.INVALID_TABLE
    assert "'x' is int64 in s3://bucket/1.parquet and double in s3://bucket/2.parquet" in str(
        caught.value
    )


def test_folders_with_different_keys_are_refused(files) -> None:
    content = files.parquet(wide(1, 1))

    with pytest.raises(ExplainError, match="same keys for all files"):
        files.read({"year=2020/1.parquet": content, "month=1/2.parquet": content})


def test_a_table_above_the_limit_is_refused_before_it_is_read(files) -> None:
    content = files.parquet(wide(4, 100_000))
    reader = files.reader({"x.parquet": content})

    with pytest.raises(ExplainError) as caught:
        files.read_of(reader, byte_limit=1_000_000)

    assert caught.value.reason is Reason.TABLE_TOO_LARGE
    # 4 columns of 100,000 numbers with 8 bytes each are 3.05 MiB.
    assert "the table has 3.1 MiB or more, and the limit is 976.6 KiB" in str(caught.value)
    assert reader.byte_count <= FOOTER_READ


def test_text_above_the_limit_is_refused_with_an_estimate(files) -> None:
    table = pa.table({"x": ["a" * 1000] * 10_000})
    contents = {f"{i}.parquet": files.parquet(table) for i in range(4)}

    with pytest.raises(ExplainError) as caught:
        files.read(contents, byte_limit=15_000_000)

    # 4 files with 10,000 texts of 1000 + 4 bytes are 38.3 MiB.
    assert "about 38.3 MiB, by its first 20000 of 40000 rows" in str(caught.value)


def test_a_filter_lets_a_part_of_a_large_table_be_read(files) -> None:
    table = pa.table({"t": range(100_000), "x": np.zeros(100_000)})
    content = files.parquet(table, row_group_size=5_000)

    found = files.read({"x.parquet": content}, None, [("t", "<", "7000")], byte_limit=200_000)

    assert found.equals(table.slice(0, 7000))


def test_large_row_groups_are_read_by_columns(files) -> None:
    table = wide(10, 400_000)
    content = files.parquet(table, row_group_size=400_000)
    reader = files.reader({"x.parquet": content})

    assert files.read_of(reader).equals(table)
    assert max(length for _, _, length in reader.ranges) <= 4 << 20


@pytest.mark.parametrize("cut", [1, 8, 1000])
def test_a_file_that_is_cut_is_refused(files, cut) -> None:
    with pytest.raises(ExplainError, match="no Parquet file"):
        files.read({"x.parquet": files.parquet(wide(2, 1000))[:-cut]})


def test_random_faults_in_columns_are_errors_that_name_the_file(files) -> None:
    content = files.parquet(wide(3, 200), row_group_size=50)
    rng = np.random.default_rng(0)
    refused = []
    for _ in range(200):
        broken = bytearray(content)
        for position in rng.integers(4, chunk_bytes(content), 3):
            broken[position] = rng.integers(0, 256)
        try:
            files.read({"x.parquet": bytes(broken)})
        except ExplainError as error:
            refused.append(error)
    assert len(refused) > 20
    assert all("s3://bucket/x.parquet" in error.message for error in refused)


def test_a_small_file_is_read_once(files) -> None:
    table = wide(3, 200)
    content = files.parquet(table)
    reader = files.reader({"x.parquet": content})

    assert files.read_of(reader).equals(table)
    assert reader.ranges == [("x.parquet", 0, len(content))]
