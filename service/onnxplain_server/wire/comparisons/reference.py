"""References of requests: methods, seed and rows that a request takes from a kept answer."""

from __future__ import annotations

from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1 import partial_dependence_pb2

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.wire.comparisons.comparison import check_has_replicates, read_options
from onnxplain_server.wire.comparisons.pairing import targets_of

_SINGLE = ("seed", "scale", "cluster_column")
"""Fields in which an answer and its reference agree."""


def fill_from_reference(request: service_pb2.ExplainRequest) -> None:
    """Set what a request leaves to its reference; nothing without one.

    Raises
    ------
    ExplainError
        INVALID_OPTION for a reference without replicates, and fields that contradict it.
    """
    if not request.HasField("reference"):
        return
    answer = request.reference.answer
    read_options(request.reference)
    check_has_replicates(answer)
    if request.methods:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "the methods are those of the reference; leave methods or reference out",
            "methods",
        )
    request.methods.extend(
        _method(answer, explanation)
        for explanation in answer.explanations
        if explanation.HasField("replicates")
    )
    for field in _SINGLE:
        _take(request, answer.receipt, field)
    _take_targets(request, answer.receipt.request)
    if not request.class_labels:
        request.class_labels.extend(answer.receipt.request.class_labels)
    if not request.weight_column:
        request.weight_column = answer.receipt.request.weight_column
    if not request.prediction:
        request.prediction.extend(answer.receipt.prediction)
    if not request.HasField("row_count") and answer.receipt.request.HasField("row_count"):
        request.row_count = answer.receipt.request.row_count


def _take(request: service_pb2.ExplainRequest, receipt: service_pb2.Receipt, field: str) -> None:
    """Take a field from the reference; refuse another value."""
    kept, asked = getattr(receipt, field), getattr(request, field)
    is_asked = request.HasField(field) if field == "seed" else bool(asked)
    if is_asked and asked != kept:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{field} is not that of the reference; leave it out",
            field,
        )
    setattr(request, field, kept)


def _take_targets(request: service_pb2.ExplainRequest, kept: service_pb2.ExplainRequest) -> None:
    """Take the columns with the true values; refuse others."""
    asked, known = targets_of(request), targets_of(kept)
    if asked and known and asked != known:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the reference is about {known}, not {asked}; leave the target out",
            "target_column" if request.target_column else "target_columns",
        )
    if not asked:
        request.target_column = kept.target_column
        request.target_columns.extend(kept.target_columns)


def _method(
    answer: service_pb2.ExplainResponse, explanation: service_pb2.Explanation
) -> service_pb2.MethodOptions:
    """Return the options of an explanation, at the points of its curves."""
    method = service_pb2.MethodOptions()
    method.CopyFrom(explanation.options)
    name = str(method.WhichOneof("method"))
    options = getattr(method, name)
    fields = options.DESCRIPTOR.fields_by_name
    if "grids" in fields:
        del options.grids[:]
        options.grids.extend(_grids(explanation, len(options.features)))
    elif "features" in fields and _are_all(answer, list(options.features)):
        options.ClearField("features")  # also those that the other model has beside
    return method


def _grids(
    explanation: service_pb2.Explanation, entry_count: int
) -> list[partial_dependence_pb2.Grid]:
    """Return the points of each entry: those of its first group, which all groups share."""
    curves = explanation.replicates.statistics
    group_count = max(1, len(curves) // max(1, entry_count))
    firsts = curves[::group_count]
    return [partial_dependence_pb2.Grid(columns=curve.grid) for curve in firsts]


def _are_all(answer: service_pb2.ExplainResponse, features: list[object]) -> bool:
    """Return whether these are all features of the model, as far as it names them."""
    model = answer.model
    names = list(model.feature_names) or [each.name for each in model.inputs if each.width == 1]
    return bool(names) and sorted(map(str, features)) == sorted(names)
