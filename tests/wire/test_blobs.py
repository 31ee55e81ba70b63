"""Files that a request names by their id."""

from __future__ import annotations

import pytest
from onnxplain.v1.table_pb2 import Table as Message
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import RequestFile
from onnxplain_server.wire import table
from onnxplain_server.wire.blobs import check_id, identify

CSV = b"a,b\n1,x\n2,y\n"


def test_an_uploaded_table_is_read_in_its_format() -> None:
    message = Message(id=identify(CSV))

    read = table.read(message, {message.id: RequestFile("csv", CSV)})

    assert read.columns["a"].tolist() == [1, 2]
    assert read.columns["b"].tolist() == ["x", "y"]


def test_an_uploaded_table_that_cannot_be_read_is_named_as_such() -> None:
    message = Message(id=identify(CSV))

    with pytest.raises(ExplainError) as caught:
        table.read(message, {message.id: RequestFile("parquet", CSV)})

    assert (caught.value.reason, caught.value.field) == (Reason.INVALID_TABLE, "table.id")
    assert "read as parquet" in caught.value.message


@pytest.mark.parametrize("given", ["", "sha256:", "md5:" + "0" * 64, "sha256:" + "0" * 65])
def test_what_is_no_id_is_refused_by_its_field(given: str) -> None:
    with pytest.raises(ExplainError) as caught:
        check_id("model", given)

    assert (caught.value.reason, caught.value.field) == (Reason.INVALID_REQUEST, "model.id")


def test_every_file_has_an_id() -> None:
    check_id("table", identify(b""))
