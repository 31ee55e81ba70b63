"""Results as tables of texts, in the order in which people look."""

from __future__ import annotations

from onnxplain.v1.explanation_service_pb2 import Explanation

from onnxplain_server.report import (
    effect_findings,
    firm_findings,
    loss_findings,
    swarm_findings,
    vector_findings,
)
from onnxplain_server.report.class_findings import of_pairings
from onnxplain_server.report.finding import Finding


def of_explanation(explanation: Explanation) -> list[Finding]:
    """Write the result of one method; tables without rows are left out."""
    options = explanation.options
    match explanation.WhichOneof("result"):
        case "interactions":
            found = list(effect_findings.of_interactions(explanation.interactions))
        case "partial_dependence":
            found = list(effect_findings.of_partial_dependence(explanation.partial_dependence))
        case "individual_conditional_expectation":
            result = explanation.individual_conditional_expectation
            found = list(effect_findings.of_individual(result))
        case "permutation_importance":
            found = list(
                loss_findings.of_permutation_importance(
                    explanation.permutation_importance, options.permutation_importance
                )
            )
        case "average_loss":
            found = list(
                loss_findings.of_average_loss(explanation.average_loss, options.average_loss)
            )
        case "feature_vectors":
            found = list(vector_findings.of_vectors(explanation.feature_vectors))
        case "firm":
            found = list(firm_findings.of_firm(explanation.firm))
        case "swarm":
            found = list(swarm_findings.of_swarm(explanation.swarm, options.swarm))
        case _:
            found = []
    found += of_pairings(explanation.class_pairings)
    return [finding for finding in found if finding.rows]
