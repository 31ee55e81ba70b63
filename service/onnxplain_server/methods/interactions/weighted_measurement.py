"""Statistics of interaction under one set of weights after another, from what an engine gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.effects.engine import Effects
from onnxplain_server.methods.interactions.permutation_test import PermutationTest
from onnxplain_server.methods.interactions.strength import (
    OneWay,
    RatioParts,
    add_errors,
    clip,
    of_joint,
)


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

    def count(self, order: str) -> int:
        """How many features, of each output, enter the groups of an order."""
        return self.pairwise_count if order == "pairwise" else self.threeway_count

    def joint_bound(self, effects: Effects) -> int:
        """Return an upper bound of the rows to predict for pairs and triples.

        Groups of features that cost more by themselves never cost less, so those of the dearest
        features are the bound.
        """
        costs = {j: effects.cost((j,)) for j in self.positions}
        return _cost(effects, self.dearest(costs, {}, len(effects.output_names)))

    def dearest(
        self, costs: Mapping[int, int], known: Mapping[int, Vector], n_outputs: int
    ) -> tuple[tuple[int, ...], ...]:
        """For each order, the features that would cost most of those that may be chosen.

        Parameters
        ----------
        costs : mapping of int to int
            Of each feature by itself.
        known : mapping of int to (n_outputs,)
            Numerators of the overall statistic, as far as they have been measured.
        """
        found = []
        for order in _JOINT:
            candidates, most = self._candidates(order, known, n_outputs)
            found.append(tuple(sorted(sorted(candidates), key=lambda j: -costs[j])[:most]))
        return tuple(found)

    def _candidates(
        self, order: str, known: Mapping[int, Vector], n_outputs: int
    ) -> tuple[set[int], int]:
        """Features that may still enter the groups of an order, and how many of them at most."""
        chosen: set[int] = set()
        if known:
            numerators = np.array(list(known.values()))
            chosen = set(_strongest(list(known), numerators, self.count(order)))
        unknown = set(self.positions) - set(known)
        candidates = chosen | unknown
        return candidates, min(self.count(order) * n_outputs, len(candidates))


class WeightedMeasurement:
    """Measures under weights; the first set of them chooses the pairs, and is the one tested.

    Parameters
    ----------
    effects : Effects
    plan : Plan
    test : PermutationTest or None
        On the rows of `effects`.
    batch_count : int
        How many sets of weights were planned, in the engine's count.

    Attributes
    ----------
    parts : dict of (order, features) to list of RatioParts
        One entry for each run. Orders are "total", "overall", "pairwise", "threeway" and
        "importance".
    clipped : dict of (order, features) to float
        Terms that the threshold has set to 0, though not negligible, and which share of the
        predictions' mean square they are, at most of all outputs.
    """

    def __init__(
        self,
        effects: Effects,
        plan: Plan,
        test: PermutationTest | None = None,
        batch_count: int = 1,
    ) -> None:
        self._effects = effects
        self._batch_count = batch_count
        self._for_joint = effects.for_joint()
        self._plan = plan
        self._test = test
        self._joint_test = test and test.take(self._joint_rows())
        outputs, weights = effects.outputs(), effects.background.weights
        noise = effects.rounding_error()
        self._clip = clip(outputs, weights, noise, plan.absolute_threshold)
        self._chosen: dict[str, list[int]] = {}
        self._costs = {j: self._for_joint.cost((j,)) for j in plan.positions}
        self._bounds: dict[tuple[tuple[int, ...], ...], int] = {}
        self._planned = plan.joint_bound(self._for_joint)
        self.parts: dict[tuple[str, tuple[int, ...]], list[RatioParts]] = {}
        self.clipped: dict[tuple[str, tuple[int, ...]], float] = {}

    def run(self, weights: Array) -> None:
        """Measure under weights: (n_rows,) for the background's own, or (n_sets, n_rows)."""
        effects, several = self._effects, weights if weights.ndim == 2 else None
        one_way = OneWay(effects.outputs(), weights, self._clip)
        for single in effects.single(self._plan.positions, several):
            interaction, importance = one_way.add(single)
            both = add_errors(single.own_error, single.others_error)
            overall = one_way.parts(interaction, both)
            self._keep("overall", (single.feature,), overall, interaction)
            self._settle_joint()
            self._keep(
                "importance",
                (single.feature,),
                one_way.parts(importance, single.others_error),
                importance,
            )
        self._keep("total", (), one_way.parts(one_way.left(), one_way.left_error), one_way.left())
        if not self._chosen:
            self._choose()
            groups = self._groups().values()
            self._settle_to(sum(self._for_joint.cost(g) for part in groups for g in part))
        is_shared = self._for_joint is self._effects  # engines know weights that they have seen
        self._run_joint(weights if is_shared else weights[..., self._joint_rows()])

    def _run_joint(self, weights: Array) -> None:
        """Measure pairs and triples, on the rows of their own engine."""
        effects, several = self._for_joint, weights if weights.ndim == 2 else None
        for order, groups in self._groups().items():
            for joint in effects.joint(groups, several):
                term, parts = of_joint(joint, weights, self._clip)
                self._keep(order, joint.features, parts, term)

    def _groups(self) -> dict[str, list[tuple[int, ...]]]:
        """Pairs and triples of the features that were chosen."""
        return {order: list(combinations(self._chosen[order], _SIZES[order])) for order in _JOINT}

    def _settle_joint(self) -> None:
        """Take back what no choice of the features can need any longer."""
        if self._chosen:
            return
        known = {
            group[0]: np.atleast_2d(parts[0].numerators)[0]
            for (order, group), parts in self.parts.items()
            if order == "overall"
        }
        effects = self._for_joint
        dearest = self._plan.dearest(self._costs, known, len(effects.output_names))
        # What groups cost hangs on what their features cost, whichever these are.
        key = tuple(tuple(self._costs[j] for j in members) for members in dearest)
        if key not in self._bounds:
            self._bounds[key] = _cost(effects, dearest)
        self._settle_to(self._bounds[key])

    def _settle_to(self, planned: int) -> None:
        """Plan so many rows for pairs and triples under one set of weights, and no more."""
        if planned < self._planned:
            self._for_joint.release(self._batch_count * (self._planned - planned))
            self._planned = planned

    def p_values(self, order: str, group: tuple[int, ...]) -> Vector | None:
        """P-values of a term that was measured: (n_outputs,); None without a test."""
        test = self._joint_test if order in _JOINT else self._test
        return test.p_values((order, group)) if test else None

    def shown(self, order: str) -> list[int]:
        """Features to list: a choice is filled up with the first ones not chosen."""
        if order not in _JOINT:
            return list(self._plan.positions)
        chosen, count = self._chosen[order], self._plan.count(order)
        spare = [j for j in self._plan.positions if j not in chosen]
        return sorted((*chosen, *spare[: max(0, count - len(chosen))]))

    def _joint_rows(self) -> Array:
        """Flag the rows on which pairs are computed: (n_rows,)."""
        taken, source = self._for_joint.background.source, self._effects.background.source
        return np.isin(source, taken)

    def _keep(self, order: str, group: tuple[int, ...], parts: RatioParts, term: Array) -> None:
        """Keep what was measured, and test a term that is new."""
        measured = self.parts.setdefault((order, group), [])
        measured.append(parts)
        if self._clip.clipped_share and len(measured) == 1:
            self.clipped[order, group] = self._clip.clipped_share
        test = self._joint_test if order in _JOINT else self._test
        if test and len(measured) == 1:
            own = term if term.ndim == 2 else term[0]
            # What counts as rounding is no term.
            test.add((order, group), np.where(np.atleast_2d(parts.numerators)[0] == 0, 0, own))

    def _choose(self) -> None:
        """Choose the features for pairs and triples by the first set of weights."""
        positions = self._plan.positions
        overall = [self.parts["overall", (j,)][0].numerators for j in positions]
        first = np.array([np.atleast_2d(numerators)[0] for numerators in overall])
        for order in _JOINT:
            self._chosen[order] = _strongest(positions, first, self._plan.count(order))


_SIZES = {"pairwise": 2, "threeway": 3}
_JOINT = tuple(_SIZES)


def _cost(effects: Effects, features: Sequence[tuple[int, ...]]) -> int:
    """Rows to predict for all groups of some features, given for each order."""
    return sum(
        effects.cost(group)
        for order, members in zip(_JOINT, features, strict=True)
        for group in combinations(sorted(members), _SIZES[order])
    )


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
