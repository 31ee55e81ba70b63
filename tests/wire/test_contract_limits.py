"""Limits and defaults are the contract's: in its fields, in the server's table, in its options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import ParseDict
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain_server.cli.method_options import methods
from onnxplain_server.core import contract_limits
from onnxplain_server.core.limits import Limits
from onnxplain_server.explain import row_counts
from onnxplain_server.wire import method_options

NUMBERS = {FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_DOUBLE}

# Values of tables and weights of strings: any finite number.
ANY_NUMBER = {"onnxplain.v1.Column.numbers", "onnxplain.v1.FirmKmerWeights.values"}

LIMITS_IN_WORDS = re.compile(r"[Ii]n [\[(]-?\d\S*, -?\d|[Dd]efault(:| -?\d)")

# The least that makes a message of each method, with its parts.
ASKED: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("interactions", {}, {"InteractionsOptions": ""}),
    ("partial_dependence", {}, {"PartialDependenceOptions": ""}),
    ("individual_conditional_expectation", {}, {"IndividualConditionalExpectationOptions": ""}),
    ("permutation_importance", {}, {"PermutationImportanceOptions": ""}),
    ("average_loss", {}, {"AverageLossOptions": ""}),
    ("attributions", {}, {"AttributionsOptions": ""}),
    ("accumulated_local_effects", {}, {"AccumulatedLocalEffectsOptions": ""}),
    (
        "feature_vectors",
        {"knockoffs": {}},
        {"FeatureVectorsOptions": "", "KnockoffOptions": "knockoffs"},
    ),
    ("firm", {"pairs": [{}]}, {"FirmOptions": "", "FirmPairs": "pairs"}),
    (
        "firm",
        {"sequences": {"background": {}, "weights": {}}},
        {"FirmSequences": "", "FirmBackground": "background", "FirmKmerWeights": "weights"},
    ),
    ("swarm", {}, {"SwarmOptions": ""}),
]


def reachable(kind: Any, seen: dict[str, Any]) -> dict[str, Any]:
    """Give a message, and those that it consists of, by full name; a reference is an answer."""
    if kind.full_name not in seen:
        seen[kind.full_name] = kind
        for field in kind.fields:
            if field.message_type not in {None, service_pb2.ExplainResponse.DESCRIPTOR}:
                reachable(field.message_type, seen)
    return seen


REQUESTED = reachable(service_pb2.ExplainRequest.DESCRIPTOR, {})
TAKEN = reachable(service_pb2.ReadExplanationRequest.DESCRIPTOR, dict(REQUESTED))
TAKEN = reachable(service_pb2.StartExplanationRequest.DESCRIPTOR, TAKEN)
TAKEN = reachable(service_pb2.DescribeTableRequest.DESCRIPTOR, TAKEN)
TAKEN = reachable(service_pb2.PredictRequest.DESCRIPTOR, TAKEN)
TAKEN = reachable(service_pb2.CheckModelRequest.DESCRIPTOR, TAKEN)
TAKEN = reachable(service_pb2.CompareExplanationsRequest.DESCRIPTOR, TAKEN)


def table() -> dict[str, dict[str, Limits[Any]]]:
    found = {
        name: {field: limits for field, limits in vars(kind).items() if isinstance(limits, Limits)}
        for name, kind in vars(contract_limits).items()
        if isinstance(kind, type)
    }
    return {name: limits for name, limits in found.items() if limits}


def test_every_number_of_a_request_has_limits() -> None:
    numbers = {
        field.full_name
        for kind in REQUESTED.values()
        for field in kind.fields
        if field.type in NUMBERS
    }
    limited = {f"onnxplain.v1.{kind}.{name}" for kind, limits in table().items() for name in limits}

    assert numbers - limited == ANY_NUMBER


def test_limits_are_those_of_fields() -> None:
    for kind, limits in table().items():
        assert limits.keys() <= set(TAKEN[f"onnxplain.v1.{kind}"].fields_by_name)


def test_every_default_is_in_its_own_limits() -> None:
    for kind, all_limits in table().items():
        for name, limits in all_limits.items():
            if isinstance(limits.default, int | float):
                assert limits.allow(limits.default), (kind, name)


@pytest.mark.parametrize(("method", "given", "parts"), ASKED)
def test_an_option_that_is_left_out_has_the_default_of_the_contract(
    method: str, given: dict[str, Any], parts: dict[str, str]
) -> None:
    message = ParseDict({method: given}, service_pb2.MethodOptions())

    options = method_options.read(message, "methods[0]")

    for kind, part in parts.items():
        read = dict(values(getattr(options, part) if part else options))
        for name, limits in table()[kind].items():
            if limits.default is not None:
                assert read[name] == limits.default, (kind, name)


def test_each_method_is_asked_about() -> None:
    methods_of = service_pb2.MethodOptions.DESCRIPTOR.oneofs_by_name["method"].fields

    assert {method for method, _, _ in ASKED} == {field.name for field in methods_of}


def test_defaults_of_rows_are_those_of_the_contract() -> None:
    quadratic = (
        contract_limits.InteractionsOptions,
        contract_limits.PartialDependenceOptions,
        contract_limits.IndividualConditionalExpectationOptions,
    )

    assert {options.default_rows for options in quadratic} == {row_counts.QUADRATIC_ROWS}
    assert contract_limits.PermutationImportanceOptions.default_rows == row_counts.SHUFFLED_ROWS
    assert contract_limits.FeatureVectorsOptions.default_rows == row_counts.FOREST_ROWS
    assert contract_limits.SwarmOptions.default_rows == row_counts.SEARCHED_ROWS


def test_comments_leave_limits_and_constant_defaults_to_the_data() -> None:
    for method in methods().values():
        for option in method.options:
            assert not LIMITS_IN_WORDS.search(option.text), option.name


def values(options: Any) -> Iterator[tuple[str, Any]]:
    """Give the options by the names of the contract."""
    if isinstance(options, tuple):
        (options,) = options
    for field in fields(options):
        value = getattr(options, field.name)
        if is_dataclass(value):
            yield from values(value)
            continue
        # Resampling calls the way of resampling its scheme.
        name = "resampling" if field.name == "scheme" else field.name
        yield name, value
