"""Requests to questions: the message's fields to values, absent ones to their defaults."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError, Message
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1 import interactions_pb2, model_pb2, partial_dependence_pb2

from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.explain import Engine, Options, Question
from onnxplain_server.methods import interactions, partial_dependence
from onnxplain_server.methods.options import within
from onnxplain_server.model import Scale
from onnxplain_server.wire.table import from_column


def parse(content: bytes, message: Message) -> None:
    """Fill a message from its serialised form, or raise INVALID_REQUEST."""
    try:
        message.ParseFromString(content)
    except DecodeError:
        raise ExplainError(Reason.INVALID_REQUEST, "the message cannot be decoded") from None


def model_content(message: model_pb2.Model) -> bytes:
    """Return the bytes of the model, or raise INVALID_REQUEST where none is given."""
    if not message.content:
        raise ExplainError(
            Reason.INVALID_REQUEST, "no model: give the ONNX file as model.content", "model"
        )
    return message.content


def read(request: service_pb2.ExplainRequest) -> Question:
    """Read all of a request but the model and the table.

    Raises
    ------
    ExplainError
        INVALID_REQUEST or INVALID_OPTION.
    """
    if not request.methods:
        raise ExplainError(
            Reason.INVALID_REQUEST, "no methods: name at least one, like interactions", "methods"
        )
    row_count = _optional(request, "row_count")
    if row_count is not None:
        within(row_count, 2, 2**31, "row_count")
    within(request.seed, 0, 2**31, "seed")
    return Question(
        methods=tuple(_options(m, f"methods[{i}]") for i, m in enumerate(request.methods)),
        feature_columns=tuple(request.feature_columns),
        target_column=request.target_column,
        weight_column=request.weight_column,
        output_indices=tuple(request.output_indices),
        scale=Scale(_enum(request, "scale") or "RESPONSE"),
        engine=Engine(name) if (name := _enum(request, "engine")) else None,
        row_count=row_count,
        seed=request.seed,
        plots=request.plots if request.HasField("plots") else True,
    )


def _options(method: service_pb2.MethodOptions, path: str) -> Options:
    match method.WhichOneof("method"):
        case "interactions":
            return _interactions(method.interactions)
        case "partial_dependence":
            return _partial_dependence(method.partial_dependence, f"{path}.partial_dependence")
        case _:
            raise ExplainError(Reason.INVALID_REQUEST, f"{path} names no method", path)


def _interactions(message: interactions_pb2.InteractionsOptions) -> interactions.Options:
    given = _given(message, "pairwise_feature_count", "threeway_feature_count")
    given |= _given(message, "quantile_bin_count", "absolute_threshold")
    return interactions.Options(tuple(message.features), **given)


def _partial_dependence(
    message: partial_dependence_pb2.PartialDependenceOptions, path: str
) -> partial_dependence.Options:
    given = _given(message, "grid_size", "trim_lower", "trim_upper", "group_count")
    strategy = _enum(message, "strategy", f"{path}.strategy")
    return partial_dependence.Options(
        features=tuple(tuple(group.names) for group in message.features),
        grids=tuple(
            {c.name: from_column(c) for c in grid.columns} if grid.columns else None
            for grid in message.grids
        ),
        strategy=partial_dependence.Strategy(strategy or "UNIFORM"),
        group_column=message.group_column,
        include_missing=message.include_missing,
        **given,
    )


def _given(message: Message, *names: str) -> dict[str, Any]:
    """Return the optional fields that are set."""
    return {name: getattr(message, name) for name in names if message.HasField(name)}


def _optional(message: Message, name: str) -> Any:
    return getattr(message, name) if message.HasField(name) else None


def _enum(message: Message, name: str, path: str = "") -> str:
    """Return the name of an enum's value; empty where it is unspecified."""
    number = getattr(message, name)
    enum = message.DESCRIPTOR.fields_by_name[name].enum_type
    values = enum.values_by_number if enum else {}
    if number not in values:
        raise ExplainError(
            Reason.INVALID_OPTION, f"{name} has no value number {number}", path or name
        )
    return "" if number == 0 else str(values[number].name)
