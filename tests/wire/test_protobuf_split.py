"""Splitting of serialised requests: tags and lengths alone tell where model and table are."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    ExplainRequest,
    ExplainResponse,
    ExplainStreamRequest,
    ExplainStreamResponse,
    MethodOptions,
    Receipt,
)
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Column, Columns, Table
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import RequestFile, RequestParts, ServiceMethod
from onnxplain_server.wire.protobuf_split import (
    detach_table,
    method_names,
    request_of_stream,
    response_event,
    split,
)
from onnxplain_server.wire.scanning import field_scan

MODELS = st.one_of(
    st.none(), st.builds(Model, content=st.binary(max_size=300)), st.builds(Model, id=st.text())
)
COLUMNS = st.builds(
    Columns, columns=st.lists(st.builds(Column, name=st.text(), numbers=st.lists(st.floats())))
)
TABLES = st.one_of(
    st.none(),
    st.builds(Table, csv=st.binary(max_size=300)),
    st.builds(Table, arrow=st.binary()),
    st.builds(Table, parquet=st.binary()),
    st.builds(Table, id=st.text()),
    st.builds(Table, columns=COLUMNS),
)
REQUESTS = st.builds(
    ExplainRequest,
    model=MODELS,
    table=TABLES,
    feature_columns=st.lists(st.text()),
    seed=st.one_of(st.none(), st.integers(0, 2**31 - 1)),
    target_column=st.text(),
    output_indices=st.lists(st.integers(0, 5)),
    budget_seconds=st.one_of(st.none(), st.floats()),
)


def joined(parts: RequestParts) -> ExplainRequest:
    """Put a request together again."""
    request = ExplainRequest.FromString(parts.envelope)
    if parts.model is not None:
        request.model.CopyFrom(_message(Model, parts.model))
    if parts.table is not None:
        request.table.CopyFrom(_message(Table, parts.table))
    return request


def _message(kind, part: RequestFile):
    if part.identity is not None:
        return kind(id=part.identity)
    if part.form == "columns":
        return kind(columns=Columns.FromString(bytes(part.content)))
    field = "content" if part.form == "onnx" else part.form
    return kind(**{field: bytes(part.content)})


def same(first: ExplainRequest, second: ExplainRequest) -> bool:
    """Compare by bytes: NaN differs from itself."""
    return bool(
        first.SerializeToString(deterministic=True) == second.SerializeToString(deterministic=True)
    )


@given(REQUESTS)
def test_the_parts_are_the_whole(request: ExplainRequest) -> None:
    parts = split(request.SerializeToString(), ServiceMethod.EXPLAIN)

    assert same(joined(parts), request)
    assert (parts.model is None) == (not request.model.content and not request.model.HasField("id"))
    envelope = ExplainRequest.FromString(parts.envelope)
    assert envelope.model.content == b""
    assert not any((envelope.table.csv, envelope.table.columns.columns, envelope.table.id))


@given(st.binary(max_size=60))
def test_what_is_split_is_what_protobuf_reads(content: bytes) -> None:
    """Else a server would take the digest of another model than the one that is explained."""
    try:
        parts = split(content, ServiceMethod.EXPLAIN)
        request = ExplainRequest.FromString(content)
    except (ExplainError, DecodeError):
        return
    for message in (request, whole := joined(parts)):
        message.DiscardUnknownFields()
    assert same(whole, request)


@given(REQUESTS)
def test_a_detached_file_and_the_rest_are_the_request(request: ExplainRequest) -> None:
    envelope, file = detach_table(request.SerializeToString())

    whole = ExplainRequest.FromString(envelope)
    assert (file is None) == (request.table.WhichOneof("source") in {None, "id", "columns"})
    if file is not None:
        assert not whole.HasField("table")
        setattr(whole.table, file.form, bytes(file.content))
    assert same(whole, request)


@given(st.binary(max_size=60))
def test_what_is_detached_is_what_protobuf_reads(content: bytes) -> None:
    """Else the receipt would have the digest of another table than the one that is explained."""
    envelope, file = detach_table(content)
    if file is None:
        assert envelope == content
        return
    try:
        request, whole = ExplainRequest.FromString(content), ExplainRequest.FromString(envelope)
    except DecodeError:
        return
    setattr(whole.table, file.form, bytes(file.content))
    for message in (request, whole):
        message.DiscardUnknownFields()
    assert same(whole, request)


@pytest.mark.parametrize(
    "tables",
    [
        Table(csv=b"a").SerializeToString() + Table(arrow=b"b").SerializeToString(),
        Table(csv=b"a").SerializeToString() + Table(id="b").SerializeToString(),
        b"\xff",
    ],
)
def test_a_table_of_several_sources_or_none_is_left_in_its_message(tables: bytes) -> None:
    content = bytes([2 << 3 | 2, len(tables)]) + tables

    assert detach_table(content) == (content, None)


def test_tables_that_stand_twice_are_left_in_their_message() -> None:
    content = 2 * ExplainRequest(table=Table(csv=b"a")).SerializeToString()

    assert detach_table(content) == (content, None)


@pytest.mark.parametrize("field", ["model", "table"])
def test_a_field_that_stands_twice_is_refused(field: str) -> None:
    """Protobuf would merge both, or take the last one."""
    one = ExplainRequest(model=Model(content=b"a"), table=Table(csv=b"a"))
    kept = ExplainRequest(**{field: getattr(one, field)}).SerializeToString()

    with pytest.raises(ExplainError, match=f"the field {field} twice") as caught:
        split(one.SerializeToString() + kept, ServiceMethod.EXPLAIN)

    assert (caught.value.reason, caught.value.field) == (Reason.INVALID_REQUEST, field)


def test_two_sources_are_refused() -> None:
    inner = Model(content=b"a").SerializeToString() + Model(id="b").SerializeToString()
    content = bytes([1 << 3 | 2, len(inner)]) + inner

    with pytest.raises(ExplainError, match="the model has several sources"):
        split(content, ServiceMethod.DESCRIBE)


@pytest.mark.parametrize(
    "content", [b"\xff", b"\x0a\x05ab", b"\x80" * 11, b"\x0b", b"\x00\x01", b"\x0d\x01"]
)
@pytest.mark.parametrize("method", [ServiceMethod.EXPLAIN, ServiceMethod.DESCRIBE])
def test_what_is_no_message_is_refused(content: bytes, method: ServiceMethod) -> None:
    with pytest.raises(ExplainError, match="cannot be decoded") as caught:
        split(content, method)

    assert caught.value.reason is Reason.INVALID_REQUEST


def test_the_number_of_fields_is_limited() -> None:
    names = ExplainRequest(feature_columns=[""] * 100_001).SerializeToString()

    with pytest.raises(ExplainError, match="more than 100,000 fields"):
        split(names, ServiceMethod.EXPLAIN)
    assert split(names[2:], ServiceMethod.EXPLAIN).envelope == names[2:]


def test_a_description_has_a_model_only() -> None:
    parts = split(
        DescribeModelRequest(model=Model(content=b"m")).SerializeToString(), ServiceMethod.DESCRIBE
    )

    assert parts.envelope == b""
    assert parts.model is not None
    assert (parts.model.form, parts.model.content, parts.table) == ("onnx", b"m", None)


@given(REQUESTS)
def test_a_stream_s_request_is_taken_out(request: ExplainRequest) -> None:
    stream = ExplainStreamRequest(request=request).SerializeToString()

    assert same(ExplainRequest.FromString(request_of_stream(stream)), request)


@pytest.mark.parametrize("size", [0, 1, 127, 128, 20_000, 3_000_000])
def test_a_response_is_wrapped_as_the_last_event(size: int) -> None:
    response = ExplainResponse(receipt=Receipt(engine_reason="x" * size))

    event = ExplainStreamResponse.FromString(response_event(response.SerializeToString()))

    assert event == ExplainStreamResponse(response=response)


def test_the_methods_of_a_message_are_looked_for_in_few_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server looks before it takes a slot, so no message may hold a thread for long."""
    method = MethodOptions(interactions={}).SerializeToString()
    monkeypatch.setattr(field_scan, "_FIELD_LIMIT", 100)
    found = ExplainRequest.FromString(field(11, method))
    padded = field(11, b"\xf8\x7f\x01" * 60)

    assert found.methods[0].HasField("interactions")
    assert method_names(field(11, method) + 2 * padded) == ("interactions",)
    assert method_names(2 * padded + field(11, method)) == ()


def field(number: int, content: bytes) -> bytes:
    """A field with bytes."""
    size, varint = len(content), bytearray()
    while size > 0x7F:
        varint.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([number << 3 | 2, *varint, size]) + content
