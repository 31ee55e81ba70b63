"""Table cache: an uploaded table is parsed once, and cached tables are read-only."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.table_pb2 import Table as Message
from onnxplain_server.adapters.runner import table_cache
from onnxplain_server.adapters.runner.table_cache import TableCache
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import NO_BLOBS
from onnxplain_server.core.request import RequestFile
from onnxplain_server.wire import table
from onnxplain_server.wire.blobs import identify

CSV = b"age,city\n1,Bern\n2,Chur\n"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Mock:
    counted = Mock(wraps=table.read)
    monkeypatch.setattr(table, "read", counted)
    return counted


def named(
    content: bytes, form: str = "csv", name: str = "one"
) -> tuple[Message, dict[str, RequestFile]]:
    return Message(id=name), {name: RequestFile(form, content)}


def test_a_table_is_read_once(reads: Mock) -> None:
    tables = TableCache()

    first, second = (tables.read(*named(CSV)) for _ in range(2))

    assert second.columns["age"].tolist() == first.columns["age"].tolist() == [1, 2]
    assert second.columns["city"].tolist() == ["Bern", "Chur"]
    assert reads.call_count == 1


def test_a_table_has_the_same_digest_however_it_came() -> None:
    tables = TableCache()
    uploaded, blobs = named(CSV, name=identify(CSV))

    (first, by_id), (second, inline) = (
        tables.read_sent(ExplainRequest(table=sent), blobs) for sent in (uploaded, Message(csv=CSV))
    )

    assert by_id() == inline() == identify(CSV)
    assert first is not None
    assert second is not None
    assert first.columns["age"].tolist() == second.columns["age"].tolist()


def test_a_request_without_a_table_has_the_digest_of_nothing() -> None:
    rows, digest = TableCache().read_sent(ExplainRequest(), NO_BLOBS)

    assert rows is None
    assert digest() == identify(b"")


def test_the_same_bytes_in_another_format_are_another_table() -> None:
    tables = TableCache()
    tables.read(*named(CSV))

    with pytest.raises(ExplainError) as error:
        tables.read(*named(CSV, "parquet"))

    assert error.value.reason is Reason.INVALID_TABLE


def test_other_tables_are_other_tables() -> None:
    tables = TableCache()
    tables.read(*named(CSV))

    assert tables.read(*named(b"age\n3\n4\n", name="two")).columns["age"].tolist() == [3, 4]


@pytest.mark.parametrize("column", ["age", "city"])
def test_what_is_kept_cannot_be_changed(column: str) -> None:
    values = TableCache().read(*named(CSV)).columns[column]

    with pytest.raises(ValueError, match="read-only"):
        values[0] = values[1]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"age\n" + b"1.5\n" * 600_000, id="numbers"),
        pytest.param(b"name\n" + (b"x" * 1_000_000 + b"\n") * 5, id="long texts"),
    ],
)
def test_large_tables_are_read_each_time(reads: Mock, content: bytes) -> None:
    tables = TableCache()

    for _ in range(2):
        tables.read(*named(content))

    assert reads.call_count == 2


def test_the_least_recently_used_goes_first(reads: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_cache, "_BYTE_LIMIT", 56)
    tables = TableCache()
    for name in ("one", "two", "one", "three", "one", "two"):
        tables.read(*named(b"age\n1\n2\n", name=name))

    # Two of 24 bytes with their files find room: one is used again and again, two goes for three.
    assert reads.call_count == 4


def test_tables_sent_with_their_request_are_read_as_ever(reads: Mock) -> None:
    tables = TableCache()

    for _ in range(2):
        assert tables.read(Message(csv=CSV), NO_BLOBS).n_rows == 2

    assert reads.call_count == 2
    with pytest.raises(ExplainError) as error:
        tables.read(Message(id="one"), NO_BLOBS)
    assert error.value.reason is Reason.BLOB_NOT_FOUND


def test_missing_values_are_kept_too() -> None:
    tables = TableCache()

    columns = [tables.read(*named(b"age,b\n1,2\n,3\n")).columns["age"] for _ in range(2)]

    np.testing.assert_array_equal(columns[1], [1, np.nan])
