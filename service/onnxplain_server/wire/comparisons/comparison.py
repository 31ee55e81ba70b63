"""Comparison of two answers as messages: their replicates in, what has changed out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from onnxplain.v1 import explanation_comparison_pb2 as comparison_pb2
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1 import plot_pb2

from onnxplain_server.core.contract_limits import ComparisonOptions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.changes.comparison import ChangeOptions, compare
from onnxplain_server.methods.changes.found import Changes, CurveDifference, OutputRankings
from onnxplain_server.methods.changes.gate import judge
from onnxplain_server.methods.changes.matching import KeptStatistics, UnmatchedStatistic
from onnxplain_server.methods.changes.rules import GateRule
from onnxplain_server.methods.option_checks import check_limits
from onnxplain_server.wire import message_fields
from onnxplain_server.wire.answers.plot_messages import write_plot
from onnxplain_server.wire.comparisons.pairing import pair_answers, pair_explanations
from onnxplain_server.wire.comparisons.replicates import read_replicates
from onnxplain_server.wire.comparisons.rules import gate_rules, write_finding
from onnxplain_server.wire.message_fields import Values, WriteExceptions
from onnxplain_server.wire.table import to_columns

_PATH = "reference.answer"


@dataclass(frozen=True, slots=True, eq=False)
class ComparedAnswers:
    """Two answers that fit each other, and what has changed.

    Attributes
    ----------
    changes : Changes
    message : ExplanationComparison
        The same, and the verdicts on rules, without plots.
    """

    changes: Changes
    message: comparison_pb2.ExplanationComparison

    def plots(self, name_of: Callable[[str], str]) -> list[plot_pb2.Plot]:
        """Draw what has changed; `name_of` gives an output its name in plots."""
        # Descriptions draw nothing, and load none of this.
        from onnxplain_server.plots.changes import plots  # noqa: PLC0415

        return [write_plot(plot) for plot in plots(self.changes, name_of)]


def compare_answers(
    reference: service_pb2.Reference, answer: service_pb2.ExplainResponse
) -> ComparedAnswers:
    """Compare an answer, which has replicates, with a reference, and judge its rules.

    Raises
    ------
    ExplainError
        INVALID_OPTION where answers do not fit each other, and for the reference's options.
    """
    options, rules = read_options(reference)
    kept = reference.answer
    check_has_replicates(kept)
    check_has_replicates(answer, "the other answer", "answer")
    pairing = pair_answers(kept, answer)
    paired = pair_explanations(kept, answer)
    pairs = [(after, *_sides(kept, answer, before, after)) for before, after in paired.pairs]
    are_classes = kept.model.has_class_scores or answer.model.has_class_scores
    with np.errstate(all="ignore"):  # numbers of answers may be infinite
        kinds = {"is_paired": pairing.is_paired, "are_classes": are_classes}
        changes = compare(pairs, options, **kinds)
        findings = list(judge(rules, pairs, changes, **kinds))
    written = _write(changes)
    written.is_paired, written.pairing_reason = pairing
    written.findings.extend(map(write_finding, findings, reference.rules))
    for reason in paired.alone:
        written.unmatched.add(reason=f"{reason}.")
    kind = comparison_pb2.ComparisonOptions
    written.options.CopyFrom(message_fields.write(kind, options, message_fields.NO_EXCEPTIONS))
    written.reference_model_digest = kept.receipt.model_digest
    written.reference_table_digest = kept.receipt.table_digest
    written.reference_model_name = kept.receipt.model_name
    return ComparedAnswers(changes, written)


def _sides(
    kept: service_pb2.ExplainResponse, answer: service_pb2.ExplainResponse, before: int, after: int
) -> tuple[KeptStatistics, KeptStatistics]:
    """Read the replicates of an explanation and of its pair."""
    return (
        read_replicates(kept.explanations[before], f"{_PATH}.explanations[{before}]"),
        read_replicates(answer.explanations[after], f"answer.explanations[{after}]"),
    )


def add_comparison(
    response: service_pb2.ExplainResponse,
    request: service_pb2.ExplainRequest,
    name_of: Callable[[str], str],
) -> None:
    """Compare a complete answer with the reference of its request, if it has one.

    Parameters
    ----------
    name_of : callable (str) -> str
        Gives an output its name in plots.
    """
    if not request.HasField("reference"):
        return
    compared = compare_answers(request.reference, response)
    response.comparison.CopyFrom(compared.message)
    if request.plots or not request.HasField("plots"):
        response.comparison.plots.extend(compared.plots(name_of))
    if not request.replicates:
        for explanation in response.explanations:
            explanation.ClearField("replicates")


def read_options(reference: service_pb2.Reference) -> tuple[ChangeOptions, list[GateRule]]:
    """Read how a reference is compared with, and by which rules."""
    path = "reference.options"
    options = message_fields.read(reference.options, ChangeOptions, path)
    check_limits(ComparisonOptions, options, path)
    return options, gate_rules(reference.rules, "reference.rules")


def check_has_replicates(
    answer: service_pb2.ExplainResponse, name: str = "the reference", path: str = _PATH
) -> None:
    """Refuse an answer that nothing can be compared with, or that does not tell its options."""
    kept = [each for each in answer.explanations if each.HasField("replicates")]
    if not kept:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{name} has no replicates, so nothing tells the chance of a difference; make it with "
            "replicates",
            path,
        )
    for each in kept:
        if each.options.WhichOneof("method") != each.WhichOneof("result"):
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"{name} does not tell the options of {each.WhichOneof('result') or 'a method'}; "
                "keep answers whole",
                path,
            )


def _write(changes: Changes) -> comparison_pb2.ExplanationComparison:
    """Write what the arithmetic has found."""
    kinds = {
        "differences": comparison_pb2.StatisticDifference,
        "curves": comparison_pb2.CurveDifference,
        "rankings": comparison_pb2.RankingComparison,
        "unmatched": comparison_pb2.UnmatchedStatistic,
    }
    written = comparison_pb2.ExplanationComparison(tested_count=changes.tested_count)
    for name, kind in kinds.items():
        getattr(written, name).extend(
            message_fields.write(kind, each, _EXCEPTIONS) for each in getattr(changes, name)
        )
    return written


def _curve(curve: CurveDifference) -> Values:
    return {"grid": to_columns(curve.subject.features, curve.grid)}


def _rankings(rankings: OutputRankings) -> Values:
    ranking = rankings.ranking
    return {
        name if end == "value" else f"{name}_{end}": getattr(getattr(ranking, name), end)
        for name in ("rank_correlation", "ndcg")
        for end in ("value", "lower", "upper")
    }


def _unmatched(statistic: UnmatchedStatistic) -> Values:
    return {"kind": statistic.kind or None}


_EXCEPTIONS: WriteExceptions = {
    "CurveDifference": _curve,
    "RankingComparison": _rankings,
    "UnmatchedStatistic": _unmatched,
}
