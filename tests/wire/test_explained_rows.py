"""Rows of a platform's request beside the background of an explainer, as a decoder joins them."""

from __future__ import annotations

import contextlib
import json
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, MethodOptions
from onnxplain.v1.feature_vectors_pb2 import FeatureVectorsOptions
from onnxplain.v1.individual_conditional_expectation_pb2 import (
    IndividualConditionalExpectationOptions,
)
from onnxplain.v1.table_pb2 import Column, Columns, Table
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.wire import rest_body
from onnxplain_server.wire.kept_parts import join_parts

CURVES = MethodOptions(individual_conditional_expectation=IndividualConditionalExpectationOptions())
VECTORS = MethodOptions(feature_vectors=FeatureVectorsOptions())


def template(**fields: Any) -> ExplainRequest:
    columns = [
        Column(name="age", numbers=[30.0, math.nan]),
        Column(name="city", strings=["Bern", "Chur"]),
        Column(name="y", numbers=[0.0, 1.0]),
    ]
    table = Table(columns=Columns(columns=columns))
    return ExplainRequest(table=table, target_column="y", methods=[CURVES, VECTORS], **fields)


def read(document: Any, request: ExplainRequest | None = None, media_type: str = "") -> Any:
    """Return the request, the columns of its table by name, and whether it takes interactions."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    given_parts = [(request or template()).SerializeToString(), text]
    parts = rest_body.decode(
        ServiceMethod.ROWS, media_type or "application/json", b"".join(join_parts(given_parts))
    )
    assert parts.table is not None
    columns = Columns.FromString(bytes(parts.table.content)).columns
    by_name: dict[str, Any] = {c.name: list(c.strings or c.numbers) for c in columns}
    return ExplainRequest.FromString(parts.envelope), by_name, parts.takes_interactions


def test_rows_come_first_and_weigh_nothing() -> None:
    request, columns, takes = read({"instances": [[41, "Genf"], [None, None]]})

    assert request.weight_column == "weight"
    assert columns["weight"] == [0, 0, 1, 1]
    assert columns["city"] == ["Genf", "", "Bern", "Chur"]
    assert columns["age"][0] == 41
    assert [math.isnan(value) for value in columns["age"]] == [False, True, False, True]
    assert [math.isnan(value) for value in columns["y"]] == [True, True, False, False]
    assert takes
    curves, *vectors = request.methods
    assert list(curves.individual_conditional_expectation.row_indices) == [0, 1]
    assert [list(v.feature_vectors.row_indices) for v in vectors] == [[0], [1]]


def test_weights_of_the_background_stay() -> None:
    request = template(weight_column="w")
    request.table.columns.columns.add(name="w", numbers=[2.0, 3.0])
    _, columns, _ = read({"instances": [{"age": 1, "city": "x", "y": 1}]}, request)

    assert columns["w"] == [0, 2, 3]
    assert columns["y"] == [1, 0, 1]


def test_the_column_of_weights_takes_no_name_that_is_there() -> None:
    request = template(feature_columns=["age"])
    request.table.columns.columns.add(name="weight", numbers=[70.0, 80.0])
    read_request, columns, _ = read({"instances": [[1]]}, request)

    assert read_request.weight_column == "weight_"
    assert columns["weight_"] == [0, 1, 1]


def test_csv_is_read_by_the_types_of_the_background() -> None:
    """A city that looks like a number stays text."""
    _, columns, _ = read(b"city,age\n8000,41\n,\n", media_type="text/csv; charset=utf-8")

    assert columns["city"] == ["8000", "", "Bern", "Chur"]
    assert columns["age"][0] == 41
    assert math.isnan(columns["age"][1])


@pytest.mark.parametrize(
    ("parameters", "takes", "names"),
    [
        ({}, True, ["individual_conditional_expectation", "feature_vectors"]),
        ({"seed": 1}, False, ["individual_conditional_expectation", "feature_vectors"]),
        ({"methods": [{"interactions": {}}]}, False, ["interactions"]),
        (
            {"methods": [{"averageLoss": {}}, {"interactions": {}}]},
            True,
            ["average_loss"],
        ),
        (
            {"methods": [{"averageLoss": {}}, {"interactions": {"pairwiseFeatureCount": 2}}]},
            False,
            ["average_loss", "interactions"],
        ),
        (
            {"methods": [{"averageLoss": {}}, {"interactions": {}}], "seed": 1},
            False,
            ["average_loss", "interactions"],
        ),
    ],
)
def test_kept_interactions_are_taken_where_they_are_the_same(parameters, takes, names) -> None:
    request, _, found = read({"instances": [[1, "x"]], "parameters": parameters})

    assert [method.WhichOneof("method") for method in request.methods] == names
    assert found is takes


def test_the_background_alone_is_explained_as_it_is() -> None:
    request, columns, takes = read({"parameters": {"global": True, "seed": 3}})

    assert (request.seed, request.weight_column, takes) == (3, "", False)
    assert list(request.methods) == []
    assert columns["city"] == ["Bern", "Chur"]


CELLS = st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3)


@given(st.lists(st.lists(CELLS, min_size=1, max_size=3), min_size=1, max_size=4))
def test_rows_are_put_first_unchanged_or_refused(rows: list[list[Any]]) -> None:
    """Of any cells: none is converted into another, moved, or lost."""
    try:
        _, columns, _ = read({"instances": rows})
    except ExplainError:
        is_whole = all(len(row) == 2 for row in rows)
        fits = all(not isinstance(r[0], str) or not r[0] for r in rows) and all(
            not isinstance(r[-1], float) for r in rows
        )
        assert not (is_whole and fits and all(not isinstance(r[0], str) for r in rows))
        return
    for row, age, city in zip(rows, columns["age"], columns["city"], strict=False):
        assert (math.isnan(age) if row[0] in {None, ""} else age == row[0]) is True
        assert city == (row[1] or "")


def binary(*tensors: tuple[str, str, bytes], **document: Any) -> tuple[bytes, str]:
    """Return a body of tensors of one column, whose values follow the JSON, and its type."""
    inputs = [
        {
            "name": name,
            "datatype": datatype,
            "shape": [2],
            "parameters": {"binary_data_size": len(content)},
        }
        for name, datatype, content in tensors
    ]
    head = json.dumps({"inputs": inputs, **document}).encode()
    content = head + b"".join(content for _, _, content in tensors)
    return content, f"application/octet-stream; json-length={len(head)}"


CITIES = b"".join(struct.pack("<I", len(text)) + text for text in (b"Z\xc3\xbcrich", b"Genf"))


@pytest.mark.parametrize(
    ("datatype", "ages", "expected"),
    [
        ("FP64", struct.pack("<2d", 41.5, math.nan), [41.5, None]),
        ("FP32", struct.pack("<2f", 41.5, -1.25), [41.5, -1.25]),
        ("FP16", struct.pack("<2e", 41.5, 0.5), [41.5, 0.5]),
        ("INT64", struct.pack("<2q", -41, 2**40), [-41, 2**40]),
        ("INT32", struct.pack("<2i", -41, 7), [-41, 7]),
        ("INT16", struct.pack("<2h", -41, 7), [-41, 7]),
        ("INT8", struct.pack("<2b", -41, 7), [-41, 7]),
        ("UINT64", struct.pack("<2Q", 41, 2**40), [41, 2**40]),
        ("UINT32", struct.pack("<2I", 41, 2**31), [41, 2**31]),
        ("UINT16", struct.pack("<2H", 41, 2**15), [41, 2**15]),
        ("UINT8", struct.pack("<2B", 41, 200), [41, 200]),
    ],
)
def test_values_of_tensors_may_follow_the_json(
    datatype: str, ages: bytes, expected: list[float | None]
) -> None:
    body, kind = binary(("age", datatype, ages), ("city", "BYTES", CITIES))

    _, columns, _ = read(body, media_type=kind)

    shown = [None if math.isnan(value) else value for value in columns["age"][:2]]
    assert shown == expected
    assert columns["city"] == ["Z\u00fcrich", "Genf", "Bern", "Chur"]


AGES = struct.pack("<2d", 41.0, 42.0)


@pytest.mark.parametrize(
    ("ages", "cities", "change", "words"),
    [
        (("FP64", AGES), CITIES, b"x", "belong to no tensor"),
        (("FP64", AGES), CITIES, b"", "has 19 bytes, of which 18"),
        (("FP64", AGES[:-1]), CITIES, None, "no whole number of FP64"),
        (("FP64", AGES[:8]), CITIES, None, "has 1 values"),
        (("BF16", AGES), CITIES, None, '"BF16" is not known'),
        (("FP64", struct.pack("<2d", 1.0, math.inf)), CITIES, None, "infinite"),
        (("FP64", AGES), CITIES[:-1], None, "is cut"),
        (("FP64", AGES), CITIES[:-6], None, "is cut"),
        (("FP64", AGES), struct.pack("<I", 1) + b"\xff", None, "not UTF-8"),
    ],
)
def test_bytes_that_are_no_values_are_refused(
    ages: tuple[str, bytes], cities: bytes, change: bytes | None, words: str
) -> None:
    body, kind = binary(("age", *ages), ("city", "BYTES", cities))
    body = body[:-1] if change == b"" else body + (change or b"")

    with pytest.raises(ExplainError, match=words):
        read(body, media_type=kind)


def test_a_body_shorter_than_its_json_is_refused() -> None:
    with pytest.raises(ExplainError, match="its JSON 100"):
        read(b"{}", media_type="application/octet-stream; json-length=100")


@given(st.binary(max_size=60), st.sampled_from(["FP64", "BYTES", "INT8", "BOOL"]))
def test_any_bytes_are_values_or_refused(content: bytes, datatype: str) -> None:
    body, kind = binary(("age", datatype, content), ("city", "BYTES", CITIES))

    with contextlib.suppress(ExplainError):
        read(body, media_type=kind)
