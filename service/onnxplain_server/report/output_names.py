"""Names of outputs in reports: classes and outputs that the model only numbers are told as such."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnxplain.v1.average_loss_pb2 import AverageLossOptions
from onnxplain.v1.explanation_comparison_pb2 import ExplanationComparison
from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain.v1.model_pb2 import ModelDescription
from onnxplain.v1.permutation_importance_pb2 import PermutationImportanceOptions

from onnxplain_server.methods.classes import ClassPairing
from onnxplain_server.methods.losses import Loss
from onnxplain_server.plots.units.naming import Naming, output_labels
from onnxplain_server.plots.units.prediction_units import Units, are_probabilities


def with_output_names(answer: ExplainResponse, target: str = "") -> ExplainResponse:
    """Copy an answer, with the names of outputs and classes as plots have them.

    Parameters
    ----------
    target : str
        Column that the request names, which methods without a loss do not tell; may be empty.
    """
    naming = _naming(answer, target)
    if not naming.outputs and not naming.is_margin:
        return answer
    named = ExplainResponse()
    named.CopyFrom(answer)
    named.model.output_names[:] = map(naming.output, answer.model.output_names)
    for explanation in named.explanations:
        result: Any = getattr(explanation, explanation.WhichOneof("result") or "", None)
        if hasattr(result, "output_names"):
            result.output_names[:] = naming.named(result.output_names)
        if hasattr(result, "class_names"):
            result.class_names[:] = map(naming.output, result.class_names)
        for effect in getattr(result, "effects", ()):  # of classes
            effect.class_name = naming.output(effect.class_name)
    return named


def with_names_of(
    comparison: ExplanationComparison, answer: ExplainResponse
) -> ExplanationComparison:
    """Copy a comparison, with the names of the outputs of its answer as plots have them."""
    name_of = output_naming(answer)
    named = ExplanationComparison()
    named.CopyFrom(comparison)
    told_of = named.differences, named.curves, named.rankings, named.unmatched, named.findings
    for told in told_of:
        for each in told:
            each.output_name = name_of(each.output_name)
    return named


def output_naming(answer: ExplainResponse, target: str = "") -> Callable[[str], str]:
    """Return what gives an output its name in plots of changes; `target` as for outputs."""
    return _naming(answer, target or answer.receipt.request.target_column).output


def _naming(answer: ExplainResponse, target: str) -> Naming:
    is_margin = answer.receipt.scale == ModelDescription.Scale.MARGIN
    if answer.receipt.prediction:
        return Naming(is_margin=is_margin)
    pairings = dict.fromkeys(
        ClassPairing(pairing.label, pairing.output_name)
        for explanation in answer.explanations
        for pairing in explanation.class_pairings
    )
    model = answer.model
    labels = output_labels(
        model.output_names,
        are_classes=model.has_class_scores,
        pairings=list(pairings),
        target=target_of(answer) or target,
    )
    return Naming(outputs=labels, is_margin=is_margin)


def units_of_answer(answer: ExplainResponse) -> Units:
    """Return the units of the predictions that are explained."""
    model, receipt = answer.model, answer.receipt
    options = [explanation.options for explanation in answer.explanations]
    methods: list[Any] = [getattr(own, own.WhichOneof("method") or "", None) for own in options]
    known = are_probabilities(
        are_classes=model.has_class_scores,
        is_response=receipt.scale != ModelDescription.MARGIN and not receipt.prediction,
        has_link=ModelDescription.MARGIN in model.scales,
        losses=[
            Loss(AverageLossOptions.Loss.Name(own.loss))
            for own in methods
            if isinstance(own, _COMPARING) and own.loss
        ],
    )
    return Units(known)


_COMPARING = (AverageLossOptions, PermutationImportanceOptions)


def target_of(answer: ExplainResponse) -> str:
    """Return the column that predictions were compared with; empty for none, and for several."""
    columns = [
        list(getattr(getattr(options, method), "target_columns", ()))
        for options in (explanation.options for explanation in answer.explanations)
        if (method := options.WhichOneof("method"))
    ]
    columns = [own for own in columns if own]
    is_one = bool(columns) and all(len(own) == 1 and own == columns[0] for own in columns)
    return columns[0][0] if is_one else ""
