"""Binding of table columns to the inputs of a model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input
from onnxplain_server.core.rows import bind, feeds
from onnxplain_server.core.table import Table

NAN = float("nan")
TABLE = Table(
    {
        "a": np.array([1.0, 2.0]),
        "b": np.array([3.0, NAN]),
        "t": np.array(["u", ""], object),
        "y": np.array([0.0, 1.0]),
        "w": np.array([1.0, 1.0]),
    },
    2,
    {"blob": "binary"},
)
MATRIX = (Input("X", "float", 2),)


def table(**columns) -> Table:
    return Table(columns, len(next(iter(columns.values()))))


def refused(*bound) -> ExplainError:
    with pytest.raises(ExplainError) as refusal:
        bind(*bound)
    return refusal.value


def test_inputs_by_column_find_their_columns_in_the_models_order() -> None:
    inputs = (Input("t", "string", 1), Input("a", "double", 1))

    features = bind(inputs, TABLE, (), ())

    assert features.names == ("t", "a")
    assert features.matrix == ""
    assert [column.tolist() for column in features.columns] == [["u", ""], [1, 2]]
    assert features.dtypes == (np.dtype(object), np.dtype(np.float64))


def test_a_matrix_takes_the_columns_named_in_their_order() -> None:
    features = bind(MATRIX, TABLE, ("b", "a"), ("w", "y"))

    assert features.names == ("b", "a")
    assert features.matrix == "X"


def test_by_default_a_matrix_takes_all_columns_but_target_and_weight() -> None:
    numbers = Table({n: c for n, c in TABLE.columns.items() if n != "t"}, 2)

    assert bind(MATRIX, numbers, (), ("y", "w")).names == ("a", "b")


def test_a_target_column_may_be_a_feature_where_it_is_named_as_one() -> None:
    assert bind(MATRIX, TABLE, ("a", "y"), ("y", "w")).names == ("a", "y")


def test_a_matrix_of_open_width_takes_what_there_is() -> None:
    numbers = table(a=np.ones(2), b=np.ones(2), c=np.ones(2))

    assert bind((Input("X", "float", None),), numbers, (), ()).names == ("a", "b", "c")


def test_one_input_of_one_column_goes_by_its_name_if_the_table_has_it() -> None:
    one = (Input("a", "double", 1),)

    assert bind(one, TABLE, (), ()).matrix == ""
    assert bind((Input("X", "double", 1),), TABLE, ("a",), ()).matrix == "X"


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"a": [1.0], "b": [2.0], "c": [3.0]}, "c"),
        ({"y": [1.0], "b": [2.0], "c": [3.0]}, "y"),
        ({"a": [1.0], "Target": [2.0], "c": [3.0]}, "Target"),
        ({"a": [1.0], "kind": np.array(["x"], object), "y": [3.0]}, "kind"),
    ],
)
def test_one_column_too_many_is_asked_for_as_the_target_first(columns, found: str) -> None:
    table = Table({name: np.asarray(values) for name, values in columns.items()}, 1)

    with pytest.raises(ExplainError) as refused:
        bind(MATRIX, table, (), ("", ""))

    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_OPTION, "target_column")
    first, rest = refused.value.message.split(" otherwise ")
    assert f"if {found!r} holds the true values, name it in target_column;" in first
    assert "feature_columns" in rest
    with pytest.raises(ExplainError, match="feature_columns"):
        bind(MATRIX, table, ("a", "b", "c"), ("", ""))


REFUSALS = [
    pytest.param(
        (Input("a", "double", 1), Input("z", "double", 1)),
        (),
        Reason.MISSING_COLUMN,
        "feature_columns",
        ["'z'", "'a', 'b', 't'"],
        id="a column that the table lacks",
    ),
    pytest.param(
        MATRIX, ("a", "z"), Reason.MISSING_COLUMN, "feature_columns", ["'z'"], id="named column"
    ),
    pytest.param(
        MATRIX,
        ("a",),
        Reason.MISSING_COLUMN,
        "feature_columns",
        ["2 columns", "names 1", "'a'"],
        id="too few named",
    ),
    pytest.param(
        MATRIX,
        ("a", "b", "y"),
        Reason.INVALID_OPTION,
        "feature_columns",
        ["2 columns", "names 3"],
        id="too many named",
    ),
    pytest.param(
        MATRIX,
        (),
        Reason.INVALID_OPTION,
        "feature_columns",
        ["2 columns", "without target and weight, has 6"],
        id="too many columns",
    ),
    pytest.param(
        MATRIX, ("a", "a"), Reason.INVALID_OPTION, "feature_columns", ["'a'", "twice"], id="twice"
    ),
    pytest.param(
        MATRIX,
        ("a", "blob"),
        Reason.WRONG_TYPE,
        "feature_columns",
        ["'blob'", "binary"],
        id="neither number nor text",
    ),
    pytest.param(
        MATRIX,
        ("a", "t"),
        Reason.WRONG_TYPE,
        "table",
        ["'t'", "text", "float32"],
        id="text for numbers",
    ),
    pytest.param(
        (Input("a", "string", 1), Input("t", "string", 1)),
        (),
        Reason.WRONG_TYPE,
        "table",
        ["'a'", "numbers", "text"],
        id="numbers for text",
    ),
    pytest.param(
        (Input("a", "double", 1), Input("b", "double", 1)),
        ("b",),
        Reason.INVALID_OPTION,
        "feature_columns",
        ["by name", "'a', 'b'", "leave it out"],
        id="a part of the inputs",
    ),
    pytest.param(
        (Input("a", "double", 1), Input("b", "double", 1)),
        ("a", "b", "y"),
        Reason.INVALID_OPTION,
        "feature_columns",
        ["by name"],
        id="more than the inputs",
    ),
]


@pytest.mark.parametrize(("inputs", "named", "reason", "field", "words"), REFUSALS)
def test_a_table_that_does_not_fit_is_refused(
    inputs, named, reason: Reason, field: str, words: list[str]
) -> None:
    refusal = refused(inputs, TABLE, named, ())

    assert (refusal.reason, refusal.field) == (reason, field)
    assert [word for word in words if word not in refusal.message] == []


@pytest.mark.parametrize(
    ("values", "kind"), [(np.array([NAN, NAN]), "float"), (np.array(["", ""], object), "string")]
)
def test_a_column_without_any_value_is_refused(values, kind: str) -> None:
    inputs = (Input("a", kind, 1), Input("b", "float", 1))

    refusal = refused(inputs, table(a=values, b=np.ones(2)), (), ())

    assert (refusal.reason, refusal.field) == (Reason.INVALID_TABLE, "table")
    assert "'a'" in refusal.message
    assert "2 rows" in refusal.message


@pytest.mark.parametrize("named", [(), ("a", "b"), ("b", "a")])
def test_all_inputs_may_be_named_as_features(named: tuple[str, ...]) -> None:
    """Which says nothing new, and changes no order."""
    inputs = (Input("a", "double", 1), Input("b", "double", 1))

    assert bind(inputs, TABLE, named, ()).names == ("a", "b")


CASTS = [
    ("float", [0.1, NAN, np.inf, -np.inf], np.float32),
    ("double", [0.1, NAN, 1e300], np.float64),
    ("float16", [0.5, 65504], np.float16),
    ("int64", [-(2.0**53), 2.0**53], np.int64),
    ("int32", [-(2.0**31), 2.0**31 - 1], np.int32),
    ("int16", [-32768, 32767], np.int16),
    ("int8", [-128, 127], np.int8),
    ("uint64", [0, 2.0**53], np.uint64),
    ("uint32", [0, 2.0**32 - 1], np.uint32),
    ("uint16", [0, 65535], np.uint16),
    ("uint8", [0, 255], np.uint8),
    ("bool", [0, 1], np.bool_),
]


def cast(kind: str, values):
    column = np.array(values, float)
    features = bind((Input("a", kind, 1),), table(a=np.ones(2)), (), ())
    return features.cast(0, column)


@pytest.mark.parametrize(("kind", "values", "dtype"), CASTS)
def test_values_become_the_type_that_the_model_takes(kind: str, values: list[float], dtype) -> None:
    found = cast(kind, values)

    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found, np.array(values).astype(dtype))


@pytest.mark.parametrize(
    ("kind", "value", "word"),
    [
        ("float", 1e39, "1e+39"),
        ("float16", 65520, "65520"),
        ("int64", 0.5, "0.5"),
        ("int64", NAN, "a missing value"),
        ("int64", np.inf, "inf"),
        ("int64", 2.0**53 + 2, "9.0072e+15"),
        ("int32", 2.0**31, "2.14748e+09"),
        ("int8", 128, "128"),
        ("int8", -129, "-129"),
        ("uint8", -1, "-1"),
        ("uint8", 256, "256"),
        ("bool", 2, "2"),
        ("bool", NAN, "a missing value"),
        ("bool", 0.5, "0.5"),
    ],
)
def test_values_that_would_change_are_refused(kind: str, value: float, word: str) -> None:
    with pytest.raises(ExplainError) as refusal:
        cast(kind, [1, value])

    assert refusal.value.reason is Reason.WRONG_TYPE
    assert "'a'" in refusal.value.message
    assert f"holds {word}" in refusal.value.message


@pytest.mark.parametrize(
    ("texts", "has_hint"),
    [
        (["2020-01-02", ""], True),
        (["2020-01-02T03:04:05Z"], True),
        (["1.2.2020", "31/12/20"], True),
        (["2020-01-02", "u"], False),
        (["u"], False),
        ([""], False),
    ],
)
def test_dates_for_a_number_say_what_to_do(texts: list[str], has_hint: bool) -> None:
    column = np.array([*texts, "2020-01-02" if has_hint else "u"], object)

    refusal = refused((Input("a", "float", 1),), table(a=column), (), ())

    assert "'a' holds text, but the model takes float32 numbers there" in refusal.message
    assert ("send dates as the numbers" in refusal.message) is has_hint


def test_all_columns_are_checked_when_they_are_bound() -> None:
    inputs = (Input("a", "int64", 1), Input("b", "float", 1))

    refusal = refused(inputs, table(a=np.array([1, 0.5]), b=np.ones(2)), (), ())

    assert "'a' holds 0.5 in row 1 (counted from 0), but the model takes int64" in refusal.message


@given(st.floats(width=32))
def test_what_float32_holds_passes_unchanged(value: float) -> None:
    np.testing.assert_array_equal(cast("float", [value]), [value])


def test_features_are_found_by_name() -> None:
    features = bind(MATRIX, TABLE, ("b", "a"), ())

    assert [features.index(name) for name in ("b", "a")] == [0, 1]
    with pytest.raises(ExplainError) as refusal:
        features.index("t", "methods[0]")
    assert (refusal.value.reason, refusal.value.field) == (Reason.UNKNOWN_FEATURE, "methods[0]")
    assert "'b', 'a'" in refusal.value.message


def test_rows_are_taken_in_the_order_asked_for() -> None:
    features = bind(MATRIX, TABLE, ("y", "a"), ()).take(np.array([1, 0, 1]))

    assert features.n_rows == 3
    assert [column.tolist() for column in features.columns] == [[1, 0, 1], [2, 1, 2]]


def test_whole_features_are_known() -> None:
    kinds = {"a": "int64", "y": "bool", "w": "uint8", "b": "float", "t": "string"}
    inputs = tuple(Input(name, kind, 1) for name, kind in kinds.items())
    features = bind(inputs, TABLE, (), ())

    assert [features.is_whole(j) for j in range(5)] == [True, True, True, False, False]


def test_models_are_fed_a_matrix_or_a_column_each() -> None:
    columns = [np.array([1, 2], np.float32), np.array([3, 4], np.float32)]
    numbers = table(a=np.ones(2), b=np.ones(2))
    apart = bind((Input("a", "float", 1), Input("b", "float", 1)), numbers, (), ())

    matrix = feeds(bind(MATRIX, numbers, (), ()), columns)
    single = feeds(apart, columns)

    assert {name: array.tolist() for name, array in matrix.items()} == {"X": [[1, 3], [2, 4]]}
    assert matrix["X"].dtype == np.float32
    assert {name: array.tolist() for name, array in single.items()} == {
        "a": [[1], [2]],
        "b": [[3], [4]],
    }


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["1", "n/a", "2", "x", "n/a"], "'n/a' and 1 other text in rows 4, 8, 9 (counted from 0)"),
        (["1.5", "2", "-3e1", "", ".5"], "its numbers are given as text"),
        (["red", "blue", "red", "red", "1"], "'red' and 1 other text in rows 2, 4, 6, 8 ("),
    ],
)
def test_texts_that_are_no_numbers_are_named_with_their_rows(values, words: str) -> None:
    rows = Table({"a": np.array(values, object)}, 5, {}, np.array([2, 4, 6, 8, 9]))

    with pytest.raises(ExplainError) as refused:
        bind([Input("x", "double", 1, ("a",))], rows, (), ())

    assert refused.value.reason is Reason.WRONG_TYPE
    assert words in refused.value.message


def test_a_number_that_does_not_fit_is_named_with_its_row() -> None:
    rows = Table({"a": np.array([1, 2.5, 3, 7.5])}, 4)

    with pytest.raises(
        ExplainError, match=r"holds 2.5 and others in rows 1, 3 \(counted from 0\), but"
    ):
        bind([Input("a", "int64", 1)], rows, (), ())
