"""Feature functions as texts: what is understood, what it means, and what is refused where."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.language import (
    ColumnValues,
    Exponentials,
    Linear,
    Threshold,
    ValueKind,
    evaluate,
    exponentials_of,
    form_of,
    names_in,
    parse,
)

NAN = float("nan")
E1 = np.e - 1
COLUMNS = {
    "age": np.array([20.0, 50.0, 40.0, NAN]),
    "income": np.array([3e4, 2e4, 1e4, 5e4]),
    "x1": np.array([0.0, 1.0, 0.0, 1.0]),
    "x2": np.array([1.0, 1.0, 0.0, 0.0]),
    "sex": np.array(["m", "f", "f", ""], object),
    "sequence": np.array(["GATTACA", "AGATTAC", "CCC", ""], object),
    "remark": np.array(["Great!", "greatest straße 7", "not   great, no_t", ""], object),
    "petal length (cm)": np.array([1.0, 2.0, 3.0, 4.0]),
    "größe": np.array([1.0, 2.0, 3.0, 4.0]),
    "class": np.array([0.0, 1.0, 2.0, 3.0]),
}
TABLE = ColumnValues(COLUMNS)


def found(text: str) -> list[Any]:
    values: list[Any] = evaluate(parse(text, TABLE.kinds, "features[0]"), TABLE).tolist()
    return values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age", [20, 50, 40, NAN]),
        ("petal length (cm)", [1, 2, 3, 4]),
        ("class", [0, 1, 2, 3]),
        ("sex", ["m", "f", "f", ""]),
        ("age > 40 and income < 30000", [0, 1, 0, NAN]),
        ("x1 * x2", [0, 1, 0, 0]),
        ("not x1 and x2", [1, 0, 0, 0]),
        ("x1 or not x2", [0, 1, 1, 1]),
        ("x1 ^ x2", [1, 0, 0, 1]),
        ("xor(x1, x2 == 1)", [1, 0, 0, 1]),
        ("30 <= age < 50", [0, 0, 1, NAN]),
        ("sex == 'f'", [0, 1, 1, NAN]),
        ("sex not in ('m', 'd')", [0, 1, 1, NAN]),
        ("`class` in [1, 3]", [0, 1, 0, 1]),
        ("kmer(sequence, 'GAT', 1)", [0, 1, 0, NAN]),
        ("kmer(sequence, 'TTA')", [1, 1, 0, NAN]),
        ("kmer(sequence, 'ACA')", [1, 0, 0, NAN]),
        ("kmer(sequence, 'A', 99)", [0, 0, 0, NAN]),
        ("kmer(sequence, 'TTACA', 2)", [1, 0, 0, NAN]),
        ("contains(remark, 'great')", [1, 0, 1, NAN]),
        ("contains(remark, 'not Great')", [0, 0, 1, NAN]),
        ("contains(remark, 'Straße-7')", [0, 1, 0, NAN]),
        ("`petal length (cm)` > 2.5", [0, 0, 1, 1]),
        ("-2 * größe + (x1 - 1) / 4", [-2.25, -4, -6.25, -8]),
        ("größe ** 2 - größe ** -1", [0, 3.5, 9 - 1 / 3, 15.75]),
        ("7 // größe + 7 % größe", [7, 4, 3, 4]),
        ("log(größe) + exp(0 * x1) + sqrt(abs(-größe))", [2, *(np.log(t) + 1 + np.sqrt(t)
                                                              for t in (2.0, 3.0, 4.0))]),
        ("max(x1, 0.5) - min(x2, 0.5)", [0, 0.5, 0.5, 1]),
        ("max(x1, x2, 0.5)", [1, 1, 0.5, 1]),
        ("min(age, 45, 30, income)", [20, 30, 30, NAN]),
        ("clip(age, 30, 45)", [30, 45, 40, NAN]),
        ("clip(age, 10 * größe, 30 + x1)", [20, 31, 30, NAN]),
        ("log1p(x1) + expm1(x2)", [E1, np.log(2) + E1, 0, np.log(2)]),
        ("missing(age) or x1", [0, 1, 0, 1]),
        ("(age > 30) * income", [0, 2e4, 1e4, NAN]),
        ("  x1 != x2  ", [1, 0, 0, 1]),
        ("x1 == True", [0, 1, 0, 1]),
    ],
)  # fmt: skip
def test_expressions_mean_what_they_say(text: str, expected: list[Any]) -> None:
    values = found(text)

    if isinstance(expected[0], str):
        assert values == expected
    else:
        assert values == pytest.approx(expected, nan_ok=True)


REFUSED = [
    ("weight > 3", 1, "no column 'weight'"),
    ("age + größe * foo", 15, "no column 'foo'"),
    ("`petal width` > 1", 1, "no column 'petal width'"),
    ("os.system('rm')", 1, "attributes are not supported"),
    ("age.__class__", 1, "attributes are not supported"),
    ("__import__('os')", 1, "the functions are abs"),
    ("x1 + eval('1')", 6, "the functions are abs"),
    ("kmer(sequence, 'A')('b')", 1, "the functions are abs"),
    ("x1 ** 1000", 7, "an exponent must be a number from -10 to 10"),
    ("x1 ** x2", 7, "an exponent must be a number"),
    ("9e99999 * x1", 1, "the number is too large"),
    ("9" * 400 + " * x1", 1, "the number is too large"),
    ("-" * 60 + "x1", 42, "more than 40 nested parts"),
    ("not " * 60 + "x1", 165, "more than 40 nested parts"),
    ("(" * 300 + "x1" + ")" * 300, 201, "cannot be parsed"),
    ("x1 +" * 249 + "x1", 1, "more than 40 nested parts"),
    ("x1 and " * 150 + "x1", 1, "at most 1,000 characters"),
    ("sex + 1", 1, "text is not a number"),
    ("sex and x1", 1, "text is not a condition"),
    ("age and x1", 1, "'age' holds 20, but a condition is 0 or 1"),
    ("x1 + 1 and x2", 1, "a number is not a condition"),
    ("sex > 3", 7, "a number and text cannot be compared"),
    ("sex < 'm'", 7, "text has no order"),
    ("x1 in ('a', 'b')", 8, "a number and text cannot be compared"),
    ("sex in age", 8, "'in' needs a list"),
    ("kmer(age, 'A')", 1, "must be a column of text"),
    ("kmer(sequence, 'A', 1.5)", 1, "must be a whole number"),
    ("kmer(sequence, 'A', -1)", 1, "must be in [0,"),
    ("contains(age, 'old')", 1, "must be a column of text"),
    ("contains(sex, age)", 1, "must be a word"),
    ("contains(sex, '?!')", 1, "neither a letter nor a digit"),
    ("max(x1)", 1, "the usage of max is max(x, y)"),
    ("clip(x1, 1, 0)", 1, "the lower limit 1 above the upper limit 0"),
    ("clip(x1, 0)", 1, "the usage of clip is clip(x, low, high)"),
    ("abs(x=x1)", 7, "keyword arguments are not supported"),
    ("log(*x1)", 5, "unpacking is not supported"),
    ("lambda: x1", 1, "lambda is not supported"),
    ("[x for x in x1]", 1, "loops are not supported"),
    ("x1[0]", 1, "subscripts are not supported"),
    ("x1 if x2 else 3", 1, "'if' is not supported"),
    ("(x1 := 3)", 2, "assignment is not supported"),
    ("f'{x1}'", 1, "f-strings are not supported"),
    ("x1 & x2", 6, "write 'and' instead of '&'"),
    ("x1 | x2", 6, "write 'or' instead of '|'"),
    ("~x1", 1, "write 'not' instead of '~'"),
    ("x1 is x2", 7, "write '=='"),
    ("x1 << 2", 7, "this operator is not supported"),
    ("None == x1", 1, "only numbers, strings, True and False"),
    ("2j * x1", 1, "only numbers, strings, True and False"),
    ("x1 +", 4, "cannot be parsed"),
    ("x1; x2", 3, "cannot be parsed"),
    ("x1 = 3", 4, "cannot be parsed"),
    ("x1 # a comment", 4, "comments are not supported"),
    ("sex == 'm\\x41'", 8, "backslash"),
    ("`x1", 1, "` is not closed"),
    ("a`x1`", 2, "an operator is missing"),
    ("``", 1, "a name is missing"),
    ("3 > 2", 1, "names no column"),
    ("'text'", 1, "a number, a condition or a column"),
    ("", 1, "the expression is empty"),
    ("(x1, x2)", 1, "a list is allowed only after 'in'"),
]


@pytest.mark.parametrize(("text", "place", "reason"), REFUSED)
def test_what_is_not_understood_is_refused_at_its_place(text: str, place: int, reason: str) -> None:
    with pytest.raises(ExplainError) as caught:
        found(text)

    assert reason in caught.value.message
    assert f"at position {place} of " in caught.value.message
    assert caught.value.field == "features[0]"
    unknown = "no column '" in reason
    assert caught.value.reason is (Reason.MISSING_COLUMN if unknown else Reason.INVALID_OPTION)


@pytest.mark.parametrize(
    ("text", "told"), [("1 / x1", "inf in 2 of 4"), ("log(x1 - x2)", "in 3 of 4 rows")]
)
def test_a_feature_that_is_not_finite_is_refused(text: str, told: str) -> None:
    with pytest.raises(ExplainError, match=told):
        found(text)


@given(st.text(alphabet="x12age ()+-*/<>=!'`\"\\^&|~.,:[]{}@%0#notandrif\n\t", max_size=40))
def test_any_text_is_a_feature_or_an_error_of_ours(text: str) -> None:
    try:
        told = f"{len(found(text))} rows"
    except ExplainError as error:
        told = error.message

    assert "at position" in told or "rows" in told


def test_names_are_found_before_it_is_known_what_they_stand_for() -> None:
    assert names_in("max(a, `b c`) + log(x1) > d", "") == {"a", "b c", "x1", "d"}


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("exp(age)", Exponentials((Linear({"age": 1.0}),), (1.0,), 0.0)),
        (
            "2 * exp(age + 1) - expm1(x1) / 4",
            Exponentials((Linear({"age": 1.0}, 1.0), Linear({"x1": 1.0})), (2.0, -0.25), 0.25),
        ),
        ("exp(age) + age", None),
        ("exp(age) * exp(x1)", None),
        ("exp(age * x1)", None),
        ("1 / exp(age)", None),
        ("age", None),
    ],
)
def test_sums_of_exponentials_are_told_from_other_expressions(
    text: str, form: Exponentials | None
) -> None:
    assert exponentials_of(parse(text, TABLE.kinds, "")) == form


def test_columns_are_taken_at_some_rows() -> None:
    some = TABLE.take(np.array([2, 1])).take(np.array([1]))
    expression = parse("kmer(sequence, 'GAT', 1) or age > 45", some.kinds, "")

    assert evaluate(expression, some).tolist() == [1.0]
    assert expression.columns == ("sequence", "age")


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("age", Linear({"age": 1.0})),
        ("2 * age - (x1 + 4) / 2", Linear({"age": 2.0, "x1": -0.5}, -2.0)),
        ("-(age * 3)", Linear({"age": -3.0}, -0.0)),
        ("age > 40", Threshold(Linear({"age": 1.0}, -40.0), True)),
        ("40 >= age + x1", Threshold(Linear({"age": -1.0, "x1": -1.0}, 40.0), True)),
        ("age < 40", Threshold(Linear({"age": 1.0}, -40.0), False)),
        ("age * x1", None),
        ("1 / age", None),
        ("age / 0", None),
        ("20 < age < 40", None),
        ("sex", None),
        ("not x1", None),
    ],
)
def test_sums_and_thresholds_are_told_from_other_features(
    text: str, form: Linear | Threshold | None
) -> None:
    assert form_of(parse(text, TABLE.kinds, "")) == form


def test_a_column_of_text_is_told_from_one_of_numbers() -> None:
    assert TABLE.kinds["sex"] is ValueKind.TEXT
    assert TABLE.kinds["age"] is ValueKind.NUMBER
