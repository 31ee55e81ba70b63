"""Uploads over gRPC and REST, and requests that refer to them."""

from __future__ import annotations

import hashlib
import json
import math
import pickle
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import grpc
import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from grpc_status import rpc_status
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest, ExplainRequest
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table
from onnxplain.v1.upload_pb2 import UploadModelRequest, UploadTableRequest
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.config.settings import Settings
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import RequestFile, RequestParts, ServiceMethod
from onnxplain_server.transport.admission.admission import Caller, RequestLimits
from onnxplain_server.transport.uploads import Uploads

OCTETS = {"Content-Type": "application/octet-stream"}
CSV = b"a\n1\n"
PATIENCE = 120.0
NOWHERE = "sha256:" + "0" * 64

MODEL = b"\x3a\x04\x0a\x00\x62\x00"
"""ONNX file with one node and one output, both without a name."""


def of_size(size: int) -> bytes:
    """A model of so many bytes, most of them in doc_string."""
    length = size - len(MODEL) - 4
    return (
        MODEL
        + bytes([0x32, length & 0x7F | 0x80, length >> 7 & 0x7F | 0x80, length >> 14])
        + bytes(length)
    )


def id_of(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def model_parts(content: bytes, size: int = 2**20) -> Iterator[UploadModelRequest]:
    for start in range(0, len(content), size):
        yield UploadModelRequest(content=content[start : start + size])


def table_parts(content: bytes, form: str = "CSV") -> Iterator[UploadTableRequest]:
    yield UploadTableRequest(format=form, content=content[:1])
    yield UploadTableRequest(content=content[1:])


def reason_of(call) -> tuple[str, str]:
    """Reason and gRPC code of a call that fails."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    (info,) = (
        ErrorInfo.FromString(packed.value)
        for packed in rpc_status.from_call(caught.value).details
        if packed.Is(ErrorInfo.DESCRIPTOR)
    )
    return info.reason, caught.value.code().name


def test_the_id_of_a_file_is_the_digest_of_its_content(start, make_runner) -> None:
    client = start(make_runner())
    model = of_size(2_000_000)

    by_grpc = client.stub.UploadModel(model_parts(model)).id
    by_rest = client.rest("PUT", "/v1/models", model, OCTETS).json["id"]
    table = client.stub.UploadTable(table_parts(CSV)).id
    table_by_rest = client.rest("PUT", "/v1/tables", CSV, {"Content-Type": "text/csv"}).json["id"]

    assert by_grpc == by_rest == id_of(model)
    assert table == table_by_rest == id_of(CSV)


def test_a_runner_gets_the_files_that_a_request_names_beside_it(start, make_runner) -> None:
    runner = make_runner()
    client = start(runner)
    model = client.stub.UploadModel(model_parts(MODEL)).id
    table = client.rest(
        "PUT", "/v1/tables", b"rows", {"Content-Type": "application/vnd.apache.parquet"}
    ).json["id"]
    request = ExplainRequest(model=Model(id=model), table=Table(id=table), seed=7)

    client.stub.Explain(request)
    client.post({"model": {"id": model}, "table": {"id": table}, "seed": 7})

    assert runner.requests == [request, request]
    for blobs in runner.blobs:
        found = {name: (blob.form, blob.content) for name, blob in blobs.items()}
        assert found == {model: ("onnx", MODEL), table: ("parquet", b"rows")}


@pytest.mark.parametrize("form", ["ARROW", "PARQUET", "CSV"])
def test_a_table_keeps_its_format(start, make_runner, form: str) -> None:
    runner = make_runner()
    client = start(runner)
    table = client.stub.UploadTable(table_parts(CSV, form)).id

    client.stub.Explain(ExplainRequest(table=Table(id=table)))

    assert runner.blobs[0][table].form == form.lower()


def test_uploaded_models_are_described(start, make_runner) -> None:
    client = start(make_runner())
    model = client.stub.UploadModel(model_parts(MODEL)).id

    by_grpc = client.stub.DescribeModel(DescribeModelRequest(model=Model(id=model)))
    by_rest = client.rest("GET", f"/v1/models/{model}")

    assert by_rest.status == 200
    assert by_grpc.model.digest == by_rest.json["model"]["digest"]


def test_a_model_may_be_named_while_the_table_is_a_file(start, make_runner) -> None:
    runner = make_runner()
    client = start(runner)
    model = client.stub.UploadModel(model_parts(MODEL)).id
    parts = {
        'name="table"; filename="a.csv"': CSV,
        'name="request"': json.dumps({"model": {"id": model}}).encode(),
    }
    body = b"".join(
        b"--edge\r\nContent-Disposition: form-data; " + head.encode() + b"\r\n\r\n" + part + b"\r\n"
        for head, part in parts.items()
    )

    answer = client.rest(
        "POST",
        "/v1/explanations",
        body + b"--edge--\r\n",
        {"Content-Type": "multipart/form-data; boundary=edge"},
    )

    assert answer.status == 200
    assert runner.requests == [ExplainRequest(model=Model(id=model), table=Table(csv=CSV))]


def test_an_id_that_is_gone_is_answered_so_that_clients_upload_again(start, make_runner) -> None:
    runner = make_runner()
    client = start(runner)
    for request in (
        ExplainRequest(model=Model(id=NOWHERE)),
        ExplainRequest(table=Table(id=NOWHERE)),
    ):
        found = reason_of(lambda request=request: client.stub.Explain(request))
        assert found == ("BLOB_NOT_FOUND", "NOT_FOUND")
    answers = [
        client.rest("GET", f"/v1/models/{NOWHERE}"),
        client.post({"table": {"id": NOWHERE}}),
    ]

    assert [(a.status, a.json["reason"]) for a in answers] == [(404, "BLOB_NOT_FOUND")] * 2
    assert answers[1].json["errors"][0]["field"] == "table.id"
    assert runner.requests == []


def test_a_model_is_no_table(start, make_runner) -> None:
    client = start(make_runner())
    model = client.stub.UploadModel(model_parts(MODEL)).id

    found = reason_of(lambda: client.stub.Explain(ExplainRequest(table=Table(id=model))))

    assert found[0] == "BLOB_NOT_FOUND"


@pytest.mark.parametrize("given", ["", "model", "sha256:", "sha256:" + "A" * 64, NOWHERE + "\n"])
def test_what_is_no_id_is_refused(start, make_runner, given: str) -> None:
    client = start(make_runner())

    found = reason_of(lambda: client.stub.Explain(ExplainRequest(model=Model(id=given))))

    assert found == ("INVALID_REQUEST", "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    ("setting", "reason"),
    [("max_model_bytes", "MODEL_TOO_LARGE"), ("upload_bytes", "MODEL_TOO_LARGE")],
)
def test_models_over_the_limit_are_refused_before_they_have_all_arrived(
    start, make_runner, setting: str, reason: str
) -> None:
    client = start(make_runner(), **{setting: 1_000})
    sent: list[int] = []

    def endless() -> Iterator[UploadModelRequest]:
        while len(sent) < 100_000:
            sent.append(1)
            yield UploadModelRequest(content=bytes(1_000))

    assert reason_of(lambda: client.stub.UploadModel(endless())) == (reason, "RESOURCE_EXHAUSTED")
    assert len(sent) < 100_000
    refused = client.rest("PUT", "/v1/models", bytes(1_001), OCTETS)
    assert (refused.status, refused.json["reason"]) == (413, reason)
    assert (
        f"1,000 bytes, the limit of this server for uploads (setting {setting})"
        in (refused.json["detail"])
    )
    assert client.rest("PUT", "/v1/models", of_size(1_000), OCTETS).status == 200


def test_tables_over_the_limit_are_refused(start, make_runner) -> None:
    client = start(make_runner(), max_table_bytes=10)

    answer = client.rest("PUT", "/v1/tables", bytes(11), {"Content-Type": "text/csv"})

    assert (answer.status, answer.json["reason"]) == (413, "TABLE_TOO_LARGE")
    assert (
        "10 bytes, the limit of this server for uploads (setting max_table_bytes)"
        in (answer.json["detail"])
    )


@pytest.mark.parametrize(
    ("media_type", "query", "found"),
    [
        ("application/octet-stream", "?format=PARQUET", "parquet"),
        ("text/csv", "?format=CSV", "csv"),
        ("text/csv", "?format=PARQUET", "INVALID_REQUEST"),
        ("application/octet-stream", "?format=csv", "INVALID_REQUEST"),
        ("application/octet-stream", "?form=CSV", "INVALID_REQUEST"),
        ("application/octet-stream", "", "INVALID_TABLE"),
        ("image/png", "?format=CSV", "INVALID_TABLE"),
    ],
)
def test_the_format_of_a_table_is_told_by_its_type_or_by_a_parameter(
    start, make_runner, media_type: str, query: str, found: str
) -> None:
    runner = make_runner()
    client = start(runner)

    answer = client.rest("PUT", f"/v1/tables{query}", b"rows", {"Content-Type": media_type}).json

    if "reason" in answer:
        assert answer["reason"] == found
    else:
        client.post({"table": {"id": answer["id"]}})
        assert [blob.form for blob in runner.blobs[0].values()] == [found]


def test_an_upload_may_be_larger_than_a_message(start, make_runner) -> None:
    client = start(
        make_runner(), max_message_bytes=2**16, max_model_bytes=2**17, max_table_bytes=2**18
    )
    model, table = of_size(2**17), bytes(2**18)

    assert client.stub.UploadModel(model_parts(model, 2**15)).id == id_of(model)
    assert client.rest("PUT", "/v1/models", model, OCTETS).json["id"] == id_of(model)
    assert client.rest("PUT", "/v1/tables", table, {"Content-Type": "text/csv"}).status == 200

    over = client.rest("PUT", "/v1/models", model + b"x", OCTETS)
    assert (over.status, over.json["reason"]) == (413, "MODEL_TOO_LARGE")


def test_a_body_over_the_message_limit_is_refused_with_the_upload_that_is_allowed(
    start, make_runner
) -> None:
    client = start(
        make_runner(), max_message_bytes=2**16, max_model_bytes=2**17, upload_bytes=2**17
    )

    refused = client.post("{}".ljust(2**16 + 1))

    assert (refused.status, refused.json["reason"]) == (413, "REQUEST_TOO_LARGE")
    assert refused.json["detail"] == (
        "Request Entity Too Large: the body has more than 65,536 bytes, the limit of this server "
        "(setting max_message_bytes); upload a large file by PUT /v1/models (at most 131,072 "
        "bytes, setting max_model_bytes) or PUT /v1/tables (at most 131,072 bytes, setting "
        "upload_bytes), and send its id"
    )


def test_default_limits_let_uploads_be_larger_than_messages_and_have_room_for_both() -> None:
    settings = Settings()  # type: ignore[call-arg] # from defaults

    assert settings.max_message_bytes < min(settings.max_model_bytes, settings.max_table_bytes)
    assert settings.max_model_bytes + settings.max_table_bytes <= settings.upload_bytes


def test_parts_of_more_than_one_mebibyte_are_refused(start, make_runner) -> None:
    client = start(make_runner())
    content = of_size(2**20 + 1)

    found = reason_of(lambda: client.stub.UploadModel(model_parts(content, 2**20 + 1)))

    assert found[0] == "INVALID_REQUEST"
    assert client.stub.UploadModel(model_parts(content)).id == id_of(content)


def test_tables_without_a_format_are_refused(start, make_runner) -> None:
    client = start(make_runner())
    calls = [
        lambda: client.stub.UploadTable(iter([])),
        lambda: client.stub.UploadTable(iter([UploadTableRequest(content=b"a")])),
        lambda: client.stub.UploadTable(iter([UploadTableRequest.FromString(b"\x08\x63")])),
    ]

    assert [reason_of(call)[0] for call in calls] == ["INVALID_REQUEST"] * 3


@pytest.mark.parametrize("parts", [[], [{}], [{"content": b""}, {}]])
def test_empty_files_are_no_model_and_no_table(start, make_runner, parts) -> None:
    """Over gRPC without a part, or in empty ones."""
    client = start(make_runner())
    model = [UploadModelRequest(**part) for part in parts]
    table = [UploadTableRequest(format="CSV", **part) for part in parts or [{}]]

    assert reason_of(lambda: client.stub.UploadModel(iter(model)))[0] == "INVALID_MODEL"
    assert reason_of(lambda: client.stub.UploadTable(iter(table)))[0] == "INVALID_TABLE"


EMPTY_FORM = (
    b'--b\r\nContent-Disposition: form-data; name="model"; filename="m.onnx"\r\n\r\n\r\n--b--\r\n'
)


@pytest.mark.parametrize(
    ("method", "path", "kind", "body"),
    [
        ("PUT", "/v1/models", "application/octet-stream", b""),
        ("PUT", "/v1/models", "multipart/form-data; boundary=b", EMPTY_FORM),
        ("POST", "/v1/models:describe", "application/octet-stream", b""),
        ("PUT", "/v1/tables", "text/csv", b""),
        ("PUT", "/v1/tables", "application/vnd.apache.parquet", b""),
    ],
)
def test_an_empty_file_is_called_so_over_rest(
    start, make_runner, method: str, path: str, kind: str, body: bytes
) -> None:
    answer = start(make_runner()).rest(method, path, body, {"Content-Type": kind})
    noun = "table" if "tables" in path else "model"

    assert answer.status == 400
    assert answer.json["reason"] == f"INVALID_{noun.upper()}"
    assert answer.json["detail"] == f"the {noun} is empty: 0 bytes"


@pytest.mark.parametrize(
    ("path", "kind", "status"),
    [
        ("/v1/models", "application/json", 415),
        ("/v1/tables", "application/octet-stream", 400),
        ("/v1/tables", "application/json", 400),
    ],
)
def test_other_types_are_refused_over_rest(
    start, make_runner, path: str, kind: str, status: int
) -> None:
    client = start(make_runner())

    assert client.rest("PUT", path, b"a", {"Content-Type": kind}).status == status


def test_bytes_that_are_no_message_are_the_callers_fault(start, make_runner) -> None:
    client = start(make_runner())
    upload = client.channel.stream_unary("/onnxplain.v1.ExplanationService/UploadModel")

    assert reason_of(lambda: upload(iter([b"\xff"]))) == ("INVALID_REQUEST", "INVALID_ARGUMENT")


def never(stop: threading.Event) -> Iterator[UploadModelRequest]:
    yield UploadModelRequest(content=b"a")
    stop.wait(2 * PATIENCE)


def test_an_upload_that_sends_nothing_gives_its_place_back_in_the_end(start, make_runner) -> None:
    client = start(make_runner(), max_seconds=0.5)
    stop = threading.Event()

    with pytest.raises(grpc.RpcError) as caught:
        client.stub.UploadModel(never(stop), timeout=PATIENCE)

    stop.set()
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert client.server._scheduler.wait_idle(PATIENCE)


def test_leaving_during_an_upload_gives_its_place_back(start, make_runner, caplog) -> None:
    client = start(make_runner())
    stop = threading.Event()
    call = client.stub.UploadModel.future(never(stop))
    while client.server._scheduler.counts().in_flight_count == 0:
        stop.wait(0.01)

    call.cancel()

    assert client.server._scheduler.wait_idle(PATIENCE)
    stop.set()
    assert not [record for record in caplog.records if record.exc_info]


def test_no_caller_finds_what_another_uploaded() -> None:
    uploads = Uploads(MemoryBlobs(1_000, 60), RequestLimits(100, 100, 1.0))
    ada, bob = (Caller(name, math.inf, lambda: False) for name in ("ada", "bob"))
    model = uploads.put_model(MODEL, ada)

    parts = RequestParts(b"", RequestFile(identity=model))

    assert uploads.name(ServiceMethod.EXPLAIN, parts, ada).blobs[model].content == MODEL
    with pytest.raises(ExplainError) as caught:
        uploads.name(ServiceMethod.EXPLAIN, parts, bob)
    assert caught.value.reason is Reason.BLOB_NOT_FOUND


IRIS = Path(__file__).parents[2] / "examples" / "iris" / "lightgbm.onnx"
NO_MODELS = {
    "a byte": lambda _model: bytes(1),
    "text": lambda _model: b"no model",
    "a field of text": lambda _model: b"model",
    "an HTML page": lambda _model: b"<!DOCTYPE html><html><body>Not found</body></html>",
    "a zip archive": lambda _model: b"PK\x03\x04" + bytes(60),
    "a pickle": lambda _model: pickle.dumps({"model": [1.0]}),
    "a cut file": lambda model: model[: len(model) // 2],
    "all but the last byte": lambda model: model[:-1],
    "a model without a graph": lambda _model: b"\x08\x08\x12\x04made",
    "a model without nodes": lambda _model: b"\x3a\x02\x62\x00",
}


@pytest.mark.parametrize("made", NO_MODELS.values(), ids=NO_MODELS)
def test_what_is_no_model_is_refused_instead_of_stored(start, make_runner, made) -> None:
    client = start(make_runner())
    content = made(IRIS.read_bytes())

    refused = client.rest("PUT", "/v1/models", content, OCTETS)

    assert (refused.status, refused.json["reason"]) == (400, "INVALID_MODEL")
    call = partial(client.stub.UploadModel, model_parts(content))
    assert reason_of(call) == ("INVALID_MODEL", "INVALID_ARGUMENT")
    assert client.rest("GET", f"/v1/models/{id_of(content)}").json["reason"] == "BLOB_NOT_FOUND"


def test_real_models_are_stored(start, make_runner) -> None:
    client = start(make_runner())
    for file in [IRIS, *(Path(__file__).parents[1] / "models").glob("*.onnx")]:
        assert client.rest("PUT", "/v1/models", file.read_bytes(), OCTETS).status == 200, file
