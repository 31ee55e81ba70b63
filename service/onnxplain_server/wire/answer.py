"""Answers to responses: values to the message's fields."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1 import interactions_pb2, model_pb2, partial_dependence_pb2, plot_pb2, table_pb2

from onnxplain_server.arrays import Array
from onnxplain_server.explain import Answer, Explanation, Options, Result
from onnxplain_server.methods import interactions, partial_dependence
from onnxplain_server.model import Description
from onnxplain_server.plots.chart import Plot


def write(answer: Answer) -> service_pb2.ExplainResponse:
    """Write explanations, warnings and all of the receipt that the computation knows."""
    return service_pb2.ExplainResponse(
        explanations=[_explanation(explanation) for explanation in answer.explanations],
        receipt=service_pb2.Receipt(
            row_count=answer.row_count,
            predicted_row_count=answer.predicted_row_count,
            cache_hit_count=answer.cache_hit_count,
            cache_miss_count=answer.cache_miss_count,
            engine=answer.engine.value,
            engine_reason=answer.engine_reason,
        ),
        warnings=[service_pb2.Warning(code=n.code, message=n.message) for n in answer.notes],
    )


def write_description(description: Description) -> model_pb2.ModelDescription:
    """Write what a model takes and gives."""
    return model_pb2.ModelDescription(
        digest=description.digest,
        inputs=[
            model_pb2.ModelInput(name=i.name, type=i.type, width=i.width or 0)
            for i in description.inputs
        ],
        output_names=description.output_names,
        scales=[scale.value for scale in description.scales],
        margin_refusal=description.margin_refusal,
        operators=description.operators,
        producer=description.producer,
    )


def _explanation(explanation: Explanation) -> service_pb2.Explanation:
    message = service_pb2.Explanation(
        plots=[_plot(plot) for plot in explanation.plots], options=_options(explanation.options)
    )
    _fill(message, explanation.result)
    return message


def _fill(message: service_pb2.Explanation, result: Result) -> None:
    match result:
        case interactions.Result():
            message.interactions.CopyFrom(_interactions(result))
        case partial_dependence.Result():
            message.partial_dependence.CopyFrom(_partial_dependence(result))


def _interactions(result: interactions.Result) -> interactions_pb2.InteractionsResult:
    return interactions_pb2.InteractionsResult(
        output_names=result.output_names,
        mean_squares=result.mean_squares,
        total=_statistic(result.total),
        overall=_statistics(result.overall),
        pairwise=_statistics(result.pairwise),
        threeway=_statistics(result.threeway),
        importance=_statistics(result.importance),
    )


def _statistics(
    statistics: Sequence[interactions.Statistic],
) -> list[interactions_pb2.InteractionStatistic]:
    return [_statistic(statistic) for statistic in statistics]


def _statistic(statistic: interactions.Statistic) -> interactions_pb2.InteractionStatistic:
    return interactions_pb2.InteractionStatistic(
        features=statistic.features,
        numerators=statistic.numerators,
        denominators=statistic.denominators,
        values=statistic.values,
    )


def _partial_dependence(
    result: partial_dependence.Result,
) -> partial_dependence_pb2.PartialDependenceResult:
    return partial_dependence_pb2.PartialDependenceResult(
        output_names=result.output_names,
        curves=[
            partial_dependence_pb2.PartialDependenceCurve(
                features=curve.features,
                group=curve.group,
                grid=_columns(curve.features, curve.grid),
                values=curve.values.ravel(),
                weight=curve.weight,
            )
            for curve in result.curves
        ],
    )


def _columns(names: Sequence[str], arrays: Sequence[Array]) -> list[table_pb2.Column]:
    return [
        table_pb2.Column(name=name, strings=values)
        if values.dtype == object
        else table_pb2.Column(name=name, numbers=values.astype(np.float64))
        for name, values in zip(names, arrays, strict=True)
    ]


def _options(options: Options) -> service_pb2.MethodOptions:
    match options:
        case interactions.Options():
            return service_pb2.MethodOptions(
                interactions=interactions_pb2.InteractionsOptions(
                    features=options.features,
                    pairwise_feature_count=options.pairwise_feature_count,
                    threeway_feature_count=options.threeway_feature_count,
                    quantile_bin_count=options.quantile_bin_count,
                    absolute_threshold=options.absolute_threshold,
                )
            )
        case partial_dependence.Options():
            return service_pb2.MethodOptions(partial_dependence=_curve_options(options))


def _curve_options(
    options: partial_dependence.Options,
) -> partial_dependence_pb2.PartialDependenceOptions:
    return partial_dependence_pb2.PartialDependenceOptions(
        features=[partial_dependence_pb2.FeatureGroup(names=names) for names in options.features],
        grid_size=options.grid_size,
        strategy=options.strategy.value,
        trim_lower=options.trim_lower,
        trim_upper=options.trim_upper,
        grids=[
            partial_dependence_pb2.Grid(columns=_columns(tuple(grid), tuple(grid.values())))
            if grid is not None
            else partial_dependence_pb2.Grid()
            for grid in options.grids
        ],
        group_column=options.group_column,
        group_count=options.group_count,
        include_missing=options.include_missing,
    )


def _plot(plot: Plot) -> plot_pb2.Plot:
    return plot_pb2.Plot(
        name=plot.name,
        title=plot.title,
        description=plot.description,
        vega_lite=json.dumps(plot.vega_lite, ensure_ascii=False, separators=(",", ":")),
    )
