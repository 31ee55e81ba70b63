"""Registry of reports: the findings, title, question and limits of each method."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Explanation

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


_EXTRAPOLATES = (
    "With correlated features the model is asked about combinations that do not occur, and "
    "extrapolates there."
)
_DRAWN = "The numbers are those of the rows used: other rows give somewhat other numbers."

_REPORTS = {
    "interactions": MethodReport(
        lambda e: effect_findings.of_interactions(e.interactions),
        "Interactions",
        "Which features act together, and how strongly?",
        (
            _EXTRAPOLATES + " Shares above 1 are a sign of it.",
            "The share of a weak pair is a ratio of two small numbers: compare pairs by size.",
            "On probabilities, effects that add up as scores interact: ask for the scale MARGIN.",
            _DRAWN,
        ),
    ),
    "partial_dependence": MethodReport(
        lambda e: effect_findings.of_partial_dependence(e.partial_dependence),
        "Partial dependence",
        "How does the average prediction change with a feature, or with several together?",
        (
            _EXTRAPOLATES + " Ticks under a curve are values in the table.",
            "An average can hide that rows go up and down: look at curves of single rows.",
            "Groups are other rows, which differ in other features too.",
        ),
    ),
    "individual_conditional_expectation": MethodReport(
        lambda e: effect_findings.of_individual(e.individual_conditional_expectation),
        "Curves of single rows",
        "How does the prediction of each row change with a feature, while the rest of the row "
        "stays as it is?",
        (
            _EXTRAPOLATES,
            "Curves that are not parallel show an interaction, but not with which feature.",
            "Curves are drawn for some rows; rare ones may be missing.",
        ),
    ),
    "permutation_importance": MethodReport(
        lambda e: loss_findings.of_permutation_importance(
            e.permutation_importance, e.options.permutation_importance
        ),
        "Permutation importance",
        "How much worse do predictions get when a feature's values are shuffled?",
        (
            "Features that stand in for each other look unimportant, unless shuffled together.",
            "Shuffling makes rows that do not occur, where a model may be wrong in its own way.",
            "On rows used in training, what was learned by heart looks important.",
        ),
    ),
    "average_loss": MethodReport(
        lambda e: loss_findings.of_average_loss(e.average_loss, e.options.average_loss),
        "Average loss",
        "How far are predictions from the true values, and for whom?",
        (
            "On rows used in training the loss is too small.",
            "Groups differ in how hard they are to predict: a larger loss alone is no unfairness.",
            "The average of a small group is one of few rows.",
        ),
    ),
    "feature_vectors": MethodReport(
        lambda e: vector_findings.of_vectors(e.feature_vectors),
        "Feature vectors",
        "Which features matter, and which could stand in for each other?",
        (
            "Directions compare with which others features are combined; they are no correlations.",
            "Boosted trees use the best of several features that say the same: ask for SURROGATE.",
            "Two dimensions hold only the share of the counts that is told as explained variance.",
        ),
    ),
    "firm": MethodReport(
        lambda e: firm_findings.of_firm(e.firm),
        "Feature importance ranking measure",
        "How far does any feature move the expected score, even one that the model never saw?",
        (
            "It tells what goes along with a feature, and not what changing it would do.",
            "Bins of few rows are noisy: trust rankings only as far as intervals are apart.",
            "Each estimator is blind to something; the name beside a number says which was used.",
        ),
    ),
    "swarm": MethodReport(
        lambda e: swarm_findings.of_swarm(e.swarm, e.options.swarm),
        "Swarm",
        "How far must a feature be moved before the model breaks, and which class does it then "
        "predict?",
        (
            "A stress test: all rows of a class are moved at once, to values that may not occur.",
            "Importance has no meaning outside this test: its unit is score times weight.",
            "Multiplying moves large values further than small ones: GAUSSIAN moves all alike.",
            "A search that tries weights can miss an effect: look at how many restarts agree.",
        ),
    ),
}


def of_method(method: str) -> MethodReport:
    """Return the report of a method; for an unknown one only a title made from its name."""
    title = method.replace("_", " ").capitalize() or "Explanation"
    return _REPORTS.get(method, MethodReport(lambda _explanation: (), title))


def of_answer(answer: ExplainResponse) -> list[list[Finding]]:
    """Return the tables of each explanation, without those that an earlier one has too."""
    shown: list[Finding] = []
    tables = []
    for explanation in answer.explanations:
        new = [finding for finding in of_explanation(explanation) if finding not in shown]
        shown += new
        tables.append(new)
    return tables


def of_explanation(explanation: Explanation) -> list[Finding]:
    """Return the tables of an explanation, without those that have no rows."""
    report = of_method(explanation.WhichOneof("result") or "")
    findings = (*report.findings(explanation), *of_pairings(explanation.class_pairings))
    return [finding for finding in findings if finding.rows]
