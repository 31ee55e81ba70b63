"""Statistics of interaction under one set of weights after another, from what an engine gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from onnxplain_server.arrays import Array, Matrix, Vector
from onnxplain_server.effects.effects import Effects
from onnxplain_server.methods.permutation_test import PermutationTest
from onnxplain_server.methods.strength import OneWay, Parts, add_errors, clip, of_joint


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure.

    Attributes
    ----------
    positions : tuple of int
        Features, ascending.
    pairwise_count, threeway_count : int
        How many of them, of each output, enter pairs and triples.
    absolute_threshold : float or None
        As in `strength.clip`.
    """

    positions: tuple[int, ...]
    pairwise_count: int
    threeway_count: int
    absolute_threshold: float | None

    def joint_bound(self, effects: Effects) -> int:
        """Return an upper bound of the rows to predict for pairs and triples."""
        most, n_outputs = len(self.positions), len(effects.output_names)
        pairwise, threeway = (
            min(count * n_outputs, most) for count in (self.pairwise_count, self.threeway_count)
        )
        return (math.comb(pairwise, 2) + math.comb(threeway, 3)) * len(effects.background) ** 2


class Measure:
    """Measures under weights; the first set of them chooses the pairs, and is the one tested.

    Parameters
    ----------
    effects : Effects
    plan : Plan
    test : PermutationTest or None
        On the rows of `effects`.

    Attributes
    ----------
    found : dict of (order, features) to list of Parts
        One entry for each run. Orders are "total", "overall", "pairwise", "threeway" and
        "importance".
    cut : dict of (order, features) to float
        Terms that the threshold has set to 0, though not negligible, and which share of the
        predictions' mean square they are, at most of all outputs.
    """

    def __init__(self, effects: Effects, plan: Plan, test: PermutationTest | None = None) -> None:
        self._effects = effects
        self._for_joint = effects.for_joint()
        self._plan = plan
        self._test = test
        self._joint_test = test and test.take(self._joint_rows())
        outputs, weights = effects.outputs(), effects.background.weights
        noise = effects.noise()
        self._clip = clip(outputs, weights, noise, plan.absolute_threshold)
        self._chosen: dict[str, list[int]] = {}
        self.found: dict[tuple[str, tuple[int, ...]], list[Parts]] = {}
        self.cut: dict[tuple[str, tuple[int, ...]], float] = {}

    def run(self, weights: Array) -> None:
        """Measure under weights: (n_rows,) for the background's own, or (n_sets, n_rows)."""
        effects, several = self._effects, weights if weights.ndim == 2 else None
        one_way = OneWay(effects.outputs(), weights, self._clip)
        for single in effects.single(self._plan.positions, several):
            interaction, importance = one_way.add(single)
            both = add_errors(single.own_error, single.others_error)
            overall = one_way.parts(interaction, both)
            self._keep("overall", (single.feature,), overall, interaction)
            self._keep(
                "importance",
                (single.feature,),
                one_way.parts(importance, single.others_error),
                importance,
            )
        self._keep("total", (), one_way.parts(one_way.left(), one_way.left_error), one_way.left())
        if not self._chosen:
            self._choose()
        is_shared = self._for_joint is self._effects  # engines know weights that they have seen
        self._run_joint(weights if is_shared else weights[..., self._joint_rows()])

    def _run_joint(self, weights: Array) -> None:
        """Measure pairs and triples, on the rows of their own engine."""
        effects, several = self._for_joint, weights if weights.ndim == 2 else None
        groups = {order: list(combinations(self._chosen[order], _SIZES[order])) for order in _JOINT}
        needed = sum(effects.cost(group) for order in _JOINT for group in groups[order])
        effects.settle(self._plan.joint_bound(effects) - needed)
        for order in _JOINT:
            for joint in effects.joint(groups[order], several):
                term, parts = of_joint(joint, weights, self._clip)
                self._keep(order, joint.features, parts, term)

    def p_values(self, order: str, group: tuple[int, ...]) -> Vector | None:
        """P-values of a term that was measured: (n_outputs,); None without a test."""
        test = self._joint_test if order in _JOINT else self._test
        return test.p_values((order, group)) if test else None

    def shown(self, order: str) -> list[int]:
        """Features to list: a choice is filled up with the first ones not chosen."""
        if order not in _JOINT:
            return list(self._plan.positions)
        chosen, count = self._chosen[order], self._count(order)
        spare = [j for j in self._plan.positions if j not in chosen]
        return sorted((*chosen, *spare[: max(0, count - len(chosen))]))

    def _joint_rows(self) -> Array:
        """Flag the rows on which pairs are computed: (n_rows,)."""
        taken, source = self._for_joint.background.source, self._effects.background.source
        return np.isin(source, taken)

    def _keep(self, order: str, group: tuple[int, ...], parts: Parts, term: Array) -> None:
        """Keep what was measured, and test a term that is new."""
        measured = self.found.setdefault((order, group), [])
        measured.append(parts)
        if self._clip.cut and len(measured) == 1:
            self.cut[order, group] = self._clip.cut
        test = self._joint_test if order in _JOINT else self._test
        if test and len(measured) == 1:
            own = term if term.ndim == 2 else term[0]
            # What counts as rounding is no term.
            test.add((order, group), np.where(np.atleast_2d(parts.numerators)[0] == 0, 0, own))

    def _count(self, order: str) -> int:
        return self._plan.pairwise_count if order == "pairwise" else self._plan.threeway_count

    def _choose(self) -> None:
        """Choose the features for pairs and triples by the first set of weights."""
        positions = self._plan.positions
        overall = [self.found["overall", (j,)][0].numerators for j in positions]
        first = np.array([np.atleast_2d(numerators)[0] for numerators in overall])
        for order in _JOINT:
            self._chosen[order] = _strongest(positions, first, self._count(order))


_SIZES = {"pairwise": 2, "threeway": 3}
_JOINT = tuple(_SIZES)


def _strongest(positions: Sequence[int], numerators: Matrix, count: int) -> list[int]:
    """Choose the features that interact most: so many of each output, those at 0 never.

    Parameters
    ----------
    numerators : (n_features, n_outputs)
        Of the overall statistic; not normalised, as outputs may differ in scale.

    Returns
    -------
    list of int
        The union over outputs, in table order.
    """
    chosen: set[int] = set()
    for column in numerators.T:
        ranked = np.argsort(-column, kind="stable")
        chosen.update(positions[i] for i in ranked[:count] if column[i] > 0)
    return sorted(chosen)
