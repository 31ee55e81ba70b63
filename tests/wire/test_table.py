"""Tables in every format that is taken, to the same numbers and texts."""

from __future__ import annotations

import datetime
import io
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain.v1.table_pb2 import Column, Columns
from onnxplain.v1.table_pb2 import Table as Message
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import Table
from onnxplain_server.wire import table

NAN = float("nan")


def stream(rows: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue()


def file(rows: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pyarrow.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue()


def parquet(rows: pa.Table) -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(rows, sink)
    return sink.getvalue()


def csv(rows: pa.Table) -> bytes:
    sink = io.BytesIO()
    pyarrow.csv.write_csv(rows, sink)
    return sink.getvalue()


FORMATS: dict[str, Callable[[pa.Table], Message]] = {
    "arrow stream": lambda rows: Message(arrow=stream(rows)),
    "arrow file": lambda rows: Message(arrow=file(rows)),
    "parquet": lambda rows: Message(parquet=parquet(rows)),
    "csv": lambda rows: Message(csv=csv(rows)),
}


def of_arrow(values) -> Table:
    return table.read(Message(arrow=stream(pa.table({"a": values}))))


def of_csv(text: str | bytes) -> Table:
    return table.read(Message(csv=text if isinstance(text, bytes) else text.encode()))


def of_columns(*columns: Column) -> Table:
    return table.read(Message(columns=Columns(columns=columns)))


def refusal(read: Callable[..., Any], *given) -> ExplainError:
    with pytest.raises(ExplainError) as refused:
        read(*given)
    return refused.value


def plain(values) -> list[Any]:
    """Turn a column into a list, with None for NaN."""
    return [None if value != value else value for value in values.tolist()]  # noqa: PLR0124


# The same table in every format

ROWS = pa.table(
    {
        "number": pa.array([1.5, None, -2e300]),
        "whole": pa.array([3, 4, None]),
        "truth": pa.array([True, False, None]),
        "text": pa.array(["a,b", 'say "x"', None]),
    }
)


@pytest.mark.parametrize("offset", [0, 1, 3])
def test_float32_is_read_from_any_address_in_any_number_of_chunks(offset: int) -> None:
    values = pa.array([0.1, None, 3e38, NAN, -2.5], pa.float32())
    chunks = pa.chunked_array([values[:2], values[2:], values[:0]])
    content = bytes(offset) + stream(pa.table({"n": [1, 2, 3, 4, 5], "x": chunks, "y": chunks}))

    read = table.read_file("arrow", memoryview(content)[offset:])

    expected = [float(np.float32(0.1)), None, float(np.float32(3e38)), None, -2.5]
    assert plain(read.columns["x"]) == plain(read.columns["y"]) == expected
    assert [column.dtype for column in read.columns.values()] == [np.float64] * 3
    assert read.stored["x"].dtype == np.float32
    assert read.stored["x"].flags.carray


@pytest.mark.parametrize("format_", FORMATS)
def test_equal_tables_are_equal_in_every_format(format_: str) -> None:
    read = table.read(FORMATS[format_](ROWS))

    assert read.names == ("number", "whole", "truth", "text")
    assert (read.n_rows, read.unreadable) == (3, {})
    assert [column.dtype for column in read.columns.values()] == [np.float64] * 3 + [object]
    assert {name: plain(column) for name, column in read.columns.items()} == {
        "number": [1.5, None, -2e300],
        "whole": [3, 4, None],
        "truth": [1, 0, None],
        "text": ["a,b", 'say "x"', ""],
    }


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=5))
def test_numbers_keep_every_bit_in_every_format(values: list[float]) -> None:
    rows = pa.table({"x": values, "y": [0.5] * len(values)})

    for message in FORMATS.values():
        assert plain(table.read(message(rows)).columns["x"]) == values
    column = Column(name="x", numbers=values)
    assert plain(of_columns(column).columns["x"]) == values


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=5).map(
    lambda text: "_" + text
)


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_texts_keep_every_character_in_every_format(values: list[str]) -> None:
    rows = pa.table({"x": values})

    for message in FORMATS.values():
        assert table.read(message(rows)).columns["x"].tolist() == values
    assert of_columns(Column(name="x", strings=values)).columns["x"].tolist() == values


# Arrow

DAY = datetime.date(2024, 2, 29)
ARRAYS = [
    pytest.param(pa.array([1, None, 3], pa.int8()), [1, None, 3], id="int8"),
    pytest.param(pa.array([2**53, -(2**53)]), [2**53, -(2**53)], id="largest exact integers"),
    pytest.param(pa.array([2**53], pa.uint64()), [2**53], id="uint64"),
    pytest.param(pa.array([0.1], pa.float32()), [float(np.float32(0.1))], id="float32"),
    pytest.param(pa.array([0.5], pa.float16()), [0.5], id="float16"),
    pytest.param(pa.array([NAN, None, 1.0]), [None, None, 1], id="NaN is missing"),
    pytest.param(pa.array([np.inf, -np.inf]), [np.inf, -np.inf], id="infinities"),
    pytest.param(pa.array([Decimal("1.25"), None]), [1.25, None], id="decimal"),
    pytest.param(pa.nulls(2), [None, None], id="null type"),
    pytest.param(pa.array([True, None, False]), [1, None, 0], id="bool"),
    pytest.param(pa.array(["a", None], pa.large_string()), ["a", ""], id="large string"),
    pytest.param(pa.array(["a", None], pa.string_view()), ["a", ""], id="string view"),
    pytest.param(pa.array(["a", None, "a"]).dictionary_encode(), ["a", "", "a"], id="dictionary"),
    pytest.param(pa.array([5, None, 5]).dictionary_encode(), [5, None, 5], id="of numbers"),
    pytest.param(
        pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"]), ["a", "a", "b"], id="run ends"
    ),
    pytest.param(pa.array([DAY, None]), ["2024-02-29", ""], id="date"),
    pytest.param(
        pa.array([datetime.datetime(2024, 2, 29, 1, 2)], pa.timestamp("s")),
        ["2024-02-29 01:02:00"],
        id="timestamp",
    ),
    pytest.param(pa.array([], pa.float64()), [], id="no rows"),
    pytest.param(pa.array([0.0, 1, 2, 3])[1:3], [1, 2], id="slice"),
    pytest.param(pa.array(["x", None, "y"])[1:], ["", "y"], id="slice of text"),
    pytest.param(pa.chunked_array([[1], [], [2, None]]), [1, 2, None], id="chunks"),
    pytest.param(pa.chunked_array([["u"], ["v", None]]), ["u", "v", ""], id="chunks of text"),
    pytest.param(
        pa.chunked_array(
            [pa.array(["u"]).dictionary_encode(), pa.array(["v"]).dictionary_encode()]
        ),
        ["u", "v"],
        id="chunks with dictionaries of their own",
    ),
]


@pytest.mark.parametrize(("values", "expected"), ARRAYS)
def test_arrow_types_become_numbers_or_text(values, expected: list[Any]) -> None:
    assert plain(of_arrow(values).columns["a"]) == expected


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pa.array([[1], [2]]), "list"),
        (pa.array([b"x"]), "binary"),
        (pa.array([{"x": 1}]), "struct"),
        (pa.array([pa.MonthDayNano([1, 2, 3])]), "interval"),
        (pa.array([2**53 + 1]), "int64 beyond 2^53, which would lose digits"),
        (pa.array([-(2**53) - 1]), "int64 beyond 2^53"),
        (pa.array([2**64 - 1], pa.uint64()), "uint64 beyond 2^53"),
        (pa.array([2**53 + 1]).dictionary_encode(), "beyond 2^53"),
    ],
)
def test_columns_that_are_neither_matter_only_to_who_uses_them(values, kind: str) -> None:
    read = table.read(
        Message(arrow=stream(pa.table({"a": values, "b": pa.array([1.0] * len(values))})))
    )

    assert read.names == ("b",)
    assert kind in read.unreadable["a"]
    assert kind in refusal(lambda: Table(read.columns, 1, read.unreadable).column("a")).message


def with_wrong_offsets(offset: int) -> bytes:
    """Spoil where the last text ends, or begins."""
    whole = stream(pa.table({"a": ["ab", "cd", "ef"]}))
    right = np.array([0, 2, 4, 6], "<i4")
    wrong = right.copy()
    wrong[offset] = 2**28
    assert whole.count(right.tobytes()) == 1
    return whole.replace(right.tobytes(), wrong.tobytes())


def with_wrong_index() -> bytes:
    """Spoil the place of a value in its dictionary."""
    codes = pa.array([0, 1, 1, 0], pa.int32())
    whole = stream(pa.table({"a": pa.DictionaryArray.from_arrays(codes, ["x", "y"])}))
    right = np.array([0, 1, 1, 0], "<i4").tobytes()
    assert whole.count(right) == 1
    return whole.replace(right, np.array([0, 1, 2**20, 0], "<i4").tobytes())


def with_broken_text() -> bytes:
    return stream(pa.table({"a": ["abc"]})).replace(b"abc", b"\xff\xfec")


WHOLE = stream(pa.table({"a": np.arange(100.0)}))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(with_wrong_offsets(3), id="text beyond its buffer"),
        pytest.param(with_wrong_offsets(2), id="text that begins beyond its buffer"),
        pytest.param(with_wrong_index(), id="index beyond its dictionary"),
        pytest.param(with_broken_text(), id="text that is no UTF-8"),
        pytest.param(WHOLE[: len(WHOLE) // 2], id="half a stream"),
        pytest.param(file(pa.table({"a": np.arange(100.0)}))[:-20], id="file without an end"),
        pytest.param(b"ARROW1", id="name of the format alone"),
        pytest.param(b"", id="nothing"),
        pytest.param(b"a,b\n1,2\n", id="CSV"),
        pytest.param(b"\xff" * 64, id="noise"),
    ],
)
def test_arrow_that_lies_about_itself_is_refused(content: bytes) -> None:
    refused = refusal(table.read, Message(arrow=content))

    assert (refused.reason, refused.field) == (Reason.INVALID_TABLE, "table.arrow")
    assert refused.message.startswith("the table cannot be read as arrow: ")


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_a_damaged_byte_is_refused_or_read_but_harms_nothing(place: int, change: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[place] ^= change

    try:
        table.read(Message(arrow=bytes(damaged)))
    except ExplainError as error:
        assert error.reason in {Reason.INVALID_TABLE, Reason.WRONG_TYPE}  # noqa: PT017


# Parquet


@pytest.mark.parametrize("content", [b"", b"PAR1", parquet(ROWS)[:-9], b"x" * 100])
def test_parquet_that_is_broken_is_refused(content: bytes) -> None:
    refused = refusal(table.read, Message(parquet=content))

    assert (refused.reason, refused.field) == (Reason.INVALID_TABLE, "table.parquet")


# CSV

CELLS = [
    pytest.param("a,b\n1,x\n2,y\n", {"a": [1, 2], "b": ["x", "y"]}, id="plain"),
    pytest.param("\ufeffa,b\n1,2\n", {"a": [1], "b": [2]}, id="byte order mark"),
    pytest.param("a,b\r\n1,2\r\n", {"a": [1], "b": [2]}, id="carriage returns"),
    pytest.param("a,b\n1,2", {"a": [1], "b": [2]}, id="no end of line at the end"),
    pytest.param('a,b\n"1","x,y"\n', {"a": [1], "b": ["x,y"]}, id="quotes"),
    pytest.param('a,b\n1,"q""z"\n', {"a": [1], "b": ['q"z']}, id="quotes in quotes"),
    pytest.param('a\n"x\ny"\n', {"a": ["x\ny"]}, id="a line break in quotes"),
    pytest.param('"a, b"\n1\n', {"a, b": [1]}, id="a comma in a name"),
    pytest.param("a,b\n1,\n,2\n", {"a": [1, None], "b": [None, 2]}, id="empty numbers"),
    pytest.param("a,b\nx,1\n,2\n", {"a": ["x", ""], "b": [1, 2]}, id="empty text"),
    pytest.param("a,b\n,1\n,2\n", {"a": [None, None], "b": [1, 2]}, id="an empty column"),
    pytest.param("a\n1\nNA\nNaN\n", {"a": [1, None, None]}, id="NA among numbers"),
    pytest.param("a\nx\nNA\n", {"a": ["x", "NA"]}, id="NA among text is text"),
    pytest.param("a\n1\nx\n", {"a": ["1", "x"]}, id="one word makes all text"),
    pytest.param("a\n1e3\n-inf\n0.5\n", {"a": [1000, -np.inf, 0.5]}, id="number forms"),
    pytest.param("a\ntrue\nfalse\n", {"a": [1, 0]}, id="truth"),
    pytest.param("a\n12:30\n13:45\n", {"a": ["12:30", "13:45"]}, id="times as written"),
    pytest.param("a\n2024-02-29\n", {"a": ["2024-02-29"]}, id="dates as written"),
    pytest.param(
        "a,b\n2024-02-29T01:02:03Z,1\n,2\n",
        {"a": ["2024-02-29T01:02:03Z", ""], "b": [1, 2]},
        id="moments as written",
    ),
    pytest.param("ä\nß\n", {"ä": ["ß"]}, id="beyond ASCII"),
    pytest.param("a,b\n", {"a": [], "b": []}, id="no rows"),
]


@pytest.mark.parametrize(("text", "expected"), CELLS)
def test_cells_are_numbers_or_text_as_written(text: str, expected: dict[str, list[Any]]) -> None:
    read = of_csv(text)

    assert {name: plain(column) for name, column in read.columns.items()} == expected
    assert read.unreadable == {}


@pytest.mark.parametrize("text", [b"", b"a,b\n1\n", b"a,b\n1,2,3\n", b"\xff\xfe\n1\n"])
def test_csv_that_is_broken_is_refused(text: bytes) -> None:
    refused = refusal(of_csv, text)

    assert (refused.reason, refused.field) == (Reason.INVALID_TABLE, "table.csv")


def test_a_column_of_identifiers_too_large_for_numbers_stands_beside_others() -> None:
    read = of_csv("id,x\n9007199254740993,1\n")

    assert read.names == ("x",)
    assert "beyond 2^53" in refusal(read.column, "id").message


# Columns in the message


def test_columns_of_the_message_are_numbers_or_text() -> None:
    read = of_columns(Column(name="a", numbers=[1, NAN]), Column(name="b", strings=["x", ""]))

    assert read.n_rows == 2
    assert {name: plain(c) for name, c in read.columns.items()} == {"a": [1, None], "b": ["x", ""]}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ([], ["none"]),
        ([Column(name="a", numbers=[1]), Column(name="a", numbers=[2])], ["'a'", "more than once"]),
        ([Column(name="a", numbers=[1]), Column(name="b", numbers=[1, 2])], ["lengths differ"]),
        ([Column(name="a", numbers=[1]), Column(name="b")], ["lengths differ"]),
        ([Column(name="a", numbers=[1], strings=["x"])], ["'a'", "both numbers and strings"]),
    ],
)
def test_columns_that_are_no_table_are_refused(columns: list[Column], words: list[str]) -> None:
    refused = refusal(of_columns, *columns)

    assert refused.reason is Reason.INVALID_TABLE
    assert refused.field.startswith("table")
    assert [word for word in words if word not in refused.message] == []


@pytest.mark.parametrize("format_", FORMATS)
def test_names_of_columns_must_differ_in_every_format(format_: str) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])

    refused = refusal(table.read, FORMATS[format_](twice))

    assert refused.reason is Reason.INVALID_TABLE
    assert "'a' more than once" in refused.message


def test_no_table_at_all_is_refused() -> None:
    refused = refusal(table.read, Message())

    assert (refused.reason, refused.field) == (Reason.INVALID_REQUEST, "table")
    assert "arrow, parquet, csv or columns" in refused.message


def test_a_table_is_identified_by_its_bytes_as_sent() -> None:
    numbers = Columns(columns=[Column(name="a", numbers=[1])])

    assert table.content(Message(csv=b"a\n1\n")) == b"a\n1\n"
    assert table.content(Message(columns=numbers)) == numbers.SerializeToString()
    assert table.content(Message()) == b""


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_header_row_tells_the_separator(separator: str) -> None:
    read = of_csv(f'a{separator}"b,;c"\n1{separator}x\n2.5{separator}y\n')

    assert list(read.columns) == ["a", "b,;c"]
    assert read.columns["a"].tolist() == [1, 2.5]


def test_decimal_commas_between_semicolons_are_numbers() -> None:
    read = of_csv("a;b;c;d\n1,5;2;x,y;\n-,5e1;3;1,5;4\n")

    assert read.columns["a"].tolist() == [1.5, -5]
    assert read.columns["b"].tolist() == [2, 3]
    assert read.columns["c"].tolist() == ["x,y", "1,5"]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_excels_line_of_the_separator_is_no_header(mark: str) -> None:
    read = of_csv(f"{mark}sep=;\r\na;b\r\n1,5;2\r\n")

    assert list(read.columns) == ["a", "b"]
    assert read.columns["a"].tolist() == [1.5]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_text_of_windows_is_the_same_table(encoding: str, line_end: str) -> None:
    """UTF-16 as PowerShell 5 writes it, with a byte order mark in either order."""
    text = "größe;ort\n1,5;Köln\n2,5;\n".replace("\n", line_end)
    mark = "\ufeff" if encoding == "utf-16-be" else ""

    read = of_csv((mark + text).encode(encoding))

    assert read.columns["größe"].tolist() == [1.5, 2.5]
    assert read.columns["ort"].tolist() == ["Köln", ""]


@pytest.mark.parametrize("content", ["größe\n1\n".encode("cp1252"), "a\n1".encode("utf-16")[:-1]])
def test_text_of_another_encoding_is_told_what_to_do(content: bytes) -> None:
    assert "save it as UTF-8" in refusal(of_csv, content).message


def test_decimal_commas_beside_decimal_points_are_refused() -> None:
    refused = refusal(of_csv, "a;b\n1,5;2.5\n")

    assert refused.reason is Reason.INVALID_TABLE
    assert "'a' has decimal commas, and column 'b' decimal points" in refused.message


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_are_numbers_of_seconds(unit: str) -> None:
    column = pa.array([datetime.timedelta(hours=2), None, datetime.timedelta(0)], pa.duration(unit))

    found = table.from_arrow(pa.table({"d": column}))

    assert found.durations == found.take(np.array([0])).durations == ("d",)
    np.testing.assert_array_equal(found.column("d"), [7_200, np.nan, 0])
