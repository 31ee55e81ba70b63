"""Registry of reports: what a method's findings, sentences, title and limits are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, NamedTuple

from onnxplain.v1.explanation_service_pb2 import Explanation

from onnxplain_server.plots.units.prediction_units import TARGET_UNITS, Units
from onnxplain_server.report import (
    accumulated_findings,
    attribution_findings,
    effect_findings,
    firm_findings,
    individual_findings,
    loss_findings,
    swarm_findings,
    vector_findings,
)
from onnxplain_server.report.class_findings import of_pairings
from onnxplain_server.report.conclusion_findings import of_conclusions
from onnxplain_server.report.finding import Finding
from onnxplain_server.report.sentences import (
    attributions,
    curves,
    effects,
    firm,
    leading,
    losses,
    vectors,
)


class Answered(NamedTuple):
    """Facts of the whole answer that a method's sentences depend on.

    Attributes
    ----------
    most_important : str
        Feature that another sentence calls most important; empty without one.
    is_linear : bool
        Whether the outputs are a link of a linear map.
    loss_row_count : int
        Most rows of a loss of all rows; 0 without one.
    units : Units
        Of predictions.
    most_harmful : sequence of str
        Names of features whose shuffling worsens predictions most by another sentence; several
        where it cannot tell them apart.
    """

    most_important: str
    is_linear: bool
    loss_row_count: int
    units: Units = TARGET_UNITS
    most_harmful: Sequence[str] = ()


class Ranking(NamedTuple):
    """Ranking of features by a method, for the sentence on the leading ones.

    Attributes
    ----------
    measure : str
        What they are ranked by.
    features : callable (Explanation) -> list of str
        The first ones; empty where they cannot be told.
    first : callable (Explanation) -> str
        The one that a sentence calls most important; empty without one.
    most_harmful : callable (Explanation) -> sequence of str
        Names of those whose shuffling worsens predictions most, of a ranking by shuffling.
    """

    measure: str
    features: Callable[[Explanation], list[str]]
    first: Callable[[Explanation], str]
    most_harmful: Callable[[Explanation], Sequence[str]] = lambda _explanation: ()


def _own_title(_explanation: Explanation, title: str) -> str:
    return title


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodReport:
    """Report of one method.

    Attributes
    ----------
    findings : callable (Explanation, Units) -> iterable of Finding
        Returns its tables, the most important first.
    sentences : callable (Explanation, Answered) -> iterable of str
        Returns what was found.
    ranking : Ranking or None
    has_curves : bool
        Whether its result tells how predictions go along leading features.
    is_told_in_section : bool
        Whether its sentences stand in its own section where shuffling ranks the features.
    heading : callable (Explanation, title) -> str
        Returns its title with what this explanation is of.
    title : str
    question : str
        The question that the method answers.
    limits : tuple of str
        When not to rely on it, a sentence each.
    """

    findings: Callable[[Explanation, Units], Iterable[Finding]]
    sentences: Callable[[Explanation, Answered], Iterable[str]]
    ranking: Ranking | None = None
    has_curves: bool = False
    is_told_in_section: bool = False
    heading: Callable[[Explanation, str], str] = _own_title
    title: str = ""
    question: str = ""
    limits: tuple[str, ...] = ()

    def title_of(self, explanation: Explanation) -> str:
        """Return the title of one of its explanations."""
        return self.heading(explanation, self.title)


_REPORTS: Mapping[str, MethodReport] = MappingProxyType({
    "permutation_importance": MethodReport(
        findings=lambda e, units: loss_findings.of_permutation_importance(
            e.permutation_importance, e.options.permutation_importance, units
        ),
        sentences=lambda e, told: losses.of_permutation_importance(
            e, told.loss_row_count, told.units
        ),
        ranking=Ranking(
            "shuffling", leading.by_shuffling, losses.first_shuffled, losses.most_harmful
        ),
    ),
    "partial_dependence": MethodReport(
        findings=lambda e, _units: effect_findings.of_partial_dependence(e.partial_dependence),
        sentences=lambda e, told: curves.of_partial_dependence(e, told.most_important),
        has_curves=True,
    ),
    "interactions": MethodReport(
        findings=lambda e, units: effect_findings.of_interactions(e.interactions, units),
        sentences=lambda e, told: effects.of_interactions(e, told.units, is_linear=told.is_linear),
        ranking=Ranking("size of effect", leading.by_size, effects.moving_most),
    ),
    "individual_conditional_expectation": MethodReport(
        findings=lambda e, units: individual_findings.of_individual(
            e.individual_conditional_expectation, units
        ),
        sentences=lambda e, _told: curves.of_individual(e),
    ),
    "average_loss": MethodReport(
        findings=lambda e, units: loss_findings.of_average_loss(
            e.average_loss, e.options.average_loss, units
        ),
        sentences=lambda e, told: losses.of_average_loss(e, told.loss_row_count),
        heading=loss_findings.loss_title,
    ),
    "feature_vectors": MethodReport(
        findings=lambda e, _units: vector_findings.of_vectors(e.feature_vectors),
        sentences=lambda e, _told: vectors.of_vectors(e),
    ),
    "firm": MethodReport(
        findings=lambda e, units: firm_findings.of_firm(e.firm, units),
        sentences=lambda e, _told: firm.of_firm(e),
    ),
    "swarm": MethodReport(
        findings=lambda e, _units: swarm_findings.of_swarm(e.swarm, e.options.swarm),
        sentences=lambda e, _told: losses.of_swarm(e),
    ),
    "attributions": MethodReport(
        findings=lambda e, units: attribution_findings.of_attributions(
            e.attributions, e.options.attributions, units
        ),
        sentences=lambda e, told: attributions.of_attributions(e, told.units, told.most_harmful),
        is_told_in_section=True,
    ),
    "accumulated_local_effects": MethodReport(
        findings=lambda e, units: accumulated_findings.of_accumulated(
            e.accumulated_local_effects, units
        ),
        sentences=lambda e, _told: curves.of_accumulated(e),
    ),
})  # fmt: skip
"""Reports by method. The first three stand first on a page: which features matter, how, and which
act together."""
_FIRST_COUNT = 3


@cache
def _texts() -> dict[str, Any]:
    """Read title, question and limits of the methods, which the page of the server has too."""
    file = files("onnxplain_server.report").joinpath("methods.json")
    return json.loads(file.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def of_method(method: str) -> MethodReport:
    """Return the report of a method; for an unknown one only a title made from its name."""
    if method not in _REPORTS:
        title = method.replace("_", " ").capitalize() or "Explanation"
        return MethodReport(
            findings=lambda _, _units: (), sentences=lambda _, _told: (), title=title
        )
    texts = _texts()[method]
    limits = tuple(texts["limits"])
    return replace(
        _REPORTS[method], title=texts["title"], question=texts["question"], limits=limits
    )


def place(method: str) -> int:
    """Return the place of a method in a report; those of one place stay as they were asked."""
    first = [*_REPORTS][:_FIRST_COUNT]
    return first.index(method) if method in first else _FIRST_COUNT


def rankings() -> Mapping[str, Ranking]:
    """Return the rankings of features by method, the one to be told first in front."""
    return {name: own.ranking for name, own in _REPORTS.items() if own.ranking is not None}


def methods_with_curves() -> list[str]:
    """Return the methods whose results tell how predictions go along leading features."""
    return [name for name, own in _REPORTS.items() if own.has_curves]


def of_explanations(
    explanations: Iterable[Explanation], units: Units = TARGET_UNITS
) -> list[list[Finding]]:
    """Return the tables of each explanation, without those that an earlier one has too."""
    shown: list[Finding] = []
    tables = []
    for explanation in explanations:
        new = [finding for finding in of_explanation(explanation, units) if finding not in shown]
        shown += new
        tables.append(new)
    return tables


def of_explanation(explanation: Explanation, units: Units = TARGET_UNITS) -> list[Finding]:
    """Return the tables of an explanation, without those that have no rows."""
    report = of_method(explanation.WhichOneof("result") or "")
    findings = (
        *report.findings(explanation, units),
        *of_conclusions(explanation),
        *of_pairings(explanation.class_pairings),
    )
    return [finding for finding in findings if finding.rows]
