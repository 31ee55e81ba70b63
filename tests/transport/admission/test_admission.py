"""Cache keys of a request: caller, model, table and format."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.request import RequestFile, RequestParts, ServiceMethod
from onnxplain_server.transport.admission.admission import Caller, RequestLimits, create_context
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl
from onnxplain_server.transport.uploads import Uploads
from onnxplain_server.wire.blobs import identify

MODEL = RequestFile("onnx", b"\x3a\x04\x0a\x00\x62\x00")
TABLE = RequestFile("csv", b"a\n1\n")
LIMITS = RequestLimits(1_000, 1_000, 1.0)

CallOf: TypeAlias = Callable[..., RequestContext]


@pytest.fixture
def cache() -> MemoryCache:
    return MemoryCache(100_000, Signer(b"secret"))


@pytest.fixture
def uploads() -> Uploads:
    made = Uploads(MemoryBlobs(1_000, 60.0), LIMITS)
    ada = Caller("ada", math.inf, lambda: False)
    made.put_model(bytes(MODEL.content), ada)
    made.put_table("csv", [bytes(TABLE.content)], ada)
    return made


@pytest.fixture
def call_of(cache: MemoryCache, uploads: Uploads) -> CallOf:
    """Make the context of a request with this model and this table."""

    def make(model: RequestFile, table: RequestFile | None, name: str = "ada") -> RequestContext:
        caller = Caller(name, math.inf, lambda: False)
        named = uploads.name(ServiceMethod.EXPLAIN, RequestParts(b"", model, table), caller)
        control = RequestControl(60.0)
        return create_context(named.ids, caller, control, cache=cache, limits=LIMITS)

    return make


def test_the_same_request_finds_its_numbers_again(call_of: CallOf) -> None:
    call_of(MODEL, TABLE).cache_put({"grid": b"1"})

    assert call_of(MODEL, TABLE).cache_get(["grid"]) == [b"1"]


@pytest.mark.parametrize(
    "other",
    [
        (RequestFile("onnx", b"other"), TABLE),
        (MODEL, RequestFile("csv", b"a\n2\n")),
        (MODEL, RequestFile("parquet", TABLE.content)),
        (MODEL, None),
        (MODEL, TABLE, "bob"),
        (MODEL, TABLE, "ada:"),
    ],
)
def test_another_model_table_or_caller_finds_nothing(call_of: CallOf, other) -> None:
    call_of(MODEL, TABLE).cache_put({"grid": b"1"})

    assert call_of(*other).cache_get(["grid"]) == [None]


def test_an_uploaded_file_shares_its_numbers_with_one_sent_along(call_of: CallOf) -> None:
    call_of(MODEL, TABLE).cache_put({"grid": b"1"})
    model, table = (RequestFile(identity=identify(part.content)) for part in (MODEL, TABLE))

    assert call_of(model, table).cache_get(["grid"]) == [b"1"]


def test_no_name_reaches_into_the_names_of_another(call_of: CallOf, cache: MemoryCache) -> None:
    call_of(MODEL, TABLE).cache_put({"grid": b"1"})
    (key,) = cache._values

    call_of(MODEL, None).cache_put({"grid": b"2", "../grid": b"3", ":grid": b"4"})

    assert cache._values[key].endswith(b"1")
    assert len(cache._values) == 4


def test_files_hidden_in_an_envelope_are_not_the_ones_that_are_explained(uploads: Uploads) -> None:
    """A decoder that was taken over could put them there: the server's own ids come last."""
    hidden = ExplainRequest(model=Model(content=b"other"), table=Table(parquet=b"other"), seed=7)
    caller = Caller("ada", math.inf, lambda: False)
    parts = RequestParts(hidden.SerializeToString(), MODEL, TABLE)

    named = uploads.name(ServiceMethod.EXPLAIN, parts, caller)

    request = ExplainRequest.FromString(named.request)
    assert request.seed == 7
    assert request.model == Model(id=identify(MODEL.content))
    assert request.table == Table(id=identify(TABLE.content))
    assert {*named.blobs} == {request.model.id, request.table.id}
