"""References: kept answers that another answer is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from onnxplain.requests.written import written
from onnxplain.v1.explanation_comparison_pb2 import ComparisonOptions, ComparisonRule
from onnxplain.v1.explanation_service_pb2 import CompareExplanationsRequest, ExplainResponse
from onnxplain.v1.explanation_service_pb2 import Reference as ReferenceMessage


@dataclass(frozen=True)
class Reference:
    """A kept answer, and how another one is compared with it.

    Attributes
    ----------
    answer : Explanations
        Made with `replicates=True`; `onnxplain.load` reads one from a file.
    confidence_level : float, optional
        In (0, 1); default: 0.95.
    correction : "HOLM", "BENJAMINI_HOCHBERG" or "NONE", optional
        Of the p-values, for many tests. Default: "HOLM".
    leading_count : int, optional
        How many features, the most important ones, are the leading ones of a ranking. In [1, 100];
        default: 5.
    rules : sequence of mapping or ComparisonRule
        Rules about the other answer and what has changed, with the fields of a file of rules, like
        `{"statistic": "average_loss", "holds": "change <= 0.01"}`; at most 1,000.

    Examples
    --------
    >>> before = onnxplain.load("last_week.json")
    >>> client.explain(model, table, reference=before).comparison
    """

    answer: Any
    confidence_level: float | None = None
    correction: Literal["HOLM", "BENJAMINI_HOCHBERG", "NONE"] | None = None
    leading_count: int | None = None
    rules: Sequence[Mapping[str, Any] | ComparisonRule] = ()

    def to_message(self) -> ReferenceMessage:
        """Write the message of the contract, without plots."""
        options = ComparisonOptions(
            confidence_level=self.confidence_level,
            correction=self.correction,
            leading_count=self.leading_count,
        )
        rules = [_rule(each) for each in self.rules]
        return ReferenceMessage(answer=_without_plots(self.answer), options=options, rules=rules)


def to_reference(reference: Any) -> ReferenceMessage | None:
    """Write a reference: a `Reference`, or an answer; None where there is none.

    Raises
    ------
    TypeError
        Where it is neither.
    """
    if reference is None or isinstance(reference, ReferenceMessage):
        return reference
    return (reference if isinstance(reference, Reference) else Reference(reference)).to_message()


def to_comparison_request(reference: Any, answer: Any, plots: bool) -> CompareExplanationsRequest:
    """Write the request to compare two kept answers.

    Raises
    ------
    TypeError
        Where one is no answer.
    """
    return CompareExplanationsRequest(
        reference=to_reference(reference), answer=_without_plots(answer), plots=plots
    )


def _rule(rule: Mapping[str, Any] | ComparisonRule) -> ComparisonRule:
    """Write a rule; raises TypeError or ValueError with the name of a field that cannot be."""
    if isinstance(rule, ComparisonRule):
        return rule
    known = ComparisonRule.DESCRIPTOR.fields_by_name
    for name in rule:
        if name not in known:
            raise TypeError(f"a rule has no {name!r}; it has {', '.join(known)}")
    return written(ComparisonRule, None, **rule)


def _without_plots(answer: Any) -> ExplainResponse:
    """Return the message of an answer without what a comparison does not read.

    Raises
    ------
    TypeError
    """
    message = getattr(answer, "message", answer)
    if not isinstance(message, ExplainResponse):
        raise TypeError(
            f"a reference is an answer, as of client.explain or onnxplain.load, not "
            f"{type(answer).__name__}"
        )
    kept = ExplainResponse()
    kept.CopyFrom(message)
    for explanation in kept.explanations:
        explanation.ClearField("plots")
    kept.ClearField("comparison")
    return kept
