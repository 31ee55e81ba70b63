"""Requests over REST: accepted forms, and refusals of all others."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
    Explanation,
    Receipt,
)
from onnxplain.v1.interactions_pb2 import InteractionsResult, InteractionStatistic
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.wire import canonical, rest_table
from onnxplain_server.wire.rest_request import File, from_files, from_json
from onnxplain_server.wire.scanning import json_shape

FORMS = ("dataframe_split", "dataframe_records", "instances", "inputs")
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)
NUMBERS = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**53), 2**53))
CELLS = st.one_of(
    st.lists(st.one_of(st.none(), NUMBERS), min_size=3, max_size=3),
    st.lists(st.text(st.characters(codec="utf-8"), max_size=4), min_size=3, max_size=3),
)

# Examples may take long on a busy machine.
patient = settings(deadline=None)


def read(document) -> ExplainRequest:
    return from_json(json.dumps(document).encode(), ExplainRequest)


def refusal(text: str | bytes) -> ExplainError:
    with pytest.raises(ExplainError) as caught:
        from_json(text if isinstance(text, bytes) else text.encode(), ExplainRequest)
    return caught.value


def columns(request: ExplainRequest) -> dict[str, list[float | str]]:
    return {
        column.name: list(column.strings or column.numbers)
        for column in request.table.columns.columns
    }


@patient
@given(st.dictionaries(NAMES, CELLS, min_size=1, max_size=4))
def test_all_forms_of_a_table_say_the_same(table: dict[str, list[Any]]) -> None:
    rows = list(zip(*table.values(), strict=True))
    records = [dict(zip(table, row, strict=True)) for row in rows]
    split = {"columns": list(table), "index": [5, 6, 7], "data": rows}

    read_back = [
        read({form: value}).SerializeToString(deterministic=True)
        for form, value in zip(FORMS, (split, records, records, table), strict=True)
    ]

    assert len(set(read_back)) == 1
    assert list(columns(ExplainRequest.FromString(read_back[0]))) == list(table)


@patient
@given(st.lists(st.lists(NUMBERS, min_size=2, max_size=2), min_size=1, max_size=4))
def test_rows_without_names_get_names_by_position(rows: list[list[float]]) -> None:
    named = {"x0": [row[0] for row in rows], "x1": [row[1] for row in rows]}

    assert columns(read({"instances": rows})) == columns(read({"inputs": rows})) == named


def test_a_list_of_values_is_one_column() -> None:
    assert columns(read({"instances": [1, 2]})) == {"x0": [1, 2]}


def test_tensors_of_one_column_are_columns() -> None:
    assert columns(read({"inputs": {"a": [[1], [2]]}})) == {"a": [1, 2]}


def test_null_is_a_missing_value() -> None:
    request = read({"inputs": {"a": [1, None], "b": ["x", None], "c": [None, None]}})

    first, second, third = request.table.columns.columns
    assert first.numbers[0] == 1
    assert math.isnan(first.numbers[1])
    assert list(second.strings) == ["x", ""]
    assert [math.isnan(number) for number in third.numbers] == [True, True]


def test_a_name_that_a_record_lacks_is_a_missing_value() -> None:
    (column, _) = read({"instances": [{"a": 1}, {"b": 2}]}).table.columns.columns

    assert column.numbers[0] == 1
    assert math.isnan(column.numbers[1])


def test_booleans_are_numbers() -> None:
    assert columns(read({"inputs": {"a": [True, False]}})) == {"a": [1, 0]}


@pytest.mark.parametrize(
    ("document", "reason", "told"),
    [
        ({"inputs": {"a": [1, "x"]}}, Reason.WRONG_TYPE, 'column "a", row 1 is a string'),
        ({"inputs": {"a": [1, [2, 3]]}}, Reason.WRONG_TYPE, "row 1 is neither"),
        ({"inputs": {"a": [2**53 + 1]}}, Reason.WRONG_TYPE, "beyond 2^53"),
        ({"inputs": {"a": 5}}, Reason.INVALID_TABLE, "must be a list"),
        ({"inputs": 5}, Reason.INVALID_TABLE, "must be a list of rows"),
        ({"instances": [[1, 2], [3]]}, Reason.INVALID_TABLE, "row 1 must be a list of 2"),
        ({"instances": [{"a": 1}, 2]}, Reason.INVALID_TABLE, "one per row"),
        ({"dataframe_split": {"data": []}}, Reason.INVALID_TABLE, '"columns" and "data"'),
        (
            {"dataframe_split": {"columns": ["a"], "data": [[1, 2]]}},
            Reason.INVALID_TABLE,
            "row 0 must be a list of 1",
        ),
        (
            {"dataframe_split": {"columns": [None], "data": [[1]]}},
            Reason.INVALID_TABLE,
            "names must be strings",
        ),
        (
            {"dataframe_split": {"columns": [], "data": [], "dtype": 1}},
            Reason.INVALID_TABLE,
            '"dtype"',
        ),
        ({"dataframe_records": {"a": [1]}}, Reason.INVALID_TABLE, "one per row"),
    ],
)
def test_a_table_that_is_not_understood_is_refused_with_its_form(
    document, reason: Reason, told: str
) -> None:
    error = refusal(json.dumps(document))

    assert error.reason is reason
    assert told in error.message
    assert error.field == next(iter(document))


@pytest.mark.parametrize("form", FORMS)
def test_a_form_that_is_null_counts_as_left_out(form: str) -> None:
    assert read({"table": {"csv": "YQox"}, form: None}).table.csv == b"a\n1"
    assert read({"table": None, "dataframe_records": [{"a": 1}], "seed": 1}).table.HasField(
        "columns"
    )


@pytest.mark.parametrize("other", FORMS)
def test_a_table_comes_in_exactly_one_form(other: str) -> None:
    error = refusal(json.dumps({"table": {}, other: {}}))

    assert error.reason is Reason.INVALID_REQUEST
    assert "exactly one of table, dataframe_split" in error.message
    assert f"it has table and {other}" in error.message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "cannot be read"),
        ("[]", "must be an object"),
        ('{"seed": NaN}', '"NaN" as a string'),
        ('{"seed": -Infinity}', '"-Infinity" as a string'),
        ('{"seed": 1e999}', "range of a double"),
        ('{"seed": ' + "9" * 5000 + "}", "cannot be read"),
        ('{"seed": 1, "seed": 2}', '"seed" stands twice'),
        ('{"a":' * 200_000, "is no known field"),
        ("[" * 200_000, "must be an object"),
        ('{"instances":' + "[" * 200_000, "too deeply"),
        ('{"instances":' + '[{"a":' * 200_000, "too deeply"),
        ('{"methods": ' + "[" * 150 + "]" * 150 + "}", "methods"),
        ('{"targetColumn": "\\ud800"}', "surrogate"),
        (b'{"targetColumn": "\xed\xa0\x80"}', "cannot be read"),
        ('{"seed": 1}'.encode("utf-16"), "cannot be read"),
        ('{"inputs": {"\\ud800": [1]}}', "surrogate"),
        ('{"inputs": {"a": ["\\ud800"]}}', "surrogate"),
        (b'{"seed": "\xff"}', "cannot be read"),
    ],
)
def test_json_that_hides_a_mistake_is_refused(text: str | bytes, told: str) -> None:
    error = refusal(text)

    assert error.reason in {Reason.INVALID_REQUEST, Reason.INVALID_TABLE}
    assert told in error.message
    assert len(error.message) < 400


def test_json_of_too_many_values_is_refused_before_it_is_read() -> None:
    assert "5,000,000 values" in refusal("[[" + "," * 5_000_001).message


FEATURE = "methods[0].interactions.features[0]"
THRESHOLD = "methods[0].interactions.absolute_threshold"


@pytest.mark.parametrize(
    ("document", "field", "told"),
    [
        ({"sed": 1}, "sed", "known here: model, table, featureColumns"),
        ({"methods": [{}, {"firms": {}}]}, "methods[1].firms", "known here: interactions"),
        ({"rowCount": "x"}, "row_count", "whole number"),
        ({"row_count": 2.5}, "row_count", "whole number"),
        ({"row_count": 2**31}, "row_count", "32 bits"),
        ({"row_count": 10**400}, "row_count", "32 bits"),
        ({"row_count": True}, "row_count", "whole number"),
        ({"plots": "yes"}, "plots", "true or false"),
        ({"scale": "LOG"}, "scale", "must be one of RESPONSE, MARGIN"),
        ({"scale": 7}, "scale", "RESPONSE, MARGIN"),
        ({"scale": 1.5}, "scale", "RESPONSE, MARGIN"),
        ({"scale": []}, "scale", "RESPONSE, MARGIN"),
        ({"scale": True}, "scale", "RESPONSE, MARGIN"),
        ({"model": {"content": "ä!"}}, "model.content", "base64"),
        ({"model": {"content": 5}}, "model.content", "base64"),
        ({"model": []}, "model", "must be an object"),
        ({"table": {"csv": "a,b"}}, "table.csv", "base64"),
        ({"table": {"csv": "QUJDR"}}, "table.csv", "base64"),
        ({"table": {"csv": "QUI=="}}, "table.csv", "base64"),
        ({"table": {"csv": "QU="}}, "table.csv", "base64"),
        ({"table": {"csv": "QUJD=="}}, "table.csv", "base64"),
        ({"table": {"csv": "=="}}, "table.csv", "base64"),
        ({"featureColumns": "a"}, "feature_columns", "must be a list"),
        ({"methods": [{"interactions": {"features": [1]}}]}, FEATURE, "must be a string"),
        ({"methods": [{"interactions": {"features": [None]}}]}, FEATURE, "must be a string"),
        ({"methods": [{"interactions": {"absoluteThreshold": "low"}}]}, THRESHOLD, "a number"),
        ({"methods": [{"interactions": {}, "partialDependence": {}}]}, "methods[0]", "multiple"),
        ({"row_count": 1, "rowCount": 1}, "row_count", "given twice"),
        ({"featureColumns": ["a"], "feature_columns": ["b"]}, "feature_columns", "given twice"),
        ({"methods": [None]}, "methods[0]", "must be an object"),
    ],
)
def test_a_field_that_is_not_understood_is_named(document, field: str, told: str) -> None:
    error = refusal(json.dumps(document))

    assert error.reason is Reason.INVALID_REQUEST
    assert error.field == field
    assert error.message.startswith(field)
    assert told in error.message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"rowCount": "5"}, {"rowCount": 5}),
        ({"rowCount": 5.0}, {"rowCount": 5}),
        ({"scale": 2}, {"scale": "MARGIN"}),
        ({"scale": 2.0}, {"scale": "MARGIN"}),
        ({"seed": None, "model": None, "methods": None}, {}),
        ({"model": {"content": "-_8"}}, {"model": {"content": "+/8="}}),
    ],
)
def test_what_canonical_json_allows_is_understood(first, second) -> None:
    assert read(first) == read(second)


def test_both_spellings_of_a_field_are_understood() -> None:
    assert read({"targetColumn": "y"}) == read({"target_column": "y"})


@patient
@given(st.binary(max_size=40))
def test_any_bytes_are_a_request_or_refused(text: bytes) -> None:
    with suppress(ExplainError):
        assert isinstance(from_json(text, ExplainRequest), ExplainRequest)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["columns", "data", "a", "name", "numbers", "features", "names"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=8,
)
FIELDS = st.sampled_from([*FORMS, *(field.json_name for field in ExplainRequest.DESCRIPTOR.fields)])


@patient
@given(st.dictionaries(FIELDS, JSON, max_size=3))
def test_any_json_is_a_request_or_refused(document) -> None:
    with suppress(ExplainError):
        assert isinstance(read(document), ExplainRequest)


def test_replies_have_their_zeros_and_empty_lists_but_no_unset_choice() -> None:
    statistic = InteractionStatistic(values=[0.0, math.nan, math.inf])
    result = InteractionsResult(total=statistic)

    text = canonical.encode(
        ExplainResponse(explanations=[Explanation(interactions=result)], receipt=Receipt())
    )

    document = json.loads(text)
    (explanation,) = document["explanations"]
    assert explanation["interactions"]["total"]["values"] == [0, "NaN", "Infinity"]
    assert explanation["interactions"]["pairwise"] == []
    assert document["receipt"]["predictedRowCount"] == 0
    assert "partialDependence" not in explanation
    assert "options" not in explanation


def test_what_is_written_can_be_read() -> None:
    request = read({"inputs": {"a": [1.5, None], "ü": ["x", "y"]}, "seed": 0, "plots": False})

    again = canonical.decode(canonical.encode(request).encode(), ExplainRequest)

    # NaN differs from itself, its bytes do not.
    assert again.SerializeToString() == request.SerializeToString()


def test_a_form_needs_no_model() -> None:
    document = {"methods": [{"featureVectors": {}}], "targetColumn": "y"}
    request = from_files(
        None,
        File(b"a,y\n1,2\n", "rows.csv", "text/csv"),
        json.dumps(document).encode(),
        ExplainRequest,
    )

    assert not request.HasField("model")
    assert request.table.csv == b"a,y\n1,2\n"


@pytest.mark.parametrize(
    ("file_name", "given", "expected"),
    [
        ("house.onnx", "", "house.onnx"),
        ("C:/models/house.onnx", "", "house.onnx"),
        ("house.onnx", "houses", "houses"),
        ("m" * 300, "", "m" * 255),
        ("", "", ""),
        ("model", "", ""),
    ],
)
def test_a_form_names_the_model_by_its_file(file_name: str, given: str, expected: str) -> None:
    document = {"methods": [{"interactions": {}}], "modelName": given}
    file = File(b"onnx", file_name, "application/octet-stream")

    assert (
        from_files(file, None, json.dumps(document).encode(), ExplainRequest).model_name == expected
    )


UNREAD = b', "a" 1' * 100
"""Text that is not even looked at: it is no JSON, and would be refused for that."""


@pytest.mark.parametrize(
    ("begin", "told"),
    [
        (b'{"u": 1', "u is no known field"),
        (b'{"seed": 1, "u": [', "u is no known field"),
        (b'{"model": {"u": 1', "model.u is no known field"),
        (b'{"model": [', "model must be an object"),
        (b'{"methods": [{"interactions": {"u": 1', "methods[0].interactions.u is no known field"),
        (b'{"methods": {', "methods must be a list"),
        (b'{"methods": [[', "methods[0] must be an object"),
        (b'{"seed": [', "seed must be a whole number"),
        (b'{"seed": {', "seed must be a whole number"),
        (b'{"scale": [', "scale must be one of"),
        (b'{"targetColumn": [', "target_column must be a string"),
        (b'{"classLabels": {', "class_labels must be a list"),
        (b'{"seed": 1, "seed": 1', "stands twice"),
        (b'{"rowCount": 9, "row_count": 9', "is given twice"),
        (b'{"inputs": {"a": 1', '"a" must be a list of values'),
        (b'{"inputs": {"a": [1], "a": [1]', "stands twice"),
        (b'{"dataframe_split": {"u": 1', 'unknown member "u"'),
        (b'{"table": {"columns": {"columns": [{"u": 1', "table.columns.columns[0].u is no"),
        (b"[", "must be an object"),
    ],
)
def test_the_first_fault_ends_the_reading(begin: bytes, told: str) -> None:
    assert told in refusal(begin + UNREAD).message


@pytest.mark.parametrize(
    "document",
    [
        {"methods": [{}] * 101},
        {"table": {"columns": {"columns": [{}] * 101}}},
        {"dataframe_records": [dict.fromkeys(map(str, range(101)), 1)]},
        {"inputs": {str(number): [] for number in range(101)}},
        {"instances": [[1] * 101]},
    ],
    ids=lambda document: next(iter(document)),
)
def test_more_messages_or_columns_than_can_be_made_at_once_are_refused(
    document, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (json_shape, rest_table):
        monkeypatch.setattr(module, "ITEM_LIMIT", 100)

    assert "more than 100" in refusal(json.dumps(document)).message


def test_a_guided_reading_gives_what_python_reads() -> None:
    text = """ { "methods" : [ { "partialDependence" : { "features" : [ { "names" : [ "a" ] } ,
        { } ] } } , {} ] , "classLabels" : null , "seed" : 3.0 ,
        "plots" : false, "rowCount":"12" ,"outputs":[] }\n """

    assert read(json.loads(text)) == from_json(text.encode(), ExplainRequest)


@pytest.mark.parametrize(
    "text",
    [
        '{"seed": 1,}',
        '{"seed" 1}',
        '{"seed": }',
        '{"seed": 1} 2',
        "{",
        '{"methods": [{}',
        '{"methods": [{},]}',
    ],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    assert refusal(text).reason is Reason.INVALID_REQUEST
