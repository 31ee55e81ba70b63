"""Registry of reports: the findings, title, question and limits of each method."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

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


@dataclass(frozen=True, slots=True)
class MethodReport:
    """Report of one method.

    Attributes
    ----------
    findings : callable (Explanation) -> iterable of Finding
        Returns its tables, the most important first.
    title : str
    question : str
        The question that the method answers.
    limits : tuple of str
        When not to rely on it, a sentence each.
    """

    findings: Callable[[Explanation], Iterable[Finding]]
    title: str
    question: str = ""
    limits: tuple[str, ...] = ()


_FIRST = ("permutation_importance", "partial_dependence", "interactions")
"""What a reader wants first: which features matter, how, and which act together."""

_FINDINGS: dict[str, Callable[[Explanation], Iterable[Finding]]] = {
    "interactions": lambda e: effect_findings.of_interactions(e.interactions),
    "partial_dependence": lambda e: effect_findings.of_partial_dependence(e.partial_dependence),
    "individual_conditional_expectation": lambda e: effect_findings.of_individual(
        e.individual_conditional_expectation
    ),
    "permutation_importance": lambda e: loss_findings.of_permutation_importance(
        e.permutation_importance, e.options.permutation_importance
    ),
    "average_loss": lambda e: loss_findings.of_average_loss(e.average_loss, e.options.average_loss),
    "feature_vectors": lambda e: vector_findings.of_vectors(e.feature_vectors),
    "firm": lambda e: firm_findings.of_firm(e.firm),
    "swarm": lambda e: swarm_findings.of_swarm(e.swarm, e.options.swarm),
}


@cache
def _texts() -> dict[str, Any]:
    """Read title, question and limits of the methods, which the page of the server has too."""
    file = files("onnxplain_server.report").joinpath("methods.json")
    return json.loads(file.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def of_method(method: str) -> MethodReport:
    """Return the report of a method; for an unknown one only a title made from its name."""
    if method not in _FINDINGS:
        title = method.replace("_", " ").capitalize() or "Explanation"
        return MethodReport(lambda _explanation: (), title)
    texts = _texts()[method]
    limits = tuple(texts["limits"])
    return MethodReport(_FINDINGS[method], texts["title"], texts["question"], limits)


def place(method: str) -> int:
    """Return the place of a method in a report; those of one place stay as they were asked."""
    return _FIRST.index(method) if method in _FIRST else len(_FIRST)


def of_explanations(explanations: Iterable[Explanation]) -> list[list[Finding]]:
    """Return the tables of each explanation, without those that an earlier one has too."""
    shown: list[Finding] = []
    tables = []
    for explanation in explanations:
        new = [finding for finding in of_explanation(explanation) if finding not in shown]
        shown += new
        tables.append(new)
    return tables


def of_explanation(explanation: Explanation) -> list[Finding]:
    """Return the tables of an explanation, without those that have no rows."""
    report = of_method(explanation.WhichOneof("result") or "")
    findings = (*report.findings(explanation), *of_pairings(explanation.class_pairings))
    return [finding for finding in findings if finding.rows]
