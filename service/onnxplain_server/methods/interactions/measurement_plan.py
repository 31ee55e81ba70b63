"""Plan of a measurement: features, and which of them enter pairs and triples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.effects.engine import RowEffects
from onnxplain_server.methods.interactions.pair_choice import (
    PairScreen,
    choose_pairs,
    smaller_overall,
)

Group = tuple[int, ...]

SIZES = {"pairwise": 2, "threeway": 3}
JOINT = tuple(SIZES)


_PAIRED_FEATURES = 200
"""Most features per output, those interacting most overall, whose pairs are candidates where a
request does not say which: for independent features, a pair's numerator is at most theirs."""


@dataclass(frozen=True, slots=True)
class ChosenGroups:
    """Pairs and triples by order: those to measure, and those to list, in table order.

    Attributes
    ----------
    measured, listed : mapping of str to sequence of tuples of int
        A group that is listed and not measured is known to have no interaction.
    """

    measured: Mapping[str, Sequence[Group]]
    listed: Mapping[str, Sequence[Group]]


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
    pair_limit : int or None
        Most pairs, beside those of triples, which are then chosen one by one; None: all pairs of
        the features that enter them.
    """

    positions: tuple[int, ...]
    pairwise_count: int
    threeway_count: int
    absolute_threshold: float | None
    pair_limit: int | None = None

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

    def screen(self, effects: RowEffects) -> PairScreen | None:
        """Return the screen by which pairs are chosen; None where all are measured."""
        if self.pair_limit is None:
            return None
        return PairScreen(effects, self.positions, self.pair_limit)

    def choose(self, overall: Mapping[int, Vector], screen: PairScreen | None) -> ChosenGroups:
        """Choose pairs and triples.

        Parameters
        ----------
        overall : mapping of int to (n_outputs,)
            Numerators of the overall statistic of each feature.
        screen : PairScreen or None
            None: pairs are chosen without one, where there are too many.
        """
        numerators = np.array([overall[j] for j in self.positions])
        # In this order: effects of triples are made from those of pairs.
        measured: dict[str, Sequence[Group]] = dict.fromkeys(JOINT, ())
        listed = measured.copy()
        for order in JOINT if self.pair_limit is None else ("threeway",):
            chosen = strongest(self.positions, numerators, self.count(order))
            measured[order] = list(combinations(chosen, SIZES[order]))
            listed[order] = list(combinations(self.shown(order, chosen), SIZES[order]))
        if self.pair_limit is not None:
            of_triples = {
                pair for triple in measured["threeway"] for pair in combinations(triple, 2)
            }
            pairs = sorted({*self._limited(overall, screen, self.pair_limit), *of_triples})
            measured["pairwise"] = listed["pairwise"] = pairs
        return ChosenGroups(measured, listed)

    def listed(self, order: str, chosen: ChosenGroups | None) -> Sequence[Group]:
        """Return the features, pairs or triples to list."""
        if order in JOINT and chosen is not None:
            return chosen.listed[order]
        return [(j,) for j in self.positions]

    def _limited(
        self, overall: Mapping[int, Vector], screen: PairScreen | None, limit: int
    ) -> Sequence[Group]:
        numerators = np.array(list(overall.values()))
        candidates = strongest(list(overall), numerators, _PAIRED_FEATURES)
        bounds = smaller_overall({j: overall[j] for j in candidates})
        if len(bounds) <= limit:
            if screen is not None:
                screen.leave_out()
            return list(bounds)
        return choose_pairs(bounds, {} if screen is None else screen.measure(bounds), limit)

    def group_count(self, n_outputs: int) -> int:
        """Return the most pairs and triples that may be chosen."""
        members = [min(self.count(order) * n_outputs, len(self.positions)) for order in JOINT]
        pairs, triples = (comb(m, SIZES[o]) for m, o in zip(members, JOINT, strict=True))
        if self.pair_limit is not None:
            pairs = self.pair_limit + (comb(members[1], 2) if triples else 0)
        return pairs + triples

    def joint_bound(self, effects: RowEffects) -> int:
        """Return an upper bound of the rows to predict for pairs and triples.

        The cost of a group never falls with the cost of its features, so the groups of the most
        expensive features are the bound.
        """
        costs = {j: effects.cost((j,)) for j in self.positions}
        dearest = self.most_expensive(costs, {}, len(effects.output_names))
        if self.pair_limit is None:
            return group_cost(effects, dearest)
        return self.pair_limit * effects.cost(
            sorted(dearest[0], key=lambda j: -costs[j])[:2]
        ) + group_cost(effects, (dearest[1] if self.order > 2 else (), dearest[1]))

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


def group_cost(effects: RowEffects, features: Sequence[tuple[int, ...]]) -> int:
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
