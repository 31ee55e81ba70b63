"""Coverage of pairs: how many were looked at, of all that may interact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, Protocol


class OfFeatures(Protocol):
    """A statistic of some features, of a result or of its message."""

    @property
    def features(self) -> Sequence[str]:
        """Names of the features."""

    @property
    def numerators(self) -> Any:
        """Numerators, one per output."""


@dataclass(frozen=True, slots=True)
class PairCoverage:
    """Pairs that were looked at, and all that there are.

    Attributes
    ----------
    looked_at, all_pairs : int
    is_complete : bool
        Whether the others have no interaction, as one of their features has none.
    """

    looked_at: int
    all_pairs: int
    is_complete: bool

    @property
    def among(self) -> str:
        """Name the pairs in a sentence: "the 10 pairs looked at, of 28 in all"; empty for all."""
        if self.is_complete:
            return ""
        pairs = "pair" if self.looked_at == 1 else f"{self.looked_at:,} pairs"
        return f"the {pairs} looked at, of {self.all_pairs:,} in all"


def pair_coverage(overall: Sequence[OfFeatures], pairs: Sequence[OfFeatures]) -> PairCoverage:
    """Count the pairs looked at, of those of all features that were asked for."""
    interacting = [s.features[0] for s in overall if not all(n == 0 for n in s.numerators)]
    looked_at = {frozenset(s.features) for s in pairs}
    is_complete = all(frozenset(pair) in looked_at for pair in combinations(interacting, 2))
    return PairCoverage(len(looked_at), comb(len(overall), 2), is_complete)
