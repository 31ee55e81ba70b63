"""CSV files converted in blocks: columns, types and values of the reader of whole files."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from onnxplain_server.adapters.runner.blocks import csv_blocks
from onnxplain_server.adapters.runner.blocks.csv_blocks import convert_csv
from onnxplain_server.wire.csv_table import parse_csv

VALUES = ["", "1", "0", "-7", "2.5", "1e3", "true", "false", "a", "é", "NA", "2020-01-01", "12:30",
          "2020-01-01 12:30:00", "2020-01-01 12:30:00.123", "1,5", "+3", '"x, y"', '"two\nlines"',
          "99999999999999999999", " 4"]  # fmt: skip
ANY = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def converted(folder: Path, content: bytes, texts=()) -> pa.Table:
    path, arrow = folder / "rows.csv", folder / "rows.arrow"
    path.write_bytes(content)
    convert_csv(path, arrow, texts)
    with pa.memory_map(str(arrow)) as source:
        return pa.ipc.open_file(source).read_all()


def outcome(read):
    try:
        table = read()
    except (pa.ArrowException, ValueError) as error:
        return type(error).__name__
    return table.schema, table.to_pydict()


@ANY
@given(
    columns=st.lists(st.sampled_from(VALUES), min_size=2, max_size=30)
    | st.lists(st.sampled_from(["", "1", "1,5", "2"]), min_size=2, max_size=30),
    others=st.sampled_from(VALUES),
    separator=st.sampled_from(",;\t"),
    block=st.sampled_from([40, 70, 1_000]),
    start=st.sampled_from(["", "sep=;\n", "\ufeff"]),
    texts=st.sampled_from([(), ("first",), ("first", "second")]),
)
@example(["1"] * 20 + ["x"], "1", ",", 40, "", ())
@example([""] * 20 + ["2020-01-01"], "1", ",", 40, "", ())
@example(["1"] * 20 + ["1,5"], "2.5", ";", 40, "", ())
def test_types_and_values_are_those_of_the_whole_file(
    tmp_path, monkeypatch, columns, others, separator, block, start, texts
) -> None:
    monkeypatch.setattr(csv_blocks, "BLOCK_BYTES", block)
    lines = [f"first{separator}second"]
    lines += [f"{value}{separator}{others}" for value in columns]
    content = (start + "\n".join(lines) + "\n").encode()

    own, whole = (
        outcome(lambda: converted(tmp_path, content, texts)),
        outcome(lambda: parse_csv(content, None, texts)),
    )

    assert own == whole


@pytest.fixture(params=[1, 2])
def arrow_threads(request: pytest.FixtureRequest) -> Iterator[None]:
    """Arrow's threads, of which one tells of other errors than several."""
    before = pa.cpu_count()
    pa.set_cpu_count(request.param)
    yield
    pa.set_cpu_count(before)


@pytest.mark.usefixtures("arrow_threads")
def test_a_column_that_turns_into_text_late_is_text(tmp_path, monkeypatch) -> None:
    """Arrow's own reader of streams fails here, as it has taken the column for whole numbers."""
    monkeypatch.setattr(csv_blocks, "BLOCK_BYTES", 100)
    content = b"n,t\n" + b"1,2.5\n" * 500 + b"x,3\n"

    table = converted(tmp_path, content)

    assert table.schema.types == [pa.string(), pa.float64()]
    assert table["n"].to_pylist() == ["1"] * 500 + ["x"]


def test_a_gzipped_file_is_unpacked(tmp_path) -> None:
    table = converted(tmp_path, gzip.compress(b"a,b\n1,x\n2,y\n"))

    assert table.to_pydict() == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize("content", [b"", b"a,b\n1\n", b"a,b\n1,2,3\n"])
def test_a_broken_file_is_refused_as_a_whole_one(tmp_path, content) -> None:
    assert outcome(lambda: converted(tmp_path, content)) == outcome(lambda: parse_csv(content))
    assert isinstance(outcome(lambda: converted(tmp_path, content)), str)


def test_a_header_alone_is_a_table_without_rows(tmp_path) -> None:
    assert outcome(lambda: converted(tmp_path, b"a,b\n")) == outcome(lambda: parse_csv(b"a,b\n"))
