"""Writer of responses: explanations, warnings and receipt as messages."""

from __future__ import annotations

from collections.abc import Callable

from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1 import model_pb2
from onnxplain.v1 import prediction_comparison_pb2 as comparison_pb2

from onnxplain_server.core.model import Description
from onnxplain_server.explain import Answer, Explanation, PartialExplanation, RowsUsed
from onnxplain_server.explain.expected_predictions.comparison import PredictionComparison
from onnxplain_server.methods.registry import Result, method_of
from onnxplain_server.wire import message_fields, method_options
from onnxplain_server.wire.answers.model_summary import model_summary
from onnxplain_server.wire.answers.plot_messages import write_plot
from onnxplain_server.wire.answers.warning_messages import write_warnings
from onnxplain_server.wire.comparisons.replicates import write_replicates
from onnxplain_server.wire.methods import RESULTS, WITHOUT_ROWS
from onnxplain_server.wire.result_tables.table_check import names_table


def write(
    answer: Answer, *, rows: bool = True, replicates: bool = False
) -> service_pb2.ExplainResponse:
    """Write explanations, warnings, and the fields of the receipt that the computation sets.

    Without `rows`, results have none of the rows that are written elsewhere.
    """
    return service_pb2.ExplainResponse(
        explanations=[
            _explanation(explanation, rows=rows, replicates=replicates)
            for explanation in answer.explanations
        ],
        receipt=service_pb2.Receipt(
            row_count=answer.row_count,
            predicted_row_count=answer.predicted_row_count,
            cache_hit_count=answer.cache_hit_count,
            cache_miss_count=answer.cache_miss_count,
            engine=answer.engine.value if answer.engine else None,
            engine_reason=answer.engine_reason,
            overview_methods=[
                service_pb2.OverviewMethod(name=name, row_count=row_count)
                for name, row_count in answer.overview_methods
            ],
            prediction_comparison=write_comparison(answer.prediction_comparison),
        ),
        warnings=write_warnings(answer.notes),
    )


def write_comparison(
    compared: PredictionComparison | None,
) -> comparison_pb2.PredictionComparison | None:
    """Write a comparison with expected predictions; None without one."""
    if compared is None:
        return None
    return message_fields.write(
        comparison_pb2.PredictionComparison, compared, message_fields.NO_EXCEPTIONS
    )


def write_partial(
    partial: PartialExplanation, *, rows: bool = True
) -> service_pb2.PartialExplanation:
    """Write part of an answer that is not finished; see `write`."""
    return service_pb2.PartialExplanation(
        index=partial.index,
        explanation=_explanation(partial.explanation, rows=rows),
        is_final=partial.is_final,
        warnings=write_warnings(partial.notes),
    )


def write_description(description: Description) -> model_pb2.ModelDescription:
    """Write the inputs, outputs and operators of a model."""
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
        producer_version=description.producer_version,
        tree_count=description.tree_count,
        tree_depth=description.tree_depth,
        summary=model_summary(description),
        has_class_scores=description.has_class_scores,
        feature_names=description.feature_names,
        default_output_indices=description.default_outputs,
    )


def size_of(request: service_pb2.ExplainRequest) -> Callable[[Explanation], int]:
    """Return what tells the size of an explanation in the response to a request."""
    rows, replicates = not names_table(request.result_uri), request.replicates
    return lambda explanation: _explanation(
        explanation, rows=rows, replicates=replicates
    ).ByteSize()


def _explanation(
    explanation: Explanation, *, rows: bool, replicates: bool = False
) -> service_pb2.Explanation:
    message = service_pb2.Explanation(
        plots=[write_plot(plot) for plot in explanation.plots],
        options=method_options.write(explanation.options),
        class_pairings=[
            service_pb2.ClassPairing(label=pairing.label, output_name=pairing.output_name)
            for pairing in explanation.pairings
        ],
    )
    _fill(message, explanation.result, rows=rows)
    conclusions = getattr(explanation.result, "conclusions", ())
    message.conclusions.extend(
        message_fields.write(service_pb2.Conclusion, each, message_fields.NO_EXCEPTIONS)
        for each in conclusions
    )
    if replicates:
        write_replicates(message, explanation.result)
    if explanation.rows:
        message.rows.CopyFrom(_rows(explanation.rows))
    return message


def _rows(rows: RowsUsed) -> service_pb2.RowsUsed:
    return service_pb2.RowsUsed(
        drawn_row_count=rows.drawn,
        used_row_count=rows.used,
        weight=rows.weight,
        seed=rows.seed,
        cluster_count=rows.clusters,
    )


def _fill(message: service_pb2.Explanation, result: Result, *, rows: bool = True) -> None:
    """Write a result into the field of its method; without its rows, if they go elsewhere."""
    field = getattr(message, method_of(result).name)
    exceptions = RESULTS if rows else WITHOUT_ROWS
    field.CopyFrom(message_fields.write(type(field), result, exceptions))
