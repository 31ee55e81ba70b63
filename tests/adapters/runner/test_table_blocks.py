"""Tables read in blocks: the same rows whatever the files, their row groups and their batches."""

from __future__ import annotations

import gc
import gzip
import hashlib
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from onnxplain_server.adapters.runner.blocks.table_blocks import FileBlocks, large_table
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.streaming.row_blocks import BLOCK_ROWS
from onnxplain_server.wire.table import read_file

N = 2 * BLOCK_ROWS + 1_234


@pytest.fixture(scope="module")
def whole():
    """A table of three blocks, the last one short, with missing values."""
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "a": pa.array(rng.random(N), mask=rng.random(N) < 0.1),
            "b": pa.array(rng.random(N), pa.float32()),
            "kind": pa.array(rng.choice(["x", "y", ""], N)).dictionary_encode(),
            "count": np.arange(N),
        }
    )


def parquet(path: Path, part: pa.Table, row_group: int) -> Path:
    pq.write_table(part, path, row_group_size=row_group)
    return path


def arrow(path: Path, part: pa.Table, batch: int) -> Path:
    with pa.ipc.new_file(path, part.schema) as writer:
        writer.write_table(part, max_chunksize=batch)
    return path


LAYOUTS = [
    pytest.param(parquet, [N], 1_000, id="small row groups"),
    pytest.param(parquet, [N], 65_536, id="row groups of a block"),
    pytest.param(parquet, [N], 100_003, id="row groups across blocks"),
    pytest.param(parquet, [N], N, id="one row group"),
    pytest.param(parquet, [1, 70_000, N], 30_000, id="three Parquet files"),
    pytest.param(arrow, [N], 10_007, id="Arrow"),
    pytest.param(arrow, [65_536, 65_537, N], N, id="three Arrow files"),
]


@pytest.mark.parametrize(("write", "ends", "size"), LAYOUTS)
def test_blocks_are_the_rows_of_the_whole_table(tmp_path, whole, write, ends, size) -> None:
    starts = [0, *ends[:-1]]
    paths = [
        write(tmp_path / f"{i}", whole.slice(start, end - start), size)
        for i, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]
    expected = read_file("parquet", parquet(tmp_path / "whole", whole, N).read_bytes())

    blocks = FileBlocks(paths)
    found = list(blocks.read(0, 3, ["a", "b", "kind", "count"]))

    assert (blocks.names, blocks.row_count) == (("a", "b", "kind", "count"), N)
    assert [row for row, _ in found] == [0, BLOCK_ROWS, 2 * BLOCK_ROWS]
    assert [table.n_rows for _, table in found] == [BLOCK_ROWS, BLOCK_ROWS, 1_234]
    for name, values in expected.stored.items():
        read = np.concatenate([table.stored[name] for _, table in found])
        assert read.dtype == values.dtype
        np.testing.assert_array_equal(read, values)
    ((row, middle),) = blocks.read(1, 2, ["count"])
    assert (row, middle.names) == (BLOCK_ROWS, ("count",))
    np.testing.assert_array_equal(middle.column("count"), np.arange(BLOCK_ROWS, 2 * BLOCK_ROWS))
    assert middle.sent_rows is not None
    assert middle.sent_rows[[0, -1]].tolist() == [BLOCK_ROWS, 2 * BLOCK_ROWS - 1]


def as_utf_16(text: bytes) -> bytes:
    return text.decode().encode("utf-16")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, as_utf_16])
def test_blocks_of_a_csv_file_are_the_rows_of_the_whole_file(tmp_path, whole, pack) -> None:
    """Also the digest is that of the bytes, unpacked as clients do before they send them."""
    sink = pa.BufferOutputStream()
    pa.csv.write_csv(whole, sink)
    text = sink.getvalue().to_pybytes()
    path = tmp_path / "rows.csv"
    path.write_bytes(pack(text))
    expected = read_file("csv", text)

    blocks = FileBlocks([path])
    found = list(blocks.read(0, 3, blocks.names))

    assert (blocks.names, blocks.row_count) == (expected.names, N)
    for name, values in expected.stored.items():
        read = np.concatenate([table.stored[name] for _, table in found])
        assert read.dtype == values.dtype
        np.testing.assert_array_equal(read, values)
    sent = as_utf_16(text) if pack is as_utf_16 else text
    assert blocks.digest() == f"sha256:{hashlib.sha256(sent).hexdigest()}"


def test_a_converted_file_ends_with_its_table(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n")

    blocks = FileBlocks([path])
    assert len(list((tmp_path / "temporary").iterdir())) == 1
    del blocks
    gc.collect()

    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize(
    "content", [b"\x08\x03", gzip.compress(b"PAR1 of old", mtime=0), b"\x1f\x8b no"]
)
def test_other_files_are_not_read_in_blocks(tmp_path, content) -> None:
    path = tmp_path / "rows"
    path.write_bytes(content)

    assert large_table(path, 1) is None
    with pytest.raises(ExplainError, match="rows is neither Parquet, nor an Arrow file, nor CSV"):
        FileBlocks([path])


def test_the_digest_is_that_of_the_bytes(tmp_path, whole) -> None:
    path = parquet(tmp_path / "rows", whole.slice(0, 10), 10)

    expected = hashlib.sha256(path.read_bytes()).hexdigest()

    assert FileBlocks([path]).digest() == f"sha256:{expected}"


def test_files_of_other_columns_are_refused(tmp_path, whole) -> None:
    one = parquet(tmp_path / "one", whole.slice(0, 10), 10)
    other = parquet(tmp_path / "other", whole.slice(0, 10).drop_columns("a"), 10)

    with pytest.raises(ExplainError, match="other has other columns, or other types, than one"):
        FileBlocks([one, other])


def test_a_damaged_file_is_refused(tmp_path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(b"PAR1 and no more")

    with pytest.raises(ExplainError, match="rows cannot be read") as error:
        FileBlocks([path])

    assert error.value.reason is Reason.INVALID_TABLE


def test_only_a_table_that_would_not_fit_is_large(tmp_path, whole) -> None:
    """Ten rows of 4 columns take 6 copies of 8 bytes each: 1,920 bytes."""
    path = parquet(tmp_path / "rows", whole.slice(0, 10), 10)
    text = tmp_path / "rows.csv"
    text.write_text("a,b\n1,2\n")

    assert large_table(path, 1_920) is None
    assert large_table(path, 1_919) is not None
    assert large_table(text, 96) is None
    assert large_table(text, 95) is not None
