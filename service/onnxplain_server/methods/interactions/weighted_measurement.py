"""Measurement of interaction statistics under weights: the data first, then its replicates."""

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
    """Plan of a measurement: features, and how many of them enter pairs and triples.

    Attributes
    ----------
    positions : tuple of int
        Features, ascending.
    pairwise_count, threeway_count : int
        Number of features, per output, that enter pairs and triples.
    absolute_threshold : float or None
        As in `strength.clip`.
    """

    positions: tuple[int, ...]
    pairwise_count: int
    threeway_count: int
    absolute_threshold: float | None

    @property
    def order(self) -> int:
        """Most features in a group."""
        return 3 if self.threeway_count >= 3 else 2

    def count(self, order: str) -> int:
        """Return the number of features, per output, in the groups of an order."""
        return self.pairwise_count if order == "pairwise" else self.threeway_count

    def shown(self, order: str, chosen: Sequence[int]) -> list[int]:
        """Return the chosen features, padded with the first others."""
        spare = [j for j in self.positions if j not in chosen]
        return sorted((*chosen, *spare[: max(0, self.count(order) - len(chosen))]))

    def joint_bound(self, effects: Effects) -> int:
        """Return an upper bound of the rows to predict for pairs and triples.

        The cost of a group never falls with the cost of its features, so the groups of the most
        expensive features are the bound.
        """
        costs = {j: effects.cost((j,)) for j in self.positions}
        return _cost(effects, self.most_expensive(costs, {}, len(effects.output_names)))

    def most_expensive(
        self, costs: Mapping[int, int], measured: Mapping[int, Vector], n_outputs: int
    ) -> tuple[tuple[int, ...], ...]:
        """Return, per order, the most expensive features that may still be chosen.

        Parameters
        ----------
        costs : mapping of int to int
            Cost of each feature by itself.
        measured : mapping of int to (n_outputs,)
            Numerators of the overall statistic measured so far.
        """
        features = []
        for order in JOINT:
            candidates, count = self._candidates(order, measured, n_outputs)
            features.append(tuple(sorted(sorted(candidates), key=lambda j: -costs[j])[:count]))
        return tuple(features)

    def _candidates(
        self, order: str, measured: Mapping[int, Vector], n_outputs: int
    ) -> tuple[set[int], int]:
        """Return the features that may still enter groups of an order, and their maximum count."""
        chosen: set[int] = set()
        if measured:
            numerators = np.array(list(measured.values()))
            chosen = set(strongest(list(measured), numerators, self.count(order)))
        candidates = chosen | (set(self.positions) - set(measured))
        return candidates, min(self.count(order) * n_outputs, len(candidates))


class WeightedMeasurement:
    """Measurement under sets of weights; the first set chooses the pairs, and is tested.

    Parameters
    ----------
    effects : Effects
    plan : Plan
    test : PermutationTest or None
        Tests on the rows of `effects`.
    batch_count : int
        Number of planned sets of weights, as counted by the engine.

    Attributes
    ----------
    parts : dict of (order, features) to list of RatioParts
        One entry per run. Orders are "total", "overall", "pairwise", "threeway" and
        "importance".
    clipped : dict of (order, features) to float
        Terms set to 0 by the threshold though not negligible: largest share, over outputs, of
        the predictions' mean square.
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
        self._for_joint = effects.for_joint(plan.order)
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
            error = add_errors(single.own_error, single.others_error)
            overall = one_way.parts(interaction, error)
            self._keep("overall", (single.feature,), overall, interaction)
            self._settle_joint()
            self._keep(
                "importance",
                (single.feature,),
                one_way.parts(importance, single.others_error),
                importance,
            )
        self._keep(
            "total",
            (),
            one_way.parts(one_way.residual(), one_way.residual_error),
            one_way.residual(),
        )
        if not self._chosen:
            self._choose()
            groups = self._groups().values()
            self._settle_to(sum(self._for_joint.cost(g) for part in groups for g in part))
        is_shared = self._for_joint is self._effects  # engines memoize weights by identity
        self._run_joint(weights if is_shared else weights[..., self._joint_rows()])

    def _run_joint(self, weights: Array) -> None:
        """Measure pairs and triples, on the rows of their engine."""
        effects, several = self._for_joint, weights if weights.ndim == 2 else None
        for order, groups in self._groups().items():
            for joint in effects.joint(groups, several):
                term, parts = of_joint(joint, weights, self._clip)
                self._keep(order, joint.features, parts, term)

    def _groups(self) -> dict[str, list[tuple[int, ...]]]:
        """Return the pairs and triples of the chosen features."""
        return {order: list(combinations(self._chosen[order], SIZES[order])) for order in JOINT}

    def _settle_joint(self) -> None:
        """Return planned rows that no choice of features can need any more."""
        if self._chosen:
            return
        measured = {
            group[0]: np.atleast_2d(parts[0].numerators)[0]
            for (order, group), parts in self.parts.items()
            if order == "overall"
        }
        effects = self._for_joint
        most_expensive = self._plan.most_expensive(self._costs, measured, len(effects.output_names))
        # The cost of groups depends on the costs of their features only.
        key = tuple(tuple(self._costs[j] for j in members) for members in most_expensive)
        if key not in self._bounds:
            self._bounds[key] = _cost(effects, most_expensive)
        self._settle_to(self._bounds[key])

    def _settle_to(self, planned: int) -> None:
        """Reduce the planned rows for pairs and triples under one set of weights."""
        if planned < self._planned:
            self._for_joint.release(self._batch_count * (self._planned - planned))
            self._planned = planned

    def p_values(self, order: str, group: tuple[int, ...]) -> Vector | None:
        """Return the p-values of a measured term: (n_outputs,); None without a test."""
        test = self._joint_test if order in JOINT else self._test
        return test.p_values((order, group)) if test else None

    def shown(self, order: str) -> list[int]:
        """Return the features to list: the chosen ones, padded with the first others."""
        if order not in JOINT:
            return list(self._plan.positions)
        return self._plan.shown(order, self._chosen[order])

    def _joint_rows(self) -> Array:
        """Return a mask of the rows on which pairs are computed: (n_rows,)."""
        joint, source = self._for_joint.background.source, self._effects.background.source
        return np.isin(source, joint)

    def _keep(self, order: str, group: tuple[int, ...], parts: RatioParts, term: Array) -> None:
        """Store a measurement, and test its term in the first run."""
        measured = self.parts.setdefault((order, group), [])
        measured.append(parts)
        if self._clip.clipped_share and len(measured) == 1:
            self.clipped[order, group] = self._clip.clipped_share
        test = self._joint_test if order in JOINT else self._test
        if test and len(measured) == 1:
            own = term if term.ndim == 2 else term[0]
            # Terms clipped to 0 are not tested.
            test.add((order, group), np.where(np.atleast_2d(parts.numerators)[0] == 0, 0, own))

    def _choose(self) -> None:
        """Choose the features for pairs and triples from the first run."""
        positions = self._plan.positions
        overall = [self.parts["overall", (j,)][0].numerators for j in positions]
        first = np.array([np.atleast_2d(numerators)[0] for numerators in overall])
        for order in JOINT:
            self._chosen[order] = strongest(positions, first, self._plan.count(order))


SIZES = {"pairwise": 2, "threeway": 3}
JOINT = tuple(SIZES)


def _cost(effects: Effects, features: Sequence[tuple[int, ...]]) -> int:
    """Return the rows to predict for all groups of the features of each order."""
    return sum(
        effects.cost(group)
        for order, members in zip(JOINT, features, strict=True)
        for group in combinations(sorted(members), SIZES[order])
    )


def strongest(positions: Sequence[int], numerators: Matrix, count: int) -> list[int]:
    """Return the most interacting features: `count` per output, without those at 0.

    Parameters
    ----------
    numerators : (n_features, n_outputs)
        Numerators of the overall statistic; ranked per output, as scales may differ.

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
