"""Requests asked in this process: an answer, or the reason for which they are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from asked.answers import FLOAT32, SUMS, Rounding, differences, leaves, unexplained_nans
from asked.case import Case
from asked.changes import ALL_COALITIONS, CHANGES, Changed, grown_from
from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call, Runner
from onnxplain_server.core.request import ServiceMethod

FAULTS_OF_OURS = {Reason.INTERNAL, Reason.WORKER_DIED}


@dataclass(frozen=True)
class Ask:
    """Asks a runner."""

    runner: Runner
    host: Callable[[], Any]

    def __call__(self, case: Case, **others) -> ExplainResponse | Reason:
        """Answer, or refuse for a reason that is the caller's to mend; else raise."""
        try:
            reply = self.runner.answer(
                Call(ServiceMethod.EXPLAIN, case.request(**others)), self.host()
            ).content
        except ExplainError as refused:
            if refused.reason in FAULTS_OF_OURS:
                raise
            return refused.reason
        answer = ExplainResponse.FromString(reply)
        unexplained = unexplained_nans(answer)
        assert not unexplained, f"NaN without a warning: {sorted(unexplained)}"
        return answer

    def faults_of(self, name: str, case: Case, seed: int) -> list[str]:
        """Compare the answers before and after a change."""
        changed = CHANGES[name](case, seed)
        return compare(self(changed.before), self(changed.after), changed)

    def faults_of_engines(self, case: Case) -> list[str]:
        """Compare the answers of both engines, where trees can be read."""
        name, method = next(iter(case.methods[0].items()))
        # Of knots only a black box needs any, and interpolates between them.
        exact = {key: value for key, value in method.items() if key != "knotCount"}
        if name == "attributions":  # shares of branches are of trees alone
            exact = {k: v for k, v in exact.items() if k != "perturbation"} | ALL_COALITIONS
        case = replace(case, options={**case.options, "methods": [{name: exact}]})
        if method.get("strategy") == "STEPS":
            return []  # steps are read from trees, and refused without
        trees, black_box = (self(case, engine=name) for name in ("TREES", "BLACK_BOX"))
        if trees is Reason.INVALID_OPTION:
            return []
        codes = {w.code for w in getattr(black_box, "warnings", [])}
        below = "BELOW_THRESHOLD" in codes

        def left_out(name: str) -> bool:
            of_noise = below and name.startswith("interactions")
            return _of_one_engine(name) or of_noise or grown_from(case)(name)

        return compare(trees, black_box, Changed(case, case, left_out=left_out), FLOAT32)


def compare(
    one: ExplainResponse | Reason,
    other: ExplainResponse | Reason,
    changed: Changed,
    rounding: Rounding = SUMS,
) -> list[str]:
    """Tell in which numbers and names two answers differ; refusals by their reasons."""
    if isinstance(one, Reason) or isinstance(other, Reason):
        return [] if one == other else [f"{_told(other)} beside {_told(one)}"]
    return differences(
        changed.view(leaves(other)),
        leaves(one),
        rounding,
        weight=changed.weight,
        left_out=changed.left_out,
    )


def _told(answer: ExplainResponse | Reason) -> str:
    return answer.name if isinstance(answer, Reason) else "an answer"


def _of_one_engine(name: str) -> bool:
    """Whether a number is an estimate that one engine needs, or of a search that one makes.

    By trees, weights of a swarm are found exactly; a black box tries some. Replicates of few rows
    have denominators next to nothing, whose ratios follow the rounding.
    """
    searched = ("swarm.effects", "swarm.importances", "swarm.similarity")
    of_replicates = (".standard_errors", ".lower", ".upper", ".biases")
    return (
        ".numerator_errors" in name
        or name.startswith(searched)
        or (name.startswith("interactions") and name.endswith(of_replicates))
    )
