"""Reader and writer of method options: absent fields are read as defaults, written resolved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1 import firm_pb2, partial_dependence_pb2

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.registry import (
    METHODS,
    SEQUENCES,
    Method,
    Options,
    method_of,
    part_of,
)
from onnxplain_server.methods.resampling import Resampling, Scheme
from onnxplain_server.wire import message_fields
from onnxplain_server.wire.message_fields import ReadExceptions, Values, WriteExceptions, enum
from onnxplain_server.wire.table import from_column, to_columns

if TYPE_CHECKING:
    from onnxplain_server.methods import feature_vectors, swarm


def read(method: service_pb2.MethodOptions, path: str) -> Options:
    """Read the options of one method; `path` is their path in errors.

    Raises
    ------
    ExplainError
        INVALID_REQUEST or INVALID_OPTION.
    """
    name = method.WhichOneof("method")
    if name is None:
        raise ExplainError(Reason.INVALID_REQUEST, f"{path} names no method", path)
    message, path = getattr(method, name), f"{path}.{name}"
    if part := part_of(name, message):
        return _read_part(part, message, path)
    options: Options = message_fields.read(message, METHODS[name].options, path, _READ)
    return options


def write(options: Options) -> service_pb2.MethodOptions:
    """Write options after defaults."""
    name = method_of(options).name
    method = service_pb2.MethodOptions()
    kind = type(getattr(method, name))
    getattr(method, name).CopyFrom(message_fields.write(kind, options, _WRITE))
    return method


def _read_part(method: Method, message: Any, path: str) -> Options:
    row_fields = sorted({field.name for field, _ in message.ListFields()} - {method.part})
    if row_fields:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{row_fields[0]} is for features of rows and cannot stand beside {method.part}",
            f"{path}.{row_fields[0]}",
        )
    options: Options = message_fields.read(
        getattr(message, method.part), method.options, f"{path}.{method.part}"
    )
    return options


def _read_resampling(message: Any, path: str) -> Values:
    scheme = enum(message, "resampling", f"{path}.resampling")
    resampling = message_fields.read(message, Resampling, path)
    return {"resampling": replace(resampling, scheme=Scheme(scheme)) if scheme else resampling}


def _read_loss(message: Any, path: str) -> Values:
    """Refuse a loss beside an expression; read all else by the names of the fields."""
    if message.loss and message.loss_expression:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "loss and loss_expression are two losses; leave one of them out",
            f"{path}.loss_expression",
        )
    return {}


def _write_loss(options: Any) -> Values:
    """Leave out the loss if an expression takes its place."""
    return {"loss": None} if options.comparison.loss_expression else {}


def _read_grids(message: Any, _path: str) -> Values:
    grids = (grid.columns for grid in message.grids)
    return {"grids": tuple({c.name: from_column(c) for c in g} if g else None for g in grids)}


def _write_grids(options: Any) -> Values:
    grids = (grid or {} for grid in options.grids)
    columns = (to_columns(tuple(grid), tuple(grid.values())) for grid in grids)
    return {"grids": [partial_dependence_pb2.Grid(columns=c) for c in columns]}


def _write_firm(options: Options) -> Values:
    if method_of(options) is not SEQUENCES:
        return {"sequences": None}
    rows_only = dict.fromkeys(firm_pb2.FirmOptions.DESCRIPTOR.fields_by_name)
    return {**rows_only, "sequences": options}


def _write_swarm(options: swarm.Options) -> Values:
    """Leave out the options of particles if the search was exact."""
    from onnxplain_server.methods.swarm import Search, SearchSettings

    unused = options.search is Search.EXACT
    return dict.fromkeys(SearchSettings.__dataclass_fields__) if unused else {}


def _write_feature_vectors(options: feature_vectors.Options) -> Values:
    """Leave out the options of growing a forest if the source was the model."""
    from onnxplain_server.methods.feature_vectors import Growth, PathSource

    unused = options.source is PathSource.MODEL
    return dict.fromkeys(Growth.__dataclass_fields__) if unused else {}


_READ: ReadExceptions = {
    "AverageLossOptions": _read_loss,
    "PermutationImportanceOptions": _read_loss,
    "SwarmOptions": _read_loss,
    "InteractionsOptions": _read_resampling,
    "PartialDependenceOptions": _read_grids,
    "IndividualConditionalExpectationOptions": _read_grids,
}

_WRITE: WriteExceptions = {
    "AverageLossOptions": _write_loss,
    "PermutationImportanceOptions": _write_loss,
    "InteractionsOptions": lambda options: {"resampling": options.resampling.scheme},
    "PartialDependenceOptions": _write_grids,
    "IndividualConditionalExpectationOptions": _write_grids,
    "FirmOptions": _write_firm,
    "SwarmOptions": _write_swarm,
    "FeatureVectorsOptions": _write_feature_vectors,
}
