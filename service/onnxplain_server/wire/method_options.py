"""Options of methods: messages to values, absent fields to their defaults; and back."""

from __future__ import annotations

from typing import Any

from onnxplain.v1 import (
    average_loss_pb2,
    individual_conditional_expectation_pb2,
    interactions_pb2,
    partial_dependence_pb2,
    permutation_importance_pb2,
)
from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods import (
    average_loss,
    feature_vectors,
    firm,
    individual_conditional_expectation,
    interactions,
    partial_dependence,
    permutation_importance,
    sequences,
    swarm,
)
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.partial_dependence import Strategy
from onnxplain_server.methods.registry import Options
from onnxplain_server.methods.resampling import Resampling, Scheme
from onnxplain_server.methods.target import Comparison
from onnxplain_server.wire import feature_vectors as vectors
from onnxplain_server.wire import firm as firm_wire
from onnxplain_server.wire import sequences as sequences_wire
from onnxplain_server.wire import swarm as swarm_wire
from onnxplain_server.wire.message_fields import enum, given
from onnxplain_server.wire.table import from_column, to_columns

_GRID = ("grid_size", "trim_lower", "trim_upper", "group_count")


def read(method: service_pb2.MethodOptions, path: str) -> Options:
    """Read the options of one method; `path` names them in errors.

    Raises
    ------
    ExplainError
        INVALID_REQUEST or INVALID_OPTION.
    """
    name = method.WhichOneof("method")
    if name is None:
        raise ExplainError(Reason.INVALID_REQUEST, f"{path} names no method", path)
    options: Options = _READERS[name](getattr(method, name), f"{path}.{name}")
    return options


def _interactions(message: interactions_pb2.InteractionsOptions, path: str) -> interactions.Options:
    counts = ("pairwise_feature_count", "threeway_feature_count", "quantile_bin_count")
    numbers = given(message, *counts, "knot_count", "absolute_threshold", "permutation_count")
    resampling = Resampling(
        scheme=Scheme(enum(message, "resampling", f"{path}.resampling") or "BOOTSTRAP"),
        **given(message, "repeat_count", "confidence_level"),
    )
    return interactions.Options(tuple(message.features), resampling=resampling, **numbers)


def _groups(message: Any) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(group.names) for group in message.features)


def _grids(message: Any, path: str) -> dict[str, Any]:
    """Read what methods share that evaluate at grids."""
    return {
        "grids": tuple(
            {c.name: from_column(c) for c in grid.columns} if grid.columns else None
            for grid in message.grids
        ),
        "strategy": Strategy(enum(message, "strategy", f"{path}.strategy") or "UNIFORM"),
        "include_missing": message.include_missing,
        **given(message, *_GRID),
    }


def _partial_dependence(
    message: partial_dependence_pb2.PartialDependenceOptions, path: str
) -> partial_dependence.Options:
    return partial_dependence.Options(
        features=_groups(message), group_column=message.group_column, **_grids(message, path)
    )


def _individual(
    message: individual_conditional_expectation_pb2.IndividualConditionalExpectationOptions,
    path: str,
) -> individual_conditional_expectation.Options:
    return individual_conditional_expectation.Options(
        features=tuple(message.features),
        joint_features=tuple(tuple(group.names) for group in message.joint_features),
        group_columns=tuple(message.group_columns),
        centered=message.centered,
        **given(message, "curve_count"),
        **_grids(message, path),
    )


def _comparison(message: Any, path: str) -> Comparison:
    return Comparison(
        loss=Loss(enum(message, "loss", f"{path}.loss") or "SQUARED_ERROR"),
        target_columns=tuple(message.target_columns),
        sum_outputs=message.sum_outputs,
        **given(message, "one_hot_target"),
    )


def _importance(
    message: permutation_importance_pb2.PermutationImportanceOptions, path: str
) -> permutation_importance.Options:
    return permutation_importance.Options(
        features=_groups(message),
        comparison=_comparison(message, path),
        normalize=message.normalize,
        **given(message, "repeat_count"),
    )


def _loss(message: average_loss_pb2.AverageLossOptions, path: str) -> average_loss.Options:
    return average_loss.Options(
        comparison=_comparison(message, path),
        group_column=message.group_column,
        **given(message, "group_count"),
    )


_READERS: dict[str, Any] = {
    "interactions": _interactions,
    "partial_dependence": _partial_dependence,
    "individual_conditional_expectation": _individual,
    "permutation_importance": _importance,
    "average_loss": _loss,
    "feature_vectors": vectors.read_options,
    "firm": firm_wire.read_options,
    "swarm": swarm_wire.read_options,
}


def write(options: Options) -> service_pb2.MethodOptions:
    """Write options after defaults."""
    message = service_pb2.MethodOptions()
    match options:
        case interactions.Options():
            _copy(message.interactions, options)
            _write_resampling(message.interactions, options.resampling)
        case partial_dependence.Options():
            _copy(message.partial_dependence, options)
            _write_groups(message.partial_dependence, options.features)
            _write_grids(message.partial_dependence, options)
        case individual_conditional_expectation.Options():
            _copy(message.individual_conditional_expectation, options)
            message.individual_conditional_expectation.joint_features.extend(
                partial_dependence_pb2.FeatureGroup(names=names) for names in options.joint_features
            )
            _write_grids(message.individual_conditional_expectation, options)
        case permutation_importance.Options():
            _copy(message.permutation_importance, options)
            _copy(message.permutation_importance, options.comparison)
            _write_groups(message.permutation_importance, options.features)
        case average_loss.Options():
            _copy(message.average_loss, options)
            _copy(message.average_loss, options.comparison)
        case feature_vectors.Options():
            message.feature_vectors.CopyFrom(vectors.write_options(options))
        case firm.Options():
            message.firm.CopyFrom(firm_wire.write_options(options))
        case sequences.Options():
            message.firm.CopyFrom(sequences_wire.write_options(options))
        case swarm.Options():
            message.swarm.CopyFrom(swarm_wire.write_options(options))
    return message


_WRITTEN_APART = {"grids", "comparison", "resampling"}


def _copy(message: Any, options: Any) -> None:
    """Copy fields of the same name: numbers, texts, lists of texts and enums."""
    message.SetInParent()
    for name in options.__dataclass_fields__:
        value = getattr(options, name)
        if name in _WRITTEN_APART or value is None or _is_nested(value):
            continue
        if isinstance(value, tuple):
            getattr(message, name).extend(value)
        elif isinstance(value, Strategy | Loss):
            number = message.DESCRIPTOR.fields_by_name[name].enum_type.values_by_name[value.value]
            setattr(message, name, number.number)
        else:
            setattr(message, name, value)


def _write_resampling(message: Any, resampling: Resampling) -> None:
    message.repeat_count = resampling.repeat_count
    message.confidence_level = resampling.confidence_level
    message.resampling = interactions_pb2.InteractionsOptions.Resampling.Value(
        resampling.scheme.value
    )


def _is_nested(value: object) -> bool:
    return isinstance(value, tuple) and any(isinstance(item, tuple) for item in value)


def _write_groups(message: Any, features: tuple[tuple[str, ...], ...]) -> None:
    message.features.extend(partial_dependence_pb2.FeatureGroup(names=names) for names in features)


def _write_grids(
    message: Any,
    options: partial_dependence.Options | individual_conditional_expectation.Options,
) -> None:
    for grid in options.grids:
        columns = to_columns(tuple(grid), tuple(grid.values())) if grid is not None else []
        message.grids.append(partial_dependence_pb2.Grid(columns=columns))
