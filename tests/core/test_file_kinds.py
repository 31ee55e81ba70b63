"""Kinds of files by their first bytes, and what is said where another one was asked for."""

from __future__ import annotations

import io
import pickle
import zipfile

import pyarrow as pa
import pytest
from onnx import TensorProto, helper
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.messages.file_kinds import file_kind
from onnxplain_server.wire.table import read_file
from pyarrow import parquet


def zipped(name: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(name, "content")
    return content.getvalue()


def parquet_file() -> bytes:
    content = io.BytesIO()
    parquet.write_table(pa.table({"a": [1.0]}), content)
    return content.getvalue()


def onnx_file() -> bytes:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["x2"])], "g", [value], [])
    return helper.make_model(graph, ir_version=9).SerializeToString()


CSV = b"a,b\n1,2\n"
FILES = {
    "an Excel workbook (.xlsx)": zipped("xl/workbook.xml"),
    "a file of torch.save": zipped("archive/data.pkl"),
    "a ZIP archive": zipped("readme.txt"),
    "a pickle of Python": pickle.dumps({"a": [1.0] * 3}),
    "a Parquet file": parquet_file(),
    "an ONNX model": onnx_file(),
    "an HDF5 file (.h5)": b"\x89HDF\r\n\x1a\n" + bytes(20),
    "text with separators, as CSV": CSV,
}


@pytest.mark.parametrize("words", FILES)
def test_a_file_of_another_kind_is_called_by_its_name(words: str) -> None:
    kind = file_kind(FILES[words])
    assert kind is not None
    assert kind.words == words


@pytest.mark.parametrize("words", [words for words in FILES if "ONNX" not in words])
def test_what_is_no_model_is_told_what_it_is(words: str) -> None:
    with pytest.raises(ExplainError) as refused:
        load(FILES[words])

    assert refused.value.reason is Reason.INVALID_MODEL
    assert f"bytes are no ONNX model, but {words}. " in refused.value.message


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("an Excel workbook (.xlsx)", "save it as CSV or Parquet"),
        ("a pickle of Python", "give the rows as CSV, Parquet or Arrow"),
        ("an ONNX model", "model and table may be swapped: the model comes first"),
        ("a Parquet file", "send it as parquet"),
    ],
)
def test_what_is_no_table_is_told_what_to_do(words: str, advice: str) -> None:
    with pytest.raises(ExplainError) as refused:
        read_file("csv", FILES[words])

    assert refused.value.reason is Reason.INVALID_TABLE
    assert refused.value.message == f"the table cannot be read as csv: it is {words}; {advice}"


@pytest.mark.parametrize("header", [b"PAR1,b", b"{a},b", b"<a>,b", b"CBM1,b"])
def test_a_csv_may_begin_like_another_file(header: bytes) -> None:
    assert read_file("csv", header + b"\n1,2\n").n_rows
