"""Results of methods to messages."""

from __future__ import annotations

from collections.abc import Sequence

from onnxplain.v1 import (
    average_loss_pb2,
    individual_conditional_expectation_pb2,
    interactions_pb2,
    partial_dependence_pb2,
    permutation_importance_pb2,
)
from onnxplain.v1 import explanation_service_pb2 as service_pb2

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
from onnxplain_server.methods.registry import Result
from onnxplain_server.wire import feature_vectors as vectors
from onnxplain_server.wire import firm as firm_wire
from onnxplain_server.wire import sequences as sequences_wire
from onnxplain_server.wire import swarm as swarm_wire
from onnxplain_server.wire.table import to_columns


def fill(message: service_pb2.Explanation, result: Result) -> None:
    """Write a result into the field of its method."""
    match result:
        case interactions.Result():
            message.interactions.CopyFrom(_interactions(result))
        case partial_dependence.Result():
            message.partial_dependence.CopyFrom(_partial_dependence(result))
        case individual_conditional_expectation.Result():
            message.individual_conditional_expectation.CopyFrom(_individual(result))
        case permutation_importance.Result():
            message.permutation_importance.CopyFrom(_importance(result))
        case average_loss.Result():
            message.average_loss.CopyFrom(_loss(result))
        case feature_vectors.Result():
            message.feature_vectors.CopyFrom(vectors.write_result(result))
        case firm.Result():
            message.firm.CopyFrom(firm_wire.write_result(result))
        case sequences.Result():
            message.firm.CopyFrom(sequences_wire.write_result(result))
        case swarm.Result():
            message.swarm.CopyFrom(swarm_wire.write_result(result))


def _interactions(result: interactions.Result) -> interactions_pb2.InteractionsResult:
    return interactions_pb2.InteractionsResult(
        output_names=result.output_names,
        mean_squares=result.mean_squares,
        total=_statistic(result.total),
        overall=_statistics(result.overall),
        pairwise=_statistics(result.pairwise),
        threeway=_statistics(result.threeway),
        importance=_statistics(result.importance),
        confidence_level=result.resampling.confidence_level
        if result.resampling.repeat_count
        else 0,
    )


def _statistics(
    statistics: Sequence[interactions.Statistic],
) -> list[interactions_pb2.InteractionStatistic]:
    return [_statistic(statistic) for statistic in statistics]


def _statistic(statistic: interactions.Statistic) -> interactions_pb2.InteractionStatistic:
    message = interactions_pb2.InteractionStatistic(
        features=statistic.features,
        numerators=statistic.numerators,
        denominators=statistic.denominators,
        values=statistic.values,
    )
    if statistic.numerator_errors is not None:
        message.numerator_errors.extend(statistic.numerator_errors)
    if statistic.spread is not None:
        message.standard_errors.extend(statistic.spread.standard_errors)
        message.lower.extend(statistic.spread.lower)
        message.upper.extend(statistic.spread.upper)
        message.biases.extend(statistic.spread.biases)
    if statistic.p_values is not None:
        message.p_values.extend(statistic.p_values)
    return message


def _partial_dependence(
    result: partial_dependence.Result,
) -> partial_dependence_pb2.PartialDependenceResult:
    return partial_dependence_pb2.PartialDependenceResult(
        output_names=result.output_names,
        curves=[
            partial_dependence_pb2.PartialDependenceCurve(
                features=curve.features,
                group=curve.group,
                grid=to_columns(curve.features, curve.grid),
                values=curve.values.ravel(),
                weight=curve.weight,
            )
            for curve in result.curves
        ],
    )


def _individual(
    result: individual_conditional_expectation.Result,
) -> individual_conditional_expectation_pb2.IndividualConditionalExpectationResult:
    groups = [" / ".join(labels) for labels in zip(*result.groups, strict=True)]
    return individual_conditional_expectation_pb2.IndividualConditionalExpectationResult(
        output_names=result.output_names,
        curves=[
            individual_conditional_expectation_pb2.IndividualConditionalExpectationCurves(
                feature=curves.features[0] if len(curves.features) == 1 else "",
                features=curves.features,
                grid=to_columns(curves.features, curves.grid),
                row_indices=result.row_indices,
                groups=groups or [""] * len(result.row_indices),
                values=curves.values.ravel(),
            )
            for curves in result.curves
        ],
    )


def _importance(
    result: permutation_importance.Result,
) -> permutation_importance_pb2.PermutationImportanceResult:
    return permutation_importance_pb2.PermutationImportanceResult(
        output_names=result.output_names,
        baseline_losses=result.baseline_losses,
        importances=[
            permutation_importance_pb2.PermutationImportance(
                features=importance.features,
                values=importance.values,
                standard_errors=importance.standard_errors,
            )
            for importance in result.importances
        ],
    )


def _loss(result: average_loss.Result) -> average_loss_pb2.AverageLossResult:
    return average_loss_pb2.AverageLossResult(
        output_names=result.output_names,
        losses=[
            average_loss_pb2.AverageLoss(group=loss.group, values=loss.values, weight=loss.weight)
            for loss in result.losses
        ],
    )
