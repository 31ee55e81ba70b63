"""Rules of a gate, and what is found of each."""

from __future__ import annotations

from dataclasses import dataclass

from onnxplain_server.language import Expression
from onnxplain_server.language.tree import Computation
from onnxplain_server.methods.changes.found import ComparedSubject

NAMES = ("reference", "value", "change")
"""Names that the condition of a rule may use."""
_COMPARISONS = ("<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class GateRule:
    """Rule about statistics, or about the leading features of rankings.

    Attributes
    ----------
    name : str
    kind : str
        Of the statistics, or of the ranking.
    features : frozenset of str
        Together; empty for those of any.
    group, output : str
        Empty for any.
    condition : Expression or None
        A comparison; None: no feature may be new among the leading ones.
    level : float
    """

    name: str
    kind: str
    features: frozenset[str]
    group: str
    output: str
    condition: Expression | None
    level: float


@dataclass(frozen=True, slots=True)
class GateFinding:
    """Verdict on a rule, with its figures.

    Attributes
    ----------
    rule : GateRule
    verdict : str
        HOLDS, FAILS or UNDECIDED.
    subject : ComparedSubject or None
        The statistic nearest to failing; None where there is none.
    reference_value, value : float
        Its values; of a ranking its ranks, infinite where the feature has no importance.
    margin, lower, upper : float
        How far the condition is met, negative where it is not, and the interval of that.
    count : int
        Statistics, and points of curves, that the rule is about.
    missed_count : int
        Points of curves of the reference that those of the answer do not reach.
    reason : str
        Why there are no numbers; empty where there are some.
    """

    rule: GateRule
    verdict: str
    subject: ComparedSubject | None = None
    reference_value: float = float("nan")
    value: float = float("nan")
    margin: float = float("nan")
    lower: float = float("nan")
    upper: float = float("nan")
    count: int = 0
    missed_count: int = 0
    reason: str = ""


def is_condition(expression: Expression) -> bool:
    """Return whether an expression is one comparison by size."""
    root = expression.root
    return isinstance(root, Computation) and root.name in _COMPARISONS
