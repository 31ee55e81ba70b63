"""Arguments and options of the client against the contract's descriptors: neither lacks a name."""

import inspect
from collections.abc import Iterator
from typing import Any, Literal, Unpack, get_args, get_origin, get_type_hints
from unittest.mock import Mock

import onnxplain
import pytest
from onnxplain import AsyncClient, Client
from onnxplain.requests import RequestOptions, to_request
from onnxplain.v1.explanation_service_pb2 import (
    ClassPairing,
    ExplainRequest,
    Explanation,
    MethodOptions,
    Progress,
    Receipt,
    RowsUsed,
)
from onnxplain.v1.interactions_pb2 import InteractionStatistic
from onnxplain.v1.model_pb2 import ModelDescription, ModelInput
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceCurve
from onnxplain.v1.plot_pb2 import Plot

OPTIONS: Any = MethodOptions.DESCRIPTOR
EXPLANATION: Any = Explanation.DESCRIPTOR
REQUEST: Any = ExplainRequest.DESCRIPTOR
METHODS: dict[str, type[Any]] = {
    name: getattr(onnxplain, method.message_type.name.removesuffix("Options"))
    for name, method in OPTIONS.fields_by_name.items()
}
# Classes of options that do not stand in MethodOptions itself.
NESTED: dict[str, type[Any]] = {
    "KnockoffOptions": onnxplain.Knockoffs,
    "FirmPairs": onnxplain.FirmPairs,
    "FirmSequences": onnxplain.FirmSequences,
}
# Fields of one message that FirmSequences takes as arguments of its own.
FLAT = {"background": ["order", "initial", "transitions", "pseudo_count"], "weights": ["weights"]}
POSITIONAL = {"model", "table", "methods"}


def literals(annotation: Any) -> set[str]:
    """Collect the strings of all Literals in an annotation."""
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    return {value for argument in get_args(annotation) for value in literals(argument)}


def values(kind: Any) -> set[str]:
    return {value.name for value in kind.values if value.number}


def enumerations() -> Iterator[tuple[str, Any, Any]]:
    """Give each enumeration of a request: where it stands, its annotation, its descriptor."""
    classes = [(METHODS[f.name], f.message_type) for f in OPTIONS.fields]
    classes += [(cls, message(name)) for name, cls in NESTED.items()]
    for cls, kind in classes:
        for field in kind.fields:
            if field.enum_type:
                hint = get_type_hints(cls)[field.name]
                yield f"{cls.__name__}.{field.name}", hint, field.enum_type
    for field in REQUEST.fields:
        if field.enum_type:
            for call in (Client.explain, to_request, RequestOptions):
                hint = get_type_hints(call)[field.name]
                yield f"{call.__qualname__}.{field.name}", hint, field.enum_type


def message(name: str) -> Any:
    files = OPTIONS.file.dependencies
    return next(kind for file in files if (kind := file.message_types_by_name.get(name)))


def accepts_absence(annotation: Any, field: Any) -> bool:
    """Tell whether None can be given where the contract tells absence from a value."""
    return type(None) in get_args(annotation) or not field.has_presence


ENUMERATIONS = list(enumerations())


@pytest.mark.parametrize(
    ("annotation", "kind"), [e[1:] for e in ENUMERATIONS], ids=[e[0] for e in ENUMERATIONS]
)
def test_each_literal_has_the_values_of_its_enumeration(annotation: Any, kind: Any) -> None:
    assert literals(annotation) == values(kind)


def test_each_field_of_a_request_is_an_argument_of_the_same_name() -> None:
    fields = {field.name for field in REQUEST.fields}

    assert set(inspect.signature(to_request).parameters) == fields
    assert set(inspect.signature(Client.explain).parameters) == fields | {
        "self",
        "timeout",
        "progress",
    }
    assert set(get_type_hints(RequestOptions)) == fields - POSITIONAL


@pytest.mark.parametrize(
    "call", [Client.explain_stream, AsyncClient.explain, AsyncClient.explain_stream]
)
def test_other_calls_take_the_same_arguments(call: Any) -> None:
    assert get_type_hints(call)["request"] == Unpack[RequestOptions]


def test_mypy_accepts_every_argument_on_streams() -> None:
    """`make types` checks these calls; nothing is sent, since no generator is begun."""
    request: RequestOptions = {"engine": "TREES", "allow_inconsistent_model": True}
    AsyncClient(Mock()).explain_stream(None, None, **request)
    Client(Mock()).explain_stream(
        None,
        None,
        feature_columns=["age"],
        target_column="y",
        weight_column="w",
        output_indices=[0],
        scale="MARGIN",
        engine="TREES",
        row_count=10,
        seed=1,
        plots=False,
        allow_inconsistent_model=True,
        class_labels=["no", 1],
    )


@pytest.mark.parametrize("name", METHODS)
def test_each_option_of_a_method_is_an_argument_of_the_same_name(name: str) -> None:
    options = OPTIONS.fields_by_name[name].message_type
    hints = get_type_hints(METHODS[name])

    assert list(hints) == [field.name for field in options.fields]
    for field in options.fields:
        assert accepts_absence(hints[field.name], field), field.name


@pytest.mark.parametrize("name", NESTED)
def test_each_option_of_a_nested_message_too(name: str) -> None:
    names = [f.name for f in message(name).fields]
    arguments = [argument for name in names for argument in FLAT.get(name, [name])]

    assert [h for h in get_type_hints(NESTED[name]) if h != "constant"] == arguments


# Fields of results that are read from `message` only.
IN_MESSAGE = {
    "FeatureVectorsResult": {
        "source",
        "explained_energy_ratio",
        "singular_gap",
        "sentence_count",
        "tree_count",
        "nearest",
        "norm_standard_errors",
        "angle_standard_errors_degrees",
        "rank_correlation",
        "forest",
        "knockoff_check",
    },
    "FirmResult": {"contrasts", "confidence_level", "sequences"},
}
RESULTS: dict[str, Any] = {
    field.message_type.name: (field.message_type, getattr(onnxplain, field.message_type.name))
    for field in EXPLANATION.oneofs_by_name["result"].fields
} | {
    kind.__name__: (message.DESCRIPTOR, kind)
    for kind, message in (
        (onnxplain.ClassPairing, ClassPairing),
        (onnxplain.InteractionStatistic, InteractionStatistic),
        (onnxplain.ModelDescription, ModelDescription),
        (onnxplain.ModelInput, ModelInput),
        (onnxplain.PartialDependenceCurve, PartialDependenceCurve),
        (onnxplain.Plot, Plot),
        (onnxplain.Progress, Progress),
        (onnxplain.Receipt, Receipt),
        (onnxplain.RowsUsed, RowsUsed),
    )
}


@pytest.mark.parametrize("name", RESULTS)
def test_each_field_of_a_result_is_an_attribute_or_told_to_be_in_the_message(name: str) -> None:
    message, kind = RESULTS[name]
    missing = {field.name for field in message.fields} - set(kind.__dataclass_fields__)

    assert missing == IN_MESSAGE.get(name, set())


def test_an_enumeration_value_of_a_newer_server_is_told_by_name() -> None:
    with pytest.raises(ValueError, match="Scale has no value 7: update onnxplain"):
        onnxplain.ModelDescription.from_message(ModelDescription(scales=[7]))  # type: ignore[list-item] # unknown
