"""Metrics of a watch: importances, sizes of changes and verdicts, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias
from urllib.error import HTTPError

from onnxplain.v1.explanation_comparison_pb2 import (
    CurveDifference,
    ExplanationComparison,
    ReplicatedStatistic,
    RuleFinding,
    StatisticDifference,
)
from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from prometheus_client import CollectorRegistry, Gauge, push_to_gateway

from onnxplain_server.cli.failure import CommandError

VERDICT_VALUES: Mapping[int, int] = {
    RuleFinding.HOLDS: 1,
    RuleFinding.FAILS: 0,
    RuleFinding.UNDECIDED: -1,
}
JOB = "onnxplain_watch"

_RANKED = frozenset({
    ReplicatedStatistic.IMPORTANCE,
    ReplicatedStatistic.IMPORTANCE_SQUARE,
    ReplicatedStatistic.FIRM_IMPORTANCE,
    ReplicatedStatistic.FIRM_IMPORTANCE_SQUARE,
    ReplicatedStatistic.MEAN_ABSOLUTE_ATTRIBUTION,
    ReplicatedStatistic.PERMUTATION_IMPORTANCE,
})  # fmt: skip
"""Kinds of which the features with the largest values have metrics."""
_LABELS = ("watch", "statistic", "features", "group", "output")
_LONGEST = 100
"""Characters of a label's value; the rest is cut off."""
_SECONDS_TO_PUSH = 30

Labels: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WatchRun:
    """A run of a watch, as metrics tell it.

    Attributes
    ----------
    name : str
    at : datetime
    interval : float or None
        Seconds between runs; None where it is not known.
    feature_count : int
        Features of each ranking, and groups, that have metrics.
    answer : ExplainResponse
    comparison : ExplanationComparison or None
        None for the first run.
    """

    name: str
    at: datetime
    interval: float | None
    feature_count: int
    answer: ExplainResponse
    comparison: ExplanationComparison | None


def registry_of(run: WatchRun) -> CollectorRegistry:
    """Return the metrics of a run."""
    registry = CollectorRegistry()
    own = run.name[:_LONGEST]

    def gauge(name: str, text: str, values: Mapping[Labels, float], labels: Labels) -> None:
        metric = Gauge(f"onnxplain_watch_{name}", text, labels, registry=registry)
        for given, value in values.items():
            metric.labels(*(label[:_LONGEST] for label in given)).set(value)

    seconds: dict[Labels, float] = {(own,): run.at.timestamp()}
    gauge("last_run_timestamp_seconds", "Time of the last run.", seconds, ("watch",))
    if run.interval is not None:
        seconds = {(own,): run.interval}
        gauge("interval_seconds", "Time between runs.", seconds, ("watch",))
    values: dict[Labels, float] = {(own, *labels): value for labels, value in _values(run)}
    gauge("value", "Importance of a feature, or a loss.", values, _LABELS)
    if run.comparison is None:
        return registry
    changes = _standard_errors(run.comparison)
    sizes = {labels: changes[labels[1:]] for labels in values if labels[1:] in changes}
    text = "Change since the reference, corrected for bias, in standard errors."
    gauge("change_standard_errors", text, sizes, _LABELS)
    counts: dict[Labels, float] = {
        (own, kind): count for kind, count in _changed(run.comparison).items()
    }
    text = "Numbers and curves that have changed by more than chance."
    gauge("changed_statistics", text, counts, ("watch", "statistic"))
    verdicts: dict[Labels, float] = {
        (own, finding.rule.name): VERDICT_VALUES[finding.verdict]
        for finding in run.comparison.findings
    }
    text = "Verdict on a rule: 1 holds, 0 fails, -1 undecided."
    gauge("rule_verdict", text, verdicts, ("watch", "rule"))
    return registry


def push(url: str, name: str, registry: CollectorRegistry) -> None:
    """Replace the metrics of a watch at a Pushgateway; PUSH_FAILED where that fails."""
    try:
        push_to_gateway(url, JOB, registry, {"watch": name[:_LONGEST]}, _SECONDS_TO_PUSH)
    except (OSError, ValueError) as error:
        if isinstance(error, HTTPError):
            error.close()
        raise CommandError("PUSH_FAILED", f"cannot push to the Pushgateway: {error}") from None


def _values(run: WatchRun) -> Iterator[tuple[Labels, float]]:
    """Yield the importances of the leading features, and the losses, with their labels."""
    for explanation in run.answer.explanations:
        outputs = explanation.replicates.output_names
        statistics = explanation.replicates.statistics
        losses = [each for each in statistics if each.kind == ReplicatedStatistic.AVERAGE_LOSS]
        chosen = losses[: run.feature_count]
        for kind in sorted(_RANKED):
            own = [each for each in statistics if each.kind == kind]
            chosen += sorted(own, key=_size, reverse=True)[: run.feature_count]
        for each in chosen:
            for output, value in zip(outputs, each.values, strict=True):
                yield _labels(each, output), value


def _size(statistic: ReplicatedStatistic) -> float:
    """Return the largest value of the outputs; NaN counts as none."""
    return max((abs(value) for value in statistic.values if value == value), default=-1.0)  # noqa: PLR0124


def _labels(each: ReplicatedStatistic | StatisticDifference, output: str) -> Labels:
    return _kind(each), " × ".join(each.features), each.group, output


def _kind(each: ReplicatedStatistic | StatisticDifference | CurveDifference) -> str:
    return ReplicatedStatistic.Kind.Name(each.kind).lower()


def _standard_errors(comparison: ExplanationComparison) -> dict[Labels, float]:
    """Return the sizes of changes; those without a standard error have none."""
    found = {}
    for each in comparison.differences:
        change = each.difference - each.bias
        if each.standard_error > 0:
            found[_labels(each, each.output_name)] = change / each.standard_error
        elif each.standard_error == 0:
            size = float("inf") if change > 0 else -float("inf")
            found[_labels(each, each.output_name)] = size if change else 0.0
    return found


def _changed(comparison: ExplanationComparison) -> dict[str, int]:
    """Count by kind what has changed; a kind without changes counts 0."""
    counts: dict[str, int] = {}
    differences: list[StatisticDifference | CurveDifference] = [*comparison.differences]
    for each in (*differences, *comparison.curves):
        is_changed = each.verdict == ExplanationComparison.CHANGED
        counts[_kind(each)] = counts.get(_kind(each), 0) + is_changed
    return counts
