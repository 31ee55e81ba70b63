"""Names and numbers as people read them."""

import json
import re

import numpy as np
import pytest
import vl_convert
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.core.number_texts import between_zero_and_one, share_text
from onnxplain_server.plots.elements.labels import (
    clean,
    distinguish,
    enumerate_words,
    identifiers,
    shorten,
    shorten_apart,
    spell_interval,
    with_value,
)
from onnxplain_server.plots.elements.number_formats import (
    data_number,
    is_flat,
    scale_format,
    share_format,
    spell,
    spell_among,
    spell_beside,
    spell_on_scale,
    spell_whole,
)
from onnxplain_server.plots.marks.bars import labels_of
from onnxplain_server.report import finding, swarm_findings


@pytest.mark.parametrize(
    ("values", "written"),
    [
        pytest.param([0.0, 1.0], ["0", "1"], id="probabilities"),
        pytest.param([25.431, 25.97], ["25.431", "25.97"], id="a narrow span far from 0"),
        pytest.param([2008, 2011], ["2008", "2011"], id="years have no separator"),
        pytest.param([1191, 11], ["1,191", "11"], id="other numbers have one from 1,000 on"),
        pytest.param([413287.4, 95000.2], ["413,287", "95,000"], id="prices"),
        pytest.param([-2e-7, 3e-7], ["−2e−7", "3e−7"], id="tiny"),
        pytest.param([2.5e-5, 0.0], ["0.000025", "0"], id="small"),
        pytest.param([1.70126e10, 0.0], ["17,010,000,000", "0"], id="large"),
        pytest.param([1e15, 3e15], ["1e+15", "3e+15"], id="huge"),
        pytest.param([5.0, 5.0], ["5", "5"], id="constant"),
        pytest.param([-0.0, 10.0], ["0", "10"], id="no negative zero"),
    ],
)
def test_numbers_on_a_scale_show_a_hundredth_of_their_span(
    values: list[float], written: list[str]
) -> None:
    number_format = scale_format(np.array(values))

    assert [spell(value, number_format) for value in values] == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0640123, "0.064"),
        (12345.6, "12,346"),
        (16281.0, "16,281"),
        (0.99999, "0.99999"),
        (0.99999999, "1"),
        (0.0, "0"),
        (0.000812, "0.000812"),
        (-1.5, "−1.5"),
        (1.70126e10, "17,000,000,000"),
    ],
)
def test_numbers_by_themselves_have_three_digits_or_whole_units_and_no_exponent(
    value: float, written: str
) -> None:
    assert spell(value, share_format(np.array([value, 1.0]))) == written


@pytest.mark.parametrize(
    "value", [0.0640123, 12345.6, 0.99999, 0.0, -1.5, 0.005, 7.25e8, 1.70126e10, 2.345e-5]
)
def test_words_write_numbers_as_the_picture_does(value: float) -> None:
    """Vega's own d3 formats agree."""
    values = np.array([value, value / 2, 1.0])
    for number_format in (share_format(values), scale_format(values)):
        mark = {"type": "text"}
        text = {"field": "value", "type": "quantitative", "format": number_format}
        spec = {"data": {"values": [{"value": value}]}, "mark": mark, "encoding": {"text": text}}
        svg = vl_convert.vegalite_to_svg(json.dumps(spec), vl_version="6.4")

        assert f">{spell(value, number_format)}</text>" in svg


def test_sentences_round_to_a_hundredth_of_the_span() -> None:
    prices = np.array([127_889.0, 233_512.0])

    assert [spell_on_scale(price, prices) for price in prices] == ["128,000", "234,000"]


@given(
    st.floats(1e-9, 1 - 1e-9) | st.floats(1e-9, 1e-3).map(lambda gap: 1 - gap),
    st.sampled_from([1, -1]),
    st.lists(st.floats(-2, 2), max_size=3),
)
def test_no_text_of_a_number_between_0_and_1_says_that_it_is_one_of_them(
    size: float, sign: int, others: list[float]
) -> None:
    value = sign * size
    values = np.array([value, *others])
    texts = [
        spell_among(value, values),
        spell_beside(value, values),
        spell_on_scale(value, values),
        finding.number(value, values),
        swarm_findings.score_text(value),
        between_zero_and_one(value, f"{value:.2f}"),
    ]
    numbers = [text.replace("−", "-") for text in texts if not text.startswith("almost")]

    assert not {0.0, 1.0} & {abs(float(number)) for number in numbers}
    assert share_text(size) not in {"0%", "100%"}
    assert share_text(size, 1) not in {"0.0%", "100.0%"}


def test_an_average_of_ones_is_1_whatever_its_sum_rounds_to() -> None:
    assert between_zero_and_one(1 - 2**-53, "1") == "1"


def test_what_others_dwarf_is_almost_nothing_but_zero_is_zero() -> None:
    assert spell_beside(1e-9, np.array([1e-9, 0.1])) == "almost 0"
    assert spell_beside(0.0, np.array([0.0, 0.1])) == "0"
    assert spell_beside(np.inf, np.array([np.inf, 0.1])) == "infinite"
    assert spell_beside(np.nan, np.array([np.nan, 0.1])) == "no number"


def test_rounding_noise_of_float32_is_flat_and_a_step_is_not() -> None:
    assert is_flat(np.array([3.1, 3.1000002, np.nan]))
    assert not is_flat(np.array([3.1, 3.11]))
    assert not is_flat(np.array([np.nan]))


def test_data_have_no_more_digits_than_can_be_seen() -> None:
    assert data_number(0.1 + 0.2) == 0.3


def test_unprintable_characters_show_their_code_and_blank_names_are_quoted() -> None:
    assert clean("a\nb\x00") == "a\\u000ab\\u0000"
    assert clean("🙂") == "\\u1f642"
    assert clean("größe (m²)") == "größe (m²)"
    assert clean("") == "“”"


@pytest.mark.parametrize("word", ["if", "constructor", "toString", "__proto__", "while", "datum"])
def test_words_that_mean_something_to_programs_can_be_drawn(word: str) -> None:
    x = {"field": "x", "type": "nominal", "sort": [clean("b"), clean(word)]}
    rows = [{"x": clean(word)}]
    spec = {"data": {"values": rows}, "mark": "bar", "encoding": {"x": x}, "title": clean(word)}

    assert word in vl_convert.vegalite_to_svg(json.dumps(spec), vl_version="6.4")


def test_a_comparison_in_a_name_is_told_from_a_value() -> None:
    assert with_value("rooms", "7") == "rooms = 7"
    assert with_value("age > 30", "1") == "“age > 30” = 1"


def test_names_that_look_alike_are_numbered() -> None:
    assert distinguish(["y", "y", "z", "y"]) == ("y", "y (2)", "z", "y (3)")


def test_long_names_are_cut() -> None:
    assert shorten("short", 10) == "short"
    assert shorten("colour is red", 10) == "colour…red"
    assert shorten("colour", 10) == "colour"


@pytest.mark.parametrize("place", [0, 5, 30, 45, 60])
def test_long_names_stay_apart_wherever_they_differ(place: int) -> None:
    names = tuple(f"{'x' * place}{letter}{'x' * (60 - place)}" for letter in "abc")

    short = shorten_apart(names, 42)

    assert len(set(short)) == 3
    assert all(letter in text for letter, text in zip("abc", short, strict=True))
    assert max(map(len, short)) <= 42


def test_a_joined_name_is_told_from_names_that_are_joined() -> None:
    alone, joined = labels_of([("a × b", "c"), ("a", "b × c")])

    assert (alone, joined) == ("“a × b” × c", "a × “b × c”")


def test_words_are_joined_as_in_a_sentence() -> None:
    assert enumerate_words(["a"]) == "a"
    assert enumerate_words(["a", "b", "c"]) == "a, b and c"


def test_identifiers_keep_letters_and_digits_and_stay_distinct() -> None:
    stems = ["curve-größe", "curve-a.b", "curve-a b", "curve-a-b-2", "价格", "?"]

    assert identifiers(stems) == (
        "curve-groe",
        "curve-a-b",
        "curve-a-b-2",
        "curve-a-b-2-2",
        "plot",
        "plot-2",
    )


@given(st.lists(st.text(max_size=80), max_size=6))
def test_any_names_become_distinct_identifiers(stems: list[str]) -> None:
    names = identifiers(stems)

    assert len(set(names)) == len(stems)
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]*", name) for name in names)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (16_281, "16,281"),
        (20_481.5, "20,481.5"),
        (123_456.789, "123,457"),
        (7.5, "7.5"),
        (0.0, "0"),
        (-2e6, "−2,000,000"),
        (1e300, "1e+300"),
        (np.inf, "infinite"),
    ],
)
def test_weights_are_written_in_full(value: float, text: str) -> None:
    assert spell_whole(value) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("[1.18e+03,1.7e+04]", "[1180,17000]"),
        ("(-2e+06,3.95e+09]", "(-2000000,3950000000]"),
        ("(1.7e-05,2e+10]", "(1.7e-05,2e+10]"),
        ("[0,1.5]", "[0,1.5]"),
        ("1e+04 or more", "1e+04 or more"),
        ("", ""),
    ],
)
def test_ends_of_intervals_have_no_exponents_that_need_none(name: str, text: str) -> None:
    assert spell_interval(name) == text


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12))
def test_intervals_keep_their_ends(low: float, high: float) -> None:
    """Labels have three digits, as those of groups."""
    name = f"({low:.3g},{high:.3g}]"

    ends = spell_interval(name).strip("(]").split(",")

    assert [float(end) for end in ends] == [float(f"{low:.3g}"), float(f"{high:.3g}")]
