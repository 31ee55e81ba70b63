"""Addresses of a table, before any process is asked."""

from __future__ import annotations

import pytest
from onnxplain.v1.table_pb2 import Table, TableUris
from onnxplain_server.adapters.sources.named_addresses import table_addresses
from onnxplain_server.core.errors import ExplainError, Reason


def message(count: int) -> bytes:
    return bytes(Table(uris=TableUris(uris=["s3://a/b"] * count)).SerializeToString())


def test_each_address_has_its_field() -> None:
    assert table_addresses(message(2)) == [
        ("s3://a/b", "table.uris.uris[0]"),
        ("s3://a/b", "table.uris.uris[1]"),
    ]


@pytest.mark.parametrize("content", [message(0), message(2_049), b"\xff"])
def test_none_too_many_and_garbage_are_refused(content: bytes) -> None:
    with pytest.raises(ExplainError) as refused:
        table_addresses(content)

    assert refused.value.reason is Reason.INVALID_REQUEST
    assert refused.value.field == "table.uris.uris"


def test_the_largest_number_is_taken() -> None:
    assert len(table_addresses(message(2_048))) == 2_048
