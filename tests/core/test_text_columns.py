"""Columns that inputs of text take, by names alone."""

from __future__ import annotations

import pytest
from onnxplain_server.core.binding.text_columns import text_columns
from onnxplain_server.core.model import Input

PRESENT = ("code", "z", "kind", "y")
ONE_EACH = (Input("code", "string", 1), Input("z", "float", 1))
WORDS = Input("words", "string", 2)
NUMBERS = Input("numbers", "float", 2)


@pytest.mark.parametrize(
    ("inputs", "requested", "by_input", "expected"),
    [
        pytest.param((Input("x", "float", 3),), (), (), (), id="no text"),
        pytest.param(ONE_EACH, (), (), ("code",), id="an input for each column"),
        pytest.param((Input("code", "string", 1),), (), (), ("code",), id="one column by name"),
        pytest.param((Input("x", "string", 3),), (), (), ("code", "z", "kind"), id="a matrix"),
        pytest.param((WORDS,), ("kind", "code"), (), ("kind", "code"), id="named columns"),
        pytest.param(
            (Input("x", "string", 2, ("z", "kind")),), (), (), ("z", "kind"), id="names in it"
        ),
        pytest.param(
            (Input("x", "string", 2, ("z", "other")),), (), (), (), id="names that are not there"
        ),
        pytest.param((WORDS, NUMBERS), (), (("words", ("kind", "z")), ("numbers", ("y", "code"))),
            ("kind", "z"), id="a mapping"),
        pytest.param((NUMBERS, WORDS), ("y", "z", "kind", "code"), (), ("kind", "code"),
            id="columns one input after the other"),
        pytest.param((WORDS, Input("z", "float", 1)), (), (), ("code", "kind"),
            id="what is left of numbers by name"),
        pytest.param((WORDS, Input("numbers", "float", 1)), (), (), (), id="either may take it"),
    ],
)  # fmt: skip
def test_columns_of_text_by_names(inputs, requested, by_input, expected) -> None:
    assert text_columns(inputs, PRESENT, requested, ("y", ""), by_input) == expected
