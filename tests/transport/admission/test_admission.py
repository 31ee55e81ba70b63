"""Cache keys of a request: caller, model, table and format."""

from __future__ import annotations

import math

import pytest
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Column, Columns, Table
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.interfaces import NO_BLOBS, Blob, Blobs
from onnxplain_server.transport.admission.admission import Caller, RequestLimits, create_context
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.wire.blobs import identify

MODEL = Model(content=b"model")
TABLE = Table(csv=b"a\n1\n")


@pytest.fixture
def cache() -> MemoryCache:
    return MemoryCache(100_000, Signer(b"secret"))


def call_of(
    cache: MemoryCache, model: Model, table: Table, name: str = "ada", blobs: Blobs = NO_BLOBS
) -> RequestContext:
    caller = Caller(name, math.inf, lambda: False)
    limits = RequestLimits(1_000, 1_000, 1.0)
    return create_context(
        model, table, blobs, caller, cache=cache, limits=limits, progress=lambda *_: None
    )


def test_the_same_request_finds_its_numbers_again(cache: MemoryCache) -> None:
    call_of(cache, MODEL, TABLE).cache_put({"grid": b"1"})

    assert call_of(cache, MODEL, TABLE).cache_get(["grid"]) == [b"1"]


@pytest.mark.parametrize(
    "other",
    [
        (Model(content=b"other"), TABLE),
        (MODEL, Table(csv=b"a\n2\n")),
        (MODEL, Table(parquet=TABLE.csv)),
        (MODEL, Table()),
        (MODEL, TABLE, "bob"),
        (MODEL, TABLE, "ada:"),
    ],
)
def test_another_model_table_or_caller_finds_nothing(cache: MemoryCache, other) -> None:
    call_of(cache, MODEL, TABLE).cache_put({"grid": b"1"})

    assert call_of(cache, *other).cache_get(["grid"]) == [None]


def test_an_uploaded_file_shares_its_numbers_with_one_sent_along(cache: MemoryCache) -> None:
    call_of(cache, MODEL, TABLE).cache_put({"grid": b"1"})
    model, table = Model(id=identify(b"model")), Table(id=identify(TABLE.csv))
    blobs = {model.id: Blob("onnx", b"model"), table.id: Blob("csv", TABLE.csv)}

    assert call_of(cache, model, table, blobs=blobs).cache_get(["grid"]) == [b"1"]

    as_parquet = blobs | {table.id: Blob("parquet", TABLE.csv)}
    assert call_of(cache, model, table, blobs=as_parquet).cache_get(["grid"]) == [None]


def test_no_name_reaches_into_the_names_of_another(cache: MemoryCache) -> None:
    call_of(cache, MODEL, TABLE).cache_put({"grid": b"1"})
    (key,) = cache._values

    call_of(cache, MODEL, Table()).cache_put({"grid": b"2", "../grid": b"3", ":grid": b"4"})

    assert cache._values[key].endswith(b"1")
    assert len(cache._values) == 4


def test_columns_in_the_message_are_told_apart(cache: MemoryCache) -> None:
    first, second = (
        Table(columns=Columns(columns=[Column(name="a", numbers=[number])])) for number in (1, 2)
    )
    call_of(cache, MODEL, first).cache_put({"grid": b"1"})

    assert call_of(cache, MODEL, second).cache_get(["grid"]) == [None]
    assert call_of(cache, MODEL, first).cache_get(["grid"]) == [b"1"]
