"""List of methods and their options on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from onnxplain.suggestions import did_you_mean
from onnxplain.v1.explanation_service_pb2 import MethodOptions
from onnxplain_server.cli.method_options import methods
from typer.testing import Result

Run = Callable[..., Result]
METHODS: dict[str, Any] = {
    field.name: field.message_type for field in MethodOptions.DESCRIPTOR.fields
}


def test_all_methods_are_listed(run: Run) -> None:
    lines = run("options").stdout.splitlines()

    assert [line for line in lines if not line.startswith(" ")] == list(METHODS)
    assert "    Asks which features act together, beyond what each does alone." in lines


@pytest.mark.parametrize("method", METHODS)
def test_every_option_of_a_method_is_listed(run: Run, method: str) -> None:
    lines = run("options", method).stdout.splitlines()

    for field in METHODS[method].fields:
        assert any(line.startswith(f"  {field.name} (") for line in lines)


def test_an_option_is_listed_with_type_limits_default_and_meaning(run: Run) -> None:
    text = run("options", "feature_vectors").stdout

    assert (
        "  window (integer; in [2, 64]; default: 3)\n"
        "      Number of consecutive splits on a path that are near each other.\n"
    ) in text
    assert "  counting (PER_WINDOW|PER_PATH; default: PER_WINDOW)\n" in text
    assert "  knockoffs.component_count (integer; in [1, 20];" in text


def test_an_unknown_method_is_a_usage_error(run: Run) -> None:
    result = run("options", "nonsense")

    assert result.exit_code == 2
    assert "no method is named 'nonsense'; there are interactions" in result.stderr


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("pdp", "partial_dependence"),
        ("PDP", "partial_dependence"),
        ("ice", "individual_conditional_expectation"),
        ("hstats", "interactions"),
        ("permutation", "permutation_importance"),
        ("interacton", "interactions"),
        ("partial-dependence", "partial_dependence"),
    ],
)
def test_a_method_by_another_name_is_told_its_own(name: str, meant: str) -> None:
    assert did_you_mean(name, METHODS) == f" (did you mean {meant}?)"


def test_a_name_like_no_other_gets_no_suggestion() -> None:
    assert did_you_mean("nonsense", METHODS) == did_you_mean("", METHODS) == ""


def test_the_suggestion_stands_beside_the_methods_that_there_are(run: Run) -> None:
    result = run("options", "pdp")

    assert "no method is named 'pdp' (did you mean partial_dependence?)" in result.stderr


def test_options_are_those_of_the_contract() -> None:
    assert {name: method.message for name, method in methods().items()} == {
        name: message.name for name, message in METHODS.items()
    }
