"""Reader of requests: fields of `ExplainRequest` as a `Question`, absent ones as defaults."""

from __future__ import annotations

from google.protobuf.message import DecodeError, Message
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1 import model_pb2

from onnxplain_server.core.contract_limits import ExplainRequest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import NO_BLOBS, Blobs
from onnxplain_server.core.limits import within
from onnxplain_server.core.model import Scale
from onnxplain_server.explain import Engine, Question
from onnxplain_server.explain.answers.kept_replicates import with_kept_replicates
from onnxplain_server.methods.registry import Options
from onnxplain_server.wire import method_options
from onnxplain_server.wire.blobs import find
from onnxplain_server.wire.message_fields import enum
from onnxplain_server.wire.result_tables.table_check import check_result_table


def parse(content: bytes, message: Message) -> None:
    """Parse a serialized message into `message`, or raise INVALID_REQUEST."""
    try:
        message.ParseFromString(content)
    except DecodeError:
        raise ExplainError(Reason.INVALID_REQUEST, "the message cannot be decoded") from None


def model_content(message: model_pb2.Model, blobs: Blobs = NO_BLOBS) -> bytes:
    """Return the bytes of the model.

    Raises
    ------
    ExplainError
        INVALID_REQUEST without a model, INVALID_MODEL if it is empty, BLOB_NOT_FOUND.
    """
    if message.id:
        return bytes(find(blobs, "model", message.id).content)
    if message.WhichOneof("source") == "content" and not message.content:
        raise ExplainError(Reason.INVALID_MODEL, "the model is empty: 0 bytes", "model")
    if not message.content:
        raise ExplainError(
            Reason.INVALID_REQUEST,
            "no model: give the ONNX file as model.content, an uploaded one as model.id, or a "
            "remote one as model.remote",
            "model",
        )
    return message.content


def read(request: service_pb2.ExplainRequest) -> Question:
    """Read a request, except for its model and table.

    Raises
    ------
    ExplainError
        INVALID_REQUEST or INVALID_OPTION.
    """
    row_count = _optional(request, "row_count")
    scale = enum(request, "scale", "scale")
    within(request.seed, ExplainRequest.seed, "seed")
    _check_model_name(request.model_name)
    check_result_table(request)
    return Question(
        methods=_methods(request),
        feature_columns=tuple(request.feature_columns),
        input_columns=input_columns(request),
        target_column=request.target_column,
        target_columns=target_columns(request),
        weight_column=request.weight_column,
        cluster_column=request.cluster_column,
        output_indices=tuple(request.output_indices),
        outputs=tuple(request.outputs),
        scale=Scale(scale) if scale else Scale.RESPONSE,
        is_scale_asked=bool(scale),
        engine=Engine(name) if (name := enum(request, "engine", "engine")) else None,
        row_count=None if row_count is None else int(row_count),
        seed=request.seed,
        class_labels=tuple(request.class_labels),
        prediction=tuple(request.prediction),
        budget_seconds=_optional(request, "budget_seconds"),
        budget_predicted_row_count=_optional(request, "budget_predicted_row_count"),
        model_name=request.model_name,
        expected_prediction_columns=tuple(request.expected_prediction_columns),
        plots=request.plots if request.HasField("plots") else ExplainRequest.plots.default,
    )


def _methods(request: service_pb2.ExplainRequest) -> tuple[Options, ...]:
    """Read the methods, with the replicates that an answer keeps, or is compared by."""
    methods = tuple(
        method_options.read(each, f"methods[{i}]") for i, each in enumerate(request.methods)
    )
    if not (request.replicates or request.HasField("reference")):
        return methods
    return with_kept_replicates(methods)


def input_columns(
    request: service_pb2.ExplainRequest | service_pb2.DescribeTableRequest,
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Read the columns by input; raise INVALID_OPTION beside `feature_columns`."""
    if request.input_columns and request.feature_columns:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "give feature_columns or input_columns, not both",
            "input_columns",
        )
    return tuple((each.input, tuple(each.columns)) for each in request.input_columns)


def target_columns(
    request: service_pb2.ExplainRequest
    | service_pb2.DescribeTableRequest
    | service_pb2.PredictRequest,
) -> tuple[str, ...]:
    """Read several targets; raise INVALID_OPTION beside `target_column`, or for one named twice."""
    names = tuple(request.target_columns)
    if names and request.target_column:
        problem = "give target_column or target_columns, not both"
    elif len(set(names)) < len(names) or "" in names:
        problem = "target_columns must be names of columns, none twice"
    else:
        return names
    raise ExplainError(Reason.INVALID_OPTION, problem, "target_columns")


def _optional(request: service_pb2.ExplainRequest, name: str) -> float | None:
    """Read a number that may be left out."""
    if not request.HasField(name):
        return None
    value: float = getattr(request, name)
    within(value, getattr(ExplainRequest, name), name)
    return value


def _check_model_name(name: str) -> None:
    limit = ExplainRequest.model_name.max_items
    if len(name) > limit:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"model_name has {len(name):,} letters; titles take at most {limit}",
            "model_name",
        )
