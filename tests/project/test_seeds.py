"""docs/studies/seeds.md: its rows, kept results and verdicts."""

from pathlib import Path

import pytest

from bench.seeds import inventory, page, pictures
from bench.seeds.kept import Result
from bench.seeds.rows import METHODS, Row, read_rows
from bench.seeds.verdicts import Kind, judge

ROWS = [
    pytest.param(row, id=f"{method} {row.id}") for method in METHODS for row in read_rows(method)
]


def test_page_is_what_rows_and_results_give() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.written(), "run `make seeds-page`"


@pytest.mark.parametrize("method", METHODS)
def test_each_part_of_a_seed_has_a_row(method: str) -> None:
    assert inventory.missing(inventory.kept()[method]["ids"], read_rows(method)) == []


@pytest.mark.parametrize("method", METHODS)
def test_no_two_rows_of_a_seed_have_the_same_id(method: str) -> None:
    ids = [row.id for row in read_rows(method)]

    assert sorted(set(ids)) == sorted(ids)


@pytest.mark.parametrize("row", ROWS)
def test_what_a_row_names_is_there(root: Path, row: Row) -> None:
    assert [one for one in row.pictures if not (root / "docs/images" / one).is_file()] == []
    assert [one for one in row.code if not (root / one.partition("#")[0]).is_file()] == []
    for test in row.tests:
        path, _, name = test.partition("::")
        assert f"def {name}(" in (root / path).read_text(encoding="utf-8"), test


def verdict(printed: str, ours: float, *, error: float = 0.0, cause: str = "") -> str:
    row = Row("Table 1", "", seed={"": printed}, result="kept", cause=cause)
    errors = {"": error} if error else {}
    return judge(row, {"kept": Result(values={"": ours}, errors=errors)}).sentence


@pytest.mark.parametrize(
    ("printed", "ours", "words"),
    [
        ("0.0515", 0.05154, "as printed"),
        ("0.0515", 0.05156, "within 0.12 %"),
        ("9.331699e-05", 9.3316994e-05, "as printed"),
        ("10%", 0.0999, "as printed"),
        ("8.5%", 0.0855, "within 0.59 %"),
        ("0", 0.0, "as printed"),
        ("-2.0", -2.02, "as printed"),
    ],
)
def test_verdict_rests_on_the_printed_digits(printed: str, ours: float, words: str) -> None:
    assert verdict(printed, ours) == words


def test_verdict_counts_standard_errors_where_they_are_known() -> None:
    assert verdict("1.7315", 1.74, error=0.024) == "within 0.35 standard errors"


def test_the_verdict_of_several_numbers_is_that_of_the_worst() -> None:
    row = Row("Table 1", "", seed={"small": "0.010", "large": "1.00"}, result="kept")
    values = {"small": 0.012, "large": 1.05}

    by_errors = judge(row, {"kept": Result(values, errors={"small": 0.002, "large": 0.025})})

    assert by_errors.words == "within 2 standard errors"


def test_a_difference_needs_a_cause() -> None:
    assert verdict("0.817", 0.767, cause="c") == "differs by up to 6.1 %, because c"
    with pytest.raises(ValueError, match=r"differs without a cause:  0\.817, ours 0\.767"):
        verdict("0.817", 0.767)


def test_a_cause_needs_a_difference() -> None:
    with pytest.raises(ValueError, match="does not differ"):
        verdict("0.817", 0.817, cause="c")


def test_a_false_claim_needs_a_cause() -> None:
    result = {"kept": Result(claims={"leads": False})}
    row = Row("Figure 1", "", claims={"leads": "x leads"}, result="kept")

    with pytest.raises(ValueError, match="differs without a cause: x leads"):
        judge(row, result)


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (Row("Equation 1", "", tests=("a::b",)), Kind.PRINTED),
        (Row("Equation 1", "", cause="c"), Kind.DIFFERS),
        (Row("Equation 1", "", search="s"), Kind.MISSING),
    ],
)
def test_verdict_without_numbers(row: Row, kind: Kind) -> None:
    assert judge(row, {}).kind is kind


@pytest.mark.parametrize(
    "row",
    [
        Row("Equation 1", ""),
        Row("Equation 1", "", seed={"x": "1"}),
        Row("Equation 1", "", seed={"x": "1"}, result="kept"),
        Row("Equation 1", "", result="kept"),
        Row("Equation 1", "", search="s", cause="c"),
    ],
)
def test_a_row_that_says_too_little_or_too_much_is_refused(row: Row) -> None:
    with pytest.raises(ValueError, match="Equation 1"):
        judge(row, {"kept": Result()})


PAPER = """
As Figure 12 and Table A1 show, see Algorithm 1. Figure 2a has two parts.
y = 1 (1)
published (2021)
z = x (3)
z = 2 (2)
"""
README = """README.md
$$ x = 1 $$ and
$$
y $$
s # H^2
# [1] 0.10
plot(s) |>
  plot()
About 6% of it
"""


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (
            PAPER,
            ["Algorithm 1", "Figure 2", "Figure 12", "Table A1", "Equation 1", "Equation 2"],
        ),
        (README, ["Equation 1", "Equation 2", "Plot 1", "Plot 2", "Print 1", "Print 2"]),
    ],
)
def test_inventory_counts_what_a_text_holds(text: str, ids: list[str]) -> None:
    assert inventory.count(text) == ids


def test_inventory_tells_what_has_no_row() -> None:
    assert inventory.missing(["Figure 1", "Table 1"], [Row("Table 1", "")]) == ["Figure 1"]


# A picture in the manner of ggplot2: labels of an axis from 0 to 2 at 100 to 300 points, ticks of a
# vertical one, two bars and a curve.
PICTURE = """
<text x='100.00' y='90.00' text-anchor='middle' style='fill: #4D4D4D;'>0</text>
<text x='300.00' y='90.00' text-anchor='middle' style='fill: #4D4D4D;'>2</text>
<text x='95.00' y='13.15' text-anchor='end' style='fill: #4D4D4D;'>{upper}</text>
<text x='95.00' y='53.15' text-anchor='end' style='fill: #4D4D4D;'>{lower}</text>
<polyline points='96.00,10.00 98.00,10.00 ' style='stroke: #333333;' />
<polyline points='96.00,50.00 98.00,50.00 ' style='stroke: #333333;' />
{drawn}
"""
BARS = """
<rect x='100.00' y='5.00' width='150.00' height='10.00' style='linejoin: miter; fill: #FCA50A;' />
<rect x='100.00' y='45.00' width='25.00' height='10.00' style='linejoin: miter; fill: #FCA50A;' />
"""
CURVE = "<polyline points='100.00,50.00 200.00,30.00 300.00,10.00 ' style='stroke: #420A68;' />"


def test_bars_of_a_picture_are_read_in_the_unit_of_its_axis() -> None:
    found = pictures.bars(PICTURE.format(upper="age", lower="month", drawn=BARS), 96, 310)

    assert found == {"age": [pytest.approx(1.5)], "month": [pytest.approx(0.25)]}


def test_curves_of_a_picture_are_read_in_the_units_of_its_axes() -> None:
    (found,) = pictures.curves(PICTURE.format(upper="8", lower="4", drawn=CURVE), 0, 310)

    assert found == {"x": pytest.approx([0, 1, 2]), "y": pytest.approx([4, 6, 8])}


@pytest.mark.parametrize(
    ("printed", "ours", "cause", "shown"),
    [
        ("0.0515", 0.05154, "", "0.0515"),
        ("0.0515", 0.05312345, "c", "0.05312"),
        ("8.5%", 0.08927, "c", "8.93%"),
        ("2", 0.1955, "c", "0.196"),
    ],
)
def test_our_number_is_shown_with_one_digit_more_where_it_differs(
    printed: str, ours: float, cause: str, shown: str
) -> None:
    row = Row("Table 1", "", seed={"": printed}, result="kept", cause=cause)

    (one,) = judge(row, {"kept": Result(values={"": ours})}).differences

    assert page.told(one) == shown
