"""Measurement of interaction statistics under weights: the data first, then its replicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.effects.engine import RowEffects
from onnxplain_server.effects.weighted_mean import mean
from onnxplain_server.methods.interactions.measurement_plan import (
    JOINT,
    ChosenGroups,
    Group,
    Plan,
    group_cost,
)
from onnxplain_server.methods.interactions.permutation_test import PermutationTest
from onnxplain_server.methods.interactions.strength import (
    RatioParts,
    Terms,
    add_errors,
    clip,
    of_joint,
    ratio_parts,
)


class WeightedMeasurement:
    """Measurement under sets of weights; the first set chooses the pairs, and is tested.

    Parameters
    ----------
    effects : RowEffects
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
        effects: RowEffects,
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
        self._chosen: ChosenGroups | None = None
        self._costs = {j: self._for_joint.cost((j,)) for j in plan.positions}
        self._bounds: dict[tuple[tuple[int, ...], ...], int] = {}
        self._planned = plan.joint_bound(self._for_joint)
        self._screen = plan.screen(self._for_joint)
        self.parts: dict[tuple[str, tuple[int, ...]], list[RatioParts]] = {}
        self.clipped: dict[tuple[str, tuple[int, ...]], float] = {}

    def run(self, weights: Array) -> None:
        """Measure under weights: (n_rows,) for the background's own, or (n_sets, n_rows)."""
        effects, several = self._effects, weights if weights.ndim == 2 else None
        terms = Terms(effects.outputs(), weights)
        squares = mean(terms.f**2, weights)

        def keep(order: str, group: tuple[int, ...], term: Array, error: Vector | None) -> None:
            self._keep(order, group, ratio_parts(term, squares, weights, self._clip, error), term)

        for single in effects.single(self._plan.positions, several):
            interaction, importance = terms.add(single)
            error = add_errors(single.own_error, single.others_error)
            keep("overall", (single.feature,), interaction, error)
            self._settle_joint()
            keep("importance", (single.feature,), importance, single.others_error)
        keep("total", (), terms.total, terms.total_error)
        if self._chosen is None:
            self._chosen = self._plan.choose(self._overall(), self._screen)
            groups = self._chosen.measured.values()
            self._settle_to(sum(self._for_joint.cost(g) for part in groups for g in part))
        chosen = self._chosen
        is_shared = self._for_joint is self._effects  # engines memoize weights by identity
        own = weights if is_shared else weights[..., self._joint_rows()]
        self._run_joint(chosen.measured, own)

    def _run_joint(self, measured: Mapping[str, Sequence[Group]], weights: Array) -> None:
        """Measure pairs and triples, on the rows of their engine."""
        effects, several = self._for_joint, weights if weights.ndim == 2 else None
        for order, groups in measured.items():
            for joint in effects.joint(groups, several):
                term, parts = of_joint(joint, weights, self._clip)
                self._keep(order, joint.features, parts, term)

    def _overall(self) -> dict[int, Vector]:
        """Return the numerators of the overall statistic in the first run, as far as measured."""
        return {
            group[0]: np.atleast_2d(parts[0].numerators)[0]
            for (order, group), parts in self.parts.items()
            if order == "overall"
        }

    def _settle_joint(self) -> None:
        """Return planned rows that no choice of features can need any more."""
        if self._chosen is not None or self._plan.pair_limit is not None:
            return
        effects, measured = self._for_joint, self._overall()
        most_expensive = self._plan.most_expensive(self._costs, measured, len(effects.output_names))
        # The cost of groups depends on the costs of their features only.
        key = tuple(tuple(self._costs[j] for j in members) for members in most_expensive)
        if key not in self._bounds:
            self._bounds[key] = group_cost(effects, most_expensive)
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

    def groups(self, order: str) -> Sequence[Group]:
        """Return the features, pairs or triples to list."""
        return self._plan.listed(order, self._chosen)

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
